"""Honest shooters at Battleship: what they make of answers, and that nothing else reaches them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import games
from games.battleship import rules
from games.game import FIRST
from games.rng import new_stream
from search.players import Observation, player_of
from search.players.shooters import AFLOAT, MISS, SUNK, UNTRIED, Shooter
from tests.games.common import JIT, start
from tests.search.common import seen_in
from tests.search.test_players import SHOOTERS, SHOT_AT


@pytest.mark.parametrize("name", SHOOTERS)
def test_a_shot_does_not_depend_on_where_the_fleet_is(name: str) -> None:
    game = games.load(SHOT_AT[1])
    player, draw = player_of(name, game), random.Random(5)
    state = start(game, 5)
    for _ in range(24):
        game.calls.play(state, draw.choice(game.legal_moves(state)))
    mover = game.calls.current_player(state)
    view = game.observation(state, mover)
    shots = set()
    for seed in range(6):
        twin = state.copy()
        game.calls.determinize(view, twin, new_stream(seed))
        shots.add(player.choose(seen_in(game, twin), 9).move)
    assert len(shots) == 1


def _known(moves: str, spec: str = "battleship:task=solo,announce_sunk=yes,size=5,fleet=3-2-1") -> list[int]:
    game = games.load(spec)
    shooter = player_of("density", game)
    assert isinstance(shooter, Shooter)
    state = game.initial_state()
    game.play_text(state, moves.split())
    return shooter.known(Observation(game, game.observation(state, FIRST), FIRST, ())).cells.tolist()


def test_cells_of_a_sunk_ship_are_known_if_there_is_one_way_to_have_sunk_it() -> None:
    cells = _known("a1 hit b1 sunk-2a e5 miss")
    assert cells[:3] == [SUNK, SUNK, UNTRIED] and cells[24] == MISS
    # The ship of two at b1 lies towards a1 or towards c1, and nobody has said where.
    cells = _known("a1 hit c1 hit b1 sunk-2a")
    assert cells[:3] == [AFLOAT, SUNK, AFLOAT]
    # What is hit only afterwards is of another ship.
    cells = _known("a1 hit b1 sunk-2a c1 hit")
    assert cells[:3] == [SUNK, SUNK, AFLOAT]
    # The single cell that another ship takes is not of this one.
    cells = _known("c1 sunk-1a a1 hit b1 sunk-2a")
    assert cells[:3] == [SUNK, SUNK, SUNK]


@pytest.mark.skipif(not JIT, reason="whole games take long uncompiled")
def test_the_more_a_shooter_knows_the_fewer_shots_it_needs() -> None:
    game = games.load(SHOT_AT[0])
    means = []
    for name in ("random", "hunt", "density"):
        player, shots = player_of(name, game), []
        for seed in range(20):
            state, number = start(game, seed), 0
            while not game.calls.is_terminal(state):
                legal, number = game.legal_moves(state), number + 1
                seen = seen_in(game, state)
                game.calls.play(state, player.choose(seen, number).move if len(legal) > 1 else legal[0])
                game.calls.play(state, game.legal_moves(state)[0])
            shots.append(int(state[rules.BLOCK + rules.SHOTS]))
        means.append(np.mean(shots))
    assert means[0] > 85 > means[1] > 52 > means[2] > 38
