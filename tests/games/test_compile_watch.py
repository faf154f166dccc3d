"""What is compiled is said with its purpose and the seconds of the last time; nothing that is quick is."""

from __future__ import annotations

import time
from pathlib import Path
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
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> watch.Watch:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    for name, seconds in (("SAID_AFTER_S", 0.2), ("SAID_AGAIN_S", 0.4), ("QUIET_S", 0.1), ("TICK_S", 0.01)):
        monkeypatch.setattr(watch, name, seconds)
    monkeypatch.delattr(watch._local, "purpose", raising=False)
    return watch.Watch()


def test_long_compilations_are_said_with_what_the_last_one_took(
    watched: watch.Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_something(watched, "play.inner_hex_0123456789abcdef", 0.05)
    assert capsys.readouterr().err == ""
    compile_something(watched, "play.inner_hex_0123456789abcdef", 0.7)
    first, *more = capsys.readouterr().err.splitlines()
    assert first == f"banyan: compiling the rules of hex: 0 s so far ({watch.USUALLY})"
    assert 1 <= len(more) <= 2
    watch.compile_for("hex, strategy tree")
    watched._earlier = {"hex, strategy tree": 14.2}
    compile_something(watched, "grow.hex_0123456789abcdef", 0.3)
    assert capsys.readouterr().err == "banyan: compiling hex, strategy tree: 0 s so far (14 s last time)\n"


def test_seconds_are_kept_beside_the_cache_and_damage_there_does_not_matter(
    watched: watch.Watch, tmp_path: Path
) -> None:
    (tmp_path / "seconds_to_compile.json").write_text("[")
    compile_something(watched, "merge.0123456789abcdef", 0.3)
    assert watch._kept()["what all games share"] == pytest.approx(0.3, abs=0.25)


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
