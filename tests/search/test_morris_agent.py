"""The agent of a thesis on mill games, as a player."""

from __future__ import annotations

import math

import pytest

import games
from games.rng import new_stream
from search.players.morris_agent import ACTION, VICTORIES, VISITS, printed_search
from tests.games.common import JIT
from tests.search.common import chosen
from tests.search.naive_morris_agent import Agent

NINE, SMALL = "morris:cap=60", "morris:variant=three,move=any"
MILL, BLOCK = "ww./.../b../....../.../.../b.b w 5 5 8", "w../.w./b../....../.../.../b.b w 5 5 8"
REMOVAL = "www/.../b../....../.../b../bb. wx 5 5 8"
POSITIONS = [
    (NINE, ".../.../.../....../.../.../... w 9 9 0"),
    (NINE, REMOVAL),
    (NINE, "w.w/w.b/.bw/b.w.b./.w./b../bwb w 0 0 30"),
    ("morris:repetition=none,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 0 0 40"),
    ("morris:variant=lasker,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 4 4 20"),
    ("morris:variant=six,cap=30", "w.w/b.b/w..b/.bw/w.b w 0 0 20"),
    ("morris:variant=seven,cap=30", "w.w/b.b/w.w.b/.bw/w.b w 0 0 20"),
    (SMALL, "ww./b.b/.bw w 0 0 8"),
    ("morris:variant=three", "w.b/.w./b.. b 1 1 4"),
]


@pytest.mark.slow
@pytest.mark.parametrize("options", [(True, False, True), (False, True, True), (True, False, False)])
@pytest.mark.parametrize(("spec", "position"), POSITIONS)
def test_it_grows_the_tree_of_its_slow_twin(spec: str, position: str, options: tuple[bool, ...]) -> None:
    game, (prune, integer, first) = games.load(spec), options
    state, simulations = game.parse_position(position), 30 if JIT else 8
    twin = Agent(game, simulations, prune, integer, first, new_stream(5))
    rest = (math.sqrt(2), prune, integer, math.inf if first else 0.0)
    move, tree = printed_search(state, simulations, *rest, new_stream(5))
    assert move == twin.find_move(state)
    assert move in game.legal_moves(state)
    expected = [[node.action, node.visits, node.victories] for node in twin.nodes[1:]]
    assert tree[1:, [ACTION, VISITS, VICTORIES]].tolist() == expected


def drawn(spec: str, position: str, options: str = "") -> set[str]:
    """The moves that the agent chooses after one simulation, whatever the seed."""
    player = f"morris-agent:simulations=1{options}"
    return {chosen(player, spec, position, seed)[0] for seed in range(60)}


def test_it_looks_at_mills_then_at_blocks_and_at_all_removals() -> None:
    assert drawn("morris", MILL) == {"g7"}
    assert drawn("morris", BLOCK) == {"d1"}
    assert drawn("morris", REMOVAL) == {"xb2", "xa1", "xd1"}
    assert len(drawn("morris", MILL, ",prune=no")) > 10


def test_of_equal_moves_the_last_is_never_drawn() -> None:
    """The last of the five empty points, in the order of the rules, is the centre."""
    assert drawn(SMALL, "w.b/.../b.w w 1 1 4") == {"b3", "a2", "b1", "c2"}
