"""Many searches over one executor: the answers are those of searches alone, and none harms another."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.analysis.engine import Engine
from cluster.analysis.launch import analysed
from cluster.analysis.queries import Position
from cluster.analysis.worker import AnalysisWorker
from cluster.checkpoint.checkpoint import Keeper, begun, read_checkpoint
from cluster.runtime.broadcast import Call, pack_call
from cluster.runtime.pool_queue import WORK_UNIT_S, PoolQueue
from cluster.runtime.queue import TaskQueue
from cluster.runtime.session import Session, task_of
from cluster.runtime.tasks import Event, JobDone, JobLost, Task, keys_of
from cluster.service.pool import Pool, Run
from cluster.workers.inline import InlineExecutor
from cluster.workers.worker_process import WorkerProcess
from search.job import Context, GrowJob, Job, JobResult, LaneJob, Snapshot
from search.request import SearchRequest
from search.result import SearchResult
from search.tree.merge import lone_root
from search.worker import Worker
from tests.cluster.searches import REQUESTS, alone, never, unchanged
from tests.fake_executor import Fake
from tests.waiting import PATIENCE_S


class Seen:
    """A watcher that remembers."""

    def __init__(self, at_look: Callable[[Session], None] | None = None) -> None:
        self.result: SearchResult | None = None
        self.error: str | None = None
        self.ends = 0
        self.looks = 0
        self.over = threading.Event()
        self._at_look = at_look

    def begun(self, session: Session) -> None: ...

    def looked(self, session: Session) -> None:
        self.looks += 1
        if self._at_look is not None:
            self._at_look(session)

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        self.result, self.error = result, error
        self.ends += 1
        self.over.set()

    def put_off(self, session: Session) -> None:
        self.over.set()


def inline(queue: PoolQueue) -> InlineExecutor:
    return InlineExecutor(queue=queue)


def run_of(folder: Path, request: SearchRequest, watcher: Seen, priority: int = 0) -> Run:
    opened = begun(request)
    path = folder / f"{opened.coordinator.search.context.search_id}.npz"
    return Run(opened, watcher, Keeper(path, 60.0, warn=never, begun_s=0.0), priority)


def run_all(runs: Iterable[Run], make_executor: Any = inline) -> Pool:
    """Run them together to their ends."""
    pool = Pool(make_executor)
    for run in runs:
        pool.add(run)
    pool.start()
    for run in runs:
        assert run.watcher.over.wait(PATIENCE_S)  # type: ignore[attr-defined]
    pool.stop()
    pool.join(PATIENCE_S)
    pool.close()
    assert not pool.alive
    return pool


@pytest.mark.slow
def test_searches_that_run_together_have_the_answers_of_searches_alone(tmp_path: Path) -> None:
    watchers = {name: Seen() for name in REQUESTS}
    run_all([run_of(tmp_path, request, watchers[name]) for name, request in REQUESTS.items()])
    for name, request in REQUESTS.items():
        result = watchers[name].result
        assert result is not None
        assert unchanged(result) == unchanged(alone(request))
        assert watchers[name].ends == 1
    assert list(tmp_path.iterdir()) == []


class Losing(InlineExecutor):
    """Loses every third task the first time, and once all that it has, together with itself."""

    fails_at = 20

    def __init__(self, queue: PoolQueue) -> None:
        super().__init__(AnalysisWorker, queue)
        self.waits = 0
        self.lost: set[tuple[int, int]] = set()

    def wait(self, timeout_s: float) -> list[Event]:
        self.waits += 1
        if self.waits == self.fails_at:
            Losing.fails_at = 10**9
            raise ConnectionError("no worker could be kept alive")
        events = super().wait(timeout_s)
        for i, event in enumerate(events):
            assert isinstance(event, JobDone)
            key = event.context, event.result.index
            if event.result.index % 3 == 0 and key not in self.lost:
                self.lost.add(key)
                events[i] = JobLost(event.result.index, "worker died", event.context)
        return events


def test_lost_jobs_and_a_lost_executor_change_no_answer(tmp_path: Path) -> None:
    Losing.fails_at = 20
    request = REQUESTS["tree"]
    watchers = [Seen(), Seen()]
    pool = run_all([run_of(tmp_path, request, watcher) for watcher in watchers], Losing)
    assert pool.renewals == 1
    for watcher in watchers:
        assert watcher.result.jobs_retried > 0
        assert unchanged(watcher.result) == unchanged(alone(request))


class Hosted(Engine):
    """An engine of the pool that collects its answers."""

    def __init__(self, pool: Pool) -> None:
        self.answers: list[dict[str, Any]] = []
        self.over = threading.Event()

        def take(answer: Any, _: object = None) -> None:
            self.answers.append(json.loads(answer) if isinstance(answer, str) else answer)

        context = analysed(SearchRequest("tictactoe", simulations=900))
        super().__init__(context, pool.executor, pool.queue, take, "", pool.drive, pool.keys)

    def feed(self) -> None:
        super().feed()
        if not self.open:
            self.over.set()


def test_an_engine_beside_a_search_has_its_answers_through_losses(tmp_path: Path) -> None:
    """Positions of one task each, and one of several lanes."""
    Losing.fails_at = 20
    pool, watcher = Pool(Losing), Seen()
    engine = Hosted(pool)
    for seed in range(30):
        engine.add(Position({"id": str(seed), "seed": seed}, 0))
    engine.add(Position({"id": "30", "seed": 30, "lanes": 3}, 0))
    pool.start()
    pool.host(engine)
    pool.add(run_of(tmp_path, REQUESTS["tree"], watcher))
    try:
        assert engine.over.wait(PATIENCE_S) and watcher.over.wait(PATIENCE_S)
    finally:
        pool.stop()
        pool.join(PATIENCE_S)
    assert pool.renewals == 1 and not pool.drive.machines
    assert unchanged(watcher.result) == unchanged(alone(REQUESTS["tree"]))
    assert sorted(int(each["id"]) for each in engine.answers) == [*range(31)]
    for each in engine.answers:
        lanes = 3 if each["id"] == "30" else None
        request = SearchRequest("tictactoe", simulations=900, seed=int(each["id"]), lanes=lanes)
        assert each["digest"] == alone(request).digest


class Breaking(Worker):
    """Raises in jobs of searches with the seed 13."""

    def run(self, context: Context, job: Job) -> JobResult:
        if context.request.seed == 13:
            raise AttributeError("no such job")
        return super().run(context, job)


def test_a_job_that_raises_fails_its_own_search_only(tmp_path: Path) -> None:
    bad, good = Seen(), Seen()
    requests = [SearchRequest("gomoku:size=5", simulations=900, seed=seed, lanes=3) for seed in (13, 14)]
    runs = [
        run_of(tmp_path, request, watcher) for request, watcher in zip(requests, (bad, good), strict=True)
    ]
    run_all(runs, lambda queue: InlineExecutor(Breaking, queue))
    assert bad.result is None
    assert bad.error is not None and "AttributeError" in bad.error
    assert good.result is not None and good.error is None
    assert runs[0].outcome == "failed"
    # What it has come to is kept.
    assert read_checkpoint(runs[0].keeper.path).stopped_by is None


def test_a_watcher_that_raises_fails_its_own_search_only(tmp_path: Path) -> None:
    def complain(session: Session) -> None:
        raise RuntimeError("a bug")

    bad, good = Seen(complain), Seen()
    request = SearchRequest("gomoku:size=5", simulations=900, lanes=3)
    run_all([run_of(tmp_path, request, bad), run_of(tmp_path, request, good)])
    assert bad.error == "RuntimeError: a bug"
    assert good.result is not None


def test_a_search_that_is_cancelled_is_kept_and_goes_on_to_the_same_answer(tmp_path: Path) -> None:
    request = REQUESTS["tree"]

    def cancel(session: Session) -> None:
        if session.coordinator.counters.simulations > 200:
            session.cancel()

    first = Seen(cancel)
    run = run_of(tmp_path, request, first)
    run_all([run])
    assert first.result is not None and first.result.stopped_by == "cancelled"
    assert 200 < first.result.simulations < 900
    opened = read_checkpoint(run.keeper.path).open(files=False)
    assert opened.coordinator.counters.simulations == first.result.simulations
    again = Seen()
    keeper = Keeper(run.keeper.path, 60.0, warn=never, begun_s=opened.elapsed_s)
    run_all([Run(opened, again, keeper)])
    assert again.result is not None and again.result.resumed == 1
    assert unchanged(again.result) == unchanged(alone(request))


@pytest.mark.parametrize(("strategy", "simulations"), [("tree", 900), ("leaf", 300_000)])
def test_a_pool_that_stops_keeps_what_runs(tmp_path: Path, strategy: str, simulations: int) -> None:
    request = replace(REQUESTS[strategy], simulations=simulations, solver=False)
    pool = Pool(inline)

    def stop(session: Session) -> None:
        if session.coordinator.counters.simulations > 200:
            pool.stop()

    first = Seen(stop)
    run = run_of(tmp_path, request, first)
    pool.add(run)
    pool.start()
    pool.join(PATIENCE_S)
    pool.close()
    assert first.ends == 0 and first.over.is_set()
    again = Seen()
    opened = read_checkpoint(run.keeper.path).open()
    run_all([Run(opened, again, Keeper(run.keeper.path, 60.0, warn=never, begun_s=opened.elapsed_s))])
    assert again.result is not None
    assert unchanged(again.result) == unchanged(alone(request))


def task(run: int, index: int, work_s: float = 1e-6) -> Task:
    return Task(index, "a job", round(work_s / WORK_UNIT_S), run)


def runs_taken(queue: PoolQueue, times: int) -> list[int]:
    return [task.context for _ in range(times) for task in queue.take([0], 1, queue.bundle_size(1, 1, 0), 0)]


def outcome(index: int, took_s: float) -> Any:
    return SimpleNamespace(index=index, duration_s=took_s)


def test_turns_are_of_worker_time_and_not_of_jobs() -> None:
    queue = PoolQueue()
    for run, work_s in ((1, 3.0), (2, 0.5)):
        queue.open(run, 0)
        queue.add(task(run, i, work_s=work_s) for i in range(20))
    taken = runs_taken(queue, 16)
    assert taken[:8] == [1, 2, 2, 2, 2, 2, 2, 1]
    assert taken.count(1) * 3.0 == pytest.approx(taken.count(2) * 0.5, abs=3.0)


def test_a_search_is_charged_with_what_its_jobs_took() -> None:
    queue = PoolQueue()
    for run in (1, 2):
        queue.open(run, 0)
        queue.add(task(run, i, work_s=1.0) for i in range(20))
    assert runs_taken(queue, 2) == [1, 2]
    for run, took_s in ((1, 3.5), (2, 0.5), (3, 9.0)):
        queue.ended(run, outcome(0, took_s))
        # A copy that comes late is not charged.
        queue.ended(run, outcome(0, took_s))
    assert runs_taken(queue, 5) == [2, 2, 2, 1, 2]


def test_who_begins_late_or_was_idle_waits_for_one_bundle_and_has_nothing_saved_up() -> None:
    queue = PoolQueue()
    for run in (1, 2):
        queue.open(run, 0)
    queue.add([task(1, 0, work_s=0.01)])
    queue.add(task(2, i, work_s=1.0) for i in range(50))
    assert runs_taken(queue, 21) == [1] + [2] * 20
    # All that while the first had nothing to do, and the third was not there.
    queue.open(3, 0)
    for run in (1, 3):
        queue.add(task(run, i, work_s=1.0) for i in range(1, 9))
    assert runs_taken(queue, 2) == [1, 3]
    taken = runs_taken(queue, 12)
    assert [taken.count(run) for run in (1, 2, 3)] == [4, 4, 4]


def test_several_searches_get_short_bundles_and_no_second_one() -> None:
    queue = PoolQueue()
    queue.open(1, 0)
    queue.add(task(1, i, work_s=0.06) for i in range(20))
    assert len(queue.take([0], 1, 20, 0.25 / WORK_UNIT_S)) == 5
    assert queue.early([task(1, 0, work_s=0.25)])
    queue.open(2, 0)
    queue.add(task(2, i, work_s=0.15) for i in range(20))
    assert [len(queue.take([0], 1, 20, 0.25 / WORK_UNIT_S)) for _ in range(3)] == [1, 1, 2]
    assert not queue.early([task(1, 0, work_s=0.06)])
    # For so short a time the worker would have to wait itself.
    assert queue.early([task(1, i, work_s=0.005) for i in range(3)])
    assert queue.early([])


def test_higher_priorities_go_first_and_what_is_closed_is_gone() -> None:
    queue = PoolQueue()
    for run, priority in ((1, 0), (2, 5), (3, 0)):
        queue.open(run, priority)
        queue.add(task(run, i) for i in range(2))
    assert runs_taken(queue, 3) == [2, 2, 1]
    queue.close(1)
    queue.add([task(1, 9)])
    assert runs_taken(queue, 3) == [3, 3]
    assert len(queue) == 0


def test_lanes_of_a_slot_that_has_gone_find_another() -> None:
    queue = PoolQueue()
    queue.settle((0, 1), (0, 1))
    queue.open(1, 0)
    queue.add(task_of(GrowJob(i, i, (10,)), 1, 1) for i in range(4))
    assert [task.lane for _ in range(2) for task in queue.take([0], 2, 9, 0)] == [0, 2]
    queue.settle((0,), (0,))
    assert [task.lane for _ in range(2) for task in queue.take([0], 1, 9, 0)] == [1, 3]


def test_a_limited_search_runs_on_the_first_workers_and_is_divided_among_them() -> None:
    queue = PoolQueue()
    queue.settle((1, 2, 3, 4), (1, 2, 3, 4))
    queue.open(1, 0, limit=2)
    queue.add(task_of(GrowJob(i, i, (10,)), 1, 1) for i in range(8))
    assert queue.bundle_size(8, 8, 0) == 2  # Of eight jobs, with two bundles for each of two workers.
    taken = {slot: [task.lane for task in queue.take([slot], 4, 9, 1e9)] for slot in (4, 3, 2, 1)}
    assert taken == {4: [], 3: [], 2: [1, 3, 5, 7], 1: [0, 2, 4, 6]}
    queue.add(task_of(GrowJob(i, i, (10,)), 1, 1) for i in range(8))
    queue.settle((2, 3, 4), (2, 3, 4))  # The first worker has gone.
    assert {slot: len(queue.take([slot], 3, 9, 1e9)) for slot in (4, 3, 2)} == {4: 0, 3: 4, 2: 4}
    queue.open(2, 0)
    queue.add(task(2, i) for i in range(4))
    queue.add(task(1, i) for i in range(4))
    assert {each.context for _ in range(9) for each in queue.take([4], 3, 1, 0)} == {2}
    # The limit of a run that has nothing to do does not enlarge the bundles of the next one.
    queue = PoolQueue()
    queue.open(1, 0, limit=1)
    queue.open(2, 0)
    queue.add(task(2, i) for i in range(8))
    assert len(queue.take([0], 4, 8, 1e9)) == 2


@pytest.mark.parametrize(("num_jobs", "bundles"), [(16, [8, 8]), (64, [19, 19, 8, 8, 3, 3, 1, 1, 1, 1])])
def test_rounds_are_divided_in_a_pool_as_in_a_search_alone(num_jobs: int, bundles: list[int]) -> None:
    """A lone search of a service gets bundles of the sizes that `TaskQueue` finds best."""
    statistics = lone_root()
    jobs = [LaneJob(i, i, 7, 100, Snapshot(7, statistics)) for i in range(num_jobs)]
    pool, alone = PoolQueue(), TaskQueue()
    pool.open(1, 0)
    sizes = []
    for queue in (pool, alone):
        queue.add(task_of(job, 1) for job in jobs)
        found: list[int] = []
        while len(queue):
            share = queue.bundle_size(4, 4, running=sum(found))
            found += [size for slot in range(2) if (size := len(queue.take([slot], 2, share, 1e9)))]
        sizes.append(found)
    assert sizes == [bundles] * 2


class Idle(Fake):
    """An executor that nobody needs, but that has to look after its workers."""

    looks = 0

    def __init__(self, queue: PoolQueue) -> None: ...

    def submit(self, tasks: Iterable[Task]) -> None: ...

    def wait(self, timeout_s: float) -> list[Event]:
        Idle.looks += 1
        assert timeout_s == 0
        return []


def test_a_pool_without_searches_lets_its_executor_look_after_workers() -> None:
    pool = Pool(Idle)
    pool.start()
    pool.stop()
    pool.join(PATIENCE_S)
    assert not pool.alive
    assert Idle.looks > 0


@pytest.mark.parametrize("name", ["root", "tree", "leaf", "hidden"])
def test_what_is_common_comes_back_where_the_task_runs(name: str) -> None:
    """As it travels to a worker process: the part beside the task, and the task without it."""
    coordinator = begun(REQUESTS[name]).coordinator
    context = coordinator.search.context
    tasks = [task_of(job, 4) for job in coordinator.start()]
    assert len({task.common_key for task in tasks}) == 1
    process, plain = WorkerProcess(Worker), Worker()
    process.prepare(1, pickle.dumps(None))
    values = [pickle.dumps(context)]
    common = tasks[0].common
    if common is not None:
        values.append(pickle.dumps(common.value))
    call = Call(brings=(4,), brings_common=common is not None, live=(4,))
    packed = pack_call(call, tasks[:1])
    assert len(packed) < 2000
    found = pickle.loads(process.run_call(packed, *values))
    # What a process has got is not sent again.
    found += pickle.loads(process.run_call(pack_call(Call(live=(4,)), tasks[1:])))
    assert [key for event in found for key in keys_of(event)] == [task.key for task in tasks]
    for event in found:
        there = event.result
        here = [task.job for task in tasks if (4, task.index) in keys_of(event)]
        assert there.simulations == sum(plain.run(context, job).simulations for job in here)
        assert isinstance(coordinator.job_done(there), list)
