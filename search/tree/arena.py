"""The search tree: a struct of arrays in an arena of fixed size, 24 bytes a node or more (`TreeLayout`).

The children of a node lie side by side in one block, in the order in which they were
added; a move that was never visited has no node, unless it has a prior: then all children of a
node are added at once (search/kernel/puct.py). When a block is full its children move
to a larger one, and the old block waits in a free list for the next node that needs its
size. So a node's index may change when its *parent* gets a child, but its place among its
siblings never does: code that must find a node again later keeps those places.

With one player or two, values are kept from the first player's viewpoint; who moves at a node decides
the sign in which its children are compared. With three or more, see search/kernel/backup.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit

_SPARE_SLOTS = 1024


class TreeLayout(NamedTuple):
    """The form of a search's trees and snapshots; the fields say what nodes keep beside visits and values."""

    hidden: bool = False
    """How often their moves were available: with hidden information (search/kernel/select.py)."""
    evaluated: bool = False
    """What the game's evaluation says of them (search/kernel/backup.py)."""
    priors: bool = False
    """Priors, from an evaluator (search/kernel/puct.py)."""
    wide: bool = False
    """Visits in 64 bits instead of 32."""

    @property
    def count_type(self) -> type[np.signedinteger[Any]]:
        """The type in which visits are counted."""
        return np.int64 if self.wide else np.int32

    @property
    def columns(self) -> dict[str, type[np.number[Any]]]:
        """The fields of Tree that have an entry for each slot, and their types."""
        columns: dict[str, type[np.number[Any]]] = {
            "total_value": np.float64,
            "visits": self.count_type,
            "unobserved": np.int32,
            "children": np.int32,
            "move": np.uint16,
            "shape": np.uint16,
        }
        if self.hidden:
            columns["available"] = self.count_type
        if self.evaluated:
            columns["heuristic"] = np.float32
        if self.priors:
            columns["prior"] = np.float32
        return columns

    @property
    def bytes_per_node(self) -> int:
        """Bytes that a slot of the arena takes."""
        return sum(np.dtype(dtype).itemsize for dtype in self.columns.values())

    def capacity_for(self, memory_bytes: int, nodes: int) -> int:
        """Slots of an arena for a tree of up to ``nodes`` nodes, within ``memory_bytes``; at least 2.

        All the blocks that a node's children have been in hold less than five slots for each child; so it is
        enough even if no old block is used again.
        """
        return max(2, min(memory_bytes // self.bytes_per_node, 5 * nodes + _SPARE_SLOTS))


PLAIN_LAYOUT = TreeLayout()
"""Visits and values alone, counted in 32 bits."""


ROOT = 0
NO_BLOCK = 0
"""No node has the root as its child, so 0 stands for no children and ends a free list."""

# The fields of `shape`: how many children, whether all legal moves have one, what is proven, and
# whether the children are still rows of a snapshot (search/kernel/lazy_snapshot.py).
COUNT_MASK = 0x0FFF
COMPLETE = 0x1000
PROOF_SHIFT = 13
LAZY = 0x8000
MAX_CHILDREN = COUNT_MASK

UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS = 0, 1, 2, 3
"""Proven results; a proven node's value is DRAWN - proof."""

USED, NODES, FULL = 0, 1, 2
"""Places in `counts`: slots handed out, nodes made, and 1 once a node was refused for want of room."""

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
    """[C] W: sum of the returns of all visits, the first player's viewpoint; with rewards, or three or more
    players, as search/kernel/backup.py says."""
    visits: npt.NDArray[Any]
    """[C] N; int32, or int64 if the tree is wide."""
    unobserved: npt.NDArray[np.int32]
    """[C] O: visits in flight, or expected of other lanes; counted in exploration only."""
    children: npt.NDArray[np.int32]
    """[C] slot of the first child, or NO_BLOCK. In the first slot of a free block: the next free block. In a
    lazy node: its row of the snapshot."""
    move: npt.NDArray[np.uint16]
    """[C] the move that leads here from the parent."""
    shape: npt.NDArray[np.uint16]
    """[C] number of children, COMPLETE, proof << PROOF_SHIFT, and LAZY."""
    free: npt.NDArray[np.int32]
    """[len(CAPACITIES)] first free block of each size, NO_BLOCK if there is none."""
    counts: npt.NDArray[np.int64]
    """[3] USED, NODES, FULL."""
    available: npt.NDArray[Any]
    """[C] N': how often the move was legal when the parent was visited, of the type of visits; [1] unless the
    layout is hidden."""
    heuristic: npt.NDArray[np.float32]
    """[C] the game's evaluation, or its minimax below the node, the first player's viewpoint; [1] unless the
    layout is evaluated."""
    prior: npt.NDArray[np.float32]
    """[C] P: the share of the move in the policy at the parent; siblings add up to 1. [1] unless the layout
    has priors."""


Kept = Sequence[tuple[Tree, int]]
"""Trees of a search, each with the node from which another search goes on."""


def new_tree(capacity: int, layout: TreeLayout = PLAIN_LAYOUT) -> Tree:
    """A tree with nothing but its root, and room for ``capacity`` slots, at least 2.

    The arrays are not touched before they are used, so that an arena costs only what grows in it.
    """
    capacity = max(2, capacity)
    columns = {name: np.empty(capacity, dtype=dtype) for name, dtype in layout.columns.items()}
    absent: dict[str, npt.NDArray[Any]] = {
        "available": np.zeros(1, dtype=layout.count_type),
        "heuristic": np.zeros(1, dtype=np.float32),
        "prior": np.zeros(1, dtype=np.float32),
    }
    for column in columns.values():
        column[ROOT] = 0
    return Tree(
        **(absent | columns),
        free=np.zeros(len(CAPACITIES), dtype=np.int32),
        counts=np.array([1, 1, 0], dtype=np.int64),
    )


def layout_of(tree: Tree) -> TreeLayout:
    """The layout that the tree was made with."""
    return TreeLayout(
        hidden=len(tree.available) > 1,
        evaluated=len(tree.heuristic) > 1,
        priors=len(tree.prior) > 1,
        wide=tree.visits.dtype == np.int64,
    )


@inner_njit
def counts_availability(tree: Tree) -> bool:
    """Whether nodes keep how often their moves were available (`TreeLayout.hidden`)."""
    return len(tree.available) > 1


def tree_bytes(tree: Tree) -> int:
    """Bytes of the arena that have been handed out to nodes."""
    return int(tree.counts[USED]) * layout_of(tree).bytes_per_node


@inner_njit
def _clear_slot(tree: Tree, slot: Int, move: Int) -> None:
    tree.total_value[slot] = 0.0
    tree.visits[slot] = 0
    tree.unobserved[slot] = 0
    tree.children[slot] = NO_BLOCK
    if counts_availability(tree):
        tree.available[slot] = 0
    if len(tree.heuristic) > 1:
        tree.heuristic[slot] = 0.0
    if len(tree.prior) > 1:
        tree.prior[slot] = 0.0
    tree.move[slot] = move
    tree.shape[slot] = 0


@inner_njit
def _copy_slot(tree: Tree, old: Int, into: Tree, new: Int) -> None:
    """Write all of a node to a slot of a tree of the same layout."""
    into.total_value[new] = tree.total_value[old]
    into.visits[new] = tree.visits[old]
    into.unobserved[new] = tree.unobserved[old]
    into.children[new] = tree.children[old]
    into.move[new] = tree.move[old]
    into.shape[new] = tree.shape[old]
    if counts_availability(tree):
        into.available[new] = tree.available[old]
    if len(tree.heuristic) > 1:
        into.heuristic[new] = tree.heuristic[old]
    if len(tree.prior) > 1:
        into.prior[new] = tree.prior[old]


@cached_njit
def clear(tree: Tree) -> None:
    """Make the tree a lone root again; modified in place."""
    tree.free[:] = NO_BLOCK
    tree.counts[USED] = 1
    tree.counts[NODES] = 1
    tree.counts[FULL] = 0
    _clear_slot(tree, ROOT, 0)


@inner_njit
def num_children(tree: Tree, node: Int) -> int:
    """How many children the node has."""
    return np.int64(tree.shape[node]) & COUNT_MASK  # type: ignore[return-value]


@inner_njit
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


def worth_of(tree: Tree, node: int) -> float:
    """The first player's mean return at the node, 0 without visits, or what is proven."""
    known, visits = proof_of(tree, node), int(tree.visits[node])
    return float(DRAWN - known) if known != UNPROVEN else float(tree.total_value[node]) / max(1, visits)


@inner_njit
def set_proof(tree: Tree, node: Int, result: Int) -> None:
    """Note that the node's value is proven; modified in place. A proof is never taken back."""
    tree.shape[node] |= np.uint16(result << PROOF_SHIFT)


@inner_njit
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


@inner_njit
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
            _copy_slot(tree, old + slot, tree, first + slot)
        tree.children[node] = first
        size_class = CLASS_OF[count]
        tree.children[old] = tree.free[size_class]
        tree.free[size_class] = old
    child = first + count
    _clear_slot(tree, child, move)
    tree.shape[node] += np.uint16(1)
    tree.counts[NODES] += 1
    return child  # type: ignore[return-value]


@inner_njit
def add_children(
    tree: Tree, node: Int, moves: npt.NDArray[np.uint16], priors: npt.NDArray[np.float32]
) -> bool:
    """Add children with no visits for all of ``moves`` ([K], K > 0) to a node without any, with their
    ``priors`` ([K]); returns whether there was room. Modified in place; no other node moves.
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


def child_after(tree: Tree, node: int, move: int) -> int | None:
    """The slot of the child to which ``move`` leads from ``node``; None if there is none."""
    return next((slot for slot in children_of(tree, node) if tree.move[slot] == move), None)


def visits_of(kept: Kept) -> int:
    """Visits of these nodes."""
    return sum(int(tree.visits[node]) for tree, node in kept)


@cached_njit
def reroot(tree: Tree, node: Int, into: Tree) -> None:
    """Make ``into``, a tree of the same layout that is modified in place, the subtree below ``node``.

    What does not fit is left out. Visits in flight are not taken over: there must be none.
    """
    clear(into)
    # Slots here and there, breadth first.
    places = np.zeros((2, max(1, tree.counts[NODES])), dtype=np.int32)
    places[0, 0], places[1, 0] = node, ROOT
    into.visits[ROOT] = tree.visits[node]
    into.shape[ROOT] = tree.shape[node]
    total = 0.0
    done, found = 0, 1
    while done < found:
        here, there = np.int64(places[0, done]), np.int64(places[1, done])
        done += 1
        count = np.int64(tree.shape[here]) & COUNT_MASK
        if count == 0:
            continue
        first = np.int64(reserve_block(into, count))
        if first == NO_BLOCK:
            into.shape[there] = 0
            continue
        into.children[there] = first
        into.counts[NODES] += count
        for slot in range(count):
            old, new = np.int64(tree.children[here]) + slot, first + slot
            _copy_slot(tree, old, into, new)
            into.unobserved[new], into.children[new] = 0, NO_BLOCK
            if here == node:
                total += tree.total_value[old]
            places[0, found], places[1, found] = old, new
            found += 1
    # The root has what its moves came to, without the reward of the move that led to it.
    into.total_value[ROOT] = total
