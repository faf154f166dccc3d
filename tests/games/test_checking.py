"""`check` finds what is wrong with a game, and says it by the name of the function."""

from __future__ import annotations

from pathlib import Path

import pytest

import games
from games.checking import check
from tests.games.common import JIT, SPECS
from tests.games.own_game import write

compiled_only = pytest.mark.skipif(not JIT, reason="nothing is compiled, so nothing fails to compile")


@pytest.mark.parametrize("spec", SPECS)
def test_the_games_that_come_with_banyan_are_found_right(spec: str) -> None:
    assert check(games.load(spec), games=2) == []


def test_connect_four_is_found_right(tmp_path: Path) -> None:
    assert check(games.load(write(tmp_path))) == []


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ("state", "legal_moves", "changed the state at ply 0"),
        ("bounds", "play", "IndexError"),
        ("twice", "legal_moves", "gave move 0 twice at ply 0"),
        ("count", "max_moves", "is 6, but 7 moves are legal at ply 0"),
        ("plies", "max_plies", "is 4, but a random game"),
        ("returns", "returns", "2.0 after"),
        ("mover", "current_player", "gave 2 at ply 1; expected 0 or 1"),
        ("none", "legal_moves", "gave no move at ply 42"),
        ("text", "format_move", "gave 'e' for two legal moves at ply 0"),
        ("blank", "format_move", "expected text without blanks"),
        ("board", "board", "raised"),
        ("shape", "initial_state", "1-D"),
        ("uncompiled", "rules", "returns without @njit"),
    ],
)
def test_what_is_wrong_is_named(change: str, rule: str, words: str, tmp_path: Path) -> None:
    if change == "uncompiled" and not JIT:
        pytest.skip("nothing is compiled, so nothing is left out of it")
    # A draw, one in some four hundred random games, takes 42 plies.
    findings = check(games.load(write(tmp_path, **{change: ""})), games=600 if change == "none" else 20)
    assert any(finding.rule == rule and words in finding.text for finding in findings), findings


def test_an_exception_tells_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, bounds="")
    line = next(n for n, text in enumerate(Path(path).read_text().splitlines(), 1) if "while 0 <= r" in text)
    (finding,) = check(games.load(path))
    assert f"(line {line})" in finding.text


@compiled_only
@pytest.mark.parametrize(("change", "words"), [("unknown", "'unknown' is not defined"), ("type", "iadd")])
def test_what_does_not_compile_is_named(change: str, words: str, tmp_path: Path) -> None:
    (finding,) = check(games.load(write(tmp_path, **{change: ""})))
    assert finding.rule == "legal_moves"
    assert "does not compile" in finding.text
    assert words in finding.text


def test_a_playout_that_does_not_play_as_random_moves_do_is_found(tmp_path: Path) -> None:
    path = Path(write(tmp_path))
    text = path.read_text().replace("is_terminal, returns)", "is_terminal, returns, playout)")
    # Always the first legal move: a game of its own.
    text = text.replace(
        "class ConnectFour",
        "@njit\ndef playout(state, moves, stream):\n    plies = 0\n    while not is_terminal(state):\n"
        "        legal_moves(state, moves)\n        play(state, moves[0])\n        plies += 1\n"
        "    return plies\n\nclass ConnectFour",
    )
    path.write_text(text)
    assert {finding.rule for finding in check(games.load(str(path)), games=2)} == {"playout"}
