"""Expansion: which of a node's untried moves gets a child, and how the lanes of `tree` share them out.

At a node that all lanes know, each move belongs to one of them. Without that, every lane that comes to a
node with one untried move left would have to try it before it may follow what is known of the others: the
fewer are left, the more often the same child is made. So a lane that has tried its own moves goes on to the
best child.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit
from games.rng import Stream, below
from games.rules import Moves
from search.selection import Knobs
from search.tree import ROOT, Tree, num_children

ALL_TRIED = -1
VISITS_A_GROUP = 4
"""A lane that comes to a node for the first time in a job shares the moves with as many groups of lanes as
the node has visits, divided by this. With all lanes, a move could wait for as many visits as there are
lanes."""


@njit
def untried_move(tree: Tree, knobs: Knobs, node: Int, moves: Moves, num_legal: Int, stream: Stream) -> int:
    """A random one of the ``num_legal`` legal moves that have no child yet; there is at least one.

    Or `ALL_TRIED`, if the node has children and what is untried is left to other lanes. ``moves`` may be
    reordered in place.
    """
    if _is_known_to_all(tree, knobs, node):
        move = _untried_of_group(tree, node, moves, num_legal, knobs.share, knobs.num_shares, stream)
        if move != ALL_TRIED:
            return move
        if num_children(tree, node) > 0:
            if np.int64(tree.unobserved[node]) >= knobs.anticipated:
                # This lane was here in this job already, and so, it is expected, were the others.
                return ALL_TRIED
            groups = min(np.int64(knobs.num_shares), np.int64(tree.visits[node]) // VISITS_A_GROUP)
            if groups > 1:
                group = knobs.share * groups // knobs.num_shares
                return _untried_of_group(tree, node, moves, num_legal, group, groups, stream)
    return _any_untried(tree, node, moves, num_legal, stream)


@njit
def own_share(tree: Tree, knobs: Knobs, node: Int, untried: Moves, num_untried: int, stream: Stream) -> int:
    """With hidden information, where any move may be legal only now: a random one of the untried moves, at a
    node that all lanes know one of this lane's share of them."""
    index = below(stream, num_untried)
    if _is_known_to_all(tree, knobs, node):
        index = (num_untried * knobs.share + index) // knobs.num_shares
    return np.int64(untried[index])  # type: ignore[return-value]


@njit
def _is_known_to_all(tree: Tree, knobs: Knobs, node: Int) -> bool:
    """Whether the node was in the snapshot: one that this job made has nothing but its own visits."""
    if knobs.anticipated == 0:
        return False
    return node == ROOT or tree.unobserved[node] < knobs.anticipated * np.int64(tree.visits[node])


@njit
def _any_untried(tree: Tree, node: Int, moves: Moves, num_legal: Int, stream: Stream) -> int:
    while True:
        move = np.int64(moves[below(stream, int(num_legal))])
        if not _is_tried(tree, node, move):
            return move  # type: ignore[return-value]


@njit
def _untried_of_group(
    tree: Tree, node: Int, moves: Moves, num_legal: Int, group: Int, groups: Int, stream: Stream
) -> int:
    """A random untried move among those that belong to that group of lanes, or `ALL_TRIED`."""
    begin = num_legal * group // groups
    end = num_legal * (group + 1) // groups
    num_untried = 0
    for index in range(begin, end):
        move = moves[index]
        if not _is_tried(tree, node, np.int64(move)):
            moves[begin + num_untried] = move
            num_untried += 1
    if num_untried == 0:
        return ALL_TRIED
    return np.int64(moves[begin + below(stream, num_untried)])  # type: ignore[return-value]


@njit
def _is_tried(tree: Tree, node: Int, move: Int) -> bool:
    first = np.int64(tree.children[node])
    tried = False
    for child in range(first, first + num_children(tree, node)):
        tried |= tree.move[child] == move
    return tried
