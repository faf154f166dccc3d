"""An executor that asks no evaluator for what is in a store of evaluations.

It stands between a session and the executor whose workers evaluate:

    session -- job of B leaves ----> Positions -- job of the leaves that nobody has asked for --> workers
    session <-- result of B leaves -- Positions <-- answers, which the store gets first --------- workers

A job whose positions are all known has its result at once, and the coordinator absorbs it in its turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from cluster.runtime.tasks import Event, Executor, JobDone, Task
from games.errors import InvalidInput
from search.ask_tell.desk import Position, Positions
from search.ask_tell.leaf import Answer
from search.ask_tell.store import EvaluationStore
from search.job import Context, LeafJob
from search.packing.arrays import parts_of
from search.request import MAX_SIMULATIONS


class RecallingExecutor:
    """An `Executor` for one search with an evaluator; ``inner`` has the workers."""

    def __init__(self, inner: Executor, store: EvaluationStore) -> None:
        self.inner, self._store = inner, store
        self._asked: dict[int, dict[int, Position]] = {}
        """By index of the job and place of the leaf: the positions that workers are asked for."""
        self._ready: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def open(self, context: Context | None) -> None:
        if context is None or context.request.evaluator is None:
            raise InvalidInput("evaluations", str(self._store.path), "nothing without an evaluator")
        self._positions = Positions(context, self._store)
        self.inner.open(replace(context, recalls=True))

    def submit(self, tasks: Iterable[Task]) -> None:
        sent = []
        for task in tasks:
            known = self._positions.open.get(task.index)
            # A job that was lost is here already.
            if known is None:
                known = self._positions.add(task.job, task.index * MAX_SIMULATIONS, {})
                if new := known.new():
                    self._asked[task.index] = new
                elif not known.missing:
                    self._ready.append(JobDone(known.result()))
            if task.index in self._asked:
                leaves, job = [*self._asked[task.index]], known.job
                visits = np.ones(len(leaves), dtype=np.int32)
                part = LeafJob(job.index, job.moves[leaves], job.depths[leaves], visits, job.draws)
                sent.append(replace(task, job=part))
        self.inner.submit(sent)

    def wait(self, timeout_s: float) -> list[Event]:
        for event in () if self._ready else self.inner.wait(timeout_s):
            if not isinstance(event, JobDone):
                self._ready.append(event)
            elif asked := self._asked.pop(event.result.index, None):
                self._hear(event.result, asked)
        ready, self._ready = self._ready, []
        return ready

    def _hear(self, done: Any, asked: dict[int, Position]) -> None:
        """Take the answers of a worker to these positions, by place of their leaves in the job."""
        # Each position has one visit.
        values = done.sums * self._positions.open[done.index].reached.signs[[*asked]]
        answers = map(Answer, values.tolist(), parts_of(done.policies.priors, done.policies.counts))
        for position, answer in zip(asked.values(), answers, strict=True):
            for result in self._positions.answer(position, answer):
                if result.index == done.index:
                    result.duration_s, result.cpu_s = done.duration_s, done.cpu_s
                self._ready.append(JobDone(result))
