"""`check` finds what is wrong with a game, and says it by the name of the function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import games
from games.contract.checking import check
from tests.games.common import JIT, violation
from tests.games.own_game import write
from tests.games.test_own_games import NIM

compiled_only = pytest.mark.skipif(not JIT, reason="nothing is compiled, so nothing fails to compile")


def test_connect_four_is_found_right(tmp_path: Path) -> None:
    assert check(games.load(write(tmp_path))) is None


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ("text", "format_move", "gave 'e' for two legal moves at ply 0"),
        ("blank", "format_move", "expected text without blanks"),
        ("board", "board", "raised"),
        ("uncompiled", "rules", "returns without @njit"),
    ],
)
def test_what_is_wrong_is_named(change: str, rule: str, words: str, tmp_path: Path) -> None:
    if change == "uncompiled" and not JIT:
        pytest.skip("nothing is compiled, so nothing is left out of it")
    finding = violation(games.load(write(tmp_path, **{change: ""}), tried=False))
    assert finding.rule == rule and words in finding.text


def test_an_exception_tells_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, bounds="")
    line = next(n for n, text in enumerate(Path(path).read_text().splitlines(), 1) if "while 0 <= r" in text)
    finding = violation(games.load(path, tried=False))
    assert f"(line {line})" in finding.text


@compiled_only
@pytest.mark.parametrize(("change", "words"), [("unknown", "'unknown' is not defined"), ("type", "iadd")])
def test_what_does_not_compile_is_named(change: str, words: str, tmp_path: Path) -> None:
    finding = violation(games.load(write(tmp_path, **{change: ""}), tried=False))
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
    assert violation(games.load(str(path), tried=False), games=2).rule == "playout"


def spoil(folder: Path, *changes: tuple[str, str]) -> games.Game:
    """Connect Four with some text of its file replaced."""
    path = Path(write(folder))
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return games.load(str(path), tried=False)


OPTIONAL = """from games.rng import below

@njit
def random_move(state, moves, stream):
    count = legal_moves(state, moves)
    return moves[min(below(stream, count + 1), count - 1)]

@njit
def evaluate(state):
    return 0.5 * state[PLIES]

@njit
def priority(state, move):
    return 1.0 if move == 3 else 0.0

@njit
def restless_priority(state, move):
    state[move] = 0
    return 0.0

@njit
def greedy_move(state, moves, stream):
    return moves[below(stream, legal_moves(state, moves))]

@njit
def playout(state, moves, stream):
    return 0

class ConnectFour"""


@pytest.mark.parametrize(
    ("rules", "rule", "words"),
    [
        ("random_move=random_move", "random_move", "g .* times at ply 0; expected 200"),
        ("evaluate=evaluate", "evaluate", r"gave 1\.5 at ply 3; expected a number in \[-1, 1\]"),
        ("priority=restless_priority", "priority", "changed the state at ply 7"),
        (
            "priority=priority, greedy_move=greedy_move",
            "greedy_move",
            "at ply 0, which is not legal and of the highest priority",
        ),
        ("playout=playout", "playout", "mean length 0"),
    ],
)
def test_what_is_wrong_with_an_optional_rule_is_named(
    rules: str, rule: str, words: str, tmp_path: Path
) -> None:
    changed = (("class ConnectFour", OPTIONAL), ("is_terminal, returns)", f"is_terminal, returns, {rules})"))
    finding = violation(spoil(tmp_path, *changed))
    assert finding.rule == rule and re.search(words, finding.text), finding


METHOD = "    def format_move("


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            (
                "    def parse_position(self, text):\n        state = super().parse_position(text)\n"
                "        state[WINNER] = 0\n        return state\n\n"
            ),
            "gives another outcome for",
        ),
        (
            (
                "    def parse_position(self, text):\n"
                "        return super().parse_position(text) if text else self.initial_state()\n\n"
            ),
            "takes '' for a position",
        ),
        (
            (
                "    count = 0\n\n    def canonical(self, state):\n        self.count += 1\n"
                "        state = state.copy()\n        state[0] = self.count % 2\n        return state\n\n"
            ),
            "yet another array",
        ),
    ],
)
def test_a_position_that_does_not_go_on_as_it_did_is_found(method: str, words: str, tmp_path: Path) -> None:
    finding = violation(spoil(tmp_path, (METHOD, method + METHOD)))
    assert finding.rule == "parse_position" and words in finding.text


def test_chance_of_a_game_of_its_own_is_found(tmp_path: Path) -> None:
    """Positions in plain Python can do what compiled code cannot: remember."""
    path = tmp_path / "nim.py"
    remembers = NIM.replace(
        "    def play(self, move):", "    plays = 0\n    def play(self, move):\n        Heap.plays += 1"
    )
    path.write_text(remembers.replace("if self.mover == 1 else", "if Heap.plays % 2 else"))
    assert "when repeated" in violation(games.load(str(path), tried=False)).text


@pytest.mark.parametrize("value", ["-1", "'much'", "True", "float('inf')"])
def test_an_exploration_constant_is_a_number_in_its_range(value: str, tmp_path: Path) -> None:
    game = spoil(
        tmp_path, ("    max_moves, max_plies", f"    exploration = {value}\n    max_moves, max_plies")
    )
    assert violation(game, games=1).rule == "exploration"
