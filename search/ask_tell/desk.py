"""The desk drives a search whose leaves are evaluated elsewhere: it hands leaves out and takes the answers.

The coordinator is that of every search. Its jobs come to the desk, and the desk gives their results back. The
desk has no clock and no lock: the time is an argument. A position that is selected again while an earlier
leaf with the same state is among the last ``lanes`` jobs is not handed out again: both get one answer. So
which leaves share an answer follows from the order of jobs alone, never from the order of answers.
"""

from __future__ import annotations

import heapq
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from games.errors import InvalidInput
from search.ask_tell.leaf import (
    Answer,
    Leaf,
    Policy,
    answer_of,
    fingerprint_of,
    leaf_of,
    number_of,
    pack_answers,
    unpack_answers,
)
from search.coordinator import Coordinator
from search.job import Job, JobResult, LeafJob
from search.kernel.engine import engine_of
from search.kernel.evaluation import Reached, outcome_of, reach
from search.packing.arrays import Arrays, require, take, within

ID = "the id of a leaf that was handed out"


@dataclass(eq=False)
class _Position:
    """A position that is handed out once, as the first leaf that has reached it."""

    number: int
    """That leaf's."""
    key: bytes
    """The bytes of its state."""
    make_leaf: Callable[[], Leaf]
    answer: Answer | None
    jobs: list[_Open] = field(default_factory=list)
    """The jobs that need its answer."""

    @cached_property
    def leaf(self) -> Leaf:
        # Made when it is handed out: the texts of all moves take far more time and memory than the position.
        return self.make_leaf()


@dataclass(eq=False)
class _Open:
    """A job among the last ``lanes`` ones."""

    job: LeafJob
    numbers: list[int]
    """[U]: the number of the first leaf of the job with each of its different unfinished states."""
    reached: Reached
    positions: list[_Position]
    """[U]: the positions whose answers it needs."""
    missing: int = 0
    """How many of them have no answer."""


class Desk:
    """Jobs of the coordinator go in, leaves go out; answers come in, results of jobs go back."""

    def __init__(self, coordinator: Coordinator) -> None:
        """The coordinator's search is opened with ``external``, and has no budget in seconds."""
        search, context = coordinator.search, coordinator.search.context
        self._coordinator = coordinator
        self._engine, self._root_state = engine_of(search.game, context.features), context.root_state
        self._strategy, self._temperature = search.strategy, context.request.policy_temperature
        self._next_number = 0
        self._jobs: deque[Job] = deque()
        """Jobs of the coordinator whose leaves have no numbers yet."""
        self._results: deque[JobResult] = deque()
        """Results for the coordinator."""
        self._open: dict[int, _Open] = {}
        """By index: the last jobs."""
        self._by_state: dict[bytes, _Position] = {}
        self._unanswered: dict[int, _Position] = {}
        self._waiting: list[int] = []
        """A heap of numbers of leaves that can be handed out, the earliest first: the others wait for it."""
        self._out: dict[int, float] = {}
        """By number: when a leaf that is out goes back."""
        self._told = array("Q")
        """By number: the fingerprint of its answer, 0 without one."""
        self._known: dict[int, Answer] = {}
        """By number: answers from an earlier run to leaves of jobs that have not been added yet."""
        self.answered = 0
        """How many answers were taken since this desk was made, each once."""
        self.asked_again = 0
        """How often a leaf went back because its deadline had passed."""

    def begin(self) -> None:
        """Take the first jobs; in a restored search, leaves without an answer are handed out again."""
        self._next_number = self._coordinator.counters.simulations
        self._coordinator.start()
        self._jobs += self._strategy.jobs.values()

    def settle(self, results: Iterable[JobResult], may_go_on: Callable[[], bool]) -> bool:
        """Give results to the coordinator, and take the jobs that follow from them, while ``may_go_on``.

        A job whose leaves are all finished games needs no answer, so that jobs may follow each other without
        end: ``may_go_on`` limits them. Returns whether nothing is left for the next call. Raises CorruptState
        if a restored answer has another number of priors than its leaf has legal moves.
        """
        self._results += results
        while (self._jobs or (self._results and not self._coordinator.finished)) and may_go_on():
            if not self._jobs:
                self._jobs += self._coordinator.job_done(self._results.popleft())
                continue
            job = self._jobs.popleft()
            assert isinstance(job, LeafJob)
            complete = self._add(job, self._next_number)
            self._next_number += job.simulations
            if complete is not None and not self._coordinator.finished:
                self._results.append(complete)
        return not self._jobs and not self._results

    def _add(self, job: LeafJob, first: int) -> JobResult | None:
        """Take the next job, whose leaves have the numbers from ``first``; its result if no answer is
        missing."""
        for index in [index for index in self._open if index <= job.index - self._strategy.lanes]:
            old = self._open.pop(index)
            for position in old.positions:
                position.jobs.remove(old)
                if not position.jobs:
                    del self._by_state[position.key]
        reached = reach(self._engine, self._root_state, job)
        numbers = [first + int(leaf) for leaf in reached.first]
        added = self._open[job.index] = _Open(job, numbers, reached, [])
        for number, leaf in zip(numbers, reached.first.tolist(), strict=True):
            position = self._position(number, leaf, added)
            position.jobs.append(added)
            added.positions.append(position)
            added.missing += position.answer is None
        return None if added.missing else _result(added)

    def ask(self, most: int, now_s: float, deadline_s: float) -> list[Leaf]:
        """Hand out up to ``most`` leaves, in the order of their numbers; a leaf without an answer can be
        handed out again ``deadline_s`` seconds after ``now_s``."""
        for number in [number for number, due_s in self._out.items() if due_s <= now_s]:
            self._take_back(number)
            self.asked_again += 1
        leaves: list[Leaf] = []
        while self._waiting and len(leaves) < most:
            position = self._unanswered.get(heapq.heappop(self._waiting))
            if position is not None:
                self._out[position.number] = now_s + deadline_s
                leaves.append(position.leaf)
        return leaves

    def tell(self, leaf_id: str, value: float, policy: Policy | None) -> list[JobResult]:
        """Take an answer; returns the results of the jobs that are complete with it.

        The same answer again changes nothing. Raises InvalidInput (``id``, ``value``, ``policy``), also for
        another answer to a leaf that has one, and for a leaf whose number has another position now. Then
        nothing has changed, but that the leaf can be handed out again at once.
        """
        number = number_of(leaf_id)
        if 0 <= number < len(self._told) and self._told[number]:
            if self._told[number] != fingerprint_of(leaf_id, value, policy):
                accepted = f"a leaf without an answer: {number} has another answer, or another position now"
                raise InvalidInput("id", leaf_id, accepted)
            return []
        position = self._unanswered.get(number)
        if position is None:
            raise InvalidInput("id", leaf_id, ID)
        if position.leaf.id != leaf_id:
            raise InvalidInput("id", leaf_id, f"{ID}: {number} is another position now")
        try:
            position.answer = answer_of(position.leaf, value, policy, self._temperature)
        except InvalidInput:
            self.give_back(leaf_id)
            raise
        self._told.extend([0] * (number + 1 - len(self._told)))
        self._told[number] = fingerprint_of(leaf_id, value, policy)
        self.answered += 1
        del self._unanswered[number]
        self._out.pop(number, None)
        for job in position.jobs:
            job.missing -= 1
        return [_result(job) for job in position.jobs if not job.missing]

    def give_back(self, leaf_id: object) -> None:
        """Let the leaf with this id, if it is out, be handed out again at once: its answer was refused."""
        number = number_of(leaf_id)
        if number in self._out and self._unanswered[number].leaf.id == leaf_id:
            self._take_back(number)

    def next_due_s(self) -> float | None:
        """When the earliest deadline of the leaves that are out ends; None if none is out."""
        return min(self._out.values(), default=None)

    def state(self) -> Arrays:
        """What was told as arrays: fingerprints, and the answers to leaves of jobs that are not absorbed."""
        # An answer that leaves share is kept under the number of each: the first may have been absorbed.
        answers = self._known | {
            number: position.answer
            for index, each in self._open.items()
            for number, position in zip(each.numbers, each.positions, strict=True)
            if index >= self._strategy.absorbed and position.answer is not None
        }
        own = {"told": np.array(self._told, dtype=np.uint64)}
        return own | {"asked_again": np.array([self.asked_again])} | pack_answers(answers)

    def restore(self, arrays: Arrays) -> None:
        """Continue from a `state`; after `Coordinator.restore`, before `begin`. Raises CorruptState."""
        leaves = self._coordinator.counters.simulations + self._strategy.unobserved
        told = take(arrays, "told", np.uint64, None)
        require(len(told) <= leaves, "answers are to leaves that are not there")
        again = take(arrays, "asked_again", np.int64, 1)
        within(again, 0, 2**62, "asked_again")
        self._told, self._known, self.asked_again = (
            array("Q", told.tolist()),
            unpack_answers(arrays),
            int(again[0]),
        )

    def _position(self, number: int, leaf: int, added: _Open) -> _Position:
        """The position of a leaf: one that an earlier leaf has reached, or a new one that waits."""
        key, job = added.reached.states[leaf].tobytes(), added.job
        known = self._known.pop(number, None)
        if key not in self._by_state:
            path = job.moves[leaf, : job.depths[leaf]]
            legal = added.reached.legal[leaf, : added.reached.counts[leaf]]
            require(known is None or len(known.priors) == len(legal), "priors are of other moves")
            made = partial(leaf_of, self._engine.game, number, self._root_state, path, legal)
            self._by_state[key] = _Position(number, key, made, known)
            if known is None:
                self._unanswered[number] = self._by_state[key]
                heapq.heappush(self._waiting, number)
        return self._by_state[key]

    def _take_back(self, number: int) -> None:
        """Let a leaf that is out be handed out again."""
        del self._out[number]
        heapq.heappush(self._waiting, number)


def _result(done: _Open) -> JobResult:
    answers = [position.answer for position in done.positions if position.answer is not None]
    values = np.array([answer.value for answer in answers], dtype=np.float64)
    priors = [answer.priors for answer in answers]
    own = sum(map(int.__eq__, done.numbers, (position.number for position in done.positions)))
    return replace(outcome_of(done.reached, done.job, values, priors), playouts=own)
