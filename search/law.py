"""`banyan check FILE.py:CLASS`: whether a strategy gives the same answer wherever its jobs run (law 1).

One small search runs in several ways: by any number of workers that share out jobs at random, with results in
any order, with jobs that are lost after they ran, and from a checkpoint in its middle. Jobs and results are
pickled, as on their way to other machines and back. All runs must end with one digest; where one does not,
the finding names the first job that differs.
"""

from __future__ import annotations

import pickle
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from games.contract.findings import DidNotEnd, Finding, TimeLimit
from games.errors import foreign, said
from games.user_games import frames_of
from search.coordinator import Coordinator, SearchFailed
from search.packing.arrays import compress, decompress
from search.prepare import open_search
from search.request import SearchRequest
from search.run_inline import run_inline
from search.strategies import STRATEGY_CLASSES, strategy_of
from search.summary import digest
from search.tree.arena import ROOT
from search.worker import Worker

T = TypeVar("T")
LIMIT_S = 10.0
"""Seconds that one call of a strategy may take; most take a millisecond."""
LOST = 0.3
"""Share of jobs that are lost once, where some are."""
SEEDS = 3
"""How often each way is repeated, with another order."""
REQUEST = SearchRequest("tictactoe", lanes=3, rounds=16, simulations=960)
ANSWER = {"simulations", "added", "portion_rows", "sums", "policies", "outlook", "jobs"}
"""Fields of a result on which the answer depends."""
CACHES = {"begin", "hand_in"}
"""Fields of a job on which its result does not depend."""


@dataclass(frozen=True)
class Way:
    """A way to run the search."""

    words: str
    workers: int = 1
    seed: int | None = None
    """Of the order in which jobs run, and of who runs them; None: in their order."""
    loses: bool = False
    resumes: bool = False


def ways() -> list[Way]:
    """All ways, the plainest first."""
    found = [Way("on 1 worker"), Way("in a second run")]
    for seed in range(SEEDS):
        found += [
            Way("on 2 workers, with results in another order", 2, seed),
            Way("on 5 workers, with jobs that are lost", 5, seed, loses=True),
            Way("on 2 workers, resumed from a checkpoint", 2, seed, resumes=True),
        ]
    return found


@dataclass
class Trial:
    """Runs the search; `jobs` and `results` say what each job was and what came of it, by its index."""

    request: SearchRequest
    limit: TimeLimit
    jobs: dict[int, bytes] = field(default_factory=dict)
    results: dict[int, bytes] = field(default_factory=dict)

    def ask(self, rule: str, function: Callable[..., T], *arguments: Any) -> T:
        """What a function of the strategy returns; raises Finding, with the line, if it raises or does not
        end."""
        try:
            return self.limit.call(partial(foreign, function), *arguments)
        except SearchFailed as error:
            raise Finding("ready", str(error)) from error
        except (Exception, DidNotEnd) as error:
            frames = frames_of(error, self.request.strategy.rpartition(":")[0])
            slow = isinstance(error, DidNotEnd)
            text = f"did not end within {self.limit.seconds:g} s" if slow else f"raised {said(error)}"
            line = f" (line {frames[-1].lineno})" if frames else ""
            raise Finding(frames[0].name if frames else rule, text + line) from error

    def open(self, workers: int) -> Coordinator:
        return Coordinator(self.ask("__init__", open_search, self.request), workers)

    def run(self, way: Way) -> str:
        """The digest of the search; raises Finding."""
        coordinator, order = self.open(way.workers), random.Random(way.seed)
        team, lost = [Worker() for _ in range(way.workers)], set[int]()
        waiting = self.ask("make_job", coordinator.start)
        resumes_at = coordinator.search.plan.jobs // 2 if way.resumes else -1
        while not coordinator.finished:
            job = waiting.pop(0 if way.seed is None else order.randrange(len(waiting)))
            context, sent = coordinator.search.context, self.ask("make_job", _sent, job)
            done = self.ask("run", order.choice(team).run, context, sent)
            if done.index != job.index:
                raise Finding("run", f"gave the result of job {done.index} for job {job.index}")
            self.jobs[job.index] = _bytes_of({k: v for k, v in vars(job).items() if k not in CACHES})
            self.results[job.index] = _bytes_of({k: v for k, v in vars(done).items() if k in ANSWER})
            if way.loses and job.index not in lost and order.random() < LOST:
                lost.add(job.index)
                waiting += coordinator.job_lost(job.index, "lost here")
                continue
            waiting += self.ask("add_result", coordinator.job_done, self.ask("run", _sent, done))
            if coordinator.search.strategy.absorbed == resumes_at:
                resumes_at = -1
                state = decompress(compress(self.ask("own_state", coordinator.state)))
                coordinator = self.open(way.workers)
                self.ask("restore_own", coordinator.restore, state)
                waiting = self.ask("make_job", coordinator.start)
        tree, made = coordinator.search.strategy.tree, coordinator.counters.simulations
        if tree.visits[ROOT] != made:
            raise Finding("add_result", f"left the root {tree.visits[ROOT]} visits of {made} simulations")
        return digest(tree)


def check(strategy: str, limit_s: float = LIMIT_S) -> Finding | None:
    """The first violation of law 1 by a strategy ``FILE.py:CLASS``; None if there is none. Compiles kernels;
    takes seconds.

    ``limit_s``: how many seconds one call of the strategy may take. Raises InvalidInput (strategy) as
    `strategy_of` does.
    """
    kind = strategy_of(strategy)
    nearest = next((name for name, each in STRATEGY_CLASSES.items() if issubclass(kind, each)), "root")
    # Its kernels are compiled before any time is limited.
    run_inline(open_search(replace(REQUEST, strategy=nearest)), time.monotonic)
    request = replace(REQUEST, strategy=strategy)
    try:
        with TimeLimit(limit_s) as limit:
            plain = Trial(request, limit)
            first, *others = ways()
            expected = plain.run(first)
            for way in others:
                trial = Trial(request, limit)
                if trial.run(way) != expected:
                    raise _difference(plain, trial, way)
            search = trial.ask("__init__", open_search, request)
            coordinator, _ = trial.ask("run", run_inline, search, time.monotonic)
            if digest(coordinator.search.strategy.tree) != expected:
                raise Finding("run", "gives another digest in a thread of banyan than on a worker elsewhere")
    except Finding as found:
        return found
    return None


def _difference(plain: Trial, trial: Trial, way: Way) -> Finding:
    """What is at fault where a way leads to another digest."""
    for index, job in sorted(plain.jobs.items()):
        if trial.jobs.get(index) != job:
            return Finding("make_job", f"{way.words}, job {index} is another than on 1 worker in order")
        if trial.results.get(index) != plain.results[index]:
            same = "though it is the same job"
            return Finding("run", f"{way.words}, the result of job {index} is another, {same}")
    return Finding("add_result", f"{way.words}, equal results lead to another digest")


def _sent(value: T) -> T:
    """The value as another process gets it."""
    received: T = pickle.loads(pickle.dumps(value))
    return received


def _bytes_of(value: Any) -> bytes:
    """Bytes that are equal for equal jobs, results, and parts of them."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return _bytes_of(sorted(value.items()))
    if isinstance(value, tuple | list):
        return b"(" + b" ".join(map(_bytes_of, value)) + b")"
    return _bytes_of(vars(value)) if hasattr(value, "__dict__") else repr(value).encode()
