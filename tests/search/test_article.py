"""The program of the article on tic-tac-toe, as a player."""

from __future__ import annotations

import pytest

import games
from games.rng import new_stream
from games.tictactoe import TicTacToe
from search.players import player_of
from tests.games.common import JIT, random_game
from tests.search.common import seen_in
from tests.search.naive_article import find_move

GAME = games.load("tictactoe")


@pytest.mark.parametrize("final", ["visits", "score"])
def test_it_moves_as_its_slow_twin_does(final: str) -> None:
    assert isinstance(GAME, TicTacToe)
    compared = 0
    for seed in range(12 if JIT else 3):
        for state, legal, _ in random_game(GAME, seed):
            if len(legal) == 1:
                continue
            seen = seen_in(GAME, state)
            board = [int(state[0] >> cell & 1) + 2 * int(state[1] >> cell & 1) for cell in range(9)]
            choice = player_of(f"article:simulations=150,final={final}", GAME).choose(seen, seed)
            assert choice.move == find_move(board, seen.mover + 1, 150, final == "visits", new_stream(seed))
            assert choice.simulations == 150
            compared += 1
    assert compared > 15
