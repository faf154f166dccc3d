"""Units of work of the tables: what a row needs, its worker, the folder of finished units, and a run of them.

A unit is a game of a match, or a part of a count. It depends only on its need and its number: a lost unit is
run again with an equal result, unless budgets are in seconds. An exception in a unit becomes part of its
result, and makes only its own row fail.

Units are stored by their content, not by table: tables with equal games share them, a longer experiment
continues a shorter one, and an interrupted one is resumed. Games are in folders of `cluster.matches.match`,
counts in files of JSON lines.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.table import Row
from cluster.matches.game import MatchContext, MatchWorker
from cluster.matches.launch import MatchRequest, open_match
from cluster.matches.match import GAMES, MatchFolder
from cluster.matches.record import GameRecord, read_records
from cluster.runtime.jobset import Unit, Units
from cluster.runtime.tasks import Task
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


@dataclass(frozen=True)
class UnitDone:
    """The result of a unit: a game record, found values, or an error."""

    index: int
    """Number of the game in its match, or of the sample."""
    record: GameRecord | None = None
    found: dict[str, Any] | None = None
    error: str = ""
    cpu_s: float = 0.0
    duration_s: float = 0.0


class UnitWorker:
    """Runs units of one need, one after the other, in one process."""

    def __init__(self) -> None:
        self._match = MatchWorker()

    def prepare(self, context: Need) -> None:
        """Does nothing: players are created with their first game."""

    def run(self, context: Need, job: int) -> UnitDone:
        """Run the unit with this number."""
        started, cpu = time.perf_counter(), time.thread_time()
        record, found, error = None, None, ""
        try:
            if isinstance(context, MatchNeed):
                record = self._match.run(context.context, Unit(job)).found
            else:
                found = _count(context, job)
        except InvalidInput as wrong:
            error = f"{wrong.field} {wrong.value!r} is not accepted; expected {wrong.accepted}"
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        spent_s, cpu_s = time.perf_counter() - started, time.thread_time() - cpu
        return UnitDone(job, record, found, error, cpu_s, spent_s)


def _count(need: CountNeed, number: int) -> dict[str, Any]:
    """Run one unit of a count."""
    arguments = json.loads(need.arguments)
    found = SAMPLES[need.name](arguments, number) if need.name in SAMPLES else COUNTS[need.name](arguments)
    return dict(found)


def _key(word: str, identity: tuple[object, ...]) -> str:
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"


@dataclass
class Kept:
    """The stored units of one need, by number."""

    records: dict[int, GameRecord] = field(default_factory=dict)
    found: dict[int, dict[str, Any]] = field(default_factory=dict)
    cpu_s: float = 0.0
    """CPU seconds of all units."""

    @property
    def numbers(self) -> set[int]:
        return {*self.records, *self.found}

    @property
    def unit_cpu_s(self) -> float | None:
        """CPU seconds of a unit in the mean; None without units."""
        number = len(self.records) + len(self.found)
        return self.cpu_s / number if number else None

    def missing(self, need: Need) -> list[int]:
        """Numbers of the units that are not stored yet."""
        there = self.numbers
        return [number for number in range(need.units) if number not in there]


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
                kept.records[2 * (record.pair - 1) + record.leg - 1] = record
                kept.cpu_s += sum(effort.cpu_s for effort in record.efforts)
            return kept
        for unit in map(json.loads, kept_folder.whole_lines(self._count_path(need))):
            if "number" in unit:
                kept.found[unit["number"]] = unit["found"]
                kept.cpu_s += unit["cpu_s"]
        return kept

    def add(self, need: Need, done: UnitDone) -> None:
        """Store a unit that has no error."""
        if isinstance(need, MatchNeed):
            assert done.record is not None
            if need.key not in self._matches:
                folder = MatchFolder(self._match_path(need), need.context)
                self._stack.callback(folder.close)
                self._matches[need.key] = folder
            self._matches[need.key].keep(done.record)
            return
        path = self._count_path(need)
        file = str(path.relative_to(self.path))
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self._counts.add(file, {"name": need.name, "arguments": json.loads(need.arguments)})
        self._counts.add(file, {"number": done.index, "found": done.found, "cpu_s": done.cpu_s})

    def _match_path(self, need: MatchNeed) -> Path:
        return self.path / "matches" / need.key

    def _count_path(self, need: CountNeed) -> Path:
        return self.path / "counts" / f"{need.key}.jsonl"


class Run(Units):
    """The units of all needs; units that are already stored are not run again.

    The context key of a need is its index. A unit that fails makes only its own need fail.
    """

    def __init__(self, needs: Sequence[Need], kept: Mapping[int, Kept], store: Store) -> None:
        """``kept``: stored units by index of need."""
        self.contexts = dict(enumerate(needs))
        self.kept = dict(kept)
        self.failures: dict[int, str] = {}
        """Reasons of failed needs, by index."""
        self.spent_s = 0.0
        """CPU seconds of the units of this run that are done."""
        self._store = store
        self._numbers = [self.kept[place].missing(need) for place, need in self.contexts.items()]
        self._left = [len(numbers) for numbers in self._numbers]

    @property
    def units(self) -> int:
        """Number of units of this run."""
        return sum(map(len, self._numbers))

    @property
    def done(self) -> int:
        """Number of finished units of this run."""
        return self.units - sum(self._left)

    @property
    def finished(self) -> bool:
        return super().finished or not any(self._left)

    def left(self, need: int) -> int:
        """Number of unfinished units of a need; 0 after it has failed."""
        return 0 if need in self.failures else self._left[need]

    def missing(self) -> list[Task]:
        """Tasks of missing units, in the order of needs. Units are never bundled: their durations differ."""
        return [
            Task(number, number, work=0, context=need)
            for need, numbers in enumerate(self._numbers)
            for number in numbers
        ]

    def take(self, context: int, result: UnitDone) -> None:
        """Take the result of a unit; it is stored unless it is an error."""
        self._left[context] -= 1
        if result.error:
            self.failures.setdefault(context, result.error)
            return
        kept = self.kept[context]
        if result.record is not None:
            kept.records[result.index] = result.record
        else:
            kept.found[result.index] = result.found or {}
        kept.cpu_s += result.cpu_s
        self.spent_s += result.cpu_s
        self._store.add(self.contexts[context], result)

    def fail(self, context: int, index: int, error: str, cause: Exception | None = None) -> None:
        """Note that a unit could not be run, or its result not be sent: its need has failed."""
        self._left[context] -= 1
        self.failures.setdefault(context, error)

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Note that a unit was lost too often: its need has failed."""
        self.fail(context, index, reason)
