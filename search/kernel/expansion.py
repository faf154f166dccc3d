"""Expansion: which of a node's untried moves gets a child, and how the lanes of `tree` divide them.

A node that was in the snapshot of a round is known to all lanes. Its unobserved visits are those that other
lanes are expected to make before this lane's next one (search/kernel/lazy_snapshot.py), so they number that
visit. All lanes keep the node's untried moves in one order, and visit number n, counted from 0, tries the
n-th of them. Visits after the last untried move go to the best child.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int, inner_njit
from games.rng import GOLDEN, Stream, below
from games.rules import Moves
from search.kernel.params import SearchParams
from search.kernel.playouts import winning_move
from search.kernel.stubs import add_untried
from search.kernel.workspace import Workspace
from search.tree.arena import COMPLETE, NO_BLOCK, ROOT, Tree, add_child, num_children

ALL_TRIED = -1
_STEP = 65_521
"""A prime above any number of moves: steps of this size round a list come by every move once."""


@inner_njit
def always(tree: Tree, params: SearchParams, node: Int, count: Int) -> bool:
    """`search.kernel.stubs.may_expand` where the number of children has no limit."""
    return True


@inner_njit
def add_shared(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """`search.kernel.stubs.add_untried`: a random untried move, or the one that the lanes' order says."""
    move = untried_move(tree, params, work.nodes, depth, work.moves, num_moves, work.slot_of, stream)
    return move != ALL_TRIED and add_child(tree, node, move) != NO_BLOCK


@inner_njit
def add_own_share(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """`search.kernel.stubs.add_untried` with hidden information, where work.moves holds untried moves alone.

    Which moves there are differs from one determinization to the next, so lanes can keep no order. At a node
    known to all lanes, a lane draws from its share of the list: as many equal parts as there are shares.
    """
    index: Int = below(stream, num_moves)  # type: ignore[arg-type]
    if _is_known_to_all(tree, params, node):
        index = (num_moves * params.share + index) // params.num_shares
    return add_child(tree, node, np.int64(work.moves[index])) != NO_BLOCK


def add_decisive(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """Generic: `search.kernel.stubs.add_untried` where a move that wins at once is the only one tried.

    Of other moves, what is bound to `add_untried` chooses one.
    """
    if num_children(tree, node) == 0:
        move = winning_move(work.state, work, num_moves)  # type: ignore[arg-type]
        if move >= 0:
            if add_child(tree, node, move) == NO_BLOCK:
                return False
            # No other move is of interest, so it is all of them.
            tree.shape[node] |= np.uint16(COMPLETE)
            return True
    return add_untried(tree, params, node, depth, num_moves, work, stream)  # type: ignore[arg-type]


@inner_njit
def untried_move(
    tree: Tree,
    params: SearchParams,
    path: npt.NDArray[np.int32],
    depth: Int,
    moves: Moves,
    num_legal: Int,
    marks: npt.NDArray[np.uint16],
    stream: Stream,
) -> int:
    """One of the ``num_legal`` legal moves of ``path[depth]`` that have no child; there is at least one.

    ALL_TRIED if the node has children and its untried moves are left to other lanes. ``marks`` ([65,536],
    all zero before and after) is scratch.
    """
    node = np.int64(path[depth])
    if not _is_known_to_all(tree, params, node):
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
    start = _start_of_order(tree, params, path, depth)
    move = _unmarked(moves, num_legal, marks, start, number)
    for child in range(first, first + count):
        marks[tree.move[child]] = 0
    return move


@inner_njit
def _unmarked(
    moves: Moves, num_legal: Int, marks: npt.NDArray[np.uint16], start: np.uint64, number: Int
) -> int:
    """Of the first ``num_legal`` moves without a mark the one at place ``number`` in the lanes' order."""
    place = np.int64(start % np.uint64(num_legal))
    step = np.int64(_STEP) % np.int64(num_legal)
    move = np.int64(moves[place])
    while marks[move] != 0 or number > 0:
        number -= marks[move] == 0
        place += step
        if place >= num_legal:
            place -= np.int64(num_legal)
        move = np.int64(moves[place])
    return move  # type: ignore[return-value]


@inner_njit
def _is_known_to_all(tree: Tree, params: SearchParams, node: Int) -> bool:
    """Whether the node was in the snapshot: one that this job made has nothing but its own visits."""
    if params.anticipated == 0:
        return False
    return node == ROOT or tree.unobserved[node] < params.anticipated * np.int64(tree.visits[node])


@inner_njit
def _any_untried(tree: Tree, node: Int, moves: Moves, num_legal: Int, stream: Stream) -> int:
    """A uniformly random untried move: legal moves are drawn until one has no child."""
    while True:
        move = np.int64(moves[below(stream, int(num_legal))])
        if not is_tried(tree, node, move):
            return move  # type: ignore[return-value]


@inner_njit
def is_tried(tree: Tree, node: Int, move: Int) -> bool:
    """Whether the node has a child for the move."""
    first = np.int64(tree.children[node])
    tried = False
    for child in range(first, first + num_children(tree, node)):
        tried |= tree.move[child] == move
    return tried


@inner_njit
def _start_of_order(tree: Tree, params: SearchParams, path: npt.NDArray[np.int32], depth: Int) -> np.uint64:
    """Hash of the moves that lead to path[depth]: where in the list of moves the lanes' order begins."""
    place = np.uint64(params.order) * GOLDEN
    for d in range(1, depth + 1):
        place = (place + np.uint64(tree.move[path[d]]) + np.uint64(1)) * GOLDEN
    return place >> np.uint64(32)
