"""Random games of two players side by side with their slow twins, which are written from the rules."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import games
from games import Game
from tests.games.common import JIT, SPECS
from tests.games.naive import NaiveGomoku
from tests.games.naive_morris import NaiveMorris
from tests.games.naive_thud import NaiveThud

KINDS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "gomoku": (lambda game: NaiveGomoku(game.size, game.candidates, game.overline), 8),
    "morris": (lambda game: NaiveMorris(dict(game.options)), 30),
    "thud": (lambda game: NaiveThud(dict(game.options)), 2),
}
"""By game, how its twin is made, and how many games are played."""
THUD = [
    "thud",
    "thud:ruleset=seed",
    "thud:ruleset=seed,first=trolls,agreement_moves=30,count=plies",
    "thud:first=trolls,troll_capture=one_or_none,no_capture=25",
    "thud:ruleset=seed,shove_requires_capture=yes,agreement_moves=9",
    "thud:shove_requires_capture=no,end=annihilation,turns=120",
    "thud:ruleset=seed,troll_capture=one_or_none,agreement_moves=20",
]
TWINS = [
    *(spec for spec in SPECS if spec.partition(":")[0] in KINDS and not spec.startswith("thud")),
    *("gomoku:size=5,overline=not", "gomoku:size=8,candidates=3"),
    *(pytest.param(spec, marks=pytest.mark.slow) for spec in THUD),
]


@pytest.mark.parametrize("spec", TWINS)
def test_random_games_agree_with_the_naive_twin(spec: str) -> None:
    """Legal moves, who moves, pieces, ends and returns. What only some positions allow is often played."""
    game = games.load(spec)
    new_twin, number = KINDS[game.name]
    if game.max_moves > 200:
        number = max(2, number // 10)
    for seed in range(number if JIT else 1 if game.name == "thud" else 2):
        draw = random.Random(seed)
        state, twin = game.initial_state(), new_twin(game)
        while legal := twin.moves():
            assert not game.rules.is_terminal(state)
            assert game.rules.current_player(state) == twin.mover
            moves = game.legal_moves(state)
            texts = {game.format_move(state, move): move for move in moves}
            assert texts.keys() == legal.keys() and len(texts) == len(moves)
            assert twin.score is None or game.rules.returns(state) == twin.score
            rare = sorted(text for text in texts if game.name == "thud" and "x" in text)
            text = draw.choice(rare if rare and draw.random() < 0.3 else sorted(texts))
            game.rules.play(state, texts[text])
            twin.play(text)
            assert owners_of(game, state) == twin.pieces
        assert game.rules.is_terminal(state) and game.legal_moves(state) == []
        assert game.rules.returns(state) == twin.score


def owners_of(game: Game, state: games.State) -> dict[tuple[int, int], int]:
    """By row from the bottom and column."""
    signs = game.owners(state[None])[0]
    return {(int(r), int(c)): int(signs[r, c]) - 1 for r, c in np.argwhere(signs)}
