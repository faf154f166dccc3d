"""The coordinator: a state machine that owns one search.

Events go in as method calls (a job is done, lost, or failed; time is up), instructions come out as jobs to
run. It uses no Ray, no threads and no clock: elapsed time is an argument, so that one code runs in tests, on
a cluster, and with a virtual clock. Its whole state can be exported as arrays and restored in another
coordinator.

Invariants:
- Jobs are numbered in the order in which the strategy makes them. Results are absorbed in that
  order; a result that arrives before its turn waits in `_early`.
- A result is accepted only while its job is pending; a late or duplicate result is dropped.
- A lost job is handed out again unchanged. Jobs are pure functions, so the result equals the one
  that was lost. (Those of `Strategy.work_in_place` run in this process, at the tree itself: none is lost.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from search.job import Job, JobResult
from search.options import is_class
from search.packing.arrays import Arrays, require, take, within
from search.plan import LAST_SHARE
from search.prepare import Search
from search.result import SearchResult, answer
from search.summary import digest
from search.tree.arena import FULL, ROOT, UNPROVEN, tree_bytes

FADING = 0.8
"""What a result counts, beside the next one, in the estimate of how fast workers are."""
MAX_ATTEMPTS = 5
"""A task that was lost this often is given up: it probably kills the workers that run it."""

Item = TypeVar("Item")


class LostTooOften(Exception):
    """A task was lost MAX_ATTEMPTS times."""


class Ledger(Generic[Item]):
    """Pending items by key. An outcome is accepted only while its item is pending."""

    def __init__(self) -> None:
        self._out: dict[Hashable, tuple[Item, int]] = {}
        """Items, and how often each was handed out."""

    def __len__(self) -> int:
        return len(self._out)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._out

    @property
    def items(self) -> list[Item]:
        """All pending items, in the order in which they were first handed out."""
        return [item for item, _ in self._out.values()]

    def hand_out(self, key: Hashable, item: Item) -> None:
        """Add a pending item."""
        self._out[key] = item, 1

    def settle(self, key: Hashable) -> bool:
        """Remove an item whose outcome has arrived; returns False if it was not pending (a late outcome)."""
        return self._out.pop(key, None) is not None

    def pending(self, keys: Iterable[Hashable]) -> list[Item]:
        """The pending items with these keys, in the order of the keys."""
        return [self._out[key][0] for key in keys if key in self._out]

    def lost(self, key: Hashable, reason: str) -> Item | None:
        """Note that an item was lost; returns it to be handed out again, None if it is not pending.

        Raises LostTooOften.
        """
        if key not in self._out:
            return None
        item, attempts = self._out[key]
        if attempts == MAX_ATTEMPTS:
            raise LostTooOften(f"lost {MAX_ATTEMPTS} times; the last time: {reason}")
        self._out[key] = item, attempts + 1
        return item


GRACE_S = 0.1
"""How long, in seconds, a search whose time is up waits for the next of the results that an answer needs."""
DURATION_BUCKETS_S = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0)


class SearchFailed(RuntimeError):
    """The search cannot continue: a job raised an exception, or was lost too often."""


@dataclass
class Durations:
    """A histogram of durations: counts by bucket, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BUCKETS_S) + 1))
    sum_s: float = 0.0

    def observe(self, seconds: float, times: int = 1) -> None:
        self.counts[bisect_left(DURATION_BUCKETS_S, seconds)] += times
        self.sum_s += seconds * times


@dataclass
class RoundCosts:
    """What rounds cost, in seconds, summed over all rounds that are over. A round is one job of each lane."""

    rounds: int = 0
    jobs_s: float = 0.0
    """CPU time of all jobs on their workers."""
    longest_s: float = 0.0
    """CPU time of the longest job of each round, or of its longest portion."""
    merge_s: float = 0.0
    """Time of the coordinator in which results come into the tree."""
    snapshot_s: float = 0.0
    """Time of the coordinator in which it takes the snapshot from which the next round's jobs start."""
    plan_s: float = 0.0
    """Time of the coordinator in which it makes jobs."""
    shared: bool = False
    """Whether threads that are free take portions one by one, instead of whole jobs."""
    send_s: float = 0.0
    """Other time between the last result of a round and the start of the next round's first job."""

    @property
    def serial_s(self) -> float:
        """Time in which one thread works, or a message travels, while workers wait."""
        return self.merge_s + self.snapshot_s + self.plan_s + self.send_s

    def efficiency(self, cores: int, lanes: int, by_rounds: bool) -> float | None:
        """The share of the time of ``cores`` cores in which they would run jobs: arithmetic from these costs,
        not a measurement; None before a round is over.

        With rounds all cores wait for the longest job (where portions are ``shared``, at best until all end
        together), then for the serial part; without rounds only when the coordinator is busy for longer than
        the jobs take.
        """
        if self.jobs_s == 0.0:
            return None
        width = min(cores, lanes)
        if not by_rounds:
            return self.jobs_s / cores / max(self.jobs_s / width, self.serial_s)
        if self.shared:
            return self.jobs_s / cores / (max(self.longest_s, self.jobs_s / cores) + self.serial_s)
        waves = math.ceil(lanes / width)
        return self.jobs_s / cores / (self.longest_s + (waves - 1) * self.jobs_s / lanes + self.serial_s)


@dataclass
class Counters:
    """Counters for progress and metrics. They do not influence the search."""

    simulations: int = 0
    playouts: int = 0
    recalled: int = 0
    jobs_done: int = 0
    jobs_retried: int = 0
    late_results: int = 0
    """Results that arrived when their job was no longer pending; they are dropped."""
    tree_full: bool = False
    lane_tree_bytes: int = 0
    """Bytes of the largest tree that a job has reported."""
    resumed: int = 0
    """How often the search was resumed from a checkpoint."""
    job_durations: Durations = field(default_factory=Durations)
    merge_durations: Durations = field(default_factory=Durations)
    round_costs: RoundCosts = field(default_factory=RoundCosts)


_KEPT = (
    *("simulations", "playouts", "jobs_done", "jobs_retried", "late_results"),
    *("tree_full", "lane_tree_bytes", "resumed", "recalled"),
)
"""The counters that are saved in checkpoints; durations belong to one process and are not saved."""


class Coordinator:
    """The state of one search: pending jobs, early results, the merged tree."""

    def __init__(self, search: Search, workers: int, rate_assumed: float = 0.5) -> None:
        """``rate_assumed``: the share of the game's nominal rate that is assumed before the first result."""
        self.search = search
        self.counters = Counters()
        self.stopped_by: str | None = None
        self.workers = max(1, workers)
        """Number of workers; used for job sizes under a budget in seconds, and for reports."""
        self.executor, self.workers_lost = "inline", 0
        """Where jobs run, and how many workers were lost with their processes; for reports."""
        self.stopwatch: Callable[[], float] = lambda: 0.0
        """A clock, in seconds, to measure the coordinator's own work; set by whoever drives the search."""
        self._ledger: Ledger[Job] = Ledger()
        self._early: dict[int, tuple[JobResult, float]] = {}
        """By index: a result, and when it came, in elapsed seconds."""
        self._rate = search.game.nominal_simulations_per_s * rate_assumed
        """Simulations/s of one worker; used only for job sizes under a budget in seconds."""
        self._recent = (0.0, 0.0)
        """Simulations and seconds of results, of which older ones count less."""
        self._heard_s = 0.0
        """When the last result came, in elapsed seconds."""
        self._round_cpu_s: list[float] = []
        """CPU times of the jobs of this round whose results are in the tree."""
        self._looked = 0
        """How many results were in the tree when it was last seen whether the move is decided."""
        self._ended_s: float | None = None
        """When the coordinator had made the next jobs after the last round, in elapsed seconds; None once a
        result of the next has come."""

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def jobs_in_flight(self) -> int:
        strategy = self.search.strategy
        return strategy.issued - strategy.absorbed - sum(done.jobs for done, _ in self._early.values())

    @property
    def results_waiting(self) -> int:
        """Number of results whose merge waits for the result of an earlier job."""
        return len(self._early)

    @property
    def waits_since_s(self) -> float | None:
        """When the oldest of the `results_waiting` came, in elapsed seconds; None if none waits."""
        # A copy: another thread may read this.
        return next((came_s for _, came_s in list(self._early.values())), None)

    @property
    def rate(self) -> float:
        """Simulations/s of one worker, estimated from the game's nominal speed and the jobs so far."""
        return self._rate

    @property
    def tree_nodes(self) -> int:
        return self.search.strategy.tree_nodes()

    @property
    def tree_bytes(self) -> int:
        return tree_bytes(self.search.strategy.tree)

    def work_in_place(self, threads: int, run: Callable[[Job], JobResult]) -> None:
        """Make jobs that work on the tree itself, in ``threads`` threads of this process, where that pays.

        Only before `start`; 0 threads change nothing, nor does a strategy from a file, which may have changed
        what jobs are. ``run`` runs the jobs that a restored search had in flight. The executor must run a
        divided task while its caller waits.
        """
        threads *= not is_class(self.search.request.strategy)
        for job in self.search.strategy.work_in_place(threads, run) if threads else ():
            self._ledger.settle(job.index)

    def start(self, elapsed_s: float = 0.0) -> list[Job]:
        """The first jobs to run: in a resumed search those that were pending, then new ones.

        Also called when the executor has lost all its jobs.
        """
        jobs = [] if self.finished else self._ledger.items
        return jobs + self._issue(elapsed_s)

    def job_done(self, done: JobResult, elapsed_s: float = 0.0, held_s: float = 0.0) -> list[Job]:
        """Take a result; returns the jobs to run now. It is absorbed when all results before it have been.

        A result of several jobs is taken if all of them are pending; if not, it is dropped, and those that
        are pending are returned to be run again. ``held_s``: seconds for which the worker has kept the
        result, because other jobs ran in the same call.
        """
        jobs = self._ledger.pending(range(done.index, done.index + max(1, done.jobs)))
        whole = len(jobs) == done.jobs or any(job.divided for job in jobs)
        if self.finished or not whole:
            self.counters.late_results += 1
            return [] if self.finished else jobs
        for job in jobs:
            self._ledger.settle(job.index)
        self.counters.job_durations.observe(done.duration_s / max(1, done.jobs), done.jobs)
        self._note_rate(done.simulations, done.duration_s)
        self._heard_s = elapsed_s
        self._early[done.index] = done, elapsed_s
        jobs = []
        strategy, started, costs = self.search.strategy, self.stopwatch(), self.counters.round_costs
        if self._ended_s is not None:
            costs.send_s += max(0.0, elapsed_s - held_s - done.duration_s / done.threads - self._ended_s)
            self._ended_s = None
        rounds = costs.rounds
        early = self._early
        while not self.finished and strategy.absorbed in early:
            self._absorb(strategy.jobs[strategy.absorbed], early.pop(strategy.absorbed)[0])
            # Issued after each single result: the state that a job is made from must not depend on
            # how many results arrived together.
            jobs += self._issue(elapsed_s)
        if strategy.by_rounds and costs.rounds > rounds:
            self._ended_s = elapsed_s + self.stopwatch() - started
        return jobs

    def job_lost(self, index: int, reason: str) -> list[Job]:
        """Note that a job's worker died or missed its deadline; returns the job again if it is still pending.

        Raises SearchFailed if the job was lost too often.
        """
        if self.finished:
            return []
        try:
            job = self._ledger.lost(index, reason)
        except LostTooOften as error:
            raise SearchFailed(f"job {index} was {error}") from None
        if job is None:
            return []
        self.counters.jobs_retried += 1
        return [job]

    def job_failed(self, index: int, error: str) -> None:
        """Raise SearchFailed if the job is pending: a job that raised would raise again."""
        if index in self._ledger and not self.finished:
            self._conclude(failed=True)
            raise SearchFailed(f"job {index} failed: {error}")

    def check(self, elapsed_s: float) -> None:
        """End the search if its budget in seconds is used up.

        The search waits for the results that an answer needs as long as the next one comes within GRACE_S.
        """
        seconds = self.search.request.seconds
        if seconds is None or elapsed_s < seconds:
            if seconds is not None and elapsed_s > 0.0:
                self._end_if_decided(self.counters.simulations * (seconds / elapsed_s - 1.0))
            return
        strategy = self.search.strategy
        enough = strategy.absorbed >= strategy.least_jobs or strategy.holds_results
        if enough or elapsed_s >= max(seconds, self._heard_s) + GRACE_S:
            self.stop("seconds")

    def stop(self, reason: str) -> None:
        """End the search with the results absorbed so far; no effect on a search that is over."""
        if self.finished:
            return
        if reason == "seconds":
            self._conclude(failed=False)
        self.stopped_by = reason

    def result(self, elapsed_s: float, executor: str | None = None) -> SearchResult:
        """The result; ``stopped_by`` is ``cancelled`` before the search has finished."""
        search, counters = self.search, self.counters
        return SearchResult(
            game=search.game.spec,
            moves=search.request.moves,
            position=search.request.position,
            to_move=search.game.name_of(int(search.game.calls.current_player(search.root_state))),
            strategy=search.request.strategy,
            lanes=search.plan.lanes,
            seed=search.request.seed,
            workers=self.workers,
            executor=executor or self.executor,
            answer=answer(search),
            simulations=counters.simulations,
            playouts=counters.playouts,
            recalled=counters.recalled,
            kept_visits=search.kept_visits,
            tree_nodes=self.tree_nodes,
            tree_full=counters.tree_full,
            jobs=search.strategy.absorbed,
            jobs_retried=counters.jobs_retried,
            resumed=counters.resumed,
            workers_lost=self.workers_lost,
            elapsed_s=elapsed_s,
            simulations_per_s=counters.simulations / elapsed_s if elapsed_s > 0 else None,
            stopped_by=self.stopped_by or "cancelled",
            digest=digest(search.strategy.tree),
        )

    def state(self) -> Arrays:
        """The complete state as arrays, except ``stopped_by``: see `restore`.

        Results that wait for their turn are left out: their jobs are run again, with equal results.
        """
        counters = [int(getattr(self.counters, name)) for name in _KEPT]
        return self.search.strategy.state() | {"counters": np.array(counters, dtype=np.int64)}

    def restore(self, arrays: Arrays, stopped_by: str | None = None) -> None:
        """Restore the state of an equal search; only before `start`.

        Raises CorruptState if the arrays are not a valid state; the coordinator is unusable then.
        """
        strategy, plan = self.search.strategy, self.search.plan
        strategy.restore(arrays)
        if plan.seconds is None:
            sizes = all(plan.size(index) == job.simulations for index, job in strategy.jobs.items())
            many = plan.is_fixed and strategy.issued > plan.jobs
            require(sizes and not many, "jobs are not those of the request")
        for index, job in strategy.jobs.items():
            self._ledger.hand_out(index, job)
        counts = take(arrays, "counters", np.int64, None)
        # Banyan 0.1.0 kept all but the last.
        require(len(_KEPT) - len(counts) in (0, 1), "there are more or fewer counters")
        within(counts, 0, 2**62, "counters")
        for name, count in zip(_KEPT, counts.tolist(), strict=False):
            setattr(self.counters, name, bool(count) if name == "tree_full" else count)
        require(
            self.counters.simulations + self.search.kept_visits == strategy.tree.visits[ROOT],
            "simulations are not as many as visits",
        )
        self.stopped_by = stopped_by
        if not self.finished:
            self._end_if_due()
        self.counters.resumed += not self.finished

    def _issue(self, elapsed_s: float) -> list[Job]:
        """Make all jobs that can be made now; raises SearchFailed if the search could never end."""
        jobs: list[Job] = []
        strategy, seconds = self.search.strategy, self.search.plan.seconds
        left_s = math.inf if seconds is None else max(0.0, seconds - elapsed_s)
        while not self.finished and strategy.ready:
            size = self._next_size(elapsed_s)
            if size == 0 and not strategy.holds_results:
                break
            started = self.stopwatch()
            job = strategy.next_job(size, left_s)
            self.counters.round_costs.plan_s += self.stopwatch() - started
            self._ledger.hand_out(job.index, job)
            jobs.append(job)
        if not (self.finished or self._ledger or self._early):
            raise SearchFailed(f"strategy {self.search.request.strategy} makes no job, though none is out")
        return jobs

    def _conclude(self, failed: bool) -> None:
        """Count what jobs have done to the tree without a result that was taken: see `Strategy.conclude`."""
        done = self.search.strategy.conclude(failed)
        if done is not None:
            self._count(done)

    def _count(self, done: JobResult) -> None:
        counters = self.counters
        counters.jobs_done += done.jobs
        counters.simulations += done.simulations
        counters.playouts += done.playouts
        counters.recalled += done.recalled
        counters.lane_tree_bytes = max(counters.lane_tree_bytes, done.tree_bytes)
        counters.tree_full |= done.tree_full or bool(self.search.strategy.tree.counts[FULL])

    def _note_rate(self, simulations: int, seconds: float) -> None:
        """Take a result into the estimate of the simulations/s of one worker."""
        # By time: the first jobs are short, and much faster than those of a deep tree.
        if simulations and seconds > 0:
            done, took_s = self._recent
            self._recent = FADING * done + simulations, FADING * took_s + seconds
            self._rate = self._recent[0] / self._recent[1]

    def _simulations_left(self) -> int:
        """The most simulations that can be asked for."""
        out = self.counters.simulations + self.search.strategy.unobserved
        return self.search.request.most_simulations - out

    def _next_size(self, elapsed_s: float) -> int:
        plan = self.search.plan
        if plan.is_fixed:
            return plan.size(self.search.strategy.issued)
        if plan.seconds is None:
            return min(self._simulations_left(), plan.size(self.search.strategy.issued))
        strategy, costs, left_s = self.search.strategy, self.counters.round_costs, plan.seconds - elapsed_s
        # None should run past the budget: without rounds two are in flight for each worker.
        most_s = LAST_SHARE * left_s / -(-plan.lanes // self.workers) if strategy.by_rounds else left_s / 4
        job_s = plan.job_s(self.workers, most_s, costs.serial_s / max(1, costs.rounds))
        return min(self._simulations_left(), strategy.most, max(1, round(self._rate * job_s)))

    def _absorb(self, job: Job, done: JobResult) -> None:
        started = self.stopwatch()
        strategy, counters = self.search.strategy, self.counters
        ends_round = strategy.absorb(job, done)
        merged = self.stopwatch()
        counters.merge_durations.observe(merged - started)
        costs = counters.round_costs
        costs.merge_s += merged - started
        if ends_round:
            strategy.end_round()
            costs.snapshot_s += self.stopwatch() - merged
        if done.portion_s is not None:
            costs.shared = True
            self._round_cpu_s += done.portion_s.tolist()
        elif not job.divided:
            self._round_cpu_s.append(done.cpu_s)
        if self._round_cpu_s and strategy.absorbed % strategy.lanes == 0:
            costs.rounds += 1
            costs.jobs_s += sum(self._round_cpu_s)
            costs.longest_s += max(self._round_cpu_s)
            self._round_cpu_s.clear()
        self._count(done)
        self._end_if_due()

    def _end_if_due(self) -> None:
        """End the search for what the results in the tree say: the rule of all strategies, wherever jobs run.

        In this order: the root is proven; the budget in simulations is used up; so is the memory, where that
        ends the search; no job is left (proven parts of the tree need fewer simulations than they got); the
        move is decided. With rounds a search ends with a whole one, since it may be one job.
        """
        strategy, plan, request = self.search.strategy, self.search.plan, self.search.request
        if strategy.by_rounds and strategy.absorbed % strategy.lanes and strategy.jobs:
            return
        if strategy.proven != UNPROVEN:
            self.stop("proven")
        elif self.counters.simulations == (plan.simulations or request.most_simulations):
            self.stop("simulations")
        elif strategy.full and request.stop_when_full:
            self.stop("memory")
        elif plan.is_fixed and strategy.absorbed == plan.jobs:
            self.stop("simulations")
        elif plan.seconds is None:
            budget = plan.simulations or request.most_simulations
            self._end_if_decided(budget - self.counters.simulations)

    def _end_if_decided(self, left: float) -> None:
        """With ``early_stop``, end a search in which no other move can get as many visits as the best one has
        with so many simulations more."""
        strategy = self.search.strategy
        if not self.search.request.early_stop or self.finished or self._looked == strategy.absorbed:
            return
        self._looked = strategy.absorbed
        first, second, *_ = [
            *sorted((child.visits for child in strategy.root_children()), reverse=True),
            0,
            0,
        ]
        if first - second > left:
            self.stop("decided")
