"""`check` finds what is wrong with a game of any kind, and says it by the name of the function."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from games import Game, Rules
from games.contract.checking import check
from games.game import CHANCE, Moves, State
from games.rng import Stream, below
from tests.games.common import JIT, violation
from tests.games.own_game import SPOILT, write
from tests.games.test_own_games import NIM


def test_connect_four_is_found_right(tmp_path: Path) -> None:
    assert check(games.load(write(tmp_path))) is None


def test_an_exception_tells_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, bounds="")
    line = next(n for n, text in enumerate(Path(path).read_text().splitlines(), 1) if "while 0 <= r" in text)
    finding = violation(games.load(path, tried=False))
    assert f"(line {line})" in finding.text


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


METHOD = "    def format_move("
READS = "    def parse_position(self, text):\n"
ANOTHER_OUTCOME = (
    "        state = super().parse_position(text)\n        state[WINNER] = 0\n        return state\n"
)
ANY_TEXT = "        return super().parse_position(text) if text else self.initial_state()\n"
RESTLESS = (
    "    count = 0\n\n    def canonical(self, state):\n        self.count += 1\n"
    "        state = state.copy()\n        state[0] = self.count % 2\n        return state\n"
)


def _optional(rules: str) -> list[tuple[str, str]]:
    return [("class ConnectFour", OPTIONAL), ("is_terminal, returns)", f"is_terminal, returns, {rules})")]


def _before(line: str, *lines: str) -> list[tuple[str, str]]:
    return [(line, "".join(lines) + line)]


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ([SPOILT["text"]], "format_move", "gave 'e' for two legal moves at ply 0"),
        ([SPOILT["blank"]], "format_move", "expected text without blanks"),
        ([SPOILT["board"]], "board", "raised"),
        (_optional("random_move=random_move"), "random_move", "g .* times at ply 0; expected 200"),
        (_optional("evaluate=evaluate"), "evaluate", r"gave 1\.5 at ply 3; expected a number in \[-1, 1\]"),
        (_optional("priority=restless_priority"), "priority", "changed the state at ply 7"),
        (
            _optional("priority=priority, greedy_move=greedy_move"),
            "greedy_move",
            "at ply 0, which is not legal and of the highest priority",
        ),
        (_optional("playout=playout"), "playout", "mean length 0"),
        (_before(METHOD, READS, ANOTHER_OUTCOME, "\n"), "parse_position", "gives another outcome for"),
        (_before(METHOD, READS, ANY_TEXT, "\n"), "parse_position", "takes '' for a position"),
        (_before(METHOD, RESTLESS, "\n"), "parse_position", "yet another array"),
        *(
            (_before("    max_moves, max_plies", f"    exploration = {value}\n"), "exploration", "")
            for value in ("-1", "'much'", "True", "float('inf')")
        ),
    ],
)
def test_what_is_wrong_is_named(
    changes: list[tuple[str, str]], rule: str, words: str, tmp_path: Path
) -> None:
    finding = violation(spoil(tmp_path, *changes))
    assert finding.rule == rule and re.search(words, finding.text), finding


@pytest.mark.skipif(not JIT, reason="nothing is compiled, so nothing fails to compile")
@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ("uncompiled", "rules", "returns without @njit"),
        ("unknown", "legal_moves", "(?s)does not compile.*'unknown' is not defined"),
        ("type", "legal_moves", "(?s)does not compile.*iadd"),
    ],
)
def test_what_does_not_compile_is_named(change: str, rule: str, words: str, tmp_path: Path) -> None:
    finding = violation(spoil(tmp_path, SPOILT[change]))
    assert finding.rule == rule and re.search(words, finding.text), finding


def test_chance_of_a_game_of_its_own_is_found(tmp_path: Path) -> None:
    """Positions in plain Python can do what compiled code cannot: remember."""
    path = tmp_path / "nim.py"
    remembers = NIM.replace(
        "    def play(self, move):", "    plays = 0\n    def play(self, move):\n        Heap.plays += 1"
    )
    path.write_text(remembers.replace("if self.mover == 1 else", "if Heap.plays % 2 else"))
    assert "when repeated" in violation(games.load(str(path), tried=False)).text


ROUNDS = 4


class Dice(Game):
    """Each player in turn takes a small or a large die, whose face is added to the player's score.

    A state is int64[6]: the plies so far, the faces of the die that rolls (0: none), and the scores of four
    players. A move is the number of faces, 2 or 6; an outcome is a face.
    """

    name = "dice"
    rewards = True
    max_moves = 6

    def __init__(self, num_players: int = 1, **changes: Any) -> None:
        """``changes``: rules, by name, in the place of right ones."""
        self.num_players = num_players
        self.player_names = ("ann", "bob", "cid", "dan")[:num_players]
        self.max_plies = 2 * ROUNDS * num_players
        rules: dict[str, Any] = {name: getattr(self, f"_{name}") for name in RIGHT}
        if num_players > 2:
            rules["score"] = self._score
        self.rules = Rules(**rules | changes)

    def initial_state(self) -> State:
        """Nothing rolled."""
        return np.zeros(6, dtype=np.int64)

    def _current_player(self, state: State) -> int:
        return CHANCE if state[1] else int(state[0] // 2 % self.num_players)

    def _legal_moves(self, state: State, moves: Moves) -> int:
        choices = range(1, int(state[1]) + 1) if state[1] else (2, 6)
        moves[: len(choices)] = choices
        return len(choices)

    def _play(self, state: State, move: int) -> None:
        if state[1]:
            state[2 + state[0] // 2 % self.num_players] += move
        state[1] = 0 if state[1] else move
        state[0] += 1

    def _is_terminal(self, state: State) -> bool:
        return bool(state[0] == self.max_plies)

    def _returns(self, state: State) -> float:
        return self._score(state, 0)

    def _score(self, state: State, player: int) -> float:
        return float(state[2 + player])

    def _chance(self, state: State, moves: Moves, stream: Stream) -> int:
        return 1 + int(below(stream, int(state[1])))


RIGHT = ("current_player", "legal_moves", "play", "is_terminal", "returns", "chance")


@pytest.mark.parametrize("num_players", [1, 2, 3, 4])
def test_any_number_of_players_is_right(num_players: int) -> None:
    assert check(Dice(num_players), games=4) is None


def test_the_best_score_wins() -> None:
    game = Dice(3)
    state = np.array([24, 0, 5, 8, 7, 0])
    assert game.outcome_text(state) == "bob wins"
    state[4] = 8
    assert game.outcome_text(state) == "a draw"
    assert Dice(1).outcome_text(np.array([8, 0, 5, 0, 0, 0])) == "a score of 5"
    assert [game.name_of(player) for player in (0, 2, CHANCE)] == ["ann", "cid", "chance"]


def _too_often(state: State, moves: Moves, stream: Stream) -> int:
    return min(1 + int(below(stream, int(state[1]) + 1)), int(state[1]))


@pytest.mark.parametrize(
    ("num_players", "rule", "changed", "at_fault", "words"),
    [
        (3, "current_player", lambda state: 3, "", "gave 3 at ply 0; expected one of [0, 1, 2, -1]"),
        (1, "chance", None, "current_player", "gave -1 at ply 1; expected 0"),
        (
            *(1, "returns", lambda state: math.nan if state[0] == 3 else float(state[2])),
            *("", "gave nan after 3 plies; expected a finite number"),
        ),
        (3, "score", lambda state, player: float(state[3 + player]), "", "for player 0 after"),
        (3, "score", None, "", "is not defined"),
        (1, "chance", _too_often, "", "times at ply"),
        (1, "chance", lambda state, moves, stream: 1 + int(below(stream, 7)), "", "which is not legal"),
    ],
)
def test_wrong_rules_are_found(num_players: int, rule: str, changed: Any, at_fault: str, words: str) -> None:
    finding = violation(Dice(num_players, **{rule: changed}))
    assert finding.rule == (at_fault or rule) and words in finding.text


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([1.0], "other outcomes than legal_moves"),
        ([0.6] * 6, "do not add up to 1"),
        ([1.5, -0.5, 0.0, 0.0, 0.0, 0.0], "do not add up to 1"),
    ],
)
def test_wrong_probabilities_are_found(shares: list[float], words: str) -> None:
    class Wrong(Dice):
        def chance_weights(self, state: State) -> dict[int, float]:
            return dict(zip(self.legal_moves(state), shares, strict=False))

    finding = violation(Wrong(1))
    assert finding.rule == "chance_weights"
    assert words in finding.text


@pytest.mark.parametrize(
    "weights", [[1 / 6] * 6, np.full(6, 1 / 6), [(1, 1.0)], None, dict.fromkeys(range(1, 7), "a sixth")]
)
def test_probabilities_that_are_no_dict_of_numbers_are_named(weights: Any) -> None:
    class Wrong(Dice):
        def chance_weights(self, state: State) -> dict[int, float]:
            return weights  # type: ignore[no-any-return]

    finding = violation(Wrong(1))
    assert finding.rule == "chance_weights"
    assert "gave no dict with the probability of each outcome" in finding.text


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("num_players", 0), ("num_players", 17), ("discount", 0.0), ("discount", 1.5), ("player_names", ())],
)
def test_attributes_out_of_range_are_found(attribute: str, value: Any) -> None:
    game = Dice(1)
    setattr(game, attribute, value)
    assert violation(game).rule == attribute


def _rollout(
    game: Dice, die: int, missing: int, state: State, moves: Moves, stream: Stream, line: Moves
) -> tuple[float, int]:
    """Play to the end, with any die or always with one; the last plies may be missing in the answer."""
    before, plies = game._returns(state), 0
    while not game._is_terminal(state):
        chosen = die or (2, 6)[int(below(stream, 2))]
        move = game._chance(state, moves, stream) if state[1] else chosen
        line[plies] = move
        game._play(state, move)
        plies += 1
    return game._returns(state) - before, plies - missing


@pytest.mark.parametrize(
    ("die", "missing", "words"), [(0, 0, ""), (6, 0, "mean result"), (0, 1, "do not lead to the end")]
)
def test_rollouts_are_compared_with_random_moves(die: int, missing: int, words: str) -> None:
    game = Dice(1)
    game.rules = game.rules._replace(rollout=partial(_rollout, game, die, missing))
    finding = check(game, games=4)
    assert (finding is not None) is bool(words)
    assert finding is None or (finding.rule == "rollout" and words in finding.text)
