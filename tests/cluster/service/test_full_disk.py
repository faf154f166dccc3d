"""A disk that takes nothing for a while: nothing is said that is not stored, and later all goes on."""

from __future__ import annotations

import os
import queue
import resource
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.checkpoint.checkpoint import Opened
from cluster.service.limits import Limits
from cluster.service.pool import Pool, Run
from cluster.service.records import QUEUED, Recorder
from cluster.service.request_models import SearchBody
from cluster.service.searches import Searches
from cluster.service.store import Store
from cluster.system.processes import descendants
from cluster.workers.inline import InlineExecutor
from games.errors import InvalidInput
from tests.cluster.searches import session_of
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

BODY: dict[str, Any] = {"game": "gomoku:size=5", "simulations": 900, "lanes": 3, "seed": 4}
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@contextmanager
def no_room(server: Server) -> Iterator[None]:
    """While the block runs the kernel lets the server's processes write nothing to any file."""
    limited = descendants(server.process.pid)
    for pid in limited:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        for pid in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, UNLIMITED)


@contextmanager
def moved(server: Server) -> Iterator[None]:
    """While the block runs the data folder has another name."""
    away = server.data.rename(f"{server.data}-away")
    try:
        yield
    finally:
        away.rename(server.data)


def ready(server: Server) -> httpx.Response:
    return http.get(f"{server.url}/readyz")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), "--max-running", "1") as server:
        # Kernels are compiled and kept.
        client = server.client()
        client.wait(client.submit(BODY)["id"])
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("no_room", [no_room, moved])
def test_an_end_that_cannot_be_stored_is_told_when_it_can(server: Server, no_room: Any) -> None:
    client, url = server.client(), f"{server.url}/api/v1/searches"
    timed = client.submit({"game": "gomoku:size=5", "seconds": 0.5, "lanes": 3})["id"]
    waiting = client.submit(BODY)["id"]
    eventually(lambda: client.get(timed)["state"] == "running")
    with no_room(server):
        eventually(lambda: ready(server).status_code == 503)
        assert "stored" in ready(server).json()["detail"]
        assert http.get(f"{server.url}/healthz").status_code == 200
        refused = http.post(url, json=BODY)
        assert refused.status_code == 503 and int(refused.headers["Retry-After"]) > 0
        assert refused.headers["content-type"] == "application/problem+json"
        for search_id, state in ((timed, "running"), (waiting, "queued")):
            for _ in range(2):
                assert http.delete(f"{url}/{search_id}").status_code == 503
            assert client.get(search_id)["state"] == state
    ended = client.wait(timed)
    assert (ended["state"], ended["result"]["stopped_by"]) == ("done", "seconds")
    assert [event.final for event in client.events(timed)] == [True]
    assert client.wait(waiting)["state"] == "done"
    assert ready(server).status_code == 200
    assert client.wait(client.submit(BODY)["id"])["state"] == "done"


@pytest.mark.slow
def test_a_server_whose_searches_are_all_over_says_that_it_can_store_nothing(server: Server) -> None:
    client = server.client()
    over = client.searches("done")["searches"][0]
    with no_room(server):
        refused = http.post(f"{server.url}/api/v1/searches", json=BODY)
        assert refused.status_code == 503 and "stored" in refused.json()["detail"]
        assert ready(server).status_code == 503
        assert client.get(over["id"]) == over
    eventually(lambda: ready(server).status_code == 200)
    assert client.wait(client.submit(BODY)["id"])["state"] == "done"


FILE = "searches.sqlite"


def set_format(at: Path, number: int) -> None:
    with closing(sqlite3.connect(at / FILE)) as db:
        db.execute(f"PRAGMA user_version={number}")


AWAY: dict[str, tuple[Callable[[Path], object], Callable[[Path], object] | None]] = {
    "renamed": (lambda at: (at / FILE).rename(at / "away"), lambda at: (at / "away").rename(at / FILE)),
    "removed": (lambda at: (at / FILE).unlink(), None),
    "replaced": (lambda at: shutil.copy(at / FILE, at / "new") and (at / "new").rename(at / FILE), None),
    "overwritten": (lambda at: shutil.copy(at.parent / "backup", at / FILE), None),
    "truncated": (lambda at: os.truncate(at / FILE, 4096), None),
    "format": (lambda at: set_format(at, 99), lambda at: set_format(at, 2)),
    "no format": (lambda at: set_format(at, 0), lambda at: set_format(at, 2)),
    "folder": (lambda at: at.rename(at.parent / "b"), lambda at: (at.parent / "b").rename(at)),
    "another folder": (lambda at: at.rename(at.parent / "b") and at.mkdir(), None),
    "no checkpoints": (
        lambda at: (at / "checkpoints").rename(at / "away") and (at / "checkpoints").touch(),
        lambda at: (at / "checkpoints").unlink(),
    ),
    "only the log": (lambda at: (at / f"{FILE}-wal").unlink(), lambda at: at),
}


@pytest.mark.parametrize("kind", AWAY)
def test_nothing_is_stored_in_a_file_that_the_next_server_would_not_find(tmp_path: Path, kind: str) -> None:
    folder, (away, back) = tmp_path / "data", AWAY[kind]
    store = Store(folder)
    add = partial(store.add, request=BODY | {"priority": 0}, key=None, fingerprint="f", now_s=1.0)
    shutil.copy(folder / FILE, tmp_path / "backup")
    add("before")
    away(folder)
    if kind != "only the log":
        for _ in range(2):
            with pytest.raises(sqlite3.DatabaseError):
                add("meanwhile")
            assert FILE in str(store.check(2.0)) or "checkpoints" in str(store.check(2.0))
    if back is not None:
        back(folder)
        add("after")
        assert store.check(3.0) is None
    store.close()
    if back is not None:
        store = Store(folder)
        assert [record.id for record in store.open_searches()] == ["before", "after"]
        store.close()


@pytest.mark.parametrize("lose", [lambda path: os.truncate(path, 0), Path.unlink])
def test_a_folder_whose_records_are_lost_is_not_begun_anew(
    tmp_path: Path, lose: Callable[[Path], Any]
) -> None:
    Store(tmp_path).close()
    lose(tmp_path / FILE)
    with pytest.raises(InvalidInput, match=f"{FILE} is missing or has no bytes"):
        Store(tmp_path)
    (tmp_path / "lock").unlink()
    Store(tmp_path).close()
    # A start that ended before there were records is none that has lost them.
    (tmp_path / "first").mkdir()
    for name in ("lock", FILE):
        (tmp_path / "first" / name).touch()
    Store(tmp_path / "first").close()


class Collecting(Pool):
    """A pool that runs nothing."""

    def __init__(self) -> None:
        self.runs: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self.executor = InlineExecutor()

    def add(self, run: Run, *, cancelled: bool = False) -> None:
        self.runs.put(run)

    def put_off(self, run: Run) -> None:
        self.runs.put(run)


def test_a_search_that_ends_before_its_beginning_is_stored_tells_both_in_order(tmp_path: Path) -> None:
    store, pool, recorder, gate = Store(tmp_path), Collecting(), Recorder(), threading.Event()
    searches = Searches(store, pool, Limits(), recorder=recorder)
    record, _ = searches.submit(SearchBody(game="tictactoe", simulations=20, lanes=1), None)
    live = searches.live(record.id)
    assert live is not None
    run = pool.runs.get(timeout=PATIENCE_S)
    session = session_of(Opened(run.coordinator))
    # The disk takes its time, and the search does not.
    recorder.put(partial(gate.wait, PATIENCE_S), lambda: None)
    searches.search_begun(live, session)
    searches.search_ended(live, session.run(), None)
    assert searches.get(record.id).state == QUEUED
    gate.set()
    eventually(lambda: searches.live(record.id) is None)
    events, closed = live.feed.after(0)
    assert [event.name for event in events] == ["state", "state", "final"] and closed
    assert [event.id for event in events] == sorted(event.id for event in events)
    assert searches.get(record.id).final_event == events[-1].id
    recorder.close()
    store.close()


def test_the_recorder_stores_in_order_and_tells_what_is_stored() -> None:
    recorder, done, failures = Recorder(again_s=0.001), list[str](), [sqlite3.OperationalError("full")] * 3
    seen: list[str | None] = []

    def store() -> None:
        seen.append(recorder.trouble)
        if failures:
            raise failures.pop()
        done.append("stored")

    def fail() -> None:
        raise TypeError("a bug")

    recorder.put(store, lambda: done.append("told"))
    recorder.put(fail, lambda: done.append("never"))
    recorder.put(lambda: done.append("next"), lambda: done.append("told next"))
    eventually(lambda: len(done) == 4)
    assert done == ["stored", "told", "next", "told next"]
    assert seen == [None, "full", "full", "full"] and recorder.trouble is None
    recorder.close()


def test_a_recorder_that_ends_does_not_wait_for_the_disk() -> None:
    recorder, told = Recorder(again_s=60), list[str]()

    def store() -> None:
        raise sqlite3.OperationalError("full")

    recorder.put(store, lambda: told.append("what is not stored"))
    recorder.put(lambda: None, lambda: told.append("what is"))
    recorder.close()
    assert told == ["what is"]
