"""Real Ray processes: workers are killed and stopped, and the answer stays the same."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from cluster.observe.metrics import Metrics
from cluster.runtime.session import Session
from cluster.system.processes import descendants
from cluster.workers.choose import make_executor
from cluster.workers.process import Handle, RayProcess
from search.coordinator import Coordinator, SearchFailed
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import for_workers
from tests.cluster.processes import state_of
from tests.cluster.searches import alone, compiled_only, search_on, session_on
from tests.waiting import eventually

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

pytestmark = compiled_only

JOB_TIMEOUT_S = 3.0
STRATEGIES = ("root", "tree", "leaf")


@pytest.fixture(scope="module")
def ray_executor() -> Iterator[RayExecutor]:
    # Also imports Ray, in the way that keeps it on loopback.
    executor = cast("RayExecutor", make_executor("ray", 3, job_timeout_s=JOB_TIMEOUT_S))
    yield executor
    executor.close()


def request_for(strategy: str, simulations: int = 400_000) -> SearchRequest:
    """By itself, leaf has short jobs here, which Ray carries slowly."""
    return SearchRequest(
        game="gomoku",
        moves=("f6", "g7"),
        strategy=strategy,
        simulations=simulations,
        batch=64,
        seed=11,
        memory_mb=256,
    )


class Once:
    """An observer that does something to a worker process when a share of the jobs is done."""

    def __init__(self, share: float, act: Callable[[Session], None]) -> None:
        self.share = share
        self.act = act
        self.done = False

    def __call__(self, session: Session) -> None:
        plan = session.search.plan
        if not self.done and session.search.strategy.absorbed >= self.share * plan.jobs:
            self.done = True
            self.act(session)


class Signalled:
    """Sends a signal to the processes of some workers, and waits until those that it stops have stopped."""

    def __init__(self, number: signal.Signals, *slots: int) -> None:
        self.number = number
        self.slots = slots
        self.pids: list[int] = []

    def __call__(self, session: Session) -> None:
        pids = cast("RayExecutor", session.executor).worker_pids()
        # Several may be threads of one.
        self.pids = list({pids[slot] for slot in self.slots})
        for pid in self.pids:
            os.kill(pid, self.number)
        if self.number == signal.SIGSTOP:
            eventually(lambda: {state_of(pid) for pid in self.pids} == {"T"})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_two_and_three_workers_give_the_digest_of_the_inline_search(
    ray_executor: RayExecutor, strategy: str
) -> None:
    request = request_for(strategy)
    expected = alone(request)
    for workers in (1, 2, 3):
        ray_executor.use(workers)
        result, session = search_on(ray_executor, request)
        assert result.digest == expected.digest
        assert result.simulations == 400_000
        assert int(session.search.strategy.tree.visits[0]) == 400_000
        assert result.answer == expected.answer
        assert result.workers == workers
        assert result.jobs_retried == 0
        assert all(0 < worker.cpu_s <= worker.busy_s for worker in ray_executor.workers)
        assert [worker.pid for worker in ray_executor.workers] == ray_executor.worker_pids()


class Scales:
    """Carries calls on Ray, and weighs them."""

    def __init__(self, ray: RayProcess) -> None:
        self.ray, self.address = ray, ray.address
        self.lengths: dict[int, int] = {}
        """Of the values that were put."""
        self.out: list[int] = []
        self.answers: list[Future[bytes]] = []

    def put(self, data: bytes) -> Handle:
        handle = self.ray.put(data)
        self.lengths[handle.key] = len(data)
        return handle

    def call(self, actor: int, method: str, *arguments: Any) -> Future[bytes]:
        values = [each for each in arguments if isinstance(each, Handle)]
        self.out += [self.lengths[each.key] for each in values]
        self.out += [len(each) for each in arguments if isinstance(each, bytes)]
        self.answers.append(self.ray.call(actor, method, *arguments))
        return self.answers[-1]


def test_metrics_count_the_bytes_that_calls_carry(ray_executor: RayExecutor) -> None:
    ray_executor.use(2)
    ray = ray_executor.dispatcher.ray
    scales = ray_executor.dispatcher.ray = Scales(cast("RayProcess", ray))
    metrics = Metrics()
    metrics.watch_executor(ray_executor)

    def counted() -> dict[str, float]:
        found = {family.name: family.samples for family in metrics.collect()}["banyan_bytes"]
        return {
            way: sum(each.value for each in found if each.labels["direction"] == way) for way in ("in", "out")
        }

    before = counted()
    try:
        search_on(ray_executor, request_for("tree"))
    finally:
        ray_executor.dispatcher.ray = ray
    after = counted()
    assert after["out"] - before["out"] == sum(scales.out)
    returned = [len(answer.result()) for answer in scales.answers if answer.done()]
    assert 0 < after["in"] - before["in"] <= sum(returned)


@pytest.mark.parametrize(
    ("strategy", "workers", "killed"),
    [("root", 2, 1), ("tree", 2, 1), ("leaf", 2, 1), pytest.param("tree", 3, 3, marks=pytest.mark.slow)],
)
def test_workers_killed_in_the_middle_change_nothing_but_jobs_retried(
    ray_executor: RayExecutor, strategy: str, workers: int, killed: int
) -> None:
    request = request_for(strategy, simulations=1_000_000)
    expected = alone(request)
    ray_executor.use(workers)
    kill = Signalled(signal.SIGKILL, *range(killed))
    result, _ = search_on(ray_executor, request, Once(0.3, kill))
    assert result.jobs_retried > 0
    assert result.digest == expected.digest
    assert result.simulations == 1_000_000
    life = [change for change in ray_executor.log.changes if change.worker == 0]
    lost = max(i for i, change in enumerate(life) if change.after == "lost")
    assert life[lost].before in ("busy", "idle")
    assert killed > 1 or life[lost].reason == ray_executor.log.last_loss()
    # Beside other programs a deadline may pass before Ray says so, or the new worker may miss its own.
    assert any(each.reason.startswith(("ActorDiedError", "its deadline passed")) for each in life)
    assert life[lost + 1].after == "starting"
    assert result.workers_lost >= killed
    assert result.ran_on == f"{workers} workers ({result.workers_lost} lost), ray"
    same = {
        "jobs_retried": 0,
        "elapsed_s": 0.0,
        "simulations_per_s": None,
        "executor": "",
        "workers": 0,
        "workers_lost": 0,
    }
    assert replace(result, **same) == replace(expected, **same)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_stopped_worker_is_replaced_after_its_deadline_and_its_late_result_dropped(
    ray_executor: RayExecutor,
) -> None:
    # With jobs that are no threads of one process, so that there is a CPU for the new worker.
    request = request_for("leaf", simulations=1_500_000)
    expected = alone(request)
    ray_executor.use(2)
    stop = Signalled(signal.SIGSTOP, 0)
    replaced_after: list[float] = []

    def begin(session: Session) -> None:
        stop(session)
        replaced_after.append(time.monotonic())

    def wake(session: Session) -> None:
        """Once the new worker has done the lost jobs, so that the old one comes too late."""
        restarted = session.executor.workers[0].restarts
        if stop.pids and restarted and session.coordinator.counters.jobs_retried and len(replaced_after) == 1:
            replaced_after.append(time.monotonic())
            waiting.append(session.search.strategy.absorbed)
        if waiting and not woken and session.search.strategy.absorbed > waiting[0]:
            woken.append(True)
            os.kill(stop.pids[0], signal.SIGCONT)

    waiting: list[int] = []
    woken: list[bool] = []
    before = ray_executor.workers[0].restarts
    result, session = search_on(ray_executor, request, Once(0.2, begin), wake)
    assert ray_executor.workers[0].restarts > before
    # A worker that waits for a core on a busy machine has longer.
    assert JOB_TIMEOUT_S * 0.9 < replaced_after[1] - replaced_after[0] < 20 * JOB_TIMEOUT_S
    assert result.jobs_retried > 0
    assert session.coordinator.counters.late_results > 0
    assert result.digest == expected.digest
    assert result.simulations == 1_500_000
    # The process that was given up is ended, not left behind.
    eventually(lambda: ray_executor.poll_retired() == 0)
    eventually(lambda: not state_of(stop.pids[0]))


@pytest.mark.slow
def test_a_worker_that_stays_stopped_is_killed(ray_executor: RayExecutor) -> None:
    request = request_for("root", simulations=1_000_000)
    expected = alone(request)
    ray_executor.use(2)
    stop = Signalled(signal.SIGSTOP, 1)
    result, _ = search_on(ray_executor, request, Once(0.2, stop))
    assert result.digest == expected.digest
    assert result.jobs_retried > 0
    eventually(lambda: ray_executor.poll_retired() == 0)
    eventually(lambda: not state_of(stop.pids[0]))


@pytest.mark.slow
def test_what_a_stopped_worker_has_of_one_search_does_not_count_in_the_next(
    ray_executor: RayExecutor,
) -> None:
    ray_executor.use(2)
    stop = Signalled(signal.SIGSTOP, 0)
    search_on(ray_executor, request_for("leaf", simulations=600_000), Once(0.1, stop))
    request = replace(request_for("leaf"), seed=12)

    def wake(session: Session) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stop.pids[0], signal.SIGCONT)

    result, session = search_on(ray_executor, request, Once(0.0, wake))
    assert result.digest == alone(request).digest
    assert session.coordinator.counters.late_results == 0


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 2.0])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_budget_in_seconds_is_kept_within_three_tenths(
    ray_executor: RayExecutor, strategy: str, seconds: float
) -> None:
    """In one of a few searches: beside other programs a process may wait for its turn."""
    ray_executor.use(2)
    late = []
    while not late or (late[-1] >= 0.3 and len(late) < 5):
        request = SearchRequest(game="gomoku", strategy=strategy, seconds=seconds)
        session = session_on(ray_executor, for_workers(request, 2))
        ready_s = time.monotonic()
        result = session.run()
        late.append(time.monotonic() - ready_s - seconds)
        assert result.stopped_by == "seconds"
        assert late[-1] >= -0.01 * seconds
        assert result.answer.best_move is not None
        assert int(session.search.strategy.tree.visits[0]) == result.simulations
    assert late[-1] < 0.3


def test_a_job_that_raises_ends_the_search_with_its_reason(
    ray_executor: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = open_search(request_for("tree", simulations=10_000))
    ray_executor.use(2)
    # Workers get ready with a job of their own, which is sound.
    ray_executor.open(search.context)
    make = search.strategy.make_job
    monkeypatch.setattr(search.strategy, "make_job", lambda size: replace(make(size), portions="none"))
    with pytest.raises(SearchFailed, match="job 0 failed: ValueError"):
        Session(Coordinator(search, 2), ray_executor).run()
    # The executor is as good as before.
    request = request_for("tree", simulations=10_000)
    assert search_on(ray_executor, request)[0].digest == alone(request).digest


def test_every_socket_of_an_embedded_ray_is_on_loopback(ray_executor: RayExecutor) -> None:
    pids = {os.getpid(), *descendants()}
    addresses = set()
    for pid in pids:
        addresses |= listening_addresses(pid)
    assert addresses
    assert {address for address in addresses if not is_loopback(address)} == set()


def is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def listening_addresses(pid: int) -> set[str]:
    """The addresses on which a process listens, from /proc."""
    try:
        inodes = {
            target[8:-1]
            for fd in Path(f"/proc/{pid}/fd").iterdir()
            if (target := os.readlink(fd)).startswith("socket:[")
        }
    except OSError:
        return set()
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                raw = bytes.fromhex(fields[1].split(":")[0])
                words = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
                found.add(socket.inet_ntop(family, words))
    return found
