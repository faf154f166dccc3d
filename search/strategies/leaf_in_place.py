"""Jobs of strategy leaf in the process of the coordinator: many at a time, by threads that share the tree.

The clock decides how many jobs a stretch has (search/strategies/in_place.py), and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from search.job import JobResult, Outlook, tells_lines
from search.kernel.turns import ABSORBED, ENDED, NEXT, READY, Ring, Stretch
from search.kernel.workspace import Leaves
from search.strategies.base import Setup
from search.strategies.in_place import InFlight
from search.tree.arena import ROOT

PAYS_JOBS, PAYS_JOB_S = 500, 0.002
"""Least number of jobs, and greatest length of one in seconds, for which stretches are worth their compiling:
a job elsewhere costs some 0.1 ms of Python."""


class SharedTree(InFlight):
    """The ring of jobs in flight, and what each thread needs."""

    def __init__(
        self, setup: Setup, rows: int, threads: int, outlook: Outlook, issued: int, absorbed: int
    ) -> None:
        """``rows``: the most leaves that a job may have; ``outlook``: that of the results in the tree.

        So many jobs were begun, and so many are in the tree.
        """
        super().__init__(setup, threads)
        engine, lanes = setup.engine, setup.plan.lanes
        self._lanes, self._rows = lanes, rows
        leaves = engine.new_leaves(np.ones(lanes * rows, dtype=np.int32))
        players = len(self._works[0].ends)
        self.ring = Ring(
            leaves,
            np.zeros(lanes, dtype=np.int64),
            np.zeros(len(leaves.depths) * players),
            np.zeros(lanes + 1, dtype=np.int64),
            np.full(lanes + 1, -np.inf),
            np.zeros((lanes + 1, max(2, len(self._works[0].best_line))), dtype=np.int32),
            np.zeros(players),
            np.zeros(READY + lanes, dtype=np.int64),
        )
        self._kernel, self._ring, self._players = engine.take_turns, self.ring, players
        self._keep(lanes, outlook)
        self.ring.totals[: len(outlook.totals)] = outlook.totals
        self.ring.marks[NEXT], self.ring.marks[ABSORBED] = issued, absorbed
        # Compiled, or loaded, before the clock of the search starts.
        self.take_turns(self.stretch(0, np.zeros(0, dtype=np.int64), False), 0)

    def stretch(self, first: int, sizes: npt.NDArray[np.int64], drain: bool) -> Stretch:
        """Jobs from ``first`` on, of these sizes."""
        request, plan = self._setup.context.request, self._setup.plan
        return Stretch(
            first,
            sizes,
            drain,
            plan.playouts_per_leaf,
            request.stop_when_full,
            tells_lines(self._setup.engine.game, request),
            *self._streams_of_jobs,
        )

    @property
    def _results(self) -> tuple[int, int, int]:
        playouts = int(self.ring.playouts[self._lanes])
        return self.absorbed, int(self._setup.tree.visits[ROOT]), playouts

    @property
    def ended(self) -> bool:
        return bool(self.ring.marks[ENDED])

    @property
    def issued(self) -> int:
        """Number of jobs that were begun."""
        return int(self.ring.marks[NEXT])

    @property
    def absorbed(self) -> int:
        """Number of jobs whose results are in the tree."""
        return int(self.ring.marks[ABSORBED])

    def put(self, job: int, leaves: Leaves, result: JobResult) -> None:
        """Put a job in flight into its slot, with its result."""
        slot, rows = job % self._lanes, len(leaves.depths)
        begin = slot * self._rows
        columns: tuple[npt.NDArray[Any], ...] = self.ring.leaves
        for mine, its in zip(columns, leaves, strict=True):
            mine[begin : begin + rows] = its
        self.ring.rows[slot] = rows
        self.ring.sums[begin * self._players : (begin + rows) * self._players] = result.sums
        self.ring.playouts[slot] = result.playouts
        if result.outlook is not None:
            self._keep(slot, result.outlook)
        self.ring.marks[READY + slot] = 1

    def leaves_of(self, job: int) -> Leaves:
        """A copy of the leaves of a job in flight."""
        slot = job % self._lanes
        begin = slot * self._rows
        end = begin + int(self.ring.rows[slot])
        return Leaves._make(column[begin:end].copy() for column in self.ring.leaves)

    def _keep(self, place: int, outlook: Outlook) -> None:
        """Put a best line into its place."""
        self.ring.values[place] = outlook.value
        self.ring.lines[place, 0] = len(outlook.line)
        self.ring.lines[place, 1 : 1 + len(outlook.line)] = outlook.line

    @property
    def _outlook(self) -> Outlook:
        totals = self.ring.totals.tolist() if self._players > 1 else []
        line, value = self.ring.lines[self._lanes], float(self.ring.values[self._lanes])
        return Outlook(tuple(line[1 : 1 + line[0]].tolist()), value, tuple(totals))
