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
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cluster.system.terminal import span
from games.errors import in_words

KINDS = {f"{kind}.json": kind for kind in ("speedup", "predict", "strength")}
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


class ReportFiles:
    """The results in one folder. Safe to use from any thread."""

    def __init__(self, folder: Path) -> None:
        # It may be a link itself.
        self._folder = folder.resolve()

    def listed(self) -> list[Report]:
        """The newest files, the newest first."""
        return [self._report(path, found) for path, found in self._newest()]

    def content(self, report_id: str) -> bytes | None:
        """The content of a listed file; None if there is none with this id. Raises Unusable."""
        for path, _ in self._newest():
            if id_of(path) == report_id:
                return _read(self._folder / path)[0]
        return None

    def _newest(self) -> list[tuple[str, os.stat_result]]:
        """Paths, relative to the folder, of files with names of KINDS, whatever they are; newest first."""
        found = []
        for root, folders, names in os.walk(self._folder):
            inside = os.path.relpath(root, self._folder)
            for name in KINDS.keys() & set(names):
                # It may have gone meanwhile.
                with suppress(OSError):
                    path = os.path.normpath(os.path.join(inside, name))
                    found.append((path, os.lstat(self._folder / path)))
            folders[:] = [each for each in folders if inside != "." or each != OWN_FOLDER]
            if len(Path(inside).parts) == DEPTH:
                folders.clear()
        return sorted(found, key=lambda each: (-each[1].st_mtime_ns, each[0]))[:MOST]

    def _report(self, path: str, found: os.stat_result) -> Report:
        title, problem = _title(self._folder / path, found.st_mtime_ns, found.st_size, found.st_ino)
        where, name = os.path.split(path)
        return Report(id_of(path), KINDS[name], _shown(where), found.st_mtime, _shown(title or path), problem)


def id_of(path: str) -> str:
    """The id of the file with this path, relative to the data folder."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _shown(text: str) -> str:
    """A text that can be encoded."""
    return text[:TITLE].encode(errors="replace").decode()


@lru_cache(2 * MOST)
def _title(path: Path, *_: int) -> tuple[str, str | None]:
    """What a report is about, or why it cannot be shown; the numbers differ when the file has changed."""
    try:
        return _read(path)[1], None
    except Unusable as error:
        return "", str(error)


def _read(path: Path) -> tuple[bytes, str]:
    """The content of a file, and its title: ``hex: root and tree on 1 to 8 workers``. Raises Unusable."""
    try:
        # Not blocking, in case it is a pipe.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(MOST_BYTES + 1) if is_file else b""
    except OSError as error:
        raise Unusable(
            "a link, which is not followed" if path.is_symlink() else str(error.strerror)
        ) from None
    if not is_file:
        raise Unusable("not a file")
    if len(content) > MOST_BYTES:
        raise Unusable(f"larger than {MOST_BYTES // 10**6} MB")
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_float=_finite, parse_int=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise Unusable("not a JSON file, half of one, or one with numbers that JSON does not have") from None
    kind = KINDS[path.name]
    is_strength = kind == "strength"
    try:
        rows = value if kind == "speedup" else value["rows" if is_strength else "predicted"]
        game = value["game"] if is_strength else rows[0]["game"]
        unit = "lane" if is_strength else "worker"
        on = span([int(row[f"{unit}s"]) for row in rows], unit)
        names = in_words(list(dict.fromkeys(row["strategy"] for row in rows)))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise Unusable(f"not a result of banyan {kind} that this version can show") from None
    return content, f"{game}: strength of {names} with {on}" if is_strength else f"{game}: {names} on {on}"


def _finite(text: str) -> float:
    """A number that every reader of JSON has. Raises ValueError for others."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
