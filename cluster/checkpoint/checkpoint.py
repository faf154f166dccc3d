"""Checkpoints: files from which a search can be resumed after its process has ended.

A search is a fold over jobs. So a checkpoint contains the merged tree, the descriptions of the jobs in
flight, and results that wait for earlier ones; it contains nothing about where the search ran. When the
search is resumed, jobs that were in flight run again, like lost jobs. Therefore a resumed search with a
budget in simulations ends with statistics that are bit for bit those of an uninterrupted search, on any
machines. A search with a budget in seconds runs for its remaining time.

A checkpoint contains the text of game, evaluator and strategy files that the search uses; resuming runs it:
resume only checkpoints from a trusted source. Accidental damage of the file is always detected.

A file is written to FILE.part, which is synced and renamed to FILE; then the folder is synced. If the process
is killed, FILE has its old content, and FILE.part is overwritten the next time. The last bytes of the file,
which are the comment of a NumPy archive (.npz), contain the format and the SHA-256 of all bytes before the
digest. They are checked first, then the type and size of every array, and only then are data read. Nothing is
unpickled. ``numpy.load(FILE, allow_pickle=False)`` can read the file too.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from cluster.runtime.session import Session
from cluster.runtime.tasks import code_of_searches
from cluster.system.kept_folder import locked
from games.errors import InvalidInput
from search.coordinator import Coordinator
from search.packing.arrays import Arrays, BadArchive, CorruptState, Npz, prefixed, without_prefix, write_npz
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import STOPPED_BY

FORMAT = 2
HEAD = "banyan"
"""The name of the first array, which holds the description as JSON text."""
MOST_TEXT = 16 * 2**20
"""Limit of the size of a description in bytes, at four bytes a character; it includes a game's source."""
_SEAL = "banyan checkpoint format {} sha256 "
_DIGEST = 64
_SEALED = re.compile(rb"banyan checkpoint format ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_TAIL = 128
EVERY_S = 60.0
SHARE = 0.05
"""Largest share of the time that writing may take; a search with large checkpoints writes fewer of them."""
NODE_S = 3e-7
"""Seconds that a worker needs to pack and compress one node of a lane's tree."""
FURTHER = "further."
"""Prefix of the names of arrays that do not belong to the coordinator."""
T = TypeVar("T")
OVER = tuple(reason for reason in STOPPED_BY if reason != "cancelled")
"""Reasons that end a search finally; a cancelled search can be resumed."""


@dataclass(frozen=True)
class Opened:
    """A search that is ready to run, from its beginning or from a checkpoint."""

    coordinator: Coordinator
    elapsed_s: float = 0.0
    further: Arrays = field(default_factory=dict)
    """The arrays that `Keeper.further` added to the checkpoint."""


def begun(request: SearchRequest, **options: Any) -> Opened:
    """A search at its beginning; ``options`` as in `open_search`. Raises InvalidInput."""
    return Opened(Coordinator(open_search(request, **options), 1))


@dataclass(frozen=True)
class Checkpoint:
    """The description of a search in a checkpoint."""

    path: Path
    request: SearchRequest
    game: str | None
    """The whole spec of the game; None in a checkpoint of an earlier version."""
    game_source: str | None
    evaluator_source: str | None
    strategy_source: str | None
    kept_visits: int
    """`Search.kept_visits`."""
    elapsed_s: float
    stopped_by: str | None
    """Why the search ended finally (one of OVER); None if it can be resumed."""
    code: str
    """Fingerprint of the code that the search ran with, see `code_of_searches`."""
    banyan: str
    """The version of Banyan that wrote the checkpoint."""
    ran_on: tuple[str, int, int]
    """Executor, workers, and how many of these were lost, if the search ended finally."""

    def open(self, *, files: bool = True, external: bool = False) -> Opened:
        """Restore the search; ``files`` and ``external`` as in `open_search`.

        Raises InvalidInput (``file``, or a field of the request).
        """
        coordinator = begun(
            self.request,
            files=files,
            source=self.game_source,
            evaluator=self.evaluator_source,
            strategy=self.strategy_source,
            external=external,
            whole_spec=self.game,
            kept=(),
            kept_visits=self.kept_visits,
        ).coordinator
        if self.stopped_by is not None:
            coordinator.executor, coordinator.workers, coordinator.workers_lost = self.ran_on

        def restore(arrays: Arrays) -> Arrays:
            coordinator.restore(arrays, self.stopped_by)
            return without_prefix(FURTHER, arrays)

        return Opened(coordinator, self.elapsed_s, self.read(restore))

    def read(self, restore: Callable[[Arrays], T]) -> T:
        """What ``restore`` returns for the arrays of the file.

        Raises InvalidInput (``file``) if the file cannot be read, or if ``restore`` raises CorruptState.
        """
        try:
            return restore(read_arrays(self.path))
        except (BadArchive, OSError) as error:
            raise InvalidInput("file", str(self.path), _reason(error)) from None
        except CorruptState as error:
            raise InvalidInput("file", str(self.path), f"a sound checkpoint ({error})") from None

    @property
    def warnings(self) -> list[str]:
        """Warnings for a user who resumes the search."""
        if self.code == code_of_searches():
            return []
        line = f"{self.path} was written by other code (Banyan {self.banyan}): the answer may differ from "
        return [line + "that of an uninterrupted search"]


def read_checkpoint(path: Path, field: str = "file") -> Checkpoint:
    """Read the description of a checkpoint without the search's state. Raises InvalidInput (``field``)."""
    if path.exists() and not path.is_file():
        raise InvalidInput(field, str(path), "a checkpoint in an ordinary file")
    try:
        description = read_description(path)
        elapsed_s = _take(description, "elapsed_s", float, int)
        if not 0 <= elapsed_s < 1e9:
            raise BadArchive("a checkpoint whose elapsed time is 0 or more")
        stopped_by = _take(description, "stopped_by", str, types.NoneType)
        if stopped_by not in (None, *OVER):
            accepted = f"{', '.join(OVER)}, or not yet"
            raise BadArchive(f"a checkpoint of a search that was stopped by {accepted}")
        ran_on = description.get("ran_on", ["inline", 1, 0])
        if not isinstance(ran_on, list) or [type(each) for each in ran_on] != [str, int, int]:
            raise BadArchive("a checkpoint that says where the search ran")
        return Checkpoint(
            path=path,
            request=_request_of(_take(description, "request", dict)),
            game=_take(description, "game", str, types.NoneType),
            game_source=_take(description, "game_source", str, types.NoneType),
            evaluator_source=_take(description, "evaluator_source", str, types.NoneType),
            strategy_source=_take(description, "strategy_source", str, types.NoneType),
            kept_visits=_take(description, "kept_visits", int, types.NoneType) or 0,
            elapsed_s=float(elapsed_s),
            stopped_by=stopped_by,
            code=_take(description, "code", str),
            banyan=_take(description, "banyan", str),
            ran_on=(ran_on[0], ran_on[1], ran_on[2]),
        )
    except (BadArchive, OSError) as error:
        raise InvalidInput(field, str(path), _reason(error)) from None


class Keeper:
    """An observer that writes checkpoints of a session, at intervals and when it ends."""

    def __init__(
        self,
        path: Path,
        every_s: float | None = None,
        *,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
        begun_s: float | None = None,
    ) -> None:
        """Raises InvalidInput (``checkpoint``, ``checkpoint_every``).

        ``every_s``: interval in seconds. ``warn`` is called with a message if a checkpoint cannot be written;
        the search continues. ``begun_s``: elapsed time of a search whose present state can be restored
        without a checkpoint; the first one is written an interval later. None: it is written at the first
        call.
        """
        every_s = EVERY_S if every_s is None else every_s
        if not 0 < every_s < math.inf:
            raise InvalidInput("checkpoint_every", every_s, "seconds, more than 0")
        if path.is_dir() or not path.parent.is_dir():
            raise InvalidInput("checkpoint", str(path), "a file in a folder that is there")
        # The target of a link is replaced, not the link.
        self.path = Path(os.path.realpath(path))
        self.further: Callable[[], Arrays] = dict
        """Returns arrays that checkpoints contain beside those of the coordinator."""
        self.written = 0
        """Number of checkpoints written."""
        self._every_s = every_s
        self._warn = warn
        self._clock = clock
        self._due_s = 0.0
        self._ask_s = math.inf
        """When to request the lanes' trees: halfway through an interval, so that they arrive in time."""
        if begun_s is not None:
            self._due_s, self._ask_s = begun_s + every_s, begun_s + every_s / 2

    def begin(self, opened: Opened) -> None:
        """Write a checkpoint before the search runs. Raises InvalidInput (``checkpoint``) if that fails."""
        try:
            self._write(opened.coordinator, opened.elapsed_s)
        except OSError as error:
            accepted = f"a file that can be written ({error.strerror})"
            raise InvalidInput("checkpoint", str(self.path), accepted) from None

    def __call__(self, session: Session) -> None:
        """Write a checkpoint if one is due."""
        if session.finished_s is not None or session.elapsed_s >= self._due_s:
            self.keep(session)
        elif session.elapsed_s >= self._ask_s:
            session.search.strategy.hand_in()
            self._ask_s = math.inf

    def discard(self, coordinator: Coordinator) -> bool:
        """Remove the file of a search that has merged nothing; returns whether it was removed.

        The file would prevent another try of the search. The file of a resumed search is kept.
        """
        if coordinator.counters.simulations or coordinator.counters.resumed:
            return False
        self.path.unlink(missing_ok=True)
        return True

    def keep(self, session: Session) -> None:
        """Write a checkpoint of the session; warn if that fails."""
        try:
            self._write(session.coordinator, session.elapsed_s)
        except OSError as error:
            kept = "; the one before is kept" if self.path.exists() else ""
            self._warn(f"{self.path}: the checkpoint could not be written: {error.strerror}{kept}")

    def _write(self, coordinator: Coordinator, elapsed_s: float) -> None:
        started = self._clock()
        try:
            description = described(coordinator.search, coordinator.stopped_by, elapsed_s)
            description["ran_on"] = [coordinator.executor, coordinator.workers, coordinator.workers_lost]
            write_archive(self.path, description, coordinator.state() | prefixed(FURTHER, self.further()))
            self.written += 1
        finally:
            self._due_s = elapsed_s + max(self._every_s, (self._clock() - started) / SHARE)
        handing_in_s = NODE_S * coordinator.tree_nodes / coordinator.workers
        self._ask_s = elapsed_s + max((self._due_s - elapsed_s) / 2, handing_in_s / SHARE)


def refuse_unfinished(path: Path) -> None:
    """Raise InvalidInput (``checkpoint``) if the file exists and must not be overwritten by a new search.

    Only a checkpoint of a search that is over may be overwritten.
    """
    if path.exists() and read_checkpoint(path, "checkpoint").stopped_by is None:
        accepted = "a file without an unfinished search (continue it with banyan resume, or remove the file)"
        raise InvalidInput("checkpoint", str(path), accepted)


def described(search: Search, stopped_by: str | None, elapsed_s: float) -> dict[str, Any]:
    """The description of a search for its checkpoint. ``stopped_by``: why the search ended; None: not yet."""
    try:
        banyan = version("banyan-mcts")
    except PackageNotFoundError:
        banyan = "of unknown version"
    return {
        "banyan": banyan,
        "code": code_of_searches(),
        "request": asdict(search.request),
        "game": search.context.game,
        "game_source": search.context.game_source,
        "evaluator_source": search.context.evaluator_source,
        "strategy_source": search.context.strategy_source,
        "kept_visits": search.kept_visits,
        "elapsed_s": elapsed_s,
        "stopped_by": stopped_by if stopped_by in OVER else None,
    }


def _request_of(values: dict[str, Any]) -> SearchRequest:
    """The request with these values; missing fields get their defaults. Raises BadArchive."""
    unknown = sorted(values.keys() - {each.name for each in fields(SearchRequest)})
    if unknown:
        raise BadArchive(f"a checkpoint of a search without {unknown[0]!r}, which is not known here")
    if not isinstance(values.get("game"), str):
        raise BadArchive("a checkpoint of a search of a game")
    moves = values.get("moves", [])
    if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
        raise BadArchive(f"a checkpoint of a search whose moves is not {moves!r}")
    try:
        return SearchRequest(**values | {"moves": tuple(moves)})
    except InvalidInput as error:
        raise BadArchive(f"a checkpoint of a valid search ({error})") from None


def _take(description: dict[str, Any], name: str, *kinds: type) -> Any:
    value = description.get(name)
    if type(value) not in kinds:
        raise BadArchive(f"a checkpoint that says {name} (this one: {value!r:.40})")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"a checkpoint that can be read ({error.strerror})"
    text = str(error)
    return text if "checkpoint" in text else f"a checkpoint with {text}"


def write_archive(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace the file's content by description and arrays.

    Raises OSError; the file is unchanged in that case.
    """
    part = path.with_name(path.name + ".part")
    with os.fdopen(locked(part, wait=True), "r+b") as file:
        try:
            file.truncate(0)
            head = {HEAD: np.array(json.dumps(description))}
            write_npz(file, head | arrays, (_SEAL.format(FORMAT) + "0" * _DIGEST).encode())
            _seal(file)
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    _sync_folder(path.parent)


def read_description(path: Path) -> dict[str, Any]:
    """The description of an intact file. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        archive = _opened(file)
        if archive.size(HEAD) > MOST_TEXT:
            raise BadArchive("a shorter description")
        head = archive.read(HEAD)
    try:
        description = json.loads(str(head)) if head.ndim == 0 and head.dtype.kind == "U" else None
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict):
        raise BadArchive("a description in JSON")
    return description


def read_arrays(path: Path) -> Arrays:
    """The arrays of an intact file. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        archive = _opened(file)
        return {name: archive.read(name) for name in archive.names if name != HEAD}


def _opened(file: IO[bytes]) -> Npz:
    """The archive in a file; raises BadArchive if it is not an intact archive of this format."""
    _check_seal(file)
    archive = Npz(file)
    if archive.names[:1] != [HEAD]:
        raise BadArchive("a description as its first array")
    return archive


def _seal(file: IO[bytes]) -> None:
    """Write the digest of all preceding bytes at the end of the file."""
    end = file.seek(0, os.SEEK_END) - _DIGEST
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest.encode())
    file.flush()


def _digest(file: IO[bytes], length: int) -> str:
    file.seek(0)
    sha, left = hashlib.sha256(), length
    while left > 0 and (block := file.read(min(left, 2**20))):
        sha.update(block)
        left -= len(block)
    return sha.hexdigest()


def _check_seal(file: IO[bytes]) -> None:
    """Raise BadArchive for a file that is not a checkpoint, is damaged, or has another format."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    found = _SEALED.search(file.read())
    if found is None:
        file.seek(0)
        ours = HEAD.encode() in file.read(_TAIL)
        what = "a complete checkpoint (this one is truncated)" if ours else "a checkpoint of Banyan"
        raise BadArchive(what)
    if int(found[1]) != FORMAT:
        raise BadArchive(f"a checkpoint of format {FORMAT} (this one is of format {int(found[1])})")
    if _digest(file, size - _DIGEST) != found[2].decode():
        raise BadArchive("an intact checkpoint (this one is damaged: its checksum is wrong)")


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name is durable, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
