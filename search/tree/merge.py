"""Statistics that travel between coordinator and workers: a pruned tree, breadth first.

A *snapshot* is the busy top of a tree as it stands. *Increments* are what was added to a
tree since a snapshot of it, and nothing of what the snapshot held. Both have one form, so
that there is one encoding and one `merge`: visits and total values are added, means are
never averaged.

A node's children are sent when the node itself has at least `min_visits` visits, and the
root's always (if they fit); visits of children that are not sent stay counted in the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from search.tree.arena import (
    NO_BLOCK,
    NODES,
    PLAIN_LAYOUT,
    ROOT,
    UNPROVEN,
    Tree,
    TreeLayout,
    add_child,
    counts_availability,
    layout_of,
    num_children,
    proof,
    set_proof,
)

ABSENT = -1
PROOF_BITS = 3
CREATED = 4
"""A flag of `marks`: the sender made this node, it was not in the snapshot."""


class Statistics(NamedTuple):
    """R nodes in breadth-first order, the root first; the children of a row stand side by side."""

    move: npt.NDArray[np.uint16]
    """[R] the move that leads to the node."""
    visits: npt.NDArray[Any]
    """[R] N, of the type of the tree's visits."""
    total_value: npt.NDArray[np.float64]
    """[R] W, or what was added to it, as in `Tree`."""
    num_children: npt.NDArray[np.uint16]
    """[R] how many of the node's children are among the rows."""
    marks: npt.NDArray[np.uint8]
    """[R] what is proven of the node (PROOF_BITS), and CREATED."""
    available: npt.NDArray[Any]
    """[R] with hidden information how often the move was available, of the type of visits; else [0]."""

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self)


def empty_statistics(
    rows: int, layout: TreeLayout = PLAIN_LAYOUT, column: Callable[..., npt.NDArray[Any]] = np.empty
) -> Statistics:
    """Room for that many rows of a tree with this layout; not initialised unless ``column`` does that."""
    return Statistics(
        move=column(rows, dtype=np.uint16),
        visits=column(rows, dtype=layout.count_type),
        total_value=column(rows, dtype=np.float64),
        num_children=column(rows, dtype=np.uint16),
        marks=column(rows, dtype=np.uint8),
        available=column(rows if layout.hidden else 0, dtype=layout.count_type),
    )


def all_rows(rows: int) -> npt.NDArray[np.int64]:
    """The argument ``parts`` of `merge` for a single list of ``rows`` rows."""
    return np.array([[0, rows]], dtype=np.int64)


def lone_root(layout: TreeLayout = PLAIN_LAYOUT) -> Statistics:
    """The snapshot of a tree that nobody has visited."""
    return empty_statistics(1, layout, np.zeros)


@inner_njit
def find_child(tree: Tree, node: Int, move: Int, hint: Int) -> int:
    """The slot of the child with that move, or ABSENT; looks from slot ``hint`` on, and then before it."""
    first = np.int64(tree.children[node])
    count = num_children(tree, node)
    for slot in range(hint, count):
        if tree.move[first + slot] == move:
            return slot
    for slot in range(min(hint, count)):
        if tree.move[first + slot] == move:
            return slot
    return ABSENT


def first_children_of(num_children: npt.NDArray[np.uint16]) -> npt.NDArray[np.int32]:
    """[R] the row of each row's first child."""
    return 1 + np.cumsum(num_children, dtype=np.int32) - num_children


@inner_njit
def _write_row(tree: Tree, node: Int, base: Statistics, base_row: Int, out: Statistics, row: Int) -> None:
    """Write what was added to the node since row ``base_row`` of ``base``, or all if that is ABSENT."""
    out.move[row] = tree.move[node]
    out.visits[row] = tree.visits[node]
    out.total_value[row] = tree.total_value[node]
    out.marks[row] = proof(tree, node)
    if counts_availability(tree):
        out.available[row] = tree.available[node]
    if base_row == ABSENT:
        out.marks[row] |= np.uint8(CREATED)
        return
    out.visits[row] -= base.visits[base_row]
    out.total_value[row] -= base.total_value[base_row]
    if counts_availability(tree):
        out.available[row] -= base.available[base_row]


@inner_njit
def _is_changed(tree: Tree, node: Int, base: Statistics, base_row: Int) -> bool:
    """Whether the node has visits or a proof that row ``base_row`` of ``base``, unless ABSENT, has not."""
    if base_row == ABSENT:
        return tree.visits[node] > 0 or proof(tree, node) != UNPROVEN
    if counts_availability(tree) and tree.available[node] != base.available[base_row]:
        return True
    if tree.visits[node] != base.visits[base_row]:
        return True
    return proof(tree, node) != np.int64(base.marks[base_row]) & PROOF_BITS


@inner_njit
def collect(
    tree: Tree,
    base: Statistics,
    first_children: npt.NDArray[np.int32],
    min_visits: Int,
    out: Statistics,
    begin: Int,
    limit: Int,
    places: npt.NDArray[np.int32],
    base_rows: npt.NDArray[np.int32],
) -> int:
    """Write what was added since ``base`` to rows ``begin`` and on of ``out``; returns their number.

    If that is more than ``limit``, these rows are unusable. ``places`` and ``base_rows`` ([limit] or more)
    are scratch: the slot of each row, and its row of ``base``.
    """
    places[0] = ROOT
    base_rows[0] = 0
    count = 1
    row = 0
    while row < count:
        node = np.int64(places[row])
        base_row = np.int64(base_rows[row])
        _write_row(tree, node, base, base_row, out, begin + row)
        num_known = np.int64(base.num_children[base_row]) if base_row != ABSENT else np.int64(0)
        sent = 0
        if np.int64(tree.visits[node]) >= min_visits or (row == 0 and num_children(tree, ROOT) < limit):
            first = np.int64(tree.children[node])
            for slot in range(num_children(tree, node)):
                known_row: Int = ABSENT
                if slot < num_known:
                    known_row = np.int64(first_children[base_row]) + slot
                if _is_changed(tree, first + slot, base, known_row):
                    if count == limit:
                        return int(limit) + 1
                    places[count] = first + slot
                    base_rows[count] = known_row
                    count += 1
                    sent += 1
        out.num_children[begin + row] = sent
        row += 1
    return count


@cached_njit
def _collect(
    tree: Tree,
    base: Statistics,
    first_children: npt.NDArray[np.int32],
    min_visits: int,
    out: Statistics,
    places: npt.NDArray[np.int32],
    base_rows: npt.NDArray[np.int32],
) -> int:
    """`collect` as many rows as ``out`` has."""
    return collect(tree, base, first_children, min_visits, out, 0, len(places), places, base_rows)


def snapshot(tree: Tree, min_visits: int, max_rows: int) -> tuple[Statistics, int]:
    """The top of the tree in at most ``max_rows`` rows, and the least visits of nodes with children in it.

    ``min_visits`` is doubled until the rows fit.
    """
    rows, min_visits = increments(tree, lone_root(layout_of(tree)), min_visits, max_rows)
    rows.marks[:] &= np.uint8(PROOF_BITS)
    return rows, min_visits


def increments(
    tree: Tree,
    base: Statistics,
    min_visits: int,
    max_rows: int,
    first_children: npt.NDArray[np.int32] | None = None,
) -> tuple[Statistics, int]:
    """What was added to the tree since ``base``, a snapshot of it, and the least visits as in `snapshot`.

    ``first_children`` ([R]) is `first_children_of` the base's rows, computed if it is not given.

    The rows of ``base`` must stand in the tree in the same order (as `snapshot` and
    search/kernel/lazy_snapshot.py leave them); nodes without an added visit or a new proof are left out.
    """
    if first_children is None:
        first_children = first_children_of(base.num_children)
    rows = int(min(tree.counts[NODES], max_rows))
    out = empty_statistics(rows, layout_of(tree))
    # A kernel that makes arrays takes longer to load.
    places, base_rows = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int32)
    while True:
        count = _collect(tree, base, first_children, min_visits, out, places, base_rows)
        if count <= rows:
            return Statistics._make(column[:count].copy() for column in out), min_visits
        min_visits = max(2 * min_visits, 2)


@inner_njit
def _merge(
    tree: Tree,
    added: Statistics,
    begin: Int,
    rows: Int,
    places: npt.NDArray[np.int32],
    made: npt.NDArray[np.int64],
) -> None:
    """Add so many rows from ``begin`` on; ``places`` ([rows] or more) is scratch. Adds to the counts of
    `merge` in ``made``."""
    places[0] = ROOT
    following: Int = 1
    for row in range(rows):
        node = np.int64(places[row])
        count = np.int64(added.num_children[begin + row])
        if node == ABSENT:
            for child_row in range(following, following + count):
                places[child_row] = ABSENT
            following += count
            continue
        tree.visits[node] += added.visits[begin + row]
        tree.total_value[node] += added.total_value[begin + row]
        if counts_availability(tree):
            tree.available[node] += added.available[begin + row]
        known = np.int64(added.marks[begin + row]) & PROOF_BITS
        if known != UNPROVEN and proof(tree, node) == UNPROVEN:
            set_proof(tree, node, known)
        hint = 0
        for child_row in range(following, following + count):
            move = added.move[begin + child_row]
            slot = find_child(tree, node, move, hint)
            is_made = (added.marks[begin + child_row] & CREATED) != 0
            made[0] += is_made
            if slot >= 0:
                made[1] += is_made
                hint = slot + 1
            elif add_child(tree, node, move) != NO_BLOCK:
                slot = num_children(tree, node) - 1
            # The block may move until the last child is in: places are set below.
            places[child_row] = slot
        first = np.int64(tree.children[node])
        for child_row in range(following, following + count):
            if places[child_row] >= 0:
                places[child_row] += first
            else:
                places[child_row] = ABSENT
        following += count


@cached_njit
def _merge_all(
    tree: Tree,
    added: Statistics,
    parts: npt.NDArray[np.int64],
    places: npt.NDArray[np.int32],
    made: npt.NDArray[np.int64],
) -> None:
    for k in range(len(parts)):
        _merge(tree, added, parts[k, 0], parts[k, 1], places, made)


def merge(tree: Tree, added: Statistics, parts: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Add lists of increments to the tree, which is modified in place, one after the other.

    ``parts`` ([lists, 2]): the first row of each list, and the number of its rows.

    Returns how many nodes the senders made, and how many of those the tree had already
    (duplicate expansions: two lanes made the same node without knowing of each other).
    When the arena is full, nodes that it lacks are left out; their visits stay counted above them.
    """
    places, made = np.empty(len(added.visits), dtype=np.int32), np.zeros(2, dtype=np.int64)
    _merge_all(tree, added, parts, places, made)
    return int(made[0]), int(made[1])
