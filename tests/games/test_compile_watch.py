"""What is compiled is said with its purpose; nothing that is quick is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pytest

from games.compile import watch
from tests.waiting import eventually


def compile_something(watched: watch.Watch, name: str, until: Callable[[], object]) -> None:
    """What Numba announces when it compiles a function of this name, which calls another one, so long."""
    inner, outer = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__qualname__=each))})
        for each in ("helper", name)
    )
    watched.on_start(outer)
    watched.on_start(inner)
    watched.on_end(inner)
    eventually(until)
    watched.on_end(outer)


def without_seconds(texts: Iterable[str]) -> list[str]:
    return [re.sub(r" [0-9]+ s so far", " N s so far", text) for text in texts]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> watch.Watch:
    for name, seconds in (("SAID_AFTER_S", 0.2), ("SAID_AGAIN_S", 0.4), ("QUIET_S", 0.1), ("TICK_S", 0.01)):
        monkeypatch.setattr(watch, name, seconds)
    monkeypatch.delattr(watch._local, "purpose", raising=False)
    return watch.Watch()


def test_long_compilations_are_said_with_their_purpose(
    watched: watch.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    watched.say = said.append
    with monkeypatch.context() as patch:
        patch.setattr(watch, "SAID_AFTER_S", 1000.0)
        compile_something(watched, "play.inner_hex_0123456789abcdef", lambda: True)
        eventually(lambda: not watched._speaks)
        assert said == []
    compile_something(watched, "play.inner_hex_0123456789abcdef", lambda: len(said) == 2)
    assert without_seconds(said) == [f"compiling the rules of hex: N s so far ({watch.USUALLY})"] * 2
    watch.compile_for("hex, strategy tree")
    compile_something(watched, "grow.hex_0123456789abcdef", lambda: len(said) == 3)
    assert said[-1].startswith("compiling hex, strategy tree: ")


def test_a_process_of_a_command_leaves_notes_instead(
    watched: watch.Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    with watch.keeping_notes(True):
        theirs = watch.Watch()
        compile_something(theirs, "play.hex_0123456789abcdef", watch.notes)
        (found,) = without_seconds(watch.notes())
        assert found.startswith("compiling the rules of hex: N s so far")
        assert capsys.readouterr().err == ""
        watch.note("")
        assert watch.notes() == []
    assert watch.notes() == []
