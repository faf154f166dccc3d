"""`banyan check FILE.py:CLASS`: whether a strategy gives the same answer wherever its jobs run (law 1).

One small search runs in several ways: by any number of workers that share out jobs at random, with results in
any order, with jobs that are lost after they ran, and from a checkpoint in its middle. Jobs and results are
pickled, as on their way to other machines and back. All runs must end with one digest; where one does not,
the finding names the first job that differs.
"""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from functools import partial
from itertools import product

from games.contract.findings import DidNotEnd, Finding, TimeLimit
from games.errors import foreign, said
from games.user_games import frames_of
from search.coordinator import Coordinator
from search.job import Job, JobResult
from search.packing.arrays import compress, decompress
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES, strategy_of
from search.summary import digest
from search.worker import Worker

LIMIT_S = 10.0
"""Seconds that a run may take; most take a tenth of one."""
# The share of jobs that are lost once, where some are; how often each way is repeated, with another order.
LOST, ORDERS = 0.3, 3
REQUEST = SearchRequest("tictactoe", lanes=3, rounds=16, simulations=960)
# Ways to run the search: in words, the number of workers, whether jobs are lost, and whether it is resumed.
WAYS = (
    ("in a second run", 1, False, False),
    ("on 2 workers, with results in another order", 2, False, False),
    ("on 5 workers, with jobs that are lost", 5, True, False),
    ("on 2 workers, resumed from a checkpoint", 2, False, True),
)
# Fields of jobs and results on which no answer depends: caches, and times.
MAY_DIFFER = {"hand_in", "tree", "duration_s", "cpu_s", "portion_s"}


def check(strategy: str, limit_s: float = LIMIT_S) -> Finding | None:
    """The first violation of law 1 by a strategy ``FILE.py:CLASS``; None if there is none. Compiles kernels;
    takes seconds.

    ``limit_s``: how many seconds each run may take. Raises InvalidInput (strategy) as `strategy_of` does.
    """
    kind = strategy_of(strategy)
    nearest = next((name for name, each in STRATEGY_CLASSES.items() if issubclass(kind, each)), "root")
    # Its kernels are compiled before any time is limited.
    _run(replace(REQUEST, strategy=nearest), 0, 1, False, False)
    request = replace(REQUEST, strategy=strategy)
    try:
        with TimeLimit(limit_s) as limit:
            expected, jobs = limit.call(partial(foreign, _run, request, 0, 1, False, False))
            for seed, (words, *way) in product(range(ORDERS), WAYS):
                found, others = limit.call(partial(foreign, _run, request, seed, *way))
                if found == expected:
                    continue
                for index, (job, result) in sorted(jobs.items()):
                    other, its_result = others.get(index, (b"", b""))
                    if job != other:
                        return Finding("make_job", f"{words}, job {index} is another")
                    if result != its_result:
                        return Finding("run", f"{words}, the result of job {index} is another, not the job")
                return Finding("add_result", f"{words}, equal results lead to another digest")
    except Finding as finding:
        return finding
    except (Exception, DidNotEnd) as error:
        frames = frames_of(error, strategy.rpartition(":")[0])
        slow = isinstance(error, DidNotEnd)
        text = f"did not end within {limit_s:g} s" if slow else f"raised {said(error)}"
        line = f" (line {frames[-1].lineno})" if frames else ""
        return Finding(frames[0].name if frames else kind.__name__, text + line)
    return None


def _run(
    request: SearchRequest, seed: int, workers: int, loses: bool, resumes: bool
) -> tuple[str, dict[int, tuple[bytes, bytes]]]:
    """The digest of one run; by index, what each job and its result were. With several workers, who runs
    which job is drawn. Raises Finding, and what the strategy raises."""
    jobs, draw = dict[int, tuple[bytes, bytes]](), random.Random(seed)
    team = [Worker() for _ in range(workers)]
    coordinator = Coordinator(open_search(request), workers)
    waiting = coordinator.start()
    resumes_at = coordinator.search.plan.jobs // 2 if resumes else -1
    while not coordinator.finished:
        job = waiting.pop(draw.randrange(len(waiting)) if workers > 1 else 0)
        done = draw.choice(team).run(coordinator.search.context, pickle.loads(pickle.dumps(job)))
        if done.index != job.index:
            raise Finding("run", f"gave the result of job {done.index} for job {job.index}")
        is_lost = loses and job.index not in jobs and draw.random() < LOST
        jobs[job.index] = _bytes_of(job), _bytes_of(done)
        if is_lost:
            waiting += coordinator.job_lost(job.index, "lost here")
            continue
        waiting += coordinator.job_done(pickle.loads(pickle.dumps(done)))
        if coordinator.search.strategy.absorbed == resumes_at:
            state, resumes_at = decompress(compress(coordinator.state())), -1
            coordinator = Coordinator(open_search(request), workers)
            coordinator.restore(state)
            waiting = coordinator.start()
    return digest(coordinator.search.strategy.tree), jobs


def _bytes_of(value: Job | JobResult) -> bytes:
    """Bytes that are equal for equal jobs, or results."""
    return pickle.dumps([each for name, each in vars(value).items() if name not in MAY_DIFFER])
