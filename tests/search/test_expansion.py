"""Lanes with hidden information share out a round's visits of a node, and its untried moves."""

from __future__ import annotations

import numpy as np
import pytest

import games
from games.compile.specialise import callable_from_python
from games.rng import new_stream
from search.features import Features
from search.kernel.engine import engine_of
from search.kernel.lazy_snapshot import base_of, begin
from search.kernel.lazy_snapshot import visits_before as compiled_visits_before
from search.kernel.params import SearchParams
from search.tree.arena import ROOT, Tree, children_of
from search.tree.merge import Statistics, snapshot
from tests.games.common import JIT
from tests.search.common import KNOBS, grow, pick, restored

SPEC = "gomoku:size=5"
visits_before = callable_from_python(compiled_visits_before)


def lane_params(lane: int, lanes: int) -> SearchParams:
    return KNOBS._replace(anticipated=lanes - 1, share=lane, num_shares=lanes)


def tried(tree: Tree) -> list[int]:
    return [int(tree.move[child]) for child in children_of(tree, ROOT)]


def known_to_all(simulations: int) -> Statistics:
    """What all lanes start from."""
    return snapshot(grow(SPEC, simulations, 1), 2, 10**6)[0]


@pytest.mark.parametrize("lanes", [2, 7, 25])
@pytest.mark.parametrize("simulations", [0, 5])
def test_lanes_with_hidden_information_try_different_moves(lanes: int, simulations: int) -> None:
    """Each lane draws from its own part of the moves that the node of a snapshot has left."""
    game = games.load("battleship")
    view = game.observation(game.initial_state(), 0)
    engine = engine_of(game, Features(hidden=True))
    tree, work = engine.new_tree(1000), engine.new_workspace()
    engine.simulate(tree, KNOBS, view, simulations, new_stream(1), work)
    known = snapshot(tree, 2, 1000)[0]
    assert known.num_children[0] == simulations
    base, tries = base_of(known), []
    for lane in range(lanes):
        params = lane_params(lane, lanes)
        begin(tree, base, params)
        engine.simulate(tree, params, view, 1, new_stream(lane), work._replace(base=base))
        tries += tried(tree)[simulations:]
    assert len(set(tries)) == len(tries) == lanes
    assert not set(tries) & set(known.move[1:].tolist())


@pytest.mark.parametrize("lanes", [2, 16, 37])
@pytest.mark.parametrize("row", [0, 1, 77, 123_456])
def test_each_lane_has_a_visit_of_its_own(lanes: int, row: int) -> None:
    before = [visits_before(lane_params(lane, lanes), row) for lane in range(lanes)]
    assert sorted(before) == list(range(lanes))
    assert visits_before(KNOBS, row) == 0
    twice = [
        visits_before(lane_params(k, lanes)._replace(anticipated=2 * lanes - 2), row) for k in range(lanes)
    ]
    assert twice == [2 * visits for visits in before]


@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes_that_see_nothing_of_each_other_visit_what_one_would(lanes: int) -> None:
    """Nothing new is learnt here: only visits are given away, in 20 simulations of each lane."""
    known = known_to_all(3000 if JIT else 600)
    alone = restored(known)
    first, count = int(alone.children[ROOT]), len(children_of(alone, ROOT))
    for _ in range(20 * lanes):
        alone.unobserved[first + pick(alone, KNOBS, ROOT, 0)[0]] += 1
        alone.unobserved[ROOT] += 1
    expected = alone.unobserved[first : first + count].copy()
    together, herd = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for lane in range(lanes):
        params = lane_params(lane, lanes)
        for made, offset in ((together, True), (herd, False)):
            tree = restored(known)
            tree.unobserved[ROOT] = lane
            for slot in range(count):
                tree.unobserved[first + slot] = visits_before(params, 1 + slot) if offset else 0
            for _ in range(20):
                slot = pick(tree, params, ROOT, 0)[0]
                made[slot] += 1
                tree.unobserved[first + slot] += lanes
                tree.unobserved[ROOT] += lanes
    assert np.abs(together - expected).max() <= max(2, lanes // 4)
    assert np.abs(herd - expected).max() >= lanes // 2
