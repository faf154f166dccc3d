"""The agent of a thesis on mill games, as a player."""

from __future__ import annotations

import math

import numpy as np
import pytest

import games
from games import InvalidInput
from games.rng import new_stream
from search.players import Seen, player_of
from search.players.morris_agent import ACTION, VICTORIES, VISITS, printed_search
from tests.games.common import JIT
from tests.search.naive_morris_agent import Agent

NINE, OPENING = "morris:cap=60", ".../.../.../....../.../.../... w 9 9 0"
SMALL = "morris:variant=three,move=any"
POSITIONS = [
    (NINE, OPENING),
    (NINE, "ww./.../b../....../.../.../b.b w 5 5 8"),
    (NINE, "www/.../b../....../.../b../bb. wx 5 5 8"),
    (NINE, "w.w/w.b/.bw/b.w.b./.w./b../bwb w 0 0 30"),
    ("morris:repetition=none,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 0 0 40"),
    ("morris:variant=lasker,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 4 4 20"),
    ("morris:variant=six,cap=30", "w.w/b.b/w..b/.bw/w.b w 0 0 20"),
    (SMALL, ".../.../... w 3 3 0"),
    (SMALL, "ww./b.b/.bw w 0 0 8"),
    ("morris:variant=three", "w.b/.w./b.. b 1 1 4"),
]


def chosen(spec: str, position: str, player: str) -> set[str]:
    """The moves that the player chooses with several seeds."""
    game = games.load(spec)
    state = game.parse_position(position)
    seen = Seen(game, state, int(game.calls.current_player(state)), tuple(game.legal_moves(state)))
    with np.errstate(over="ignore"):
        choices = [player_of(player, game).choose(seen, seed) for seed in range(60)]
    return {game.format_move(state, choice.move) for choice in choices}


@pytest.mark.parametrize("options", [(True, False, True), (False, True, True), (True, False, False)])
@pytest.mark.parametrize(("spec", "position"), POSITIONS)
def test_it_grows_the_tree_of_its_slow_twin(
    spec: str, position: str, options: tuple[bool, bool, bool]
) -> None:
    game, (prune, integer, first) = games.load(spec), options
    state, simulations = game.parse_position(position), 30 if JIT else 8
    twin = Agent(game, simulations, prune, integer, first, new_stream(5))
    with np.errstate(over="ignore"):
        unvisited = math.inf if first else 0.0
        move, tree = printed_search(
            state, simulations, math.sqrt(2), prune, integer, unvisited, new_stream(5)
        )
        assert move == twin.find_move(state)
    assert move in game.legal_moves(state)
    expected = [(node.code, node.visits, node.victories) for node in twin.nodes[1:]]
    assert list(map(tuple, tree[1:, [ACTION, VISITS, VICTORIES]].tolist())) == expected[: len(tree) - 1]


def test_it_looks_at_mills_then_at_blocks_and_at_all_removals() -> None:
    few = "morris-agent:simulations=1"
    assert chosen("morris", "ww./.../b../....../.../.../b.b w 5 5 8", few) == {"g7"}
    assert chosen("morris", "w../.w./b../....../.../.../b.b w 5 5 8", few) == {"d1"}
    assert chosen("morris", "www/.../b../....../.../b../bb. wx 5 5 8", few) == {"xb2", "xa1", "xd1"}
    assert len(chosen("morris", "ww./.../b../....../.../.../b.b w 5 5 8", few + ",prune=no")) > 10


def test_of_equal_moves_the_last_is_never_drawn() -> None:
    """The last of the five empty points, in the order of the rules, is the centre."""
    one = "morris-agent:simulations=1"
    assert chosen(SMALL, "w.b/.../b.w w 1 1 4", one) == {"b3", "a2", "b1", "c2"}


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="plays morris only"):
        player_of("morris-agent", games.load("gomoku"))
    for option in ("c=-1", "c=nan", "prune=maybe", "division=float", "unvisited=last", "simulations=0"):
        with pytest.raises(InvalidInput, match=f"player option {option.partition('=')[0]}"):
            player_of(f"morris-agent:{option}", games.load("morris"))
