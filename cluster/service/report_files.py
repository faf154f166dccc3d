"""Results of `banyan speedup`, `predict` and `strength` in the data folder of a server.

Files are found by their names, at most DEPTH folders below the data folder, and no link is followed. A client
names a file by an id from the list, never by a path. Only JSON of the file's kind is served.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from games.errors import counted

KINDS = {"speedup.json": "speedup", "predict.json": "predict", "strength.json": "strength"}
DEPTH = 3
MOST = 200
"""Files that are listed: the newest ones."""
MOST_BYTES = 5_000_000
OWN_FOLDER = "checkpoints"
"""The folder with the server's own files, which may be thousands."""
TITLE = 200
"""Largest number of characters of a title."""


class Unusable(ValueError):
    """The reason why a file cannot be shown, in one line."""


@dataclass(frozen=True)
class Report:
    """A file in the list."""

    id: str
    kind: str
    name: str
    """Its folder, relative to the data folder."""
    modified: float
    """Unix time in seconds."""
    title: str
    problem: str | None
    """Why it cannot be shown; None if it can."""


_Key = tuple[str, int, int, int]
"""Path relative to the data folder, time of the change, size, inode: the same for an unchanged file."""


class ReportFiles:
    """The results in one folder. Safe to use from any thread."""

    def __init__(self, folder: Path) -> None:
        # It may be a link itself.
        self._folder = folder.resolve()
        self._listed: dict[_Key, Report | None] = {}
        """The latest list; None for a file that cannot be read, which is not shown."""
        self._lock = threading.Lock()

    def listed(self) -> list[Report]:
        """The newest files, the newest first."""
        with self._lock:
            keys = sorted((key for key, _ in self._found()), key=lambda key: (-key[1], key))[:MOST]
            known = {key: self._listed[key] for key in keys if key in self._listed}
            fresh = set(keys) - known.keys()
            for key, folder in self._found() if fresh else ():
                if key in fresh:
                    known[key] = _report(key, folder)
            self._listed = {key: known[key] for key in keys if key in known}
            return [report for report in self._listed.values() if report is not None]

    def content(self, report_id: str) -> bytes | None:
        """The content of a listed file; None if there is none with this id. Raises Unusable."""
        if report_id not in {report.id for report in self.listed()}:
            return None
        for key, folder in self._found():
            if id_of(key[0]) == report_id:
                try:
                    return _read(key[0], folder)[0]
                except OSError:
                    break
        return None

    def _found(self) -> Iterator[tuple[_Key, int]]:
        """All files with names of KINDS, whatever they are, each with a descriptor of its folder."""
        # The whole folder may have gone.
        with suppress(OSError):
            for root, folders, names, folder in os.fwalk(self._folder):
                parts = Path(root).relative_to(self._folder).parts
                for name in KINDS.keys() & {*folders, *names}:
                    with suppress(FileNotFoundError):
                        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                        key = "/".join([*parts, name]), found.st_mtime_ns, found.st_size, found.st_ino
                        yield key, folder
                inner = [] if len(parts) == DEPTH else folders
                folders[:] = [each for each in inner if parts or each != OWN_FOLDER]


def id_of(path: str) -> str:
    """The id of the file with this path, relative to the data folder."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _report(key: _Key, folder: int) -> Report | None:
    path, modified_ns, *_ = key
    title, problem = path, None
    try:
        _, title = _read(path, folder)
    except Unusable as error:
        problem = str(error)
    except OSError:
        return None
    where, _, name = path.rpartition("/")
    return Report(id_of(path), KINDS[name], _plain(where), modified_ns / 1e9, _plain(title), problem)


def _read(path: str, folder: int) -> tuple[bytes, str]:
    """The content of a file in an open folder, and its title. Raises OSError, Unusable."""
    name = path.rpartition("/")[2]
    kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(kind):
        raise Unusable("a link, which is not followed" if stat.S_ISLNK(kind) else "not a file")
    # Not blocking, in case it has become a pipe meanwhile.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
        content = file.read(MOST_BYTES + 1) or b""
    if len(content) > MOST_BYTES:
        raise Unusable(f"larger than {MOST_BYTES // 10**6} MB")
    return content, _title(KINDS[name], content)


def _title(kind: str, content: bytes) -> str:
    """What a report is about, such as ``gomoku: root and tree on 1 to 8 workers``. Raises Unusable."""
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_float=_finite, parse_int=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise Unusable("not a JSON file, half of one, or one with numbers that JSON does not have") from None
    try:
        rows = value if kind == "speedup" else value["predicted" if kind == "predict" else "rows"]
        game = value["game"] if kind == "strength" else rows[0]["game"]
        *others, last = dict.fromkeys(str(row["strategy"]) for row in rows)
        unit = "lane" if kind == "strength" else "worker"
        numbers = [int(row[f"{unit}s"]) for row in rows]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise Unusable(f"not a result of banyan {kind} that this version can show") from None
    few, many = min(numbers), max(numbers)
    on = counted(many, unit) if few == many else f"{few:,} to {counted(many, unit)}"
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{game}: {'strength of ' * (kind == 'strength')}{names} {'with' if unit == 'lane' else 'on'} {on}"


def _finite(text: str) -> float:
    """A number that every reader of JSON has. Raises ValueError for others."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _plain(text: str) -> str:
    """A text that can be encoded and shown in a line."""
    text = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    return text if len(text) <= TITLE else text[:TITLE] + "\u2026"
