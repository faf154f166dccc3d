"""What the workers and the searches of a server did of late: sampled, thinned, and sent second by second."""

from __future__ import annotations

import asyncio
import copy
import json
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.runtime.worker_state import Change, WorkerLog, WorkerState, WorkerStatus
from cluster.service.answer_models import Cluster, Tick
from cluster.service.api.operation_routes import events
from cluster.service.cluster_watch import ENTRIES, MARKS, OTHERS, SPAN_S, STEP_S, STRIP_S, ClusterWatch, Seen
from cluster.service.live import Feed, FeedEvent, Follower
from cluster.service.store import Store
from search.coordinator import Counters
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

SINCE_1970_S = 1.8e9


class Simulated:
    """Workers and searches that exist only as counters, with a clock of their own."""

    def __init__(self, workers: int = 2) -> None:
        self.now_s = 0.0
        self.feed = Feed(1)
        self.watch = ClusterWatch(SINCE_1970_S, self.feed)
        self.workers: list[WorkerStatus] = []
        self.renew(workers)

    def renew(self, workers: int) -> None:
        """Replace the executor."""
        log = WorkerLog(lambda: self.now_s)
        self.workers = [WorkerStatus(slot, log=log) for slot in range(workers)]
        for worker in self.workers:
            worker.become(WorkerState.STARTING)
            worker.machine = f"host{worker.slot // 16}"
            worker.become(WorkerState.IDLE)

    def begin(self, search_id: str, context: int = 0) -> Any:
        strategy = SimpleNamespace(created=100, duplicates=7, unobserved=30)
        coordinator = SimpleNamespace(
            counters=Counters(),
            search=SimpleNamespace(strategy=strategy),
            jobs_in_flight=5,
            results_waiting=2,
            waits_since_s=1.5,
            tree_bytes=1000,
        )
        session = SimpleNamespace(coordinator=coordinator, context=context, elapsed_s=2.0)
        title = {"game": "gomoku:size=9", "strategy": "tree"}
        self.watch.begun(search_id, title, session)  # type: ignore[arg-type]
        return session

    def look(self, after_s: float = 1.0) -> dict[str, Any]:
        """Take a sample; returns the whole, as a client gets it."""
        self.now_s += after_s
        seen = Seen("ray", True, self.workers, 1, 0, 3)
        self.watch.sample(seen, SINCE_1970_S + self.now_s, self.now_s)
        whole: dict[str, Any] = json.loads(json.dumps(self.watch.whole()[0]))
        return whole

    def follow(self) -> None:
        closed: Any = SimpleNamespace(is_closed=lambda: True)
        self.feed._followers.add(Follower(closed))


class Late(deque[Change]):
    """Changes of a log, to which one is added when they are read for the first time."""

    add: Callable[[], None] | None = None

    def __iter__(self) -> Iterator[Change]:
        add, self.add = self.add, None
        if add is not None:
            add()
        return super().__iter__()


def applied(whole: dict[str, Any], event: FeedEvent) -> dict[str, Any]:
    """What a client makes of an event."""
    data = json.loads(event.text)
    if event.name == "cluster":
        Cluster.model_validate(data)
        return dict(data)
    Tick.model_validate(data)
    whole = copy.deepcopy(whole) | {name: data[name] for name in ("time", "ready")}
    whole["history"] = [*whole["history"], *([data["point"]] if data["point"] else [])][-SPAN_S // STEP_S :]
    whole["searches"] |= data["searches"]
    whole["marks"] = [*whole["marks"], *data["marks"]][-MARKS:]
    whole["now"] = data["now"] | {"merging": [*whole["now"]["merging"][1:], data["now"]["merging"]]}
    for changed in data["changed"]:
        if changed["slot"] == len(whole["workers"]):
            whole["workers"].append(changed | {"strip": [-3] * STRIP_S, "cores": [0] * STRIP_S})
        whole["workers"][changed["slot"]] |= changed
    for slot, worker in enumerate(whole["workers"]):
        worker["strip"] = [*worker["strip"][1:], data["strips"][slot]]
        worker["cores"] = [*worker["cores"][1:], data["cores"][slot]]
        worker["simulations_per_s"], worker["busy"] = data["rates"][slot], data["busy"][slot]
    return whole


def test_a_worker_is_seen_second_by_second() -> None:
    it = Simulated()
    session, (first, second) = it.begin("a" * 32), it.workers
    it.look()
    first.context = second.context = 0
    # One has short jobs, and the other a long one, of which nothing comes for seconds.
    second.become(WorkerState.BUSY)
    second.begun_s = it.now_s
    for _ in range(4):
        # Other programs have its core most of the time.
        first.cpu_s += 0.1
        first.busy_s, first.simulations = first.busy_s + 0.25, first.simulations + 1000
        session.coordinator.counters.simulations += 1000
        whole = it.look()
    assert [worker["strip"][-5:] for worker in whole["workers"]] == [
        [0, 25, 25, 25, 25],
        [0, 100, 100, 100, 100],
    ]
    assert [worker["cores"][-5:] for worker in whole["workers"]] == [
        [0, 10, 10, 10, 10],
        [0, 100, 100, 100, 100],
    ]
    assert whole["now"]["running"] == ["a" * 32]
    assert whole["workers"][0]["strip"][:-5] == [-3] * (STRIP_S - 5)
    assert [worker["simulations_per_s"] for worker in whole["workers"]] == [1000.0, 0.0]
    assert [worker["busy"] for worker in whole["workers"]] == [0.25, 1.0]
    assert [worker["search"] for worker in whole["workers"]] == ["a" * 32] * 2
    assert whole["history"][-1]["rates"] == [["a" * 32, 1000.0, 0.0]]
    second.busy_s, second.begun_s = 4.0, it.now_s
    second.become(WorkerState.IDLE)
    assert it.look()["workers"][1]["strip"][-1] == 0
    # One dies, and another takes its place on another machine.
    first.become(WorkerState.BUSY)
    first.become(WorkerState.LOST, "it was killed")
    first.become(WorkerState.STARTING)
    assert it.look()["workers"][0]["strip"][-1] == -1
    whole = it.look()
    assert (whole["workers"][0]["strip"][-1], whole["workers"][0]["state"]) == (-2, "starting")
    assert (whole["workers"][0]["since"], whole["workers"][0]["search"]) == (SINCE_1970_S + 6.0, None)
    first.become(WorkerState.WAITING, "its machine has gone")
    first.become(WorkerState.STARTING)
    first.machine = "host9"
    first.become(WorkerState.IDLE)
    second.become(WorkerState.GIVEN_BACK, "it had nothing to do")
    whole = it.look()
    assert [worker["strip"][-1] for worker in whole["workers"]] == [0, -3]
    told = [(mark["worker"], mark["machine"], mark["change"], mark["reason"]) for mark in whole["marks"][2:]]
    assert told == [
        (0, "host0", "lost", "it was killed"),
        (0, "host0", "left", "its machine has gone"),
        (0, "host9", "joined", ""),
        (1, "host0", "left", "it had nothing to do"),
    ]


def test_marks_outlive_their_executor_and_what_has_no_more_workers_is_sent_whole() -> None:
    it = Simulated(3)
    it.follow()
    whole = it.look()
    for worker in it.workers[:2]:
        worker.become(WorkerState.LOST, "ActorDiedError: its node has died")
    it.workers[2].become(WorkerState.ENDED, "with the executor")
    it.renew(2)
    for _ in range(3):
        whole = it.look()
    assert [mark["change"] for mark in whole["marks"]] == ["joined"] * 3 + ["left"] * 3 + ["joined"] * 2
    assert len(whole["workers"]) == 2
    assert [event.name for event in it.feed.after(0)[0]] == ["tick", "cluster", "tick", "tick"]
    assert [mark["change"] for mark in it.look(SPAN_S)["marks"]] == []


def test_every_simulation_is_in_the_history() -> None:
    """Also those of searches that begin and end between two samples, and of more searches than are listed."""
    it = Simulated()
    total = 0
    for number in range(40):
        for each in range(number % 9):
            search_id = f"{number}-{each}"
            counters = it.begin(search_id).coordinator.counters
            counters.simulations, counters.playouts = 100 * (each + 1), 7
            total += counters.simulations
            it.watch.ended(search_id)
        whole = it.look()
    rates = [entry for point in whole["history"] for entry in point["rates"]]
    # The first point is that of one second.
    assert sum(STEP_S * simulations for _, simulations, _ in rates) == pytest.approx(total)
    assert max(len(point["rates"]) for point in whole["history"]) == ENTRIES + 1
    assert {search_id for search_id, _, _ in rates} == whole["searches"].keys()
    assert OTHERS in whole["searches"]
    assert it.look(SPAN_S + 9)["searches"].keys() <= {OTHERS}


def test_times_do_not_go_back_with_the_clock_of_the_machine_and_end_after_the_span() -> None:
    it = Simulated(1)
    for back_s in (0, 3600):
        for _ in range(10):
            it.now_s += 1.0
            it.watch.sample(Seen("ray", True, it.workers), SINCE_1970_S + it.now_s - back_s, it.now_s)
    it.workers[0].become(WorkerState.LOST)
    whole = it.look()
    assert [point["time"] - SINCE_1970_S for point in whole["history"]] == [*range(2, 22, 2)]
    assert (whole["time"], whole["marks"][-1]["time"]) == (SINCE_1970_S + 21.0, SINCE_1970_S + 20.0)
    assert len(it.look(SPAN_S)["history"]) == 1


def test_no_change_is_lost_while_a_follower_begins_or_workers_change() -> None:
    it = Simulated(3)
    it.look()

    async def seen() -> list[Any]:
        stream: Any = events(SimpleNamespace(watch=it.watch), None)  # type: ignore[arg-type]
        first = await anext(stream)
        # The whole is on its way to a slow reader, who does not yet follow.
        it.workers[0].become(WorkerState.LOST)
        it.look()
        after = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        it.workers[1].become(WorkerState.LOST)
        log = it.workers[0].log
        log.changes = late = Late(log.changes, log.changes.maxlen)
        late.add = partial(it.workers[2].become, WorkerState.LOST)
        it.look()
        both = [first, await after]
        await stream.aclose()
        it.look()
        return both

    both = asyncio.run(seen())
    assert [event.event for event in both] == ["cluster", "cluster"]
    assert len(json.loads(both[1].raw_data)["marks"]) == 3 + 3
    assert [(mark["worker"], mark["change"]) for mark in it.look()["marks"][3:]] == [
        (worker, "lost") for worker in range(3)
    ]
    assert it.feed.after(0)[0] == []


def test_ticks_of_500_workers_make_the_whole() -> None:
    it = Simulated(0)
    sessions = [it.begin(str(number) * 32, number) for number in range(4)]
    cpu_s, most = 0.0, 0
    for second in range(SPAN_S + 20):
        if second == SPAN_S - STRIP_S:
            it.renew(500)
        for worker in it.workers:
            if worker.state is WorkerState.LOST:
                worker.become(WorkerState.STARTING)
            elif worker.state is WorkerState.STARTING:
                worker.become(WorkerState.IDLE)
            elif worker.slot == second % 501:
                worker.become(WorkerState.LOST, "its process died")
            else:
                worker.become(WorkerState.BUSY)
                worker.begun_s, worker.context = it.now_s + 1.0, (worker.slot + second // 9) % 4
                worker.busy_s, worker.simulations = worker.busy_s + 0.6, worker.simulations + 12345
                worker.cpu_s += 0.06 * (second % 10)
        for session in sessions:
            session.coordinator.counters.simulations += 1_500_000
            session.coordinator.counters.merge_durations.observe(0.1)
        before_s = time.process_time()
        it.now_s += 1.0
        it.watch.sample(Seen("ray", True, it.workers), SINCE_1970_S + it.now_s, it.now_s)
        cpu_s += time.process_time() - before_s
        if second == SPAN_S:
            it.follow()
            whole = json.loads(json.dumps(it.watch.whole()[0]))
        elif second > SPAN_S:
            tick = it.feed.after(0)[0][-1]
            whole, most = applied(whole, tick), max(most, len(tick.text))
    expected = json.loads(json.dumps(it.watch.whole()[0]))
    whole["marks"] = [mark for mark in whole["marks"] if mark["time"] >= whole["time"] - SPAN_S]
    assert whole == expected
    assert whole["now"]["merging"][-1] == 40
    assert (whole["now"]["merge_ms"], whole["now"]["duplicates"], whole["now"]["merge_lag_s"]) == (
        100,
        0.07,
        0.5,
    )
    # Of a core, which other tests use as well.
    assert cpu_s / (STRIP_S + 20) < 0.02
    assert len(json.dumps(whole, separators=(",", ":"))) < 500_000
    assert most < 120_000


@pytest.mark.slow
def test_a_curve_is_kept_with_its_search(tmp_path: Path) -> None:
    body = {"game": "gomoku:size=5", "strategy": "root", "seconds": 3600.0}
    with Server(tmp_path, "--checkpoint-every", "0.5", "--keep", "60") as server:
        client, curves = server.client(), f"{server.url}/api/v1/searches"
        # Kernels are compiled before time counts.
        client.wait(client.submit(body | {"seconds": None, "simulations": 100})["id"])
        short = client.wait(client.submit(body | {"seconds": 2.0})["id"])["id"]
        long = client.submit(body)["id"]
        with closing(sqlite3.connect(tmp_path / "searches.sqlite")) as db:

            def kept() -> list[list[float]]:
                found = db.execute("SELECT points FROM curves WHERE id = ?", (long,)).fetchone()
                return json.loads(found[0]) if found else []

            eventually(lambda: len(kept()) >= 4)
            running = kept()
        ended = http.get(f"{curves}/{short}/curve").json()["points"]
        assert 2 <= len(ended) <= 240
        assert [point[0] for point in ended] == sorted(point[0] for point in ended)
        result = client.get(short)["result"]
        assert ended[-1][:2] == pytest.approx([result["elapsed_s"], result["value"]], abs=1.0)
        assert all(point[2] > 0 for point in ended[1:])
        assert http.get(f"{curves}/nobody/curve").status_code == 404
        server.kill()
    with Server(tmp_path) as server:
        client, curves = server.client(), f"{server.url}/api/v1/searches"
        assert http.get(f"{curves}/{short}/curve").json()["points"] == ended
        eventually(
            lambda: len(http.get(f"{curves}/{long}/curve").json()["points"]) > len(running),
            within_s=PATIENCE_S,
        )
        now = http.get(f"{curves}/{long}/curve").json()["points"]
        # It goes on from the last checkpoint, which is older than the last point, or the last two.
        assert now[: len(running) - 2] == running[:-2]
        client.cancel(long)
        client.wait(long)
    # A version that has no curves uses the folder; what it leaves is deleted with the next searches.
    store = Store(tmp_path)
    assert len(store.curve(long)) >= 5
    store.keep_curve("of no record", [(0.0, None, 0.0)])
    store.forget(1)
    assert (store.curve(short), store.curve("of no record")) == ([], [])
    assert store.curve(long) != []
    store.keep_curve(long, [("not a number", None, 0.0)])  # type: ignore[list-item]
    assert store.curve(long) == []
    store.close()
