"""A tree that begins as a snapshot says, without being built: nodes get children when a descent comes there.

A job of `tree` is short beside the tree that it starts from. So its arena begins with the root alone,
*folded*: its children are still rows of the snapshot. The search loop unfolds a node when it comes there,
and a job costs what it visits, however large the snapshot is.

A folded node has no children in its arena, FOLDED in its shape, and in place of its first child's slot
its row. When children are unfolded, the visits that other lanes make of them before this one does are counted
as unobserved (`visits_before`), and with a perturbation their means are moved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import GOLDEN, Stream, next_uint64
from games.specialise import cached_njit
from search.selection import Knobs
from search.statistics import PROOF_BITS, Statistics, first_children_of
from search.tree import (
    FOLDED,
    NO_BLOCK,
    NODES,
    PROOF_SHIFT,
    ROOT,
    Tree,
    clear,
    counts_availability,
    reserve_block,
)

_RESOLUTION = 1048576.0
"""Perturbations are multiples of 2**-20, so that sums of whole returns with them stay exact."""
_HIGH = np.uint64(33)


class Base(NamedTuple):
    """A snapshot of R rows, as the trees of jobs begin with it."""

    statistics: Statistics
    first_children: npt.NDArray[np.int32]
    """[R] the row of each row's first child."""
    moved: npt.NDArray[np.float64]
    """[R] total values as they stand in the tree that was begun last: written for the rows that it has."""

    @property
    def as_it_stands(self) -> Statistics:
        """The snapshot with total values as the tree has them: `increments` since it are what was added."""
        return self.statistics._replace(total_value=self.moved)


def base_of(statistics: Statistics) -> Base:
    """The same arrays where they may be written to, else copies: to a kernel, read-only is another type."""
    columns = Statistics._make(np.require(column, requirements=("C", "W")) for column in statistics)
    return Base(columns, first_children_of(columns.num_children), np.empty_like(columns.total_value))


@cached_njit
def begin(tree: Tree, base: Base, knobs: Knobs) -> None:
    """Make the tree what the snapshot says, folded: its root alone.

    Tree and ``base.moved`` are modified in place.
    """
    clear(tree)
    _take_row(tree, ROOT, base, 0)
    tree.unobserved[ROOT] = visits_before(knobs, 0)


@njit
def visits_before(knobs: Knobs, row: Int) -> int:
    """How many visits other lanes make of a row's node before this lane makes its first.

    Of the visits that a round will make of it, one in ``num_shares`` is this lane's, and which one is another
    for each row. If no lane knew what the others find, and every lane counted like this, they would together
    visit what one after the other would.
    """
    if knobs.anticipated == 0:
        return 0
    mixed = (np.uint64(row) * GOLDEN) >> _HIGH
    rank = (np.int64(mixed) + knobs.share) % knobs.num_shares
    return rank * knobs.anticipated // max(1, knobs.num_shares - 1)  # type: ignore[return-value]


@njit
def unfold(tree: Tree, node: Int, base: Base, knobs: Knobs, stream: Stream) -> bool:
    """Give a folded node its children, which are folded in turn; modified in place.

    False when the arena has no room for them. Then the node stays folded: children that it got otherwise
    would be taken for those of the snapshot.

    A perturbation moves each mean by about that many of its standard errors, drawn from ``stream``.
    ``base.moved`` gets the total values as they stand in the tree.
    """
    row = np.int64(tree.children[node])
    count = np.int64(base.statistics.num_children[row])
    first_row = np.int64(base.first_children[row])
    first = np.int64(reserve_block(tree, count))
    if first == NO_BLOCK:
        return False
    tree.children[node] = first
    tree.shape[node] &= np.uint16(FOLDED - 1)
    tree.shape[node] |= np.uint16(count)
    tree.counts[NODES] += count
    for slot in range(count):
        _take_row(tree, first + slot, base, first_row + slot)
        visits = np.int64(tree.visits[first + slot])
        tree.unobserved[first + slot] = visits_before(knobs, first_row + slot)
        if knobs.perturbation > 0.0 and visits > 0:
            # The variance of returns in [-1, 1] is at most 1 - mean**2; two draws added keep it from 0.
            total_value = tree.total_value[first + slot]
            mean = total_value / (visits + 2)
            deviation = math.sqrt(visits * (1.0 - mean * mean))
            total_value += (
                math.floor(knobs.perturbation * deviation * _normal(stream) * _RESOLUTION) / _RESOLUTION
            )
            tree.total_value[first + slot] = total_value
            base.moved[first_row + slot] = total_value
    return True


@njit
def _take_row(tree: Tree, node: Int, base: Base, row: Int) -> None:
    """Make the node what the row says, folded if the row has children."""
    rows = base.statistics
    tree.visits[node] = rows.visits[row]
    tree.total_value[node] = rows.total_value[row]
    base.moved[row] = rows.total_value[row]
    tree.unobserved[node] = 0
    tree.move[node] = rows.move[row]
    if counts_availability(tree):
        tree.available[node] = rows.available[row]
    shape = (np.int64(rows.marks[row]) & PROOF_BITS) << PROOF_SHIFT
    if rows.num_children[row] > 0:
        tree.shape[node] = np.uint16(shape | FOLDED)
        tree.children[node] = row
    else:
        tree.shape[node] = np.uint16(shape)
        tree.children[node] = NO_BLOCK


@njit
def _normal(stream: Stream) -> float:
    """A number with mean 0 and variance 1: four uniform ones added (their error does not matter here)."""
    bits = next_uint64(stream)
    total = 0.0
    for _ in range(4):
        total += float(bits & np.uint64(0xFFFF))
        bits >>= np.uint64(16)
    return (total * 1.52587890625e-05 - 2.0) * 1.7320508075688772
