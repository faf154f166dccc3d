"""What is compiled is said with its purpose; nothing that is quick is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from games.compile import watch


def compile_something(watched: watch.Watch, name: str, seconds: float) -> None:
    """What Numba announces when it compiles a function of this name, which calls another one."""
    inner, outer = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__qualname__=each))})
        for each in ("helper", name)
    )
    watched.on_start(outer)
    watched.on_start(inner)
    watched.on_end(inner)
    time.sleep(seconds)
    watched.on_end(outer)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> watch.Watch:
    for name, seconds in (("SAID_AFTER_S", 0.2), ("SAID_AGAIN_S", 0.4), ("QUIET_S", 0.1), ("TICK_S", 0.01)):
        monkeypatch.setattr(watch, name, seconds)
    monkeypatch.delattr(watch._local, "purpose", raising=False)
    return watch.Watch()


def test_long_compilations_are_said_with_their_purpose(
    watched: watch.Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_something(watched, "play.inner_hex_0123456789abcdef", 0.05)
    assert capsys.readouterr().err == ""
    compile_something(watched, "play.inner_hex_0123456789abcdef", 0.7)
    first, *more = capsys.readouterr().err.splitlines()
    assert first == f"banyan: compiling the rules of hex: 0 s so far ({watch.USUALLY})"
    assert 1 <= len(more) <= 2
    watch.compile_for("hex, strategy tree")
    compile_something(watched, "grow.hex_0123456789abcdef", 0.3)
    assert capsys.readouterr().err.startswith("banyan: compiling hex, strategy tree: 0 s so far (")


def test_a_process_of_a_command_leaves_notes_instead(
    watched: watch.Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    with watch.keeping_notes(True):
        theirs = watch.Watch()
        compile_something(theirs, "play.hex_0123456789abcdef", 0.4)
        (found,) = watch.notes()
        assert found.startswith("compiling the rules of hex: 0 s so far")
        assert capsys.readouterr().err == ""
        watch.note("")
        assert watch.notes() == []
    assert watch.notes() == []
