"""Searches of OpenSpiel's games, where it is installed."""

from __future__ import annotations

import random

import pytest

import games
import search
from games.game import CHANCE, Game
from tests.games.common import JIT

# Here too: a module that was skipped is not imported a second time.
pytest.importorskip("pyspiel")
from tests.games.test_openspiel import HIDING, MORE_PLAYERS, PERFECT


def opening(game: Game, seed: int) -> tuple[str, ...]:
    """What chance does before the first player moves."""
    draw, state = random.Random(seed), game.initial_state()
    texts: list[str] = []
    while game.calls.current_player(state) == CHANCE:
        weights = game.chance_weights(state)
        move = draw.choices(list(weights), list(weights.values()))[0]
        texts.append(game.format_move(state, move))
        game.calls.play(state, move)
    return tuple(texts)


@pytest.mark.parametrize("strategy", ["leaf" if JIT else "tree"])
@pytest.mark.parametrize("name", sorted({*PERFECT, *HIDING, *MORE_PLAYERS} - {"yacht(players=3)"}))
def test_every_game_is_searched(name: str, strategy: str) -> None:
    """By tree, which runs these games as plain Python in any case; by leaf, for which coordinators have
    kernels of each."""
    game = games.load(f"openspiel:{name}")
    moves = opening(game, 1)
    # A game of yacht draws from 7,776 outcomes up to 36 times for each player.
    simulations = 10 if name.startswith("yacht") else 200
    request = search.SearchRequest(
        game=game.spec, moves=moves, simulations=simulations, strategy=strategy, lanes=2
    )
    result = search.run(request)
    state = game.initial_state()
    game.play_text(state, moves)
    assert result.simulations == simulations
    assert result.answer.best_move in [game.format_move(state, move) for move in game.legal_moves(state)]


def test_a_search_does_not_depend_on_what_is_hidden() -> None:
    game = games.load("openspiel:kuhn_poker")
    first, *others = [
        search.run(search.SearchRequest(game=game.spec, moves=deal, simulations=200, strategy="tree"))
        for deal in (("Deal:0", "Deal:1"), ("Deal:0", "Deal:2"), ("Deal:1", "Deal:2"))
    ]
    assert others[0].digest == first.digest != others[1].digest


@pytest.mark.slow
def test_a_line_of_moves_can_be_played_where_other_cards_are_legal_in_other_deals() -> None:
    game = games.load("openspiel:oh_hell")
    for seed in range(5):
        moves = opening(game, seed)
        request = search.SearchRequest(game=game.spec, moves=moves, simulations=500, strategy="tree")
        state = game.initial_state()
        game.play_text(state, [*moves, *search.run(request).answer.pv])
