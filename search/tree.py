"""The search tree: a struct of arrays in an arena of fixed size, 24 bytes a node
(28 with hidden information, with the game's evaluations, with priors, or with counts beyond 32 bits).

The children of a node lie side by side in one block, in the order in which they were
added; a child that was never visited has no node, unless it has a prior: then all children of a
node are added at once (search/puct.py). When a block is full its children move
to a larger one and the old block waits in a free list for the next node that needs its
size. So a node's index may change when its *parent* gets a child, but its slot (its place
among its siblings) never does: whoever must find a node again later keeps slots.

Values are kept from the first player's viewpoint everywhere; who moves at a node decides
the sign in which its children are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.specialise import cached_njit

BYTES_PER_NODE = 24
AVAILABLE_BYTES = HEURISTIC_BYTES = PRIOR_BYTES = WIDE_BYTES = 4
"""More of them with hidden information, where nodes are evaluated, where they have priors, or for each
kind of counts that is wide."""
ROOT = 0
NO_BLOCK = 0
"""No node has the root as its child, so 0 stands for 'no children' and ends a free list."""

# The fields of `shape`: how many children, whether all legal moves have one, what is proven, and
# whether the children are still rows of a snapshot (search/unfolding.py).
COUNT_MASK = 0x0FFF
COMPLETE = 0x1000
PROOF_SHIFT = 13
FOLDED = 0x8000
MAX_CHILDREN = COUNT_MASK

UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS = 0, 1, 2, 3
"""Proven results; a proven node's value is DRAWN - proof."""

USED, NODES, FULL = 0, 1, 2
"""The fields of `counts`: arena slots handed out, nodes made, whether a node was refused for want of room."""

CAPACITIES = np.array(
    [2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4095],
    dtype=np.int32,
)
"""The sizes that a block of children can have."""
CLASS_OF = np.searchsorted(CAPACITIES, np.arange(MAX_CHILDREN + 1)).astype(np.uint8)
"""The index in CAPACITIES of the block that holds a given number of children."""


class Tree(NamedTuple):
    """A tree in an arena of C slots. Slot 0 is the root."""

    total_value: npt.NDArray[np.float64]
    """[C] W: sum of the returns of all visits, the first player's viewpoint."""
    visits: npt.NDArray[Any]
    """[C] N; int32, or int64 if the tree is wide."""
    unobserved: npt.NDArray[np.int32]
    """[C] O: visits in flight, or expected of other lanes; counted in exploration only."""
    children: npt.NDArray[np.int32]
    """[C] slot of the first child, NO_BLOCK if there is none; in a free block: the next free block;
    in a folded node: its row."""
    move: npt.NDArray[np.uint16]
    """[C] the move that leads here from the parent."""
    shape: npt.NDArray[np.uint16]
    """[C] number of children, COMPLETE, proof << PROOF_SHIFT, and FOLDED."""
    free: npt.NDArray[np.int32]
    """[len(CAPACITIES)] first free block of each size, NO_BLOCK if there is none."""
    counts: npt.NDArray[np.int64]
    """[3] USED, NODES, FULL."""
    available: npt.NDArray[Any]
    """[C] with hidden information, of the type of visits: how often the move was legal when the parent
    was visited; else [1]."""
    heuristic: npt.NDArray[np.float32]
    """[C] where nodes are evaluated (search/heuristics.py): what is known of that, in the first
    player's viewpoint; else [1]."""
    prior: npt.NDArray[np.float32]
    """[C] with an evaluator (search/puct.py): P, the share of the move that leads here in the policy at
    the parent; siblings add up to 1; else [1]."""


def new_tree(
    capacity: int, hidden: bool = False, evaluated: bool = False, priors: bool = False, wide: bool = False
) -> Tree:
    """A tree with nothing but its root, and room for ``capacity`` slots.

    ``hidden``: whether it counts how often moves were available (see search/information_sets.py);
    ``evaluated``: whether it keeps what the game's evaluation says (search/heuristics.py);
    ``priors``: whether its nodes have priors (search/puct.py); ``wide``: whether visits are
    counted in 64 bits.

    The arrays are not touched before they are used, so that an arena costs only what grows in it.
    """
    capacity = max(2, capacity)
    tree = Tree(
        total_value=np.empty(capacity, dtype=np.float64),
        visits=np.empty(capacity, dtype=count_type(wide)),
        unobserved=np.empty(capacity, dtype=np.int32),
        children=np.empty(capacity, dtype=np.int32),
        move=np.empty(capacity, dtype=np.uint16),
        shape=np.empty(capacity, dtype=np.uint16),
        free=np.zeros(len(CAPACITIES), dtype=np.int32),
        counts=np.zeros(3, dtype=np.int64),
        available=np.empty(capacity if hidden else 1, dtype=count_type(wide)),
        heuristic=np.zeros(capacity if evaluated else 1, dtype=np.float32),
        prior=np.zeros(capacity if priors else 1, dtype=np.float32),
    )
    clear(tree)
    return tree


def count_type(wide: bool) -> type[np.signedinteger[Any]]:
    """What visits are counted in."""
    return np.int64 if wide else np.int32


def is_wide(counts: npt.NDArray[Any]) -> bool:
    """Whether these visits are counted in 64 bits."""
    return counts.dtype == count_type(True)


def bytes_per_node(hidden: bool, evaluated: bool = False, priors: bool = False, wide: bool = False) -> int:
    """Bytes of the arena that a slot takes."""
    extra = AVAILABLE_BYTES * hidden + HEURISTIC_BYTES * evaluated + PRIOR_BYTES * priors
    return BYTES_PER_NODE + extra + WIDE_BYTES * wide * (1 + hidden)


@njit
def keeps_heuristics(tree: Tree) -> bool:
    """Whether the tree was made for a search that evaluates nodes."""
    return len(tree.heuristic) > 1


@njit
def has_priors(tree: Tree) -> bool:
    """Whether the tree was made for a search with an evaluator."""
    return len(tree.prior) > 1


@njit
def counts_availability(tree: Tree) -> bool:
    """Whether the tree was made for a game with hidden information."""
    return len(tree.available) > 1


def is_hidden(tree: Tree) -> bool:
    """`counts_availability` for Python: a compiled one is compiled for that, and unpacks every array."""
    return len(tree.available) > 1


def capacity_for(memory_bytes: int, simulations: int, node_bytes: int = BYTES_PER_NODE) -> int:
    """Slots of ``node_bytes`` for a tree that ``simulations`` can fill, within ``memory_bytes``.

    A simulation adds at most one node, and all the blocks that a node's children have been in
    hold less than five slots for each child; so it is enough even if no old block is used again.
    """
    return max(2, min(memory_bytes // node_bytes, 5 * simulations + 1024))


def tree_bytes(tree: Tree) -> int:
    """Bytes of the arena that have been handed out to nodes."""
    hidden, evaluated, priors = is_hidden(tree), len(tree.heuristic) > 1, len(tree.prior) > 1
    return int(tree.counts[USED]) * bytes_per_node(hidden, evaluated, priors, is_wide(tree.visits))


@njit
def _clear_slot(tree: Tree, slot: Int, move: Int) -> None:
    tree.total_value[slot] = 0.0
    tree.visits[slot] = 0
    tree.unobserved[slot] = 0
    tree.children[slot] = NO_BLOCK
    if counts_availability(tree):
        tree.available[slot] = 0
    if keeps_heuristics(tree):
        tree.heuristic[slot] = 0.0
    if has_priors(tree):
        tree.prior[slot] = 0.0
    tree.move[slot] = move
    tree.shape[slot] = 0


@cached_njit
def clear(tree: Tree) -> None:
    """Make the tree a lone root again; modified in place."""
    tree.free[:] = NO_BLOCK
    tree.counts[USED] = 1
    tree.counts[NODES] = 1
    tree.counts[FULL] = 0
    _clear_slot(tree, ROOT, 0)


@njit
def num_children(tree: Tree, node: Int) -> int:
    """How many children the node has."""
    return np.int64(tree.shape[node]) & COUNT_MASK  # type: ignore[return-value]


@njit
def proof(tree: Tree, node: Int) -> int:
    """What is proven of the node: UNPROVEN, FIRST_WINS, DRAWN or SECOND_WINS."""
    return (np.int64(tree.shape[node]) >> PROOF_SHIFT) & 3  # type: ignore[return-value]


def children_of(tree: Tree, node: int) -> range:
    """The slots of the node's children, for callers in Python."""
    first = int(tree.children[node])
    return range(first, first + (int(tree.shape[node]) & COUNT_MASK))


def proof_of(tree: Tree, node: int) -> int:
    """What is proven of the node, for callers in Python."""
    return int(tree.shape[node]) >> PROOF_SHIFT & 3


@njit
def set_proof(tree: Tree, node: Int, result: Int) -> None:
    """Note that the node's value is proven; modified in place. A proof is never taken back."""
    tree.shape[node] |= np.uint16(result << PROOF_SHIFT)


@njit
def reserve_block(tree: Tree, count: Int) -> int:
    """The first slot of a block that holds ``count`` children, or NO_BLOCK when the arena is full."""
    size_class = CLASS_OF[count]
    block = tree.free[size_class]
    if block != NO_BLOCK:
        tree.free[size_class] = tree.children[block]
        return block  # type: ignore[no-any-return]
    block = tree.counts[USED]
    if block + CAPACITIES[size_class] > len(tree.visits):
        tree.counts[FULL] = 1
        return NO_BLOCK
    tree.counts[USED] = block + CAPACITIES[size_class]
    return block  # type: ignore[no-any-return]


@njit
def add_child(tree: Tree, node: Int, move: Int) -> int:
    """Add a child with no visits; its slot, or NO_BLOCK when the arena is full. Modified in place.

    The node's other children may move.
    """
    count = num_children(tree, node)
    first = np.int64(tree.children[node])
    if first == NO_BLOCK:
        first = np.int64(reserve_block(tree, 1))
        if first == NO_BLOCK:
            return NO_BLOCK
        tree.children[node] = first
    elif count == CAPACITIES[CLASS_OF[count]]:
        if count == MAX_CHILDREN:
            return NO_BLOCK
        old = first
        first = np.int64(reserve_block(tree, count + 1))
        if first == NO_BLOCK:
            return NO_BLOCK
        for slot in range(count):
            tree.total_value[first + slot] = tree.total_value[old + slot]
            tree.visits[first + slot] = tree.visits[old + slot]
            tree.unobserved[first + slot] = tree.unobserved[old + slot]
            tree.children[first + slot] = tree.children[old + slot]
            tree.move[first + slot] = tree.move[old + slot]
            tree.shape[first + slot] = tree.shape[old + slot]
            if counts_availability(tree):
                tree.available[first + slot] = tree.available[old + slot]
            if keeps_heuristics(tree):
                tree.heuristic[first + slot] = tree.heuristic[old + slot]
        tree.children[node] = first
        size_class = CLASS_OF[count]
        tree.children[old] = tree.free[size_class]
        tree.free[size_class] = old
    child = first + count
    _clear_slot(tree, child, move)
    tree.shape[node] += np.uint16(1)
    tree.counts[NODES] += 1
    return child  # type: ignore[return-value]


@njit
def add_children(
    tree: Tree, node: Int, moves: npt.NDArray[np.uint16], priors: npt.NDArray[np.float32]
) -> bool:
    """Add children with no visits for all of ``moves`` ([K], K > 0) to a node without any, with their
    ``priors`` ([K]); whether there was room. Modified in place; no other node moves.
    """
    count = len(moves)
    if count > MAX_CHILDREN:
        return False
    first = np.int64(reserve_block(tree, count))
    if first == NO_BLOCK:
        return False
    for slot in range(count):
        _clear_slot(tree, first + slot, moves[slot])
        tree.prior[first + slot] = priors[slot]
    tree.children[node] = first
    tree.shape[node] |= np.uint16(count | COMPLETE)
    tree.counts[NODES] += count
    return True
