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
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.table import Row
from cluster.matches.game import MatchContext, MatchWorker
from cluster.matches.launch import MatchRequest, open_match
from cluster.matches.match import GAMES, MatchFolder
from cluster.matches.record import read_records
from cluster.runtime import jobset
from cluster.runtime.jobset import Unit
from cluster.system import kept_folder
from games.errors import InvalidInput

DEFAULT_OUT = Path("out/experiments")


@dataclass(frozen=True)
class MatchNeed:
    """A number of games of a match."""

    context: MatchContext
    units: int

    @property
    def key(self) -> str:
        """A unique name of the match, independent of the number of games."""
        context = self.context
        return _key(
            context.game.partition(":")[0],
            (context.game, *context.players, context.seed, context.opening_plies),
        )


@dataclass(frozen=True)
class CountNeed:
    """A number of units of a count; each depends only on the arguments and its number."""

    name: str
    arguments: str
    """Arguments as JSON, including the seed."""
    units: int

    @property
    def key(self) -> str:
        """A unique name of the count, independent of the number of units."""
        return _key(self.name, (self.name, self.arguments))


Need = MatchNeed | CountNeed


def need_of(row: Row, seed: int) -> Need:
    """The need of a row. Raises InvalidInput, for example if its game or a player cannot be created."""
    details = dict(row.details)
    num_games = details.pop("games", 1)
    if row.measure in COUNTS or row.measure in SAMPLES:
        arguments = json.dumps({**details, "seed": seed}, sort_keys=True, default=str)
        return CountNeed(row.measure, arguments, num_games if row.measure in SAMPLES else 1)
    for name in ("game", "a"):
        if name not in details:
            raise InvalidInput("table", row.name, f"a row with {name}")
    a, b = details["a"], details.get("b", details["a"])
    request = MatchRequest(details["game"], a, b, num_games, seed, details.get("opening_plies", 0))
    context, _ = open_match(request)
    return MatchNeed(context, num_games)


class UnitWorker(jobset.UnitWorker):
    """Runs units of any need in one process; players are created with their first game."""

    def __init__(self) -> None:
        super().__init__()
        self._match = MatchWorker()

    def find(self, context: Need, unit: Unit) -> tuple[Any, float]:
        """The record of a game, or the values found by a count, and the CPU seconds that it took."""
        began_s = time.thread_time()
        if isinstance(context, MatchNeed):
            found = self._match.run(context.context, unit).found
        elif context.name in SAMPLES:
            found = SAMPLES[context.name](json.loads(context.arguments), unit.index)
        else:
            found = COUNTS[context.name](json.loads(context.arguments))
        return found, time.thread_time() - began_s


def _key(word: str, identity: tuple[object, ...]) -> str:
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"


@dataclass
class Kept:
    """The stored units of one need."""

    units: dict[int, Any] = field(default_factory=dict)
    """By number, the records of games, or the values that a count found."""
    cpu_s: float = 0.0
    """CPU seconds of all units."""

    @property
    def unit_cpu_s(self) -> float | None:
        """CPU seconds of a unit in the mean; None without units."""
        return self.cpu_s / len(self.units) if self.units else None

    def missing(self, need: Need) -> list[int]:
        """Numbers of the units that are not stored yet."""
        return [number for number in range(need.units) if number not in self.units]


class Store:
    """A folder of stored units; must be entered as a context manager before units are added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        self._matches: dict[str, MatchFolder] = {}
        self._counts: kept_folder.Kept

    def __enter__(self) -> Store:
        """Locks the folder; raises InvalidInput (out) if another run writes to it."""
        self._counts = self._stack.enter_context(
            kept_folder.Kept(self.path, "lock", {}, "run of experiments")
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, need: Need) -> Kept:
        """Read the stored units of a need; changes nothing."""
        kept = Kept()
        if isinstance(need, MatchNeed):
            file = self._match_path(need) / GAMES
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            for record in read_records(text, "out"):
                assert record.pair is not None
                assert record.leg is not None
                kept.units[2 * (record.pair - 1) + record.leg - 1] = record
                kept.cpu_s += sum(effort.cpu_s for effort in record.efforts)
            return kept
        for unit in map(json.loads, kept_folder.whole_lines(self._count_path(need))):
            if "number" in unit:
                kept.units[unit["number"]] = unit["found"]
                kept.cpu_s += unit["cpu_s"]
        return kept

    def add(self, need: Need, number: int, found: Any, cpu_s: float) -> None:
        """Store a unit."""
        if isinstance(need, MatchNeed):
            if need.key not in self._matches:
                folder = MatchFolder(self._match_path(need), need.context)
                self._stack.callback(folder.close)
                self._matches[need.key] = folder
            self._matches[need.key].keep(found)
            return
        path = self._count_path(need)
        file = str(path.relative_to(self.path))
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self._counts.add(file, {"name": need.name, "arguments": json.loads(need.arguments)})
        self._counts.add(file, {"number": number, "found": found, "cpu_s": cpu_s})

    def _match_path(self, need: MatchNeed) -> Path:
        return self.path / "matches" / need.key

    def _count_path(self, need: CountNeed) -> Path:
        return self.path / "counts" / f"{need.key}.jsonl"
