"""Leaves in flight and the best line so far as arrays, to be kept in a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from search.job import Outlook
from search.kernel.params import CHANCE_CODE
from search.kernel.workspace import Leaves
from search.packing.arrays import Arrays, joined, require, take, within
from search.request import MAX_PLIES
from search.tree.arena import COUNT_MASK, ROOT, Tree


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


_PATHS = {"moves": np.uint16, "slots": np.uint16, "movers": np.uint8}
_SCORED_PATHS = _PATHS | {"scores": np.float64}


def pack_leaves(batches: Sequence[Leaves]) -> Arrays:
    """``depths`` and ``draws`` of all leaves, joined, and ``moves``, ``slots``, ``movers`` of their paths,
    with rewards also ``scores``."""
    arrays: Arrays = {
        "depths": joined((batch.depths for batch in batches), np.int32),
        "draws": np.concatenate([np.empty((0, 2), dtype=np.uint64), *(batch.draws for batch in batches)]),
    }
    for name, dtype in _paths_of(batches).items():
        arrays[name] = joined((getattr(batch, name)[_taken(batch)] for batch in batches), dtype)
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
            getattr(batch, name)[_taken(batch)] = path[step : step + steps]
        leaf, step = leaf + size, step + steps
        _walk(batch, tree)
    in_flight = sum(int(batch.visits.sum()) for batch in batches)
    require(in_flight == tree.unobserved[ROOT], "visits in flight are not those of the tree")


def _paths_of(batches: Sequence[Leaves]) -> dict[str, type[Any]]:
    scored = bool(batches) and batches[0].scores.shape == batches[0].moves.shape
    return _SCORED_PATHS if scored else _PATHS


def _taken(batch: Leaves) -> npt.NDArray[np.bool_]:
    """[B, max_plies + 1] which entries of the batch belong to its paths."""
    taken: npt.NDArray[np.bool_] = np.arange(batch.moves.shape[1]) < batch.depths[:, None]
    return taken


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
