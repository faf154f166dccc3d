"""Units of work of the tables: what a row needs, its worker, the folder of finished units, and a run of them.

A unit is a game of a match, or a part of a count. It depends only on its need and its number: a lost unit is
run again with an equal result, unless budgets are in seconds. An exception in a unit makes only its own row
fail.

Units are stored by their content, not by table: tables with equal games share them, a longer experiment
continues a shorter one, and an interrupted one is resumed. Games are in folders of `cluster.matches.match`,
counts in files of JSON lines.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.table import PublishedRow
from cluster.matches.game import MatchContext, MatchWorker
from cluster.matches.launch import MatchRequest, open_match
from cluster.matches.match import GAMES, MatchFolder
from cluster.matches.record import read_records
from cluster.runtime.jobset import Unit, UnitWorker
from cluster.system import kept_folder

DEFAULT_OUT = Path("out/experiments")


@dataclass(frozen=True)
class Need:
    """A match and how many of its games are needed, or a count and how many of its units."""

    name: str
    """Name of the count, or of the game."""
    match: MatchContext | None
    """What the games of the match share; None for a count."""
    arguments: str
    """Arguments of the count as JSON, including the seed; empty for a match."""
    units: int

    @property
    def key(self) -> str:
        """A unique name, independent of the number of units."""
        identity: tuple[object, ...] = self.name, self.arguments
        if (match := self.match) is not None:
            identity = match.game, *match.players, match.seed, match.opening_plies
        digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
        return f"{re.sub('[^a-z0-9]+', '-', self.name.lower()).strip('-')}-{digest[:16]}"


Done = tuple[Any, float]
"""A finished unit: the record of a game, or the values found by a count; and the CPU seconds that it took."""


def missing(need: Need, done: Mapping[int, Done]) -> list[int]:
    """Numbers of the units of a need that are not among those that are done."""
    return [number for number in range(need.units) if number not in done]


def need_of(row: PublishedRow, seed: int) -> Need:
    """The need of a row. Raises InvalidInput, for example if its game or a player cannot be created."""
    details = dict(row.details)
    num_games = details.pop("games", 1)
    if row.measure in COUNTS or row.measure in SAMPLES:
        arguments = json.dumps({**details, "seed": seed}, sort_keys=True, default=str)
        return Need(row.measure, None, arguments, num_games if row.measure in SAMPLES else 1)
    a, b = details["a"], details.get("b", details["a"])
    request = MatchRequest(details["game"], a, b, num_games, seed, details.get("opening_plies", 0))
    context, _ = open_match(request)
    return Need(context.game.partition(":")[0], context, "", num_games)


class ExperimentWorker(UnitWorker):
    """Runs units of any need in one process; players are created with their first game."""

    def __init__(self) -> None:
        super().__init__()
        self._match = MatchWorker()

    def find(self, context: Need, unit: Unit) -> Done:
        began_s = time.thread_time()
        if context.match is not None:
            found = self._match.run(context.match, unit).found
        elif context.name in SAMPLES:
            found = SAMPLES[context.name](json.loads(context.arguments), unit.index)
        else:
            found = COUNTS[context.name](json.loads(context.arguments))
        return found, time.thread_time() - began_s


class UnitStore(ExitStack):
    """A folder of stored units; must be entered as a context manager before units are added."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._matches: dict[str, MatchFolder] = {}

    def __enter__(self) -> Self:
        """Locks the folder; raises InvalidInput (out) if another run writes to it."""
        counts = kept_folder.Kept(self.path, "lock", {}, "run of experiments")
        self._counts = self.enter_context(counts)
        return self

    def read(self, need: Need) -> dict[int, Done]:
        """The stored units of the need's match or count by number, also more than are needed; only reads."""
        done: dict[int, Done] = {}
        if need.match is not None:
            file = self._path(need) / GAMES
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            for record in read_records(text, "out"):
                assert record.pair is not None
                assert record.leg is not None
                cpu_s = sum(effort.cpu_s for effort in record.efforts)
                done[2 * (record.pair - 1) + record.leg - 1] = record, cpu_s
            return done
        for unit in map(json.loads, kept_folder.whole_lines(self._path(need))):
            if "number" in unit:
                done[unit["number"]] = unit["found"], unit["cpu_s"]
        return done

    def add(self, need: Need, number: int, unit: Done) -> None:
        """Store a unit."""
        found, cpu_s = unit
        path = self._path(need)
        if need.match is not None:
            if need.key not in self._matches:
                folder = MatchFolder(path, need.match)
                self.callback(folder.close)
                self._matches[need.key] = folder
            self._matches[need.key].keep(found)
            return
        file = str(path.relative_to(self.path))
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self._counts.add(file, {"name": need.name, "arguments": json.loads(need.arguments)})
        self._counts.add(file, {"number": number, "found": found, "cpu_s": cpu_s})

    def _path(self, need: Need) -> Path:
        """The folder of a match, or the file of a count."""
        if need.match is not None:
            return self.path / "matches" / need.key
        return self.path / "counts" / f"{need.key}.jsonl"
