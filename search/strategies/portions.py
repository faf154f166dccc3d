"""Cuts the shared tree into portions before a round of `tree`: search/kernel/portions.py."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from games.rng import new_stream
from search.job import SELECTION_STREAM, Portions, empty_portions
from search.kernel.portions import are_paths, divide
from search.packing.arrays import Arrays, require, take, within
from search.request import MAX_SIMULATIONS
from search.strategies.base import Setup
from search.tree.arena import Tree

QUANTA = 8
"""Selections with which the visits of one lane in a round are planned. More of them change no strength."""
PARTS = 2
"""A subtree is cut where more than one PARTS-th of a lane's visits are planned in it."""
MOST_PLANNED = 2**30
"""Most visits that a plan has: nodes count those in flight in 32 bits."""


class Planner:
    """Plans the rounds of one search."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._work = setup.engine.new_workspace()

    def plan(self, sizes: npt.NDArray[np.int64], first: int) -> list[Portions]:
        """The portions of each lane in a round, in which lane i makes ``sizes[i]`` simulations.

        A round of more than MOST_PLANNED is planned in proportion: the portions of a lane have fewer visits
        than it makes, and are `resized`. ``first`` is the index of the round's first job. The shared tree is
        as before, but for the marks of nodes of which all moves are found to be tried.
        """
        sizes = np.maximum(1, sizes // (1 + int(sizes.sum()) // MOST_PLANNED))
        setup, total, largest = self._setup, int(sizes.sum()), int(sizes.max())
        request, root_state = setup.context.request, setup.context.root_state.copy()
        quantum, most = max(1, largest // QUANTA), max(1, largest // PARTS)
        stream = new_stream(request.seed, SELECTION_STREAM, first)
        with np.errstate(over="ignore"):
            setup.engine.plan_visits(setup.tree, setup.params, root_state, total, quantum, self._work, stream)
        # Each subtree has a quantum at least, but for one, and each lane adds a cut at most.
        rows, plies = total // quantum + 2 + len(sizes), len(self._work.nodes)
        lanes = np.zeros(rows, dtype=np.int32)
        portions = empty_portions(rows, plies)
        count = divide(setup.tree, sizes, most, np.zeros((plies + 1, 2), dtype=np.int32), lanes, portions)
        ends = np.searchsorted(lanes[:count], np.arange(len(sizes) + 1)).tolist()
        return [part(portions, begin, end) for begin, end in pairwise(ends)]


def part(portions: Portions, begin: int, end: int) -> Portions:
    """A copy of these portions, without unused columns of moves."""
    columns = Portions._make(column[begin:end].copy() for column in portions)
    longest = max(1, int(columns.depths.max(initial=0)))
    return columns._replace(moves=columns.moves[:, :longest].copy())


def resized(portions: Portions, simulations: int) -> Portions:
    """The portions with that many simulations in all, in the same proportions."""
    ends = np.cumsum(portions.visits)
    if ends[-1] == simulations:
        return portions
    scaled = (ends.astype(object) * simulations // int(ends[-1])).astype(np.int64)
    visits = np.diff(scaled, prepend=0)
    kept = visits > 0
    return Portions._make(column[kept] for column in portions._replace(visits=visits))


def pack_portions(lanes: Sequence[Portions]) -> Arrays:
    """``counts``, the number of portions of each lane, and the columns of all portions, joined."""
    arrays: Arrays = {"counts": np.array([len(each.visits) for each in lanes], dtype=np.int64)}
    for name, like in empty_portions(0, 1)._asdict().items():
        if name != "moves":
            arrays[name] = np.concatenate([like, *(getattr(each, name) for each in lanes)])
    used = [each.moves[np.arange(each.moves.shape[1]) < each.depths[:, None]] for each in lanes]
    return arrays | {"moves": np.concatenate([np.empty(0, dtype=np.uint16), *used])}


def unpack_portions(arrays: Arrays, lanes: int, plies: int, tree: Tree) -> list[Portions]:
    """The portions that were packed, of no lane or of all; raises CorruptState unless every path leads from
    node to node of the tree."""
    counts = take(arrays, "counts", np.int64, None)
    require(len(counts) in (0, lanes), "portions are not those of all lanes")
    within(counts, 1, 2**31, "portions.counts")
    rows = int(counts.sum())
    like = empty_portions(0, 1)._asdict()
    columns = {name: take(arrays, name, like[name].dtype, rows) for name in like if name != "moves"}
    within(columns["visits"], 1, MAX_SIMULATIONS, "portions.visits")
    within(columns["depths"], 0, plies - 1, "portions.depths")
    moves = np.zeros((rows, plies), dtype=np.uint16)
    used = np.arange(plies) < columns["depths"][:, None]
    moves[used] = take(arrays, "moves", np.uint16, int(columns["depths"].sum()))
    require(are_paths(tree, moves, columns["depths"]), "a path to a portion leaves the tree")
    portions = Portions(moves=moves, **columns)
    ends = np.cumsum(counts).tolist()
    return [part(portions, begin, end) for begin, end in pairwise([0, *ends])]
