"""The records of searches in SQLite: request, state and result.

A change is acknowledged only when it is on disk in the main file (WAL, synchronous=FULL). A lock on a file
in the folder ensures that one process uses it. The threads share one connection for writing and one for
reading, so reads do not wait for the disk.
"""

from __future__ import annotations

import fcntl
import json
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from cluster.observe.metrics import version_of
from cluster.service.answer_models import Curve, CurvePoint
from cluster.service.records import COLUMNS, OPEN, OVER, QUEUED, REOPENED, Record, record_of
from games.errors import InvalidInput

FORMAT, MADE = 2, b"there are records\n"
"""Version of the stored format, and content of a folder's lock file once its database exists."""
LAST_S = 1.0
"""Seconds for which a killed server may still hold the lock of its folder while its process ends."""
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
    to_cancel INTEGER NOT NULL DEFAULT 0,
    written_by TEXT
);
CREATE INDEX search_state ON search (state, number);
CREATE TABLE boot (number INTEGER PRIMARY KEY AUTOINCREMENT, time_s REAL NOT NULL, checked_s REAL);
CREATE TABLE start (
    id TEXT PRIMARY KEY,
    under_way INTEGER NOT NULL,
    deaths INTEGER NOT NULL DEFAULT 0
);
"""
"""Table `start`: opened searches that are not over, whether they are running, and the number of crashes of
the server while they ran."""
_CURVES = "CREATE TABLE IF NOT EXISTS curves (id TEXT PRIMARY KEY, points TEXT NOT NULL)"
"""Curves of searches. Versions without this table use the same folder, and leave the table as it is."""
_ANALYSES = """
CREATE TABLE IF NOT EXISTS analysis (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    game TEXT NOT NULL,
    positions INTEGER NOT NULL,
    request TEXT NOT NULL,
    key TEXT UNIQUE,
    fingerprint TEXT NOT NULL,
    created_s REAL NOT NULL,
    started_s REAL,
    finished_s REAL,
    error TEXT,
    deaths INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS answer (
    analysis INTEGER NOT NULL,
    place INTEGER NOT NULL,
    position INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (analysis, place)
) WITHOUT ROWID;
"""
"""Analyses, and their answers by place (from 1) in the order in which they were found, each with the number
of its position. Versions without these tables leave them as they are."""
BUSY_S = 0.5
"""Seconds to wait for another process that uses the database, such as one that copies it."""
CHECK_EVERY_S = 1.0
"""Shortest interval, in seconds, of tests whether records can be stored."""
FRAME_BYTES, HEAD_BYTES = 24, 32
"""SQLite's write-ahead log: bytes of the header of each page, and of the file's header."""
LOG = logging.getLogger("banyan.store")
_FILES = ("", "-wal", "-shm")
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM search"


class Store:
    """The database of records in a folder."""

    def __init__(self, folder: Path) -> None:
        """Locks the folder and creates it if needed. Raises InvalidInput (field ``data``)."""
        self.folder = folder
        self.checkpoints, self.evaluations = folder / "checkpoints", folder / "evaluations.sqlite"
        self._path = folder / "searches.sqlite"
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._trouble: str | None = None
        self._checked_s = -math.inf
        self._in_log = False
        self._last: object = None
        self._held = -1
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._take()
            self._refuse_lost()
            self.checkpoints.mkdir(exist_ok=True, mode=0o700)
            self._make_private()
            self._open()
            with suppress(OSError):
                os.pwrite(self._held, MADE, 0)
        except (OSError, sqlite3.Error, InvalidInput) as error:
            if self._held >= 0:
                os.close(self._held)
            raise _refusal(folder, error) from None

    def _take(self) -> None:
        """Lock the folder. Raises BlockingIOError if another server keeps the lock."""
        until_s = time.monotonic() + LAST_S
        while True:
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.05)

    def _refuse_lost(self) -> None:
        """Raise InvalidInput if the folder had records, which are not there any more."""
        if os.fstat(self._held).st_size and not (self._path.exists() and self._path.stat().st_size):
            accepted = (
                f"a folder with its records: {self._path.name} is missing or has no bytes"
                " (put it back, or remove the file lock beside it to begin without records)"
            )
            raise InvalidInput("data", str(self.folder), accepted)

    def _make_private(self) -> None:
        """Make the files readable by this user only, independent of the folder's mode and the umask."""
        # SQLite creates its other files with the mode of this file.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for file in (self.folder / "lock", *self._files()):
            _restrict(file, 0o600)
        _restrict(self.checkpoints, 0o700)
        for file in self.checkpoints.iterdir():
            _restrict(file, 0o600)

    def _files(self) -> list[Path]:
        return [self._path.with_name(self._path.name + end) for end in _FILES]

    def _open(self) -> None:
        path, wal, _ = self._files()
        wal_bytes = wal.stat().st_size if wal.exists() else 0
        self._db = _connection(path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found not in (0, FORMAT):
            self._db.close()
            accepted = f"a folder with records of format {FORMAT}"
            accepted += f" (these are of format {found}, of another version of Banyan)"
            raise InvalidInput("data", str(self.folder), accepted)
        if wal_bytes:
            self._look_at_wal(wal_bytes)
        if found == 0:
            self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")
        self._db.executescript(f"{_CURVES}; {_ANALYSES}")
        self._into_main_file()
        self._reader = _connection(path)
        self._places = [_place(file) for file in self._files()]

    def _look_at_wal(self, wal_bytes: int) -> None:
        """Log what a killed server has left in the write-ahead log, and whether it is complete."""
        (page_bytes,) = self._db.execute("PRAGMA page_size").fetchone()
        _, frames, _ = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        whole = HEAD_BYTES + frames * (page_bytes + FRAME_BYTES)
        if frames and wal_bytes == whole:
            LOG.info("%d pages were recovered from the write-ahead log", frames)
        else:
            LOG.warning(
                "the write-ahead log of %d bytes has %d complete pages and more: it was truncated, or a"
                " server was killed while writing; the incomplete part is lost",
                wal_bytes,
                frames,
            )

    def close(self) -> None:
        """Close the database and release the lock. Further calls have no effect."""
        with self._lock, self._reading:
            self._reader.close()
            self._db.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    def boot(self, now_s: float) -> int:
        """Record a start of the server; returns the number of starts. Raises InvalidInput (``data``)."""
        try:
            with self._transaction() as db:
                return int(db.execute("INSERT INTO boot (time_s) VALUES (?)", (now_s,)).lastrowid or 0)
        except sqlite3.Error as error:
            raise _refusal(self.folder, error) from None

    def check(self, now_s: float) -> str | None:
        """Why nothing can be stored; None if storing works. After a failed write, a test write is made."""
        with self._lock:
            if (moved := self._moved()) is not None:
                return moved
        if self._trouble is None and os.statvfs(self.folder).f_bavail > 0:
            return None
        if time.monotonic() >= self._checked_s + CHECK_EVERY_S:
            self._checked_s = time.monotonic()
            with suppress(sqlite3.Error), self._transaction() as db:
                last = "(SELECT max(number) FROM boot)"
                db.execute(f"UPDATE boot SET checked_s = ? WHERE number = {last}", (now_s,))
        return self._trouble

    def add(
        self, search_id: str, request: dict[str, Any], key: str | None, fingerprint: str, now_s: float
    ) -> Record:
        """Add a queued search; returns its record, or that of the existing search with this key."""
        with self._transaction() as db:
            if key is not None and (known := _found(db, "key", key)) is not None:
                return known
            values = (search_id, QUEUED, request["priority"], json.dumps(request), key, fingerprint, now_s)
            db.execute(
                "INSERT INTO search"
                " (id, state, priority, request, key, fingerprint, created_s, written_by)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, version_of("banyan-mcts")),
            )
            added = _found(db, "id", search_id)
            assert added is not None
            return added

    def with_key(self, key: str) -> Record | None:
        """The search that was added with this key; None if there is none."""
        with self._reading:
            return _found(self._reader, "key", key)

    def get(self, search_id: str) -> Record | None:
        """The search with this id; None if there is none."""
        with self._reading:
            return _found(self._reader, "id", search_id)

    def update(self, search_id: str, **columns: Any) -> None:
        """Change columns of a search."""
        self.change(_updated(search_id, columns))

    def reopen(self, search_id: str) -> None:
        """Set a search that is over to queued again, without its result."""
        self.update(search_id, **REOPENED)

    def put_off(self, search_id: str) -> None:
        """Set the state of a running search to queued: another has its place."""
        under_way = ("UPDATE start SET under_way = 0 WHERE id = ?", search_id)
        self.change(_updated(search_id, {"state": QUEUED}), under_way)

    def finish(self, search_id: str, curve: Sequence[Sequence[float | None]] = (), **columns: Any) -> None:
        """Store the end of a search as `update` does, and its curve if it has one."""
        ended = ("DELETE FROM start WHERE id = ?", search_id)
        self.change(_updated(search_id, columns), ended, *_kept_curve(search_id, curve))

    def keep_curve(self, search_id: str, curve: Sequence[Sequence[float | None]]) -> None:
        """Store the curve of a search that is not over."""
        self.change(*_kept_curve(search_id, curve))

    def curve(self, search_id: str) -> list[CurvePoint]:
        """The curve of a search as it was stored last; empty if there is none that can be read."""
        with self._reading:
            found = self._reader.execute("SELECT points FROM curves WHERE id = ?", (search_id,)).fetchone()
        with suppress(ValueError, TypeError, RecursionError):
            return Curve.model_validate({"points": json.loads(found[0])}).points
        return []

    def opening(self, search_id: str) -> None:
        """Record that a search is about to be opened and counts as running from now on."""
        change = (
            "INSERT INTO start (id, under_way) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET under_way = 1"
        )
        self.change((change, search_id))

    def put_away(self) -> None:
        """Record that no search is running, because the server ends normally."""
        self.change(("UPDATE start SET under_way = 0",))

    def count_death(self) -> tuple[dict[str, int], list[str]]:
        """Count a crash of the server against the searches that were running.

        Returns ({id: crashes while the search ran} for each open search, ids of the searches that were
        running this time).
        """
        with self._transaction() as db:
            db.execute(
                "DELETE FROM start WHERE id NOT IN (SELECT id FROM search WHERE state IN (?, ?))", OPEN
            )
            left = [row[0] for row in db.execute("SELECT id FROM start WHERE under_way").fetchall()]
            db.execute("UPDATE start SET deaths = deaths + under_way, under_way = 0")
            return dict(db.execute("SELECT id, deaths FROM start").fetchall()), left

    def open_searches(self) -> list[Record]:
        """The searches that are not over, in the order in which they begin."""
        with self._lock:
            rows = self._db.execute(
                f"{_SELECT} WHERE state IN (?, ?) ORDER BY priority DESC, number", OPEN
            ).fetchall()
        return [record_of(row) for row in rows]

    def page(
        self, state: str | None, before: int | None, limit: int, games: Sequence[str] = ()
    ) -> list[Record]:
        """At most ``limit`` searches with numbers below ``before``, the latest first.

        ``state``: only searches in this state. ``games``: only searches whose game contains one of these
        texts, in any case; empty: all games.
        """
        with self._reading:
            rows = self._reader.execute(
                f"{_SELECT} WHERE (?1 IS NULL OR state = ?1)"
                " AND (?2 IS NULL OR number < ?2)"
                " AND (?4 = '[]' OR EXISTS (SELECT 1 FROM json_each(?4)"
                " WHERE CASE WHEN json_valid(request)"
                " THEN instr(lower(json_extract(request, '$.game')), lower(value)) END))"
                " ORDER BY number DESC LIMIT ?3",
                (state, before, limit, json.dumps(list(games))),
            ).fetchall()
        return [record_of(row) for row in rows]

    def forget(self, kept: int) -> list[str]:
        """Delete searches that are over, except the last ``kept`` of these; returns the deleted ids."""
        with self._transaction() as db:
            rows = db.execute(
                "DELETE FROM search WHERE number IN (SELECT number FROM search WHERE state IN (?, ?, ?)"
                " ORDER BY number DESC LIMIT -1 OFFSET ?) RETURNING id",
                (*OVER, kept),
            ).fetchall()
            # Also those that a version without curves has left.
            db.execute("DELETE FROM curves WHERE id NOT IN (SELECT id FROM search)")
        return [row[0] for row in rows]

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement selects."""
        with self._reading:
            return self._reader.execute(statement, values).fetchall()

    def change(self, *changes: tuple[Any, ...]) -> None:
        """Store changes together; each is a statement and its values."""
        with self._transaction() as db:
            for statement, *values in changes:
                db.execute(statement, values)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Context manager: changes are stored in the main file at the end, or undone by an exception."""
        with self._lock:
            try:
                self._refuse_moved()
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
                self._into_main_file()
                self._refuse_moved()
            except BaseException as error:
                if isinstance(error, sqlite3.Error):
                    self._trouble = str(error)
                # An error of a full disk may have ended the transaction or left it open.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._trouble = None

    def _refuse_moved(self) -> None:
        if (moved := self._moved()) is not None:
            raise sqlite3.OperationalError(moved)

    def _moved(self) -> str | None:
        """Why the next server would not find what is stored now; None if it would.

        The open files may have been moved, removed, replaced, cut or overwritten by other programs. Without
        its log the database is opened again: everything is in the main file. Missing checkpoints cost time.
        """
        try:
            places = [_place(file) for file in self._files()]
            if places[0] != self._places[0]:
                return f"the file that the server has opened is not at {self._path} any more"
            self.checkpoints.mkdir(mode=0o700, exist_ok=True)
            now = self._path.stat()
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        if now.st_size < self._main.st_size:
            return f"{self._path} has {now.st_size} bytes of {self._main.st_size}"
        if not (os.access(self.folder, os.W_OK) and os.access(self._path, os.W_OK)):
            return f"{self._path} cannot be written"
        if now.st_mtime_ns != self._main.st_mtime_ns:
            with closing(_connection(self._path)) as db:
                if self._last is not None and _last(db) != self._last:
                    return f"{self._path} was overwritten"
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found != FORMAT:
            return f"{self._path} has the format {found}, which was {FORMAT}"
        if places != self._places:
            LOG.warning("the write-ahead log was removed; the records are opened again")
            with self._reading:
                self._reader.close()
                self._db.close()
                before = self._last
                self._open()
            if before not in (None, self._last):
                return f"the last changes of {self._path} were lost with its write-ahead log"
        return None

    def _into_main_file(self) -> None:
        """Move the write-ahead log into the main file, so that a truncated log loses nothing.

        If that fails, committed changes stay in the log and are moved after a later write.
        """
        try:
            (busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            why = "it is read" if busy else None
        except sqlite3.Error as error:
            why = str(error)
        if why is not None and not self._in_log:
            LOG.warning("the last changes are only in the write-ahead log for now: %s", why)
        self._in_log = why is not None
        try:
            self._main, self._last = self._path.stat(), _last(self._db)
        except (OSError, sqlite3.Error):
            # Nothing to compare the file with; what was stored is stored.
            self._last = None


def _connection(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=BUSY_S)
    # Invalid text makes its own record unreadable (the escape is not JSON), not the whole page.
    db.text_factory = lambda text: text.decode(errors="backslashreplace")
    return db


def _place(path: Path) -> tuple[int, int] | None:
    """What tells a file from another that takes its place; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _last(db: sqlite3.Connection) -> object:
    """The numbers of the last start and of the last search."""
    sequence = "(SELECT seq FROM sqlite_sequence WHERE name = 'search')"
    return db.execute(f"SELECT (SELECT max(number) FROM boot), {sequence}").fetchone()


def _restrict(path: Path, mode: int) -> None:
    """Set the mode of an existing file; log a warning if that is not allowed."""
    try:
        path.chmod(mode)
    except FileNotFoundError:
        pass
    except OSError as error:
        LOG.warning(
            "%s: other users may be able to read it, its mode cannot be set: %s", path, error.strerror
        )


def _refusal(folder: Path, error: Exception) -> InvalidInput:
    """The InvalidInput for a folder that cannot be used, by the error."""
    if isinstance(error, InvalidInput):
        return error
    if isinstance(error, BlockingIOError):
        accepted = "a folder that no other server uses"
    elif isinstance(error, OSError):
        accepted = f"a folder that can be written ({error.strerror})"
    elif isinstance(error, sqlite3.OperationalError):
        accepted = f"a folder that can be written ({error})"
    else:
        accepted = f"a folder with undamaged records ({error})"
    return InvalidInput("data", str(folder), accepted)


def _found(db: sqlite3.Connection, column: str, value: str) -> Record | None:
    row = db.execute(f"{_SELECT} WHERE {column} = ?", (value,)).fetchone()
    return None if row is None else record_of(row)


def _updated(search_id: str, columns: dict[str, Any]) -> tuple[Any, ...]:
    """The change of columns of a search; objects are stored as JSON."""
    values = (json.dumps(value) if isinstance(value, dict) else value for value in columns.values())
    names = ", ".join(f"{name} = ?" for name in columns)
    return f"UPDATE search SET {names} WHERE id = ?", *values, search_id


def _kept_curve(search_id: str, curve: Sequence[Sequence[float | None]]) -> list[tuple[Any, ...]]:
    """The change that stores a curve; none if it is empty."""
    return [("INSERT OR REPLACE INTO curves VALUES (?, ?)", search_id, json.dumps(curve))] if curve else []
