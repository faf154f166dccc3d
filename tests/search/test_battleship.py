"""Searches of Battleship are honest: swap the true fleets for others that fit, and nothing changes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import games
from games.errors import InvalidInput
from games.rng import new_stream
from search.request import SearchRequest
from tests.games.common import JIT, start
from tests.search.common import run_search

SIMULATIONS = 3000 if JIT else 60


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
@pytest.mark.parametrize(
    "spec",
    [
        "battleship:task=solo,announce_sunk=yes",
        "battleship:size=6,fleet=3-2-2,placement=sequential",
    ],
)
def test_a_search_does_not_know_the_true_fleet(spec: str, strategy: str) -> None:
    game = games.load(spec)
    state, draw = start(game, 5), random.Random(5)
    for _ in range(24):
        game.rules.play(state, draw.choice(game.legal_moves(state)))
    view, stream = game.observation(state, game.rules.current_player(state)), new_stream(9)
    positions = {game.format_position(state)}
    other = state.copy()
    while len(positions) < 3:
        game.calls.determinize(view, other, stream)
        positions.add(game.format_position(other))
    results = [
        run_search(
            SearchRequest(
                spec, position=text, strategy=strategy, lanes=4, simulations=SIMULATIONS, seed=3, memory_mb=64
            )
        )[0]
        for text in sorted(positions)
    ]
    assert len({result.digest for result in results}) == 1
    assert results[0].simulations == SIMULATIONS


def test_a_search_finds_the_only_cell_that_is_left() -> None:
    """Three cells of a ship of three lie in a corner of the untried ones: one cell is hit for sure."""
    spec = "battleship:task=solo,size=4,fleet=3"
    text = "4/4/o3/xx2"
    result, _ = run_search(
        SearchRequest(spec, position=text, strategy="root", lanes=2, simulations=SIMULATIONS)
    )
    assert result.answer.best_move == "c1"


def test_a_search_waits_for_the_answer() -> None:
    with pytest.raises(InvalidInput) as caught:
        run_search(SearchRequest("battleship", moves=("e5",), simulations=9))
    assert caught.value.field == "moves"
    view = games.load("battleship").observation(games.load("battleship").initial_state(), games.FIRST)
    assert np.issubdtype(view.dtype, np.integer)
