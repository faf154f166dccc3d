"""Lazy snapshots: a tree that equals a snapshot, with nodes that get their children at their first visit.

A job of `tree` makes few simulations in comparison with the size of the tree that it starts from. So its
arena begins with the root alone, and a *lazy* node's children are rows of the snapshot until a descent
unfolds it. A job costs what it visits, however large the snapshot is.

A lazy node has no children in the arena, LAZY in its shape, and the number of its row in place of its first
child's slot. With hidden information every lane grows the whole tree: when a node is unfolded, the visits
that others are expected to make of its children before this lane does count as unobserved (`visits_before`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from games.rng import GOLDEN
from search.kernel.params import SearchParams
from search.tree.arena import (
    COUNT_MASK,
    LAZY,
    NO_BLOCK,
    NODES,
    PROOF_SHIFT,
    ROOT,
    USED,
    Tree,
    clear,
    counts_availability,
    reserve_block,
)
from search.tree.merge import PROOF_BITS, Statistics, first_children_of

_HIGH = np.uint64(33)


class Base(NamedTuple):
    """A snapshot of R rows, in the form in which kernels read it."""

    statistics: Statistics
    """The rows."""
    first_children: npt.NDArray[np.int32]
    """[R] the row of each row's first child."""


def base_of(statistics: Statistics, first_children: npt.NDArray[np.int32] | None = None) -> Base:
    """The snapshot for kernels; read-only arrays are copied, since they are of another compiled type.

    ``first_children`` ([R]): the row of each row's first child, if the rows are not breadth first.
    """
    columns = Statistics._make(np.require(column, requirements=("C", "W")) for column in statistics)
    return Base(
        columns, first_children_of(columns.num_children) if first_children is None else first_children
    )


class Itself:
    """A tree as a snapshot of itself: its columns, and what they do not hold in the form of `Base`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        slots = len(tree.visits)
        self._num_children, self._marks = np.zeros(slots, dtype=np.uint16), np.zeros(slots, dtype=np.uint8)

    def statistics(self) -> Statistics:
        """The rows, one for each slot, as long as the tree does not change."""
        tree, used = self._tree, int(self._tree.counts[USED])
        shape = tree.shape[:used]
        np.bitwise_and(shape, COUNT_MASK, out=self._num_children[:used])
        np.bitwise_and(shape >> PROOF_SHIFT, PROOF_BITS, out=self._marks[:used], casting="unsafe")
        return Statistics(
            tree.move, tree.visits, tree.total_value, self._num_children, self._marks, tree.available
        )


@cached_njit
def begin_tree(tree: Tree, base: Base, params: SearchParams) -> None:
    """Make the tree, which is modified in place, the lazy form of the snapshot: its root alone."""
    clear(tree)
    _take_row(tree, ROOT, base, 0)
    tree.unobserved[ROOT] = visits_before(params, 0)


@inner_njit
def visits_before(params: SearchParams, row: Int) -> int:
    """The visits that other lanes are expected to make of a row's node before this lane makes its first.

    Of the visits that a round makes of a node, one in ``num_shares`` is this lane's; its rank differs from
    row to row. Lanes that count like this, and learn nothing, together visit what a sequential search would.
    """
    if params.anticipated == 0:
        return 0
    mixed = (np.uint64(row) * GOLDEN) >> _HIGH
    rank = (np.int64(mixed) + params.share) % params.num_shares
    return rank * params.anticipated // max(1, params.num_shares - 1)  # type: ignore[return-value]


@inner_njit
def unfold(tree: Tree, node: Int, base: Base, params: SearchParams) -> bool:
    """Give a lazy node its children, which are lazy in turn; False when the arena has no room for them.

    Then the node stays lazy: children that it got otherwise would be taken for those of the snapshot. The
    tree is modified in place.
    """
    row = np.int64(tree.children[node])
    count = np.int64(base.statistics.num_children[row])
    first_row = np.int64(base.first_children[row])
    first = np.int64(reserve_block(tree, count))
    if first == NO_BLOCK:
        return False
    tree.children[node] = first
    tree.shape[node] &= np.uint16(LAZY - 1)
    tree.shape[node] |= np.uint16(count)
    tree.counts[NODES] += count
    for slot in range(count):
        _take_row(tree, first + slot, base, first_row + slot)
        tree.unobserved[first + slot] = visits_before(params, first_row + slot)
    return True


@inner_njit
def _take_row(tree: Tree, node: Int, base: Base, row: Int) -> None:
    """Write the row to the node, which is lazy if the row has children; modifies the tree."""
    rows = base.statistics
    tree.visits[node] = rows.visits[row]
    tree.total_value[node] = rows.total_value[row]
    tree.unobserved[node] = 0
    tree.move[node] = rows.move[row]
    if counts_availability(tree):
        tree.available[node] = rows.available[row]
    shape = (np.int64(rows.marks[row]) & PROOF_BITS) << PROOF_SHIFT
    if rows.num_children[row] > 0:
        tree.shape[node] = np.uint16(shape | LAZY)
        tree.children[node] = row
    else:
        tree.shape[node] = np.uint16(shape)
        tree.children[node] = NO_BLOCK
