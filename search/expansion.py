"""Expansion: which of a node's untried moves gets a child, and how the lanes of `tree` share them out.

At a node that all lanes know, unobserved visits are those that other lanes make of it before one's own
(search/unfolding.py): so they number one's own visit. Untried moves stand in one order for all lanes, and
visit number n, counted from 0, tries the n-th. Whoever comes after the last of them goes to the best child.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import GOLDEN, Stream, below
from games.rules import Moves
from search.selection import Knobs
from search.tree import ROOT, Tree, num_children

ALL_TRIED = -1
_STEP = 65_521
"""A prime above any number of moves: so many steps round the list come by every move once."""


@njit
def untried_move(
    tree: Tree,
    knobs: Knobs,
    path: npt.NDArray[np.int32],
    depth: Int,
    moves: Moves,
    num_legal: Int,
    marks: npt.NDArray[np.uint16],
    stream: Stream,
) -> int:
    """One of the ``num_legal`` legal moves of ``path[depth]`` that have no child yet; there is at least one.

    Or `ALL_TRIED`, if the node has children and what is untried is left to other lanes. ``marks`` ([65,536],
    all zero, and so again afterwards) is scratch.
    """
    node = np.int64(path[depth])
    if not _is_known_to_all(tree, knobs, node):
        return _any_untried(tree, node, moves, num_legal, stream)
    count = num_children(tree, node)
    number = np.int64(tree.unobserved[node])
    if number >= num_legal - count:
        if count > 0:
            return ALL_TRIED
        # Its children are being made, by lanes that this one hears of later.
        number %= np.int64(num_legal)
    first = np.int64(tree.children[node])
    for child in range(first, first + count):
        marks[tree.move[child]] = 1
    place = np.int64(_place_in_order(tree, knobs, path, depth) % np.uint64(num_legal))
    step = np.int64(_STEP) % np.int64(num_legal)
    move = np.int64(moves[place])
    while marks[move] != 0 or number > 0:
        number -= marks[move] == 0
        place += step
        if place >= num_legal:
            place -= np.int64(num_legal)
        move = np.int64(moves[place])
    for child in range(first, first + count):
        marks[tree.move[child]] = 0
    return move  # type: ignore[return-value]


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
def _is_tried(tree: Tree, node: Int, move: Int) -> bool:
    first = np.int64(tree.children[node])
    tried = False
    for child in range(first, first + num_children(tree, node)):
        tried |= tree.move[child] == move
    return tried


@njit
def _place_in_order(tree: Tree, knobs: Knobs, path: npt.NDArray[np.int32], depth: Int) -> np.uint64:
    """Where the order of a node's moves begins: the same for all lanes, another for each node."""
    place = np.uint64(knobs.order) * GOLDEN
    for d in range(1, depth + 1):
        place = (place + np.uint64(tree.move[path[d]]) + np.uint64(1)) * GOLDEN
    return place >> np.uint64(32)
