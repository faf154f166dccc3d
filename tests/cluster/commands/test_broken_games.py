"""Broken games through the commands: one clear line, exit status 2, a traceback only if asked for."""

from __future__ import annotations

from pathlib import Path

import banyan
import pytest

from tests.cluster.command import Here
from tests.cluster.searches import compiled_only
from tests.games.broken_games import BROKEN, write_take
from tests.games.test_own_games import NIM

INLINE = ("--executor", "inline", "--simulations", "2000", "--no-progress")


@pytest.mark.parametrize("name", BROKEN)
def test_check_and_search_say_the_same_in_one_line(name: str, tmp_path: Path, here: Here) -> None:
    old, new, words = BROKEN[name]
    path = write_take(tmp_path, old, new)
    status, out, err = here("check", path)
    assert (status, err) == (2, "")
    (said,) = [line.strip() for line in out.splitlines() if words in line]
    err = here.refusal("search", path, *INLINE)
    assert err == f"banyan: error: {path}: {said}\n"


@pytest.mark.parametrize("command", ["perft", "show"])
def test_other_commands_refuse_them_too(command: str, tmp_path: Path, here: Here) -> None:
    path = write_take(tmp_path, *BROKEN["twice"][:2])
    arguments = ("3",) if command == "perft" else ()
    err = here.refusal(command, path, *arguments)
    assert err == f"banyan: error: {path}: legal_moves: gave move 1 twice at ply 0\n"


def late(folder: Path, fault: str = "raise ValueError('late')") -> str:
    """A game that goes wrong only after its trial: in positions that the search alone makes."""
    text = NIM.replace(
        "        self.stones -= move\n",
        f"        Heap.plays += 1\n        if Heap.plays > 500:\n            {fault}\n"
        "        self.stones -= move\n",
    ).replace("class Heap:\n", "class Heap:\n    plays = 0\n")
    (folder / "late.py").write_text(f"{text}\n# Loaded anew: {folder}\n")
    return str(folder / "late.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [("raise ValueError('late')", "ValueError: late"), ("exit('gone')", "SystemExit: gone")],
)
def test_a_rule_that_raises_late_is_one_line(fault: str, said: str, tmp_path: Path, here: Here) -> None:
    err = here.refusal("search", late(tmp_path, fault), *INLINE)
    assert err.startswith("banyan: error: late.py: ")
    assert f"raised {said} (line 15)" in err


def test_a_search_in_python_whose_game_exits_raises_an_exception(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="gone"):
        banyan.search(late(tmp_path, "exit('gone')"), simulations=2000, executor="inline")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback_too(
    how: str, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "environment":
        monkeypatch.setenv("BANYAN_DEBUG", "1")
    before = ("--debug",) if how == "option" else ()
    status, _, err = here(*before, "search", late(tmp_path), *INLINE)
    assert status == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("banyan: error: late.py: ")


def test_text_that_is_not_read_as_it_should_be_is_found_beside_all_else(tmp_path: Path, here: Here) -> None:
    path = tmp_path / "nim.py"
    path.write_text(
        NIM + "    def parse_position(self, text):\n"
        "        if text in ('', '?!'):\n            return [1][len(text) + 1]\n"
        "        return super().parse_position(text)\n"
    )
    status, out, err = here("check", str(path))
    assert (status, err) == (2, "")
    assert "parse_position: raised IndexError: list index out of range (line 32) for ''; expected" in out
    err = here.refusal("search", str(path), "--position", "?!")
    assert (
        err == "banyan: error: nim.py: parse_position: raised IndexError: list index out of range (line 32)\n"
    )


@compiled_only
@pytest.mark.parametrize("what", ["np.zeros(3)[0]", "state.copy()[0]", "[1, 2][0]"])
def test_a_rule_that_allocates_is_told_so(what: str, tmp_path: Path, here: Here) -> None:
    path = write_take(
        tmp_path, "    return state[0] == 0\n", f"    first = {what}\n    return state[0] == 0 * first\n"
    )
    status, out, _ = here("check", path)
    assert status == 2
    assert "is_terminal: does not compile: creates an array, a list or text; rules must not allocate" in out
    assert "(line 23 of take.py)" in out
