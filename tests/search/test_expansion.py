"""Lanes share the untried moves of a node that all of them know."""

from __future__ import annotations

import numpy as np
import pytest

import games
from games.rng import new_stream
from search.engine import engine_of
from search.selection import Knobs
from search.tree import ROOT, Tree, capacity_for, new_tree, num_children
from tests.search.common import KNOBS

GAME = games.load("gomoku:size=5")
LEGAL = set(GAME.legal_moves(GAME.initial_state()))


def lane_knobs(lane: int, lanes: int) -> Knobs:
    return KNOBS._replace(anticipated=lanes - 1, share=lane, num_shares=lanes)


def grow(tree: Tree, knobs: Knobs, simulations: int) -> None:
    engine = engine_of(GAME)
    engine.simulate(
        tree, knobs, GAME.initial_state(), simulations, new_stream(knobs.share), engine.new_workspace()
    )


def tried(tree: Tree) -> list[int]:
    first = int(tree.children[ROOT])
    return [int(move) for move in tree.move[first : first + num_children(tree, ROOT)]]


def known_tree(simulations: int) -> Tree:
    """What all lanes start from."""
    tree = new_tree(capacity_for(2**24, 1000))
    grow(tree, KNOBS, simulations)
    return tree


def added_by(lane: int, lanes: int, known: Tree, simulations: int) -> list[int]:
    """The root's moves that a lane tries in one job, in that order."""
    tree = Tree._make(np.copy(column) for column in known)
    grow(tree, lane_knobs(lane, lanes), simulations)
    return tried(tree)[len(tried(known)) :]


@pytest.mark.parametrize("lanes", [2, 4, 7, 25])
@pytest.mark.parametrize("simulations", [0, 9, 20, 24])
def test_lanes_together_try_all_moves_and_hardly_any_twice(lanes: int, simulations: int) -> None:
    known = known_tree(simulations)
    added = [added_by(lane, lanes, known, 60) for lane in range(lanes)]
    # A lane's first visit may try what is another's.
    assert sum(len(moves) for moves in added) <= len(LEGAL) - simulations + lanes
    assert set(tried(known)).union(*added) == LEGAL


@pytest.mark.parametrize("lanes", [2, 4, 7, 25])
def test_a_lane_tries_its_own_moves_first(lanes: int) -> None:
    known = known_tree(0)
    added = [added_by(lane, lanes, known, 60) for lane in range(lanes)]
    assert sorted(move for moves in added for move in moves) == sorted(LEGAL)


def test_more_lanes_than_moves_leave_the_last_to_whom_it_belongs() -> None:
    known = known_tree(24)
    lanes = 100
    tries = [lane for lane in range(lanes) if added_by(lane, lanes, known, 30)]
    assert 1 <= len(tries) <= lanes // 4


def test_a_rare_node_is_not_left_with_a_move_that_nobody_tries() -> None:
    """With as many visits as it has moves, a lane in six tries what is left at its first visit."""
    known = known_tree(24)
    tries = sum(bool(added_by(lane, 100, known, 1)) for lane in range(100))
    assert tries == pytest.approx(100 / 6, abs=2)
