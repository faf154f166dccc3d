"""The records of searches, in SQLite: what was asked, how it stands, what came of it.

Nothing is acknowledged before it is on the disk (WAL, synchronous=FULL). One process has the folder at a
time, by a lock on a file in it; its threads share one connection to write and one to read, so that nobody who
reads waits for the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from games.errors import InvalidInput

QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"
OPEN, OVER = (QUEUED, RUNNING), (DONE, CANCELLED, FAILED)
STATES = OPEN + OVER
FORMAT = 1
LAST_S = 1.0
"""How long a server that was killed may still hold its folder, while its process is taken down."""
_SCHEMA = """
CREATE TABLE search (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    request TEXT NOT NULL,
    key TEXT UNIQUE,
    fingerprint TEXT NOT NULL,
    created_s REAL NOT NULL,
    started_s REAL,
    finished_s REAL,
    result TEXT,
    error TEXT,
    final_event INTEGER,
    to_cancel INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX search_state ON search (state, number);
CREATE TABLE boot (number INTEGER PRIMARY KEY AUTOINCREMENT, time_s REAL NOT NULL);
"""


@dataclass(frozen=True)
class Record:
    """One search."""

    number: int
    """In the order in which they were accepted."""
    id: str
    state: str
    priority: int
    request: dict[str, Any]
    """The body that asked for it, with its defaults."""
    fingerprint: str
    """Of that body, to tell a repeated request from another with the same key."""
    created_s: float
    """Seconds since 1970, as the next two."""
    started_s: float | None
    finished_s: float | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    final_event: int | None
    """The id of the last event; None while it is open."""
    to_cancel: bool
    """Whether it is to end with what it has."""

    @property
    def over(self) -> bool:
        return self.state in OVER


_COLUMNS = tuple(field.name for field in fields(Record))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM search"


class Store:
    """All records in one folder."""

    def __init__(self, folder: Path) -> None:
        """Takes the folder, and makes it if there is none. Raises InvalidInput (data)."""
        self.folder = folder
        self._lock, self._reading = threading.Lock(), threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._take()
        except BlockingIOError:
            os.close(self._held)
            raise InvalidInput("data", str(folder), "a folder that no other server uses") from None
        except OSError as error:
            raise InvalidInput(
                "data", str(folder), f"a folder that can be written ({error.strerror})"
            ) from None
        try:
            self._open(folder / "searches.sqlite")
        except sqlite3.DatabaseError as error:
            os.close(self._held)
            raise InvalidInput("data", str(folder), f"a folder with sound records ({error})") from None

    def _take(self) -> None:
        """Raises BlockingIOError if another server has the folder, and keeps it."""
        until_s = time.monotonic() + LAST_S
        while True:
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.05)

    def _open(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found == 0:
            self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")
        elif found != FORMAT:
            self._db.close()
            os.close(self._held)
            accepted = f"a folder of a server with records of format {FORMAT} (these are of format {found})"
            raise InvalidInput("data", str(self.folder), accepted)
        self._reader = sqlite3.connect(path, check_same_thread=False, isolation_level=None)

    def close(self) -> None:
        """Give the folder back; a second time does nothing."""
        with self._lock, self._reading:
            self._reader.close()
            self._db.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    def boot(self, now_s: float) -> int:
        """How often a server has been started on the folder, with this time."""
        with self._transaction() as db:
            return int(db.execute("INSERT INTO boot (time_s) VALUES (?)", (now_s,)).lastrowid or 0)

    def add(
        self, search_id: str, request: dict[str, Any], key: str | None, fingerprint: str, now_s: float
    ) -> Record:
        """A new search, queued; or the one that was added with the same key."""
        with self._transaction() as db:
            if key is not None and (row := _row(db, "key = ?", key)) is not None:
                return _record(row)
            db.execute(
                "INSERT INTO search (id, state, priority, request, key, fingerprint, created_s)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (search_id, QUEUED, request["priority"], json.dumps(request), key, fingerprint, now_s),
            )
            row = _row(db, "id = ?", search_id)
            assert row is not None
            return _record(row)

    def with_key(self, key: str) -> Record | None:
        """The search that was added with this key."""
        return self._get("key = ?", key)

    def get(self, search_id: str) -> Record | None:
        """A search by its id."""
        return self._get("id = ?", search_id)

    def begin(self, search_id: str, now_s: float) -> None:
        """It runs now."""
        with self._transaction() as db:
            db.execute(
                "UPDATE search SET state = ?, started_s = coalesce(started_s, ?) WHERE id = ?",
                (RUNNING, now_s, search_id),
            )

    def cancel(self, search_id: str) -> None:
        """It is to end with what it has."""
        with self._transaction() as db:
            db.execute("UPDATE search SET to_cancel = 1 WHERE id = ?", (search_id,))

    def finish(
        self,
        search_id: str,
        state: str,
        result: dict[str, Any] | None,
        error: dict[str, Any] | None,
        final_event: int,
        now_s: float,
    ) -> None:
        """It is over."""
        with self._transaction() as db:
            db.execute(
                "UPDATE search SET state = ?, result = ?, error = ?, final_event = ?, finished_s = ?"
                " WHERE id = ?",
                (state, _dumped(result), _dumped(error), final_event, now_s, search_id),
            )

    def reopen(self, search_id: str) -> None:
        """It waits again; what came of it before is gone."""
        with self._transaction() as db:
            db.execute(
                "UPDATE search SET state = ?, result = NULL, error = NULL, final_event = NULL,"
                " finished_s = NULL, to_cancel = 0 WHERE id = ?",
                (QUEUED, search_id),
            )

    def open_searches(self) -> list[Record]:
        """Those that are not over, in the order in which they are to run."""
        with self._lock:
            rows = self._db.execute(
                f"{_SELECT} WHERE state IN (?, ?) ORDER BY priority DESC, number", OPEN
            ).fetchall()
        return [_record(row) for row in rows]

    def page(self, state: str | None, before: int | None, limit: int) -> list[Record]:
        """The latest searches, or those before a number; the latest first."""
        with self._reading:
            rows = self._reader.execute(
                f"{_SELECT} WHERE (?1 IS NULL OR state = ?1)"
                " AND (?2 IS NULL OR number < ?2) ORDER BY number DESC LIMIT ?3",
                (state, before, limit),
            ).fetchall()
        return [_record(row) for row in rows]

    def forget(self, kept: int) -> list[str]:
        """Forget all but so many of the searches that are over, the oldest first; their ids."""
        with self._transaction() as db:
            rows = db.execute(
                "DELETE FROM search WHERE number IN (SELECT number FROM search WHERE state IN (?, ?, ?)"
                " ORDER BY number DESC LIMIT -1 OFFSET ?) RETURNING id",
                (*OVER, kept),
            ).fetchall()
        return [row[0] for row in rows]

    def _get(self, where: str, value: str) -> Record | None:
        with self._reading:
            row = _row(self._reader, where, value)
        return None if row is None else _record(row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _row(db: sqlite3.Connection, where: str, value: str) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = db.execute(f"{_SELECT} WHERE {where}", (value,)).fetchone()
    return row


def _record(row: tuple[Any, ...]) -> Record:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("request", "result", "error"):
        values[name] = None if values[name] is None else json.loads(values[name])
    return Record(**values | {"to_cancel": bool(values["to_cancel"])})


def _dumped(values: dict[str, Any] | None) -> str | None:
    return None if values is None else json.dumps(values)
