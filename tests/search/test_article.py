"""The program of the article on tic-tac-toe, as a player."""

from __future__ import annotations

import numpy as np
import pytest

import games
from games import InvalidInput
from games.rng import new_stream
from games.tictactoe import TicTacToe
from search.players import Seen, player_of
from tests.games.common import JIT, random_game
from tests.search.naive_article import find_move

GAME = games.load("tictactoe")


def answer(position: str, spec: str, seed: int = 1) -> str:
    state = GAME.parse_position(position)
    mover = int(GAME.calls.current_player(state))
    with np.errstate(over="ignore"):
        choice = player_of(spec, GAME).choose(Seen(GAME, state, mover, tuple(GAME.legal_moves(state))), seed)
    return GAME.format_move(state, choice.move)


@pytest.mark.parametrize("final", ["visits", "score"])
def test_it_moves_as_its_slow_twin_does(final: str) -> None:
    assert isinstance(GAME, TicTacToe)
    compared = 0
    for seed in range(12 if JIT else 3):
        for state, legal, _ in random_game(GAME, seed):
            if len(legal) == 1:
                continue
            mover = int(GAME.calls.current_player(state))
            player = player_of(f"article:simulations=150,final={final}", GAME)
            board = [int(state[0] >> cell & 1) + 2 * int(state[1] >> cell & 1) for cell in range(9)]
            with np.errstate(over="ignore"):
                choice = player.choose(Seen(GAME, state, mover, tuple(legal)), seed)
                expected = find_move(board, mover + 1, 150, final == "visits", new_stream(seed))
            assert choice.move == expected
            assert choice.simulations == 150
            compared += 1
    assert compared > 15


def test_it_wins_and_blocks_at_once() -> None:
    assert answer("oo./xx./... x", "article:simulations=300") == "c2"
    assert answer("oo./x../..x x", "article:simulations=300") == "c3"


def test_it_plays_tictactoe_only() -> None:
    with pytest.raises(InvalidInput, match="tictactoe only"):
        player_of("article", games.load("gomoku"))
    with pytest.raises(InvalidInput, match="final"):
        player_of("article:final=mean", GAME)
