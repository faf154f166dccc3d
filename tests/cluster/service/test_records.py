"""Records that do not fit, folders of other versions, logs that were cut: told, and no harm to others."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.client.client import ServiceError
from cluster.service.records import QUEUED, UNREADABLE
from cluster.service.request_models import SearchBody
from cluster.service.store import FORMAT, Store
from games.errors import InvalidInput
from tests.cluster.service.process import Server, http
from tests.waiting import eventually

BODY: dict[str, Any] = {"game": "tictactoe", "simulations": 20, "lanes": 1}
REQUEST = SearchBody(**BODY).model_dump()


def added(store: Store, count: int) -> list[str]:
    return [store.add(f"s{number}", REQUEST, None, "f", 1.0).id for number in range(count)]


def change(folder: Path, sql: str, *values: object) -> None:
    """Change records as no server would."""
    db = sqlite3.connect(folder / "searches.sqlite")
    with db:
        db.execute(sql, values)
    db.close()


DAMAGES: list[tuple[str, object, str]] = [
    ("request", json.dumps(REQUEST | {"of_a_later_version": 1}), "SearchBody: of_a_later_version: 1"),
    ("request", json.dumps(REQUEST)[:-9], "request is not an object in JSON"),
    ("request", "[]", "request is not an object in JSON"),
    ("request", b'{"game": "\xff"}', "request is not an object in JSON"),
    ("result", "{}", "Result: game: None is not"),
    ("result", '{"value": NaN}', "result is not an object in JSON"),
    ("error", '{"title": "\\ud800", "detail": ""}', "error is not an object in JSON"),
    ("state", "asleep", "state is 'asleep'"),
    ("state", "done", "final_event is missing"),
    ("created_s", "yesterday", "created_s is 'yesterday'"),
    ("created_s", 1e300, "created_s is 1e+300"),
    ("priority", "high", "priority is 'high'"),
]


@pytest.mark.parametrize(("column", "value", "reason"), DAMAGES)
def test_a_record_that_cannot_be_read_is_marked_and_harms_no_other(
    tmp_path: Path, column: str, value: object, reason: str
) -> None:
    store = Store(tmp_path)
    added(store, 3)
    change(tmp_path, f"UPDATE search SET {column} = ? WHERE id = 's1'", value)
    last, damaged, first = store.page(None, None, 10)
    assert (last.state, damaged.state, first.state) == (QUEUED, UNREADABLE, QUEUED)
    assert damaged == store.get("s1") and damaged.id == "s1"
    assert damaged.unreadable is not None and damaged.unreadable.startswith(reason)
    assert "written by Banyan" in damaged.unreadable
    assert len(store.open_searches()) >= 2
    store.close()


@pytest.mark.slow
def test_a_server_tells_of_records_that_it_cannot_read(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        client = server.client()
        over = [client.wait(client.submit(BODY)["id"]) for _ in range(2)]
    store = Store(tmp_path)
    open_ids = [store.add(name, REQUEST, None, "f", 1.0).id for name in ("cut", "later", "sound")]
    store.close()
    change(tmp_path, "UPDATE search SET request = substr(request, 1, 20) WHERE id = 'cut'")
    later = json.dumps(REQUEST | {"of_a_later_version": 1})
    change(tmp_path, "UPDATE search SET request = ? WHERE id IN ('later', ?)", later, over[0]["id"])
    with Server(tmp_path) as server:
        client = server.client()
        assert client.wait("sound")["state"] == "done"
        states = {search["id"]: search["state"] for search in client.searches()["searches"]}
        damaged = ("cut", "later", over[0]["id"])
        assert states == dict.fromkeys(damaged, UNREADABLE) | {"sound": "done", over[1]["id"]: "done"}
        assert client.get(over[1]["id"]) == over[1]
        for search_id in damaged:
            search = client.get(search_id)
            assert search["request"] is search["result"] is None and search["error"]["detail"]
            for ask in (client.cancel, client.resume, lambda i: list(client.events(i))):
                with pytest.raises(ServiceError, match="cannot be read") as error:
                    ask(search_id)
                assert error.value.status == 409
        assert sum("stays as it is" in line for line in server.lines) == 2
        assert http.get(f"{server.url}/readyz").status_code == 200
    assert set(open_ids) == {"cut", "later", "sound"}


@pytest.mark.parametrize("found", [-1, FORMAT - 1, FORMAT + 1])
def test_a_folder_of_another_format_is_refused(found: int, tmp_path: Path) -> None:
    Store(tmp_path).close()
    change(tmp_path, f"PRAGMA user_version={found}")
    with pytest.raises(InvalidInput, match=f"format {found}, of another version") as error:
        Store(tmp_path)
    assert error.value.field == "data"


def test_what_is_acknowledged_does_not_depend_on_the_log(tmp_path: Path) -> None:
    killed(tmp_path, lambda store: added(store, 33))
    os.truncate(tmp_path / "searches.sqlite-wal", 0)
    store = Store(tmp_path)
    assert len(store.open_searches()) == 33
    store.close()


def test_a_log_that_was_cut_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def add_beside_a_reader(store: Store) -> None:
        # Whoever reads all the while keeps what is written in the log.
        reader = sqlite3.connect(tmp_path / "searches.sqlite", isolation_level=None)
        reader.execute("BEGIN").execute("SELECT count(*) FROM search").fetchone()
        added(store, 2)

    killed(tmp_path, add_beside_a_reader)
    wal = tmp_path / "searches.sqlite-wal"
    os.truncate(wal, wal.stat().st_size - 100)
    store = Store(tmp_path)
    assert [record.id for record in store.open_searches()] == ["s0"]
    assert "was truncated" in caplog.text
    with closing(sqlite3.connect(tmp_path / "searches.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN").execute("SELECT count(*) FROM search").fetchone()
        store.add("s9", REQUEST, None, "f", 1.0)
        wal.unlink()
        assert "lost with its write-ahead log" in str(store.check(2.0))
    store.close()


def killed(folder: Path, act: Callable[[Store], object]) -> None:
    """Have a process do something with the store, and end as it would when it is killed."""
    pid = os.fork()
    if not pid:
        try:
            act(Store(folder))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.slow
def test_nobody_else_can_read_what_is_stored(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tmp_path / "open"
        (folder / "checkpoints").mkdir(parents=True, mode=0o755)
        for name in ("searches.sqlite", "checkpoints/old.npz"):
            (folder / name).touch(mode=0o644)
        with Server(folder, "--checkpoint-every", "0.1") as server:
            client = server.client()
            search_id = client.submit({"game": "tictactoe", "seconds": 60, "lanes": 1})["id"]
            eventually((folder / f"checkpoints/{search_id}.npz").exists)
            files = [path for path in folder.rglob("*") if path.is_file()]
            assert {path.name for path in files} >= {"searches.sqlite", "searches.sqlite-wal", "old.npz"}
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    finally:
        os.umask(before)
