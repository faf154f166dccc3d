"""Expansion: which of a node's untried moves gets a child. Lanes with hidden information divide them."""

from __future__ import annotations

import numpy as np

from games.jit import Int, inner_njit
from games.rng import Stream, below
from games.rules import Moves
from search.kernel.params import SearchParams
from search.kernel.playouts import winning_move
from search.kernel.stubs import add_untried
from search.kernel.workspace import Workspace
from search.tree.arena import COMPLETE, NO_BLOCK, ROOT, Tree, add_child, num_children


@inner_njit
def always(tree: Tree, params: SearchParams, node: Int, count: Int) -> bool:
    """`search.kernel.stubs.may_expand` where the number of children has no limit."""
    return True


@inner_njit
def add_any(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """`search.kernel.stubs.add_untried`: a uniformly random untried move."""
    return add_child(tree, node, _any_untried(tree, node, work.moves, num_moves, stream)) != NO_BLOCK


@inner_njit
def add_own_share(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """`search.kernel.stubs.add_untried` with hidden information, where work.moves holds untried moves alone.

    Which moves there are differs from one determinization to the next. At a node that was in the snapshot of
    the round, and so is known to all lanes, a lane draws from its share of the list: as many equal parts as
    there are shares.
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
