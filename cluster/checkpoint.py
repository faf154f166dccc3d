"""Checkpoints: what a search needs to go on after its process has ended, in one file.

A search is a fold over jobs, so a checkpoint is the merged tree, what the jobs that are out are made of, and
results that wait for their turn: nothing of where the search ran. Jobs that were out are run again, as lost
ones are. So a search with a budget in simulations ends with the statistics, bit for bit, that it would have
had without a break, whatever it goes on on. One with a budget in seconds goes on for the time that is left.

A checkpoint holds the text of the files that the search names, of a game or an evaluator, and resuming runs
them: like these files, it must come from somebody who is trusted. A file that was damaged, and not made to
deceive, is always found out.
"""

from __future__ import annotations

import hashlib
import math
import time
import types
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args, get_type_hints

import games
import search as searching
from cluster.archive import read_arrays, read_description, write_archive
from cluster.coordinator import Coordinator
from cluster.session import Session
from games.errors import InvalidInput
from search.kept import Unsound
from search.npz import BadArchive
from search.opening import open_search
from search.request import SearchRequest
from search.result import STOPPED_BY

EVERY_S = 60.0
SHARE = 0.05
"""The most of the time that writing may take: a search whose checkpoints are large writes fewer."""
NODE_S = 3e-7
"""Seconds for a worker to hand in a node of a lane's tree: packing and compressing."""
OVER = tuple(reason for reason in STOPPED_BY if reason != "cancelled")
"""What ends a search for good; one that was cancelled can go on."""


@dataclass(frozen=True)
class Opened:
    """A search that is ready to run, from its beginning or from where it was."""

    coordinator: Coordinator
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says of its search."""

    path: Path
    request: SearchRequest
    game_source: str | None
    evaluator_source: str | None
    elapsed_s: float
    stopped_by: str | None
    """What ended the search for good; None if it can go on."""
    code: str
    """See `code_of_searches`."""
    banyan: str
    """The version that wrote it."""

    def open(self, *, files: bool = True) -> Opened:
        """The search as it was; ``files`` as in `open_search`.

        Raises InvalidInput (file, or a field of the request).
        """
        opened = open_search(
            self.request, files=files, source=self.game_source, evaluator=self.evaluator_source
        )
        coordinator = Coordinator(opened, 1)
        try:
            coordinator.restore(read_arrays(self.path), self.stopped_by)
        except (BadArchive, OSError) as error:
            raise InvalidInput("file", str(self.path), _reason(error)) from None
        except Unsound as error:
            raise InvalidInput("file", str(self.path), f"a sound checkpoint ({error})") from None
        return Opened(coordinator, self.elapsed_s)

    @property
    def warnings(self) -> list[str]:
        """What somebody who goes on from it should know."""
        if self.code == code_of_searches():
            return []
        line = f"{self.path} was written by other code (Banyan {self.banyan}): the answer may differ from "
        return [line + "that of a search without a break"]


def read_checkpoint(path: Path, field: str = "file") -> Checkpoint:
    """Read what a checkpoint says of its search, and nothing of its state. Raises InvalidInput (field)."""
    if path.exists() and not path.is_file():
        raise InvalidInput(field, str(path), "a checkpoint in an ordinary file")
    try:
        description = read_description(path)
        return Checkpoint(
            path=path,
            request=_request_of(_take(description, "request", dict)),
            game_source=_take(description, "game_source", str, types.NoneType),
            evaluator_source=_take(
                {"evaluator_source": None} | description, "evaluator_source", str, types.NoneType
            ),
            elapsed_s=_seconds(_take(description, "elapsed_s", float, int)),
            stopped_by=_one_of_over(_take(description, "stopped_by", str, types.NoneType)),
            code=_take(description, "code", str),
            banyan=_take(description, "banyan", str),
        )
    except (BadArchive, OSError) as error:
        raise InvalidInput(field, str(path), _reason(error)) from None


class Keeper:
    """An observer that keeps the session in a file: now and then, and when it ends."""

    def __init__(
        self,
        path: Path,
        every_s: float | None = None,
        *,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
        begun_s: float | None = None,
    ) -> None:
        """``warn`` is told when a checkpoint cannot be written; the search goes on. Raises InvalidInput.

        ``begun_s``: of a search that can go on from what it was then without a checkpoint, the time that it
        had taken: the first one is written an interval later. None writes one at the first look.
        """
        every_s = EVERY_S if every_s is None else every_s
        if not 0 < every_s < math.inf:
            raise InvalidInput("checkpoint_every", every_s, "seconds, more than 0")
        if path.is_dir() or not path.parent.is_dir():
            raise InvalidInput("checkpoint", str(path), "a file in a folder that is there")
        # What the name stands for is replaced, not a link to it.
        self.path = path.resolve()
        self.written = 0
        """How many checkpoints have been."""
        self._every_s = every_s
        self._warn = warn
        self._clock = clock
        self._due_s = 0.0
        self._ask_s = math.inf
        """When to ask for what jobs bring along: half-way, so that it is there when it is kept."""
        if begun_s is not None:
            self._due_s, self._ask_s = begun_s + every_s, begun_s + every_s / 2

    def begin(self, opened: Opened) -> None:
        """Keep a search before it runs. Raises InvalidInput (checkpoint) if it cannot be."""
        try:
            self._write(opened.coordinator, opened.elapsed_s)
        except OSError as error:
            accepted = f"a file that can be written ({error.strerror})"
            raise InvalidInput("checkpoint", str(self.path), accepted) from None

    def __call__(self, session: Session) -> None:
        """Keep the session if it is time to."""
        if session.finished_s is not None or session.elapsed_s >= self._due_s:
            self.keep(session)
        elif session.elapsed_s >= self._ask_s:
            session.search.strategy.hand_in()
            self._ask_s = math.inf

    def keep(self, session: Session) -> None:
        """Keep the session as it stands, or warn."""
        try:
            self._write(session.coordinator, session.elapsed_s)
        except OSError as error:
            self._warn(f"{self.path}: the checkpoint could not be written: {error.strerror}")

    def _write(self, coordinator: Coordinator, elapsed_s: float) -> None:
        started = self._clock()
        try:
            write_archive(self.path, _described(coordinator, elapsed_s), coordinator.state())
            self.written += 1
        finally:
            self._due_s = elapsed_s + max(self._every_s, (self._clock() - started) / SHARE)
        handing_in_s = NODE_S * coordinator.tree_nodes / coordinator.workers
        self._ask_s = elapsed_s + max((self._due_s - elapsed_s) / 2, handing_in_s / SHARE)


def refuse_unfinished(path: Path) -> None:
    """Raises InvalidInput (checkpoint) if the file is something that a new search must not write over.

    That is everything but a checkpoint of a search that is over.
    """
    if path.exists() and read_checkpoint(path, "checkpoint").stopped_by is None:
        accepted = "a file without an unfinished search (banyan resume goes on with it; or remove it)"
        raise InvalidInput("checkpoint", str(path), accepted)


@cache
def code_of_searches() -> str:
    """16 hex digits over the source of rules and search: what equal digests rely on."""
    sha = hashlib.sha256()
    for package in (games, searching):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.py")):
            sha.update(f"{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return sha.hexdigest()[:16]


def _described(coordinator: Coordinator, elapsed_s: float) -> dict[str, Any]:
    search, stopped_by = coordinator.search, coordinator.stopped_by
    try:
        banyan = version("banyan-mcts")
    except PackageNotFoundError:
        banyan = "of unknown version"
    return {
        "banyan": banyan,
        "code": code_of_searches(),
        "request": asdict(search.request),
        "game_source": search.context.game_source,
        "evaluator_source": search.context.evaluator_source,
        "elapsed_s": elapsed_s,
        "stopped_by": stopped_by if stopped_by in OVER else None,
    }


def _request_of(values: dict[str, Any]) -> SearchRequest:
    """The request with these values; fields that are not there have their defaults. Raises BadArchive."""
    hints = get_type_hints(SearchRequest)
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            raise BadArchive(f"a checkpoint of a search without {name!r}, which is not known here")
        kinds = get_args(hints[name]) or (hints[name],)
        if value is None and type(None) not in kinds:
            # A field that could be left to the budget when this was written, and cannot any more.
            continue
        if name == "moves":
            fits = isinstance(value, list) and all(isinstance(move, str) for move in value)
        else:
            fits = type(value) in kinds or (float in kinds and type(value) is int)
        if not fits:
            raise BadArchive(f"a checkpoint of a search whose {name} is not {value!r}")
        read[name] = tuple(value) if name == "moves" else value
    if "game" not in read:
        raise BadArchive("a checkpoint of a search of a game")
    try:
        return SearchRequest(**read)
    except InvalidInput as error:
        raise BadArchive(f"a checkpoint of a search that can be ({error})") from None


def _take(description: dict[str, Any], name: str, *kinds: type) -> Any:
    value = description.get(name)
    if type(value) not in kinds:
        raise BadArchive(f"a checkpoint that says {name} (this one: {value!r:.40})")
    return value


def _seconds(value: float) -> float:
    if not 0 <= value < 1e9:
        raise BadArchive("a checkpoint of a search that took some time")
    return float(value)


def _one_of_over(value: str | None) -> str | None:
    if value is not None and value not in OVER:
        raise BadArchive("a checkpoint of a search that was stopped by " + ", ".join(OVER) + ", or not yet")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"a checkpoint that can be read ({error.strerror})"
    text = str(error)
    return text if "checkpoint" in text else f"a checkpoint with {text}"
