"""A run of a search whose leaves are evaluated by clients, in the threads of their requests.

The coordinator is that of every search. Its jobs go to a `Desk` (search/ask_tell/desk.py) instead of the
executor, and the desk's results come back. The pool ends the run, and writes its checkpoints.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.checkpoint.checkpoint import Opened
from cluster.runtime.tasks import Task
from cluster.service.errors import Problem, of_input, shown
from cluster.service.pool import Run
from cluster.service.request_models import Evaluation
from games.errors import InvalidInput, did_you_mean
from search.ask_tell.desk import Desk
from search.ask_tell.leaf import Leaf
from search.job import JobResult
from search.result import SearchResult

SETTLE_S = 0.05
"""Longest time, in seconds, that a client's answers or the pool's thread take to make further jobs."""


class ExternalRun(Run):
    """One run of a search with an external evaluator. `ask` and `tell` are safe in any thread."""

    external = True
    longest_idle_s = 3600.0
    """The run is cancelled after this many seconds in which no client gave an answer."""

    def __init__(self, opened: Opened, *others: Any, evaluations: Path | None = None, **options: Any) -> None:
        """Takes the arguments of `Run`, and the file of a store of evaluations, if answers are kept."""
        super().__init__(opened, *others, **options)
        self.guard = threading.RLock()
        self.heard_s = self.clock()
        """When a client last gave a new answer, by `clock`. Requests for leaves and repeated answers do not
        count: a client that evaluates nothing can send any number of them."""
        self._desk = Desk(opened.coordinator, evaluations)
        self._begun = self._closed = False
        if opened.further:
            self._desk.restore(opened.further)
        self.keeper.further = self._desk.state

    @property
    def idle_s(self) -> float:
        return self.clock() - self.heard_s

    @property
    def answered(self) -> bool:
        """Whether a client has given an answer."""
        return self._desk.answered > 0

    @property
    def contexts(self) -> Mapping[int, Any]:
        """Empty, because no worker of the pool gets a task."""
        return {}

    def begin(self) -> list[Task]:
        with self.guard:
            super().begin()
            self._desk.begin()
            self._settle(())
            self._begun = True
        return []

    def again(self) -> list[Task]:
        super().again()
        return []

    def check(self) -> None:
        with self.guard:
            if self.idle_s > self.longest_idle_s:
                self.cancel()
            super().check()
            self._settle(())

    def end(self) -> SearchResult:
        asked_again = self._desk.asked_again
        return replace(
            super().end(), workers=0, workers_lost=0, executor="external", jobs_retried=asked_again
        )

    def close(self) -> None:
        with self.guard:
            self._closed = True

    def ask(self, most: int, deadline_s: float) -> list[Leaf]:
        """Up to ``most`` leaves, handed out again if they are not answered within ``deadline_s`` seconds."""
        with self.guard:
            if not self._begun or self._closed or self.finished:
                return []
            return self._desk.ask(most, self.clock(), deadline_s)

    def tell(self, evaluation: Any) -> None:
        """Take the answer to a leaf, an `Evaluation` as JSON; after the end of the search it changes nothing.

        Raises InvalidInput as `Desk.tell` does, also for what is no evaluation, and Problem (503) while the
        search is not running.
        """
        with self.guard:
            if not self._begun or self._closed:
                raise not_running()
            if self.finished:
                return
            if not isinstance(evaluation, dict):
                raise InvalidInput("evaluation", evaluation, "an object with id, value, and policy")
            for name in sorted(evaluation.keys() - Evaluation.model_fields):
                self._desk.give_back(evaluation.get("id"))
                accepted = f"a field of this object{did_you_mean(name, Evaluation.model_fields)}"
                raise InvalidInput(name, evaluation[name], accepted)
            told = (evaluation.get("id"), evaluation.get("value"), evaluation.get("policy"))
            answered = self._desk.answered
            results = self._desk.tell(*told)  # type: ignore[arg-type]
            if self._desk.answered > answered:
                self.heard_s = self.clock()
            self._settle(results)

    def _settle(self, results: Iterable[JobResult]) -> None:
        """Take results, and those that follow, for SETTLE_S at most; the next call goes on."""
        until_s = time.monotonic() + SETTLE_S
        self._desk.settle(results, lambda: time.monotonic() < until_s)


def not_running() -> Problem:
    """The problem (503) for evaluations that cannot be taken now, and should be sent again."""
    return Problem(503, "the search is not running now: send the evaluations again", {"Retry-After": "1"})


def tell_all(run: ExternalRun, evaluations: Iterable[Any]) -> tuple[int, list[dict[str, Any]]]:
    """Tell all answers; returns how many were taken, and the others as the fields of `Refusal`."""
    taken, refused = 0, []
    for index, each in enumerate(evaluations):
        try:
            run.tell(each)
            taken += 1
        except InvalidInput as error:
            problem = of_input(error).more
            leaf_id = shown(each.get("id")) if isinstance(each, dict) else None
            refused.append({"index": index, "id": leaf_id} | problem)
    return taken, refused
