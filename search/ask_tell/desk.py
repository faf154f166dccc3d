"""The desk: leaves of jobs that are handed out, their deadlines, and the answers to them.

The desk has no clock and no lock: the time is an argument. A position that is selected again while an earlier
leaf with the same state is among the last ``lanes`` jobs is not handed out again: both get one answer. So
which leaves share an answer follows from the order of jobs alone, never from the order of answers.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from search.ask_tell.leaf import Answer, Leaf, leaf_of
from search.job import JobResult, LeafJob
from search.kernel.engine import Engine
from search.kernel.evaluation import Reached, outcome_of, reach
from search.packing.arrays import require

ID = "the id of a leaf that ask has returned"


@dataclass(eq=False)
class _Position:
    """A position that is handed out once, under the id of the first leaf that has reached it."""

    leaf: Leaf
    key: bytes
    """The bytes of its state."""
    answer: Answer | None
    due_s: float | None = None
    """When it goes back, if it is out."""
    jobs: list[_Open] = field(default_factory=list)
    """The jobs that need its answer."""


@dataclass(eq=False)
class _Open:
    """A job among the last ``lanes`` ones."""

    job: LeafJob
    ids: list[int]
    """[U]: the id of the first leaf of the job with each of its different unfinished states."""
    reached: Reached
    positions: list[_Position]
    """[U]: the positions whose answers it needs."""

    @property
    def complete(self) -> bool:
        return all(position.answer is not None for position in self.positions)


class Desk:
    """Jobs go in, leaves go out; answers come in, results of jobs go out."""

    def __init__(self, engine: Engine, root_state: npt.NDArray[Any], lanes: int, deadline_s: float) -> None:
        """``deadline_s``: seconds after which a leaf without an answer is handed out again."""
        self._engine, self._root_state = engine, root_state
        self._lanes, self._deadline_s = lanes, deadline_s
        self._open: dict[int, _Open] = {}
        """By index: the last jobs."""
        self._by_state: dict[bytes, _Position] = {}
        self._unanswered: dict[int, _Position] = {}
        self._waiting: list[int] = []
        """A heap of ids that can be handed out, the earliest first: the others wait for it."""
        self._out: list[tuple[float, int]] = []
        """A heap of (when it goes back, id); an entry counts if the leaf is still out until that time."""
        self.asked_again = 0
        """How often a leaf went back because its deadline had passed."""

    @property
    def num_unanswered(self) -> int:
        """The number of leaves without an answer, out or waiting."""
        return len(self._unanswered)

    def add(self, job: LeafJob, first_id: int, known: Mapping[int, Answer] | None = None) -> JobResult | None:
        """Take the next job, whose leaves have the ids from ``first_id``.

        ``known``: answers by id, from an earlier run; raises CorruptState if their priors are of other moves.
        Returns the job's result if no answer is missing.
        """
        for index in [index for index in self._open if index <= job.index - self._lanes]:
            self._forget(self._open.pop(index))
        reached = reach(self._engine, self._root_state, job)
        ids = [first_id + int(leaf) for leaf in reached.first]
        added = self._open[job.index] = _Open(job, ids, reached, [])
        for leaf_id, leaf in zip(ids, reached.first.tolist(), strict=True):
            position = self._position(leaf_id, leaf, added, (known or {}).get(leaf_id))
            position.jobs.append(added)
            added.positions.append(position)
        return _result(added) if added.complete else None

    def ask(self, most: int, now_s: float) -> list[Leaf]:
        """Hand out up to that many leaves, in the order of their ids."""
        self._take_back(now_s)
        leaves: list[Leaf] = []
        while self._waiting and len(leaves) < most:
            position = self._unanswered.get(heapq.heappop(self._waiting))
            if position is not None:
                position.due_s = now_s + self._deadline_s
                heapq.heappush(self._out, (position.due_s, position.leaf.id))
                leaves.append(position.leaf)
        return leaves

    def leaf(self, leaf_id: int) -> Leaf:
        """The unanswered leaf with this id. Raises InvalidInput (``id``)."""
        if leaf_id not in self._unanswered:
            raise InvalidInput("id", leaf_id, ID)
        return self._unanswered[leaf_id].leaf

    def tell(self, leaf_id: int, answer: Answer) -> list[JobResult]:
        """Take the answer to an unanswered leaf; returns the results of jobs that are complete with it."""
        position = self._unanswered.pop(leaf_id)
        position.answer = answer
        return [_result(each) for each in position.jobs if each.complete]

    def next_due_s(self) -> float | None:
        """When the next leaf goes back; None if none is out."""
        while self._out:
            due_s, leaf_id = self._out[0]
            position = self._unanswered.get(leaf_id)
            if position is not None and position.due_s == due_s:
                return due_s
            heapq.heappop(self._out)
        return None

    def answers(self, absorbed: int) -> dict[int, Answer]:
        """The answers to leaves of the jobs from number ``absorbed`` on, by id; shared ones under each id."""
        return {
            leaf_id: position.answer
            for index, each in self._open.items()
            for leaf_id, position in zip(each.ids, each.positions, strict=True)
            if index >= absorbed and position.answer is not None
        }

    def _position(self, leaf_id: int, leaf: int, added: _Open, known: Answer | None) -> _Position:
        """The position of a leaf: one that an earlier leaf has reached, or a new one that waits."""
        key, job = added.reached.states[leaf].tobytes(), added.job
        if key not in self._by_state:
            path = job.moves[leaf, : job.depths[leaf]].tolist()
            legal = added.reached.legal[leaf, : added.reached.counts[leaf]]
            require(known is None or len(known.priors) == len(legal), "priors are of other moves")
            made = leaf_of(self._engine.game, leaf_id, self._root_state, path, legal)
            self._by_state[key] = _Position(made, key, known)
            if known is None:
                self._unanswered[leaf_id] = self._by_state[key]
                heapq.heappush(self._waiting, leaf_id)
        return self._by_state[key]

    def _take_back(self, now_s: float) -> None:
        while (due_s := self.next_due_s()) is not None and due_s <= now_s:
            _, leaf_id = heapq.heappop(self._out)
            self._unanswered[leaf_id].due_s = None
            heapq.heappush(self._waiting, leaf_id)
            self.asked_again += 1

    def _forget(self, old: _Open) -> None:
        for position in old.positions:
            position.jobs.remove(old)
            if not position.jobs:
                del self._by_state[position.key]


def _result(done: _Open) -> JobResult:
    answers = [position.answer for position in done.positions if position.answer is not None]
    values = np.array([answer.value for answer in answers], dtype=np.float64)
    priors = [answer.priors for answer in answers]
    sums, policies = outcome_of(done.reached, done.job, values, priors)
    own = sum(position.leaf.id in done.ids for position in done.positions)
    return JobResult(
        index=done.job.index,
        simulations=done.job.simulations,
        added=None,
        sums=sums,
        playouts=own,
        tree_nodes=0,
        tree_bytes=0,
        tree_full=False,
        duration_s=0.0,
        policies=policies,
    )
