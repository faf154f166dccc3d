"""Every line of play of an opponent of the search at tic-tac-toe."""

from __future__ import annotations

import pytest

from games import FIRST, SECOND
from games.game import State
from tests.games.common import JIT
from tests.tictactoe_never_loses import GAME, all_lines, searching

SIDES = pytest.mark.parametrize("side", [FIRST, SECOND])


@SIDES
def test_the_search_never_loses(side: int) -> None:
    """With 2,000 simulations a move and C = 1; the top README says what less of either does."""
    if not JIT:
        pytest.skip("takes minutes uncompiled; the same simulations are made compiled")
    for seed in range(5):
        lines = all_lines(searching(2_000, 1.0, False, seed), side)
        assert lines.lost == 0
        assert lines.won > 0 and lines.drawn > 0


def first_legal(state: State) -> int:
    return GAME.legal_moves(state)[0]


def test_lines_are_counted_whole() -> None:
    """Who fills cells in order wins all lines as the first player where nobody stops him, and can lose."""
    lines = all_lines(first_legal, FIRST)
    assert lines.lost > 0 and lines.won > 0
    assert all_lines(first_legal, SECOND).lost > 0


@SIDES
def test_perfect_play_never_loses(side: int) -> None:
    """The solver's answers are the reference that the search is held to."""
    from games.solving import solve

    solution = solve(GAME, GAME.initial_state())

    def best(state: State) -> int:
        sign = 1 if GAME.calls.current_player(state) == FIRST else -1
        return max(solution.outcomes(state), key=lambda outcome: sign * outcome.value).move

    assert all_lines(best, side).lost == 0
