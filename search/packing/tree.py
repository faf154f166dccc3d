"""Trees as arrays: the nodes, and where in the arena they stand; and snapshots, leaves in flight, best lines.

Nodes are packed in the order of the arena and unpacked into equal slots, with equal free blocks, so that the
tree goes on to grow exactly as it would have. Slots without a node are left out: their content is unused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int
from search.job import Outlook
from search.kernel.params import CHANCE_CODE
from search.kernel.workspace import Leaves
from search.packing.arrays import Arrays, joined, require, take, within
from search.request import MAX_PLIES
from search.tree.arena import (
    CAPACITIES,
    CLASS_OF,
    COUNT_MASK,
    FULL,
    NO_BLOCK,
    NODES,
    ROOT,
    USED,
    Tree,
    layout_of,
    num_children,
)
from search.tree.merge import Statistics

EMPTY, NODE, SPARE, FREE = 0, 1, 2, 3
"""Kinds of slots: not accounted for, a node, unused room of a node's block, part of a free block."""


@cached_njit
def slot_kinds(tree: Tree, kinds: npt.NDArray[np.uint8], queue: npt.NDArray[np.int32]) -> bool:
    """Write the kind of each used slot to ``kinds`` ([used], EMPTY before); returns whether the arena is
    sound.

    It is sound if each used slot belongs to exactly one block, and all blocks lie within the used slots.
    ``queue`` ([nodes]) is scratch.
    """
    used = tree.counts[USED]
    kinds[ROOT] = NODE
    queue[0] = ROOT
    count = 1
    place = 0
    accounted: Int = 1
    while place < count:
        node = np.int64(queue[place])
        place += 1
        children = num_children(tree, node)
        first = np.int64(tree.children[node])
        if children == 0:
            if first != NO_BLOCK:
                return False
            continue
        capacity = np.int64(CAPACITIES[CLASS_OF[children]])
        if first < 1 or first + capacity > used or count + children > len(queue):
            return False
        for slot in range(first, first + capacity):
            if kinds[slot] != EMPTY:
                return False
            if slot < first + children:
                kinds[slot] = NODE
                queue[count] = slot
                count += 1
            else:
                kinds[slot] = SPARE
        accounted += capacity
    for which in range(len(tree.free)):
        capacity = np.int64(CAPACITIES[which])
        block = np.int64(tree.free[which])
        while block != NO_BLOCK:
            if block < 1 or block + capacity > used:
                return False
            for slot in range(block, block + capacity):
                if kinds[slot] != EMPTY:
                    return False
                kinds[slot] = FREE
            accounted += capacity
            block = np.int64(tree.children[block])
    return bool(count == len(queue) and accounted == used)


def _kinds(tree: Tree) -> npt.NDArray[np.uint8]:
    kinds = np.zeros(int(tree.counts[USED]), dtype=np.uint8)
    queue = np.empty(int(tree.counts[NODES]), dtype=np.int32)
    require(slot_kinds(tree, kinds, queue), "the tree's arena is torn")
    return kinds


def pack_tree(tree: Tree) -> Arrays:
    """The tree as arrays; raises CorruptState if its arena is not sound.

    ``counts`` [3]; ``nodes``: a bit for each used slot, whether a node stands there; the columns of the
    tree for these nodes alone; ``free_blocks``: the free blocks, class by class in the order of their
    lists, and ``free_lengths`` [lists]: how many of each.
    """
    kinds = _kinds(tree)
    is_node = kinds == NODE
    used = len(kinds)
    blocks: list[int] = []
    lengths = np.zeros(len(tree.free), dtype=np.int32)
    for size_class, head in enumerate(tree.free.tolist()):
        block = head
        while block != NO_BLOCK:
            blocks.append(block)
            lengths[size_class] += 1
            block = int(tree.children[block])
    arrays: Arrays = {name: getattr(tree, name)[:used][is_node] for name in layout_of(tree).columns}
    return arrays | {
        "counts": tree.counts.copy(),
        "nodes": np.packbits(is_node),
        "free_blocks": np.array(blocks, dtype=np.int32),
        "free_lengths": lengths,
    }


def unpack_tree(tree: Tree, arrays: Arrays) -> None:
    """Make the tree, modified in place, the one that was packed.

    ``tree`` has the layout of the packed tree, and at least as many slots as that used. Raises CorruptState,
    and then ``tree`` must not be used.
    """
    counts = take(arrays, "counts", np.int64, 3)
    used, nodes, full = (int(count) for count in counts)
    require(1 <= nodes <= used <= len(tree.visits) and full in (0, 1), "the tree's counts make no sense")
    bits = take(arrays, "nodes", np.uint8, (used + 7) // 8)
    is_node = np.unpackbits(bits, count=used).view(np.bool_)
    require(int(is_node.sum()) == nodes and is_node[ROOT], "the tree's nodes are not as many as it says")
    for name in layout_of(tree).columns:
        column = getattr(tree, name)
        column[:used][is_node] = take(arrays, name, column.dtype, nodes)
    for name in ("visits", "unobserved"):
        within(arrays[name], 0, np.iinfo(arrays[name].dtype).max, name)
    tree.counts[USED], tree.counts[NODES], tree.counts[FULL] = used, nodes, full
    _link_free_blocks(tree, arrays, used)
    require(np.array_equal(_kinds(tree) == NODE, is_node), "the tree's nodes are not where it says")


def _link_free_blocks(tree: Tree, arrays: Arrays, used: int) -> None:
    lengths = take(arrays, "free_lengths", np.int32, len(tree.free))
    within(lengths, 0, used, "free_lengths")
    blocks = take(arrays, "free_blocks", np.int32, int(lengths.sum()))
    within(blocks, 1, used - 1, "free_blocks")
    # Twice in a list is a list without an end.
    require(len(np.unique(blocks)) == len(blocks), "a free block of the tree is there twice")
    start = 0
    for size_class, length in enumerate(lengths.tolist()):
        chain = [*blocks[start : start + length].tolist(), NO_BLOCK]
        tree.free[size_class] = chain[0]
        for block, following in pairwise(chain):
            tree.children[block] = following
        start += length


def pack_snapshot(item: Statistics) -> Arrays:
    """``rows`` [1], how many there are, and each column."""
    return {"rows": np.array([len(item.visits)], dtype=np.int64)} | item._asdict()


def unpack_snapshot(arrays: Arrays, most_rows: int, like: Statistics) -> Statistics:
    """What was packed, of at most ``most_rows`` rows and with the types of ``like``.

    Raises CorruptState unless the rows are a tree, breadth first: each row is a child of one before it.
    """
    counts = take(arrays, "rows", np.int64, 1)
    within(counts, 1, most_rows, "rows")
    rows = int(counts[0])
    item = Statistics._make(
        take(arrays, name, one.dtype, rows if len(one) else 0).copy() for name, one in like._asdict().items()
    )
    within(item.visits, 0, np.iinfo(item.visits.dtype).max, "visits")
    children = np.cumsum(item.num_children, dtype=np.int64)
    tree = children[-1] == rows - 1 and (children[:-1] >= np.arange(1, rows)).all()
    require(tree, "statistics are not a tree")
    return item


def pack_outlook(outlook: Outlook) -> Arrays:
    """``lengths`` [1] of the line, ``lines``: its moves, ``values`` [1], ``totals`` of players."""
    return {
        "lengths": np.array([len(outlook.line)], dtype=np.int64),
        "lines": np.array(outlook.line, dtype=np.uint16),
        "values": np.array([outlook.value], dtype=np.float64),
        "totals": np.array(outlook.totals, dtype=np.float64),
    }


def unpack_outlook(arrays: Arrays, players: int) -> Outlook:
    """The outlook that was packed, with totals of so many players; raises CorruptState."""
    lengths = take(arrays, "lengths", np.int64, 1)
    within(lengths, 0, MAX_PLIES, "lengths")
    line = take(arrays, "lines", np.uint16, int(lengths[0]))
    value = float(take(arrays, "values", np.float64, 1)[0])
    totals = take(arrays, "totals", np.float64, players)
    require(np.isfinite(totals).all(), "totals are no numbers")
    require(value < math.inf, "values are no numbers")
    return Outlook(tuple(line.tolist()), value, tuple(totals.tolist()))


def pack_leaves(batches: Sequence[Leaves]) -> Arrays:
    """``depths`` and ``draws`` of all leaves, joined, and ``moves``, ``slots``, ``movers`` of their paths,
    with rewards also ``scores``."""
    arrays: Arrays = {
        "depths": joined((batch.depths for batch in batches), np.int32),
        "draws": np.concatenate([np.empty((0, 2), dtype=np.uint64), *(batch.draws for batch in batches)]),
    }
    for name, dtype in _paths_of(batches).items():
        arrays[name] = joined((getattr(batch, name)[_in_paths(batch)] for batch in batches), dtype)
    return arrays


def unpack_leaves(batches: Sequence[Leaves], arrays: Arrays, tree: Tree, players: int) -> None:
    """Fill these batches, whose visits are set, with the leaves that were packed, of a game of so many
    players.

    Raises CorruptState unless each path leads from node to node of the tree, and the tree has the visits of
    all leaves in flight.
    """
    leaves = sum(len(batch.visits) for batch in batches)
    depths = take(arrays, "depths", np.int32, leaves)
    draws = take(arrays, "draws", np.uint64, leaves, 2)
    longest = batches[0].moves.shape[1] - 1 if batches else 0
    within(depths, 0, longest, "depths")
    kept = _paths_of(batches).items()
    paths = {name: take(arrays, name, dtype, int(depths.sum())) for name, dtype in kept}
    known = (paths["movers"] < players) | (paths["movers"] == CHANCE_CODE)
    require(known.all(), "movers are no players")
    require(np.isfinite(paths.get("scores", 0.0)).all(), "scores are no numbers")
    leaf = step = 0
    for batch in batches:
        size = len(batch.visits)
        batch.depths[:] = depths[leaf : leaf + size]
        batch.draws[:] = draws[leaf : leaf + size]
        steps = int(batch.depths.sum())
        for name, path in paths.items():
            getattr(batch, name)[_in_paths(batch)] = path[step : step + steps]
        leaf, step = leaf + size, step + steps
        _walk(batch, tree)
    in_flight = sum(int(batch.visits.sum()) for batch in batches)
    require(in_flight == tree.unobserved[ROOT], "visits in flight are not those of the tree")


def _paths_of(batches: Sequence[Leaves]) -> dict[str, type[Any]]:
    paths: dict[str, type[Any]] = {"moves": np.uint16, "slots": np.uint16, "movers": np.uint8}
    scored = bool(batches) and batches[0].scores.shape == batches[0].moves.shape
    return paths | {"scores": np.float64} if scored else paths


def _in_paths(batch: Leaves) -> npt.NDArray[np.bool_]:
    """[B, max_plies + 1] which entries of the batch belong to its paths."""
    within: npt.NDArray[np.bool_] = np.arange(batch.moves.shape[1]) < batch.depths[:, None]
    return within


def _walk(batch: Leaves, tree: Tree) -> None:
    """Follow all paths of the batch, one ply at a time; raises CorruptState where one leaves the tree."""
    node = np.full(len(batch.depths), ROOT, dtype=np.int64)
    for step in range(int(batch.depths.max(initial=0))):
        going = batch.depths > step
        slots = batch.slots[going, step]
        known = slots < (tree.shape[node[going]] & COUNT_MASK)
        require(known.all(), "a path to a leaf leaves the tree")
        node[going] = tree.children[node[going]] + slots.astype(np.int64)
        agree = tree.move[node[going]] == batch.moves[going, step]
        require(agree.all(), "a path to a leaf has other moves")
