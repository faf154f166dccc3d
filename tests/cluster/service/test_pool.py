"""Many searches over one executor: the answers are those of searches alone, and none harms another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cluster.checkpoint import Keeper, read_checkpoint
from cluster.executor import Event, JobLost, Task, WorkerStatus
from cluster.inline_executor import InlineExecutor
from cluster.pool_task import WORK_UNIT_S, PoolOutcome, PoolTask, PoolWorker
from cluster.service.pool import Pool, Run
from cluster.service.pool_queue import PoolQueue
from cluster.session import Session
from search.job import GrowJob, Job
from search.request import SearchRequest
from search.result import SearchResult
from tests.cluster.interrupted import REQUESTS, fresh, never, session_of, unchanged


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
    return InlineExecutor(PoolWorker, queue)


def run_of(folder: Path, request: SearchRequest, watcher: Seen, priority: int = 0) -> Run:
    opened = fresh(request)
    path = folder / f"{opened.coordinator.search.context.search_id}.npz"
    return Run(opened, watcher, Keeper(path, 60.0, warn=never, begun_s=0.0), priority)


def run_all(runs: Iterable[Run], make_executor: Any = inline) -> Pool:
    """Run them together to their ends."""
    pool = Pool(make_executor)
    for run in runs:
        pool.add(run)
    pool.start()
    for run in runs:
        assert run.watcher.over.wait(60)  # type: ignore[attr-defined]
    pool.stop()
    pool.join(10)
    pool.close()
    assert not pool.alive
    return pool


def alone(request: SearchRequest) -> dict[str, Any]:
    return unchanged(session_of(fresh(request)).run())


def test_searches_that_run_together_have_the_answers_of_searches_alone(tmp_path: Path) -> None:
    watchers = {name: Seen() for name in REQUESTS}
    run_all([run_of(tmp_path, request, watchers[name]) for name, request in REQUESTS.items()])
    for name, request in REQUESTS.items():
        result = watchers[name].result
        assert result is not None
        assert unchanged(result) == alone(request)
        assert watchers[name].ends == 1
    assert list(tmp_path.iterdir()) == []


class Losing(InlineExecutor):
    """Loses every third task the first time, and once all that it has, together with itself."""

    fails_at = 20

    def __init__(self, queue: PoolQueue) -> None:
        super().__init__(PoolWorker, queue)
        self.waits = 0
        self.lost: set[int] = set()

    def wait(self, timeout_s: float) -> list[Event]:
        self.waits += 1
        if self.waits == self.fails_at:
            Losing.fails_at = 10**9
            raise ConnectionError("no worker could be kept alive")
        events = super().wait(timeout_s)
        for i, event in enumerate(events):
            index = event.result.index  # type: ignore[union-attr]
            if index % 3 == 0 and index not in self.lost:
                self.lost.add(index)
                events[i] = JobLost(index, "worker died")
        return events


def test_lost_jobs_and_a_lost_executor_change_no_answer(tmp_path: Path) -> None:
    Losing.fails_at = 20
    request = REQUESTS["tree"]
    watchers = [Seen(), Seen()]
    pool = run_all([run_of(tmp_path, request, watcher) for watcher in watchers], Losing)
    assert pool.renewals == 1
    for watcher in watchers:
        assert watcher.result is not None
        assert watcher.result.jobs_retried > 0
        assert unchanged(watcher.result) == alone(request)


class Breaking(PoolWorker):
    """Raises in jobs of searches with the seed 13."""

    def run(self, context: Any, task: PoolTask) -> Any:
        if task.context.request.seed == 13:
            task = PoolTask(task.run, "no job", task.context, 1)  # type: ignore[arg-type]
            return super().run(context, _Named(task))  # type: ignore[arg-type]
        return super().run(context, task)


class _Named:
    """A task with a job that no worker can run."""

    def __init__(self, task: PoolTask) -> None:
        self.run, self.context, self.running, self.simulations = task.run, task.context, (), 1
        self.job = None
        self.index = task.run * 2**32


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
    assert runs[0].session.outcome == "failed"
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
    assert unchanged(again.result) == alone(request)


def test_a_pool_that_stops_keeps_what_runs(tmp_path: Path) -> None:
    request = REQUESTS["leaf"]
    pool = Pool(inline)

    def stop(session: Session) -> None:
        if session.coordinator.counters.simulations > 200:
            pool.stop()

    first = Seen(stop)
    run = run_of(tmp_path, request, first)
    pool.add(run)
    pool.start()
    pool.join(60)
    pool.close()
    assert first.ends == 0 and first.over.is_set()
    again = Seen()
    opened = read_checkpoint(run.keeper.path).open()
    run_all([Run(opened, again, Keeper(run.keeper.path, 60.0, warn=never, begun_s=opened.elapsed_s))])
    assert again.result is not None
    assert unchanged(again.result) == alone(request)


def task(run: int, index: int, context: Any = None, work_s: float = 1e-6) -> PoolTask:
    return PoolTask(run, _job(index), context, round(work_s / WORK_UNIT_S))


def _job(index: int) -> Job:
    from tests.cluster.test_job_queue import leaf_job

    return leaf_job(index)


def runs_taken(queue: PoolQueue, times: int) -> list[int]:
    return [taken.run for _ in range(times) for taken in queue.take(0, 1, queue.share(1, 0), 0)]  # type: ignore[attr-defined]


def test_searches_of_one_priority_take_turns() -> None:
    queue = PoolQueue()
    for run in (1, 2, 3):
        queue.open(run, f"s{run}", 0)
        queue.add(task(run, i) for i in range(3))
    assert runs_taken(queue, 10) == [1, 2, 3] * 3


def test_turns_are_of_worker_time_and_not_of_jobs() -> None:
    queue = PoolQueue()
    for run, work_s in ((1, 3.0), (2, 0.5)):
        queue.open(run, f"s{run}", 0)
        queue.add(task(run, i, work_s=work_s) for i in range(20))
    taken = runs_taken(queue, 16)
    assert taken[:8] == [1, 2, 2, 2, 2, 2, 2, 1]
    assert taken.count(1) * 3.0 == pytest.approx(taken.count(2) * 0.5, abs=3.0)


def test_a_search_is_charged_with_what_its_jobs_took() -> None:
    queue = PoolQueue()
    for run in (1, 2):
        queue.open(run, f"s{run}", 0)
        queue.add(task(run, i, work_s=1.0) for i in range(20))
    assert runs_taken(queue, 2) == [1, 2]
    for run, took_s in ((1, 3.5), (2, 0.5), (3, 9.0)):
        queue.ended(run, PoolOutcome(0, round(1.0 / WORK_UNIT_S), took_s, None))
    assert runs_taken(queue, 5) == [2, 2, 2, 1, 2]


def test_who_begins_late_or_was_idle_waits_for_one_bundle_and_has_nothing_saved_up() -> None:
    queue = PoolQueue()
    for run in (1, 2):
        queue.open(run, f"s{run}", 0)
    queue.add([task(1, 0, work_s=0.01)])
    queue.add(task(2, i, work_s=1.0) for i in range(50))
    assert runs_taken(queue, 21) == [1] + [2] * 20
    # All that while the first had nothing to do, and the third was not there.
    queue.open(3, "s3", 0)
    for run in (1, 3):
        queue.add(task(run, i, work_s=1.0) for i in range(1, 9))
    assert runs_taken(queue, 2) == [1, 3]
    taken = runs_taken(queue, 12)
    assert [taken.count(run) for run in (1, 2, 3)] == [4, 4, 4]


def test_several_searches_get_short_bundles_and_no_second_one() -> None:
    queue = PoolQueue()
    queue.open(1, "s1", 0)
    queue.add(task(1, i, work_s=0.06) for i in range(20))
    assert len(queue.take(0, 1, 20, 0.25 / WORK_UNIT_S)) == 5
    assert queue.early([task(1, 0, work_s=0.25)])
    queue.open(2, "s2", 0)
    queue.add(task(2, i, work_s=0.15) for i in range(20))
    assert [len(queue.take(0, 1, 20, 0.25 / WORK_UNIT_S)) for _ in range(3)] == [1, 1, 2]
    assert not queue.early([task(1, 0, work_s=0.06)])
    # For so short a time the worker would have to wait itself.
    assert queue.early([task(1, i, work_s=0.005) for i in range(3)])
    assert queue.early([])


def test_higher_priorities_go_first_and_what_is_closed_is_gone() -> None:
    queue = PoolQueue()
    for run, priority in ((1, 0), (2, 5), (3, 0)):
        queue.open(run, f"s{run}", priority)
        queue.add(task(run, i) for i in range(2))
    assert runs_taken(queue, 3) == [2, 2, 1]
    queue.close(1)
    queue.add([task(1, 9)])
    assert runs_taken(queue, 3) == [3, 3]
    assert len(queue) == 0


def test_lanes_of_a_slot_that_has_gone_find_another() -> None:
    queue = PoolQueue()
    queue.settle((0, 1), (0, 1))
    queue.open(1, "one", 0)
    jobs = [GrowJob(i, i, (10,)) for i in range(4)]
    queue.add(PoolTask(1, job, None, 1) for job in jobs)  # type: ignore[arg-type]
    assert [t.job.lane for _ in range(2) for t in queue.take(0, 2, 9, 0)] == [0, 2]  # type: ignore[attr-defined]
    queue.settle((0,), (0,))
    assert [t.job.lane for _ in range(2) for t in queue.take(0, 1, 9, 0)] == [1, 3]  # type: ignore[attr-defined]


def test_tasks_say_which_searches_run() -> None:
    queue = PoolQueue()
    queue.open(1, "one", 0)
    queue.add([task(1, 0)])
    queue.open(2, "two", 0)
    (taken,) = queue.take(0, 1, 1, 0)
    assert taken.running == ("one", "two")  # type: ignore[attr-defined]


def test_workers_forget_searches_that_no_longer_run(tmp_path: Path) -> None:
    opened = [fresh(REQUESTS["root"]) for _ in range(2)]
    worker = PoolWorker()
    ids = [each.coordinator.search.context.search_id for each in opened]
    for number, running in ((0, (ids[0],)), (1, tuple(ids)), (1, (ids[1],))):
        coordinator = opened[number].coordinator
        jobs = coordinator.start() or list(coordinator.search.strategy.jobs.values())
        context = coordinator.search.context
        outcome = worker.run("pool", PoolTask(number, jobs[0], context, 1, running))
        assert outcome.error is None
        assert set(worker._workers) == set(running)


class Idle:
    """An executor that nobody needs, but that has to look after its workers."""

    looks = 0

    name = "idle"
    num_workers = 1
    workers: list[WorkerStatus] = []  # noqa: RUF012

    def __init__(self, queue: PoolQueue) -> None: ...

    def use(self, workers: int) -> None: ...

    def open(self, context: Any) -> None: ...

    def submit(self, jobs: Iterable[Task]) -> None: ...

    def wait(self, timeout_s: float) -> list[Event]:
        Idle.looks += 1
        assert timeout_s == 0
        return []

    def drop(self) -> None: ...

    def close(self) -> None: ...


def test_a_pool_without_searches_lets_its_executor_look_after_workers() -> None:
    pool = Pool(Idle)
    pool.start()
    pool.stop()
    pool.join(5)
    assert not pool.alive
    assert Idle.looks > 0


@pytest.mark.parametrize("name", ["root", "tree", "leaf", "hidden"])
def test_what_is_shared_comes_back_where_the_task_runs(name: str) -> None:
    """As it travels to a worker process: the part beside the task, and the task without it."""
    import pickle

    from cluster.shared_parts import part_key, part_of, without_part
    from cluster.worker_process import WorkerProcess, pack

    coordinator = fresh(REQUESTS[name]).coordinator
    context = coordinator.search.context
    jobs = coordinator.start()
    tasks = [PoolTask(4, job, context, 1, (context.search_id,)) for job in jobs]
    assert len({part_key(task) for task in tasks}) == 1
    process, plain = WorkerProcess(PoolWorker), PoolWorker()
    process.prepare("pool")
    part = pickle.loads(pickle.dumps(part_of(tasks[0])))
    light = [without_part(task) for task in tasks]
    assert all(task.context is None for task in light)  # type: ignore[attr-defined]
    done = pickle.loads(process.run(part, pack(light)))
    for there, here in zip(done, tasks, strict=True):
        expected = plain.run("pool", here)
        assert (there.index, there.error) == (here.index, None)
        assert there.result.simulations == expected.result.simulations  # type: ignore[union-attr]
        new = coordinator.job_done(there.result)
        assert isinstance(new, list)


def test_an_executor_takes_from_the_queue_that_it_is_given() -> None:
    queue = PoolQueue()
    executor = InlineExecutor(PoolWorker, queue)
    queue.open(1, "s1", 0)
    executor.submit([task(1, 0)])
    assert len(queue) == 1
