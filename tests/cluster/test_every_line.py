"""Every line of play of an opponent of the search at tic-tac-toe."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import games
from cluster.lab.sources.counts import Opponents
from cluster.lab.studies.every_line import lines_of
from games import FIRST, SECOND
from games.analysis.solving import solve
from games.game import State
from search.players import Choice, Player, Seen
from tests.games.common import JIT

GAME = games.load("tictactoe")
SIDES = pytest.mark.parametrize("side", [FIRST, SECOND])


class Answers(Player):
    """A player that answers a position by a function."""

    def __init__(self, answer: Callable[[State], int]) -> None:
        super().__init__("answers")
        self.answer = answer

    def choose(self, seen: Seen, seed: int) -> Choice:
        return Choice(self.answer(seen.state))


def lost(answer: Callable[[State], int], side: int) -> int:
    return Opponents(GAME, Answers(answer), 0).lines(GAME.initial_state(), side)[-1]


@SIDES
@pytest.mark.parametrize("player", ["preset=best,simulations=1000", "simulations=4000"])
def test_the_search_never_loses(player: str, side: int) -> None:
    """With the game's best settings, and with the settings of every search. Many lanes do lose some lines."""
    if not JIT:
        pytest.skip("takes minutes uncompiled; the same simulations are made compiled")
    lines, losing = lines_of(GAME, f"uct:{player}", side, seeds=5)
    assert (lines[-1], losing) == (0, 0)
    assert lines[1] > 0 and lines[0] > 0


def first_legal(state: State) -> int:
    return GAME.legal_moves(state)[0]


def test_lines_are_counted_whole() -> None:
    """Who fills cells in order can win and lose as the first player, and loses as the second."""
    assert lost(first_legal, FIRST) > 0
    assert lost(first_legal, SECOND) > 0


@SIDES
def test_perfect_play_never_loses(side: int) -> None:
    """The solver's answers are the reference that the search is held to."""
    solution = solve(GAME, GAME.initial_state())

    def best(state: State) -> int:
        sign = 1 if GAME.calls.current_player(state) == FIRST else -1
        return max(solution.outcomes(state), key=lambda outcome: sign * outcome.value).move

    assert lost(best, side) == 0
