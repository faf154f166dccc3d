"""The desk drives a search whose leaves are evaluated elsewhere: it hands leaves out and takes the answers.

The coordinator is that of every search. Its jobs come to the desk, and the desk gives their results back. The
desk has no clock and no lock: the time is an argument.

A position that is selected again while an earlier leaf with the same state is among the last ``lanes`` jobs
is not asked for again: both get one answer. With a store of evaluations that holds as well for positions that
the game says are the same, and for all that are in the store. So what a job asks for follows from the order
of jobs, and from the store as it was when the search began, never from the order of answers.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike

import numpy as np
import numpy.typing as npt

import games
from games.errors import InvalidInput
from search.ask_tell.leaf import (
    Answer,
    Leaf,
    Policy,
    aligned,
    answer_of,
    fingerprint_of,
    leaf_of,
    number_of,
    pack_answers,
    unpack_answers,
)
from search.ask_tell.store import EvaluationStore
from search.coordinator import Coordinator
from search.job import Context, Job, JobResult, LeafJob
from search.kernel.engine import engine_of
from search.kernel.evaluation import Reached, outcome_of, reach
from search.packing.arrays import Arrays, require, take, within

ID = "the id of a leaf that was handed out"


@dataclass(eq=False)
class Position:
    """A position that is asked for once, as the first leaf that has reached it."""

    number: int
    """That leaf's."""
    key: bytes
    """Of its state and legal moves; with a store, of what the game says is the same, and its key there."""
    legal: npt.NDArray[np.uint16]
    """Its legal moves, in that leaf's order."""
    make_leaf: Callable[[], Leaf]
    answer: Answer | None
    """With the priors of ``legal``."""
    recalled: bool
    """Whether nobody was asked for it as that leaf, because its answer was there."""
    jobs: list[OpenJob] = field(default_factory=list)
    """The jobs that need its answer."""

    @cached_property
    def leaf(self) -> Leaf:
        # Made when it is handed out: the texts of all moves take far more time and memory than the position.
        return self.make_leaf()


@dataclass(eq=False)
class OpenJob:
    """A job among the last ``lanes`` ones."""

    job: LeafJob
    numbers: list[int]
    """[U]: the number of the first leaf of the job with each of its different unfinished states."""
    reached: Reached
    positions: list[Position]
    """[U]: the positions whose answers it needs."""
    missing: int = 0
    """How many of them have no answer."""

    def new(self) -> dict[int, Position]:
        """By the leaf's place in the job: the positions that have to be asked for because of this job."""
        pairs = zip(self.numbers, self.positions, self.reached.first.tolist(), strict=True)
        return {leaf: each for number, each, leaf in pairs if number == each.number and not each.recalled}

    def result(self) -> JobResult:
        """Its result; only when no answer is missing."""
        answers = [
            aligned(position.answer, position.legal, self.reached.legal_moves(leaf))
            for leaf, position in zip(self.reached.first, self.positions, strict=True)
            if position.answer is not None
        ]
        values = np.array([answer.value for answer in answers], dtype=np.float64)
        made = outcome_of(self.reached, self.job, values, [answer.priors for answer in answers])
        asked = len(self.new())
        return replace(made, playouts=asked, recalled=len(answers) - asked)


class Positions:
    """Jobs go in; answers to positions go in, results of jobs come out."""

    def __init__(self, context: Context, store: EvaluationStore | None) -> None:
        """Raises InvalidInput as `EvaluationStore.use` does."""
        self._game = games.load(context.game, context.game_source, tried=False)
        if store is not None:
            store.use(context, self._game)
        self._engine, self._context, self._store = engine_of(self._game, context.features), context, store
        self.open: dict[int, OpenJob] = {}
        """By index: the last jobs."""
        self._by_key: dict[bytes, Position] = {}

    def add(self, job: LeafJob, first: int, known: dict[int, Answer]) -> OpenJob:
        """Take the next job, whose leaves have the numbers from ``first``. ``known``: answers by the number
        of their leaf; those to its leaves are removed. Raises CorruptState for one that cannot be."""
        for index in [index for index in self.open if index <= job.index - self._context.lanes]:
            old = self.open.pop(index)
            for position in old.positions:
                position.jobs.remove(old)
                if not position.jobs:
                    del self._by_key[position.key]
        with np.errstate(over="ignore"):
            reached = reach(self._engine, self._context.root_state, job)
        numbers = [first + int(leaf) for leaf in reached.first]
        added = self.open[job.index] = OpenJob(job, numbers, reached, [])
        for number, leaf in zip(numbers, reached.first.tolist(), strict=True):
            position = self._position(number, leaf, added, known.pop(number, None))
            position.jobs.append(added)
            added.positions.append(position)
            added.missing += position.answer is None
        return added

    def answer(self, position: Position, answer: Answer) -> list[JobResult]:
        """Take the answer to a position without one; returns the results of jobs that are complete with
        it."""
        position.answer = answer
        if self._store is not None:
            position.answer = self._store.keep(position.key, position.legal, answer)
        for job in position.jobs:
            job.missing -= 1
        # A job may need it twice, after different moves.
        return [job.result() for job in dict.fromkeys(position.jobs) if not job.missing]

    def _position(self, number: int, leaf: int, added: OpenJob, known: Answer | None) -> Position:
        """The position of a leaf: one that an earlier leaf has reached, or a new one."""
        state, legal = added.reached.states[leaf], added.reached.legal_moves(leaf)
        same = state if self._store is None else self._game.canonical(state)
        key = hashlib.sha256(same.tobytes() + np.sort(legal).tobytes()).digest()[:16]
        if key not in self._by_key:
            require(known is None or len(known.priors) == len(legal), "priors are of other moves")
            found = None if self._store is None else self._store.get(key, legal)
            path, root = added.job.moves[leaf, : added.job.depths[leaf]], self._context.root_state
            made = partial(leaf_of, self._game, number, root, path, legal)
            self._by_key[key] = Position(
                number, key, legal, made, known or found, known is None and found is not None
            )
        return self._by_key[key]


class Desk:
    """Jobs of the coordinator go in, leaves go out; answers come in, results of jobs go back."""

    def __init__(self, coordinator: Coordinator, evaluations: str | PathLike[str] | None = None) -> None:
        """The coordinator's search is opened with ``external``, and has no budget in seconds.
        ``evaluations``: the file of an `EvaluationStore`. Raises InvalidInput as that does."""
        search, context = coordinator.search, coordinator.search.context
        self._coordinator = coordinator
        store = None if evaluations is None else EvaluationStore(evaluations)
        self._positions = Positions(context, store)
        self._strategy, self._temperature = search.strategy, context.request.policy_temperature
        self._next_number = 0
        self._jobs: deque[Job] = deque()
        """Jobs of the coordinator whose leaves have no numbers yet."""
        self._results: deque[JobResult] = deque()
        """Results for the coordinator."""
        self._unanswered: dict[int, Position] = {}
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
        added = self._positions.add(job, first, self._known)
        for position in added.new().values():
            if position.answer is None:
                self._unanswered[position.number] = position
                heapq.heappush(self._waiting, position.number)
            else:
                # An earlier run had the answer: told as this leaf, or recalled, or that of another leaf.
                position.recalled = not any(self._told[position.number : position.number + 1])
        return None if added.missing else added.result()

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
            answer = answer_of(position.leaf, value, policy, self._temperature)
        except InvalidInput:
            self.give_back(leaf_id)
            raise
        self._told.extend([0] * (number + 1 - len(self._told)))
        self._told[number] = fingerprint_of(leaf_id, value, policy)
        self.answered += 1
        del self._unanswered[number]
        self._out.pop(number, None)
        return self._positions.answer(position, answer)

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
            for index, each in self._positions.open.items()
            for number, position in zip(each.numbers, each.positions, strict=True)
            if index >= self._strategy.absorbed and position.answer is not None
        }
        return {
            "told": np.array(self._told, dtype=np.uint64),
            "asked_again": np.array([self.asked_again]),
        } | pack_answers(answers)

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

    def _take_back(self, number: int) -> None:
        """Let a leaf that is out be handed out again."""
        del self._out[number]
        heapq.heappush(self._waiting, number)
