"""A worker runs jobs with the game's kernels. It does not know how jobs and results are sent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np

import games
from games.compile.specialise import is_compiled
from games.compile.watch import compile_for
from search.job import Context, DividedJob, Job, JobResult, LaneTree
from search.kernel.engine import engine_of
from search.kernel.learning import forget
from search.kernel.workspace import Workspace
from search.strategies import Runner, Strategy, strategy_of


def why_one_at_a_time(context: Context) -> str | None:
    """Why jobs of a search do not run side by side in threads of one process; None if they do."""
    if context.request.evaluator is not None:
        return "the evaluator is plain Python"
    game = games.load(context.game, context.game_source, tried=False)
    return None if is_compiled(game.rules) else f"the rules of {game.name} are not compiled"


def kind_of(context: Context) -> type[Strategy]:
    """The class of the strategy of a search."""
    return strategy_of(context.request.strategy, context.strategy_source)


def runs_in_threads(context: Context | None) -> bool:
    """Whether all workers of a machine should be threads of one process: not for jobs of strategy leaf, which
    are so short that Python's lock would hold them up."""
    if context is None or kind_of(context).by_leaves:
        return False
    return why_one_at_a_time(context) is None


class Worker:
    """Runs one job at a time, or begins several, as the `Runner` of the strategy does."""

    def __init__(self) -> None:
        self.goes_on = False
        """Whether a job knows what playouts have learnt in the jobs before it. Only for a single lane, whose
        jobs all run in this worker, one after the other."""
        self._search_id: str | None = None
        self._runner: Runner
        """That of the last search."""
        self._work: Workspace
        """Scratch of the search's kernels: clearing it takes a third of the time that a short job does."""

    def prepare(self, context: Context) -> None:
        """Compile or load the kernels of the search's jobs, so that no job waits for them."""
        game = games.load(context.game, context.game_source, tried=False)
        compile_for(f"{game.name}, strategy {context.request.strategy}")
        engine = engine_of(game, context.features)
        job = kind_of(context).least_job(engine, context)
        if job is not None:
            # What is wrong with an evaluator shows here as well, before the search begins.
            self.run(context, job)
            self._search_id = None

    def run(self, context: Context, job: Job) -> JobResult:
        """The job's increments; they depend on context and job alone, not on earlier jobs of this worker,
        unless ``goes_on`` is set. A divided job with ``changes_tree`` changes the tree of its search
        instead."""
        started, cpu_s = time.perf_counter(), time.thread_time()
        runner = self._runner_of(context)
        runner.work.tally[:] = 0
        with np.errstate(over="ignore"):
            done = job.run() if isinstance(job, DividedJob) else runner.run(job)
        if not job.divided:
            done.duration_s, done.cpu_s = time.perf_counter() - started, time.thread_time() - cpu_s
            if context.request.evaluator is not None:
                done.cpu_s = done.duration_s
        return done

    def together(self, context: Context, jobs: Sequence[Job], threads: int, sent: bool) -> DividedJob | None:
        """One job by ``threads`` threads in place of ``jobs``, which follow each other; None if there is
        none.

        ``sent``: whether its result is kept while other jobs run.
        """
        return None if jobs[0].divided else self._runner_of(context).together(jobs, threads, sent)

    def at_once(self, context: Context) -> int:
        """How many jobs should be begun before the first of them has ended; 1: `run` them instead."""
        return self._runner_of(context).at_once

    def begin(self, context: Context, job: Job) -> Future[JobResult]:
        """Begin a job; the future gets what `run` returns or raises. Further jobs can be begun meanwhile."""
        return self._runner_of(context).begin(job)

    def hand_over(self, context: Context, lane: int) -> LaneTree | None:
        """Remove and return the tree of a lane, for another worker; None if it is not here."""
        return self._runner.hand_over(lane) if context.search_id == self._search_id else None

    def take_over(self, context: Context, lane: int, tree: LaneTree) -> None:
        """Keep the tree of a lane from another worker; a tree that cannot be read is ignored."""
        self._runner_of(context).take_over(lane, tree)

    def begin_episode(self, context: Context) -> None:
        """Forget what playouts have learnt, where jobs go on from each other."""
        forget(self._runner_of(context).work)

    def _runner_of(self, context: Context) -> Runner:
        """The runner of this search; that of another one is dropped, with all that it keeps."""
        if context.search_id != self._search_id:
            engine = engine_of(games.load(context.game, context.game_source, tried=False), context.features)
            last = getattr(self, "_runner", None)
            if last is None or engine is not last.engine:
                self._work = engine.new_workspace()
            self._runner = kind_of(context).runner(engine, context, self._work, self.goes_on)
            self._search_id = context.search_id
        return self._runner
