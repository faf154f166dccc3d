"""Random games side by side with OpenSpiel's rules, where it is installed."""

from __future__ import annotations

import random

import pytest

import games
from tests.games.common import JIT

pyspiel = pytest.importorskip("pyspiel")


@pytest.mark.parametrize(
    ("spec", "theirs"),
    [
        ("tictactoe", "tic_tac_toe"),
        ("connect_four", "connect_four"),
        ("connect_four:rows=5,columns=4", "connect_four(rows=5,columns=4)"),
        ("connect_four:rows=4,columns=12", "connect_four(rows=4,columns=12)"),
        ("othello", "othello"),
        ("breakthrough", "breakthrough"),
        ("breakthrough:rows=6,columns=5", "breakthrough(rows=6,columns=5)"),
        ("breakthrough:rows=5,columns=4", "breakthrough(rows=5,columns=4)"),
        ("breakthrough:rows=4,columns=16", "breakthrough(rows=4,columns=16)"),
        ("hex:swap=no", "hex"),
        ("hex", "hex(swap=True)"),
        ("hex:size=4", "hex(board_size=4,swap=True)"),
        ("hex:size=2,swap=no", "hex(board_size=2)"),
        ("gomoku", "gomoku(size=12)"),
        ("gomoku", "mnk(m=12,n=12,k=5)"),
        ("gomoku:size=7", "mnk(m=7,n=7,k=5)"),
        ("morris:repetition=none", "nine_mens_morris"),
    ],
)
def test_random_games_agree(spec: str, theirs: str) -> None:
    """Both number cells row by row; that some games' rows begin at the other edge changes no rule."""
    game, other = games.load(spec), pyspiel.load_game(theirs)
    for seed in range(100 if JIT else 5):
        draw = random.Random(seed)
        state, twin = game.initial_state(), other.new_initial_state()
        while not twin.is_terminal():
            assert not game.rules.is_terminal(state)
            assert game.rules.current_player(state) == twin.current_player()
            moves = game.legal_moves(state)
            assert moves == sorted(twin.legal_actions())
            move = draw.choice(moves)
            game.rules.play(state, move)
            twin.apply_action(move)
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == twin.returns()[0]


@pytest.mark.parametrize("name", ["tic_tac_toe", "mnk(m=5,n=5,k=4)", "hex(board_size=4)"])
def test_plain_parameters_go_on_where_files_are_refused(name: str) -> None:
    assert games.load(f"openspiel:{name}", files=False).name == name.split("(")[0]
