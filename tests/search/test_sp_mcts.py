"""The peer for SameGame: its lines are worth what it says, and on small boards the best there is."""

from __future__ import annotations

import pytest

import games
from tests.games.common import JIT, best_value
from tests.search.sp_mcts import solve

SMALL = "samegame:columns=4,rows=4,colours=3,seed={}"


@pytest.mark.skipif(not JIT, reason="needs thousands of playouts")
@pytest.mark.parametrize("seed", range(3))
def test_the_peer_finds_the_best_line_of_a_small_board(seed: int) -> None:
    points, line = solve(seed, 2_000, 2, SMALL)
    game = games.load(SMALL.format(seed))
    state = game.initial_state()
    for move in line:
        assert move in game.legal_moves(state)
        game.calls.play(state, move)
    assert game.calls.is_terminal(state)
    assert points == game.calls.returns(state) == best_value(game, game.initial_state(), {})
