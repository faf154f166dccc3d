"""The folder in which experiments store finished units, each as soon as it is done.

Units are stored by their content, not by table: tables with equal games share them, a longer experiment
continues a shorter one, and an interrupted one is resumed. Games are in folders of `cluster.matches.match`,
counts in files of JSON lines.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from cluster.lab.sources.need import CountNeed, MatchNeed, Need, UnitDone
from cluster.matches.match import GAMES, MatchFolder
from cluster.matches.record import GameRecord, read_records
from cluster.system.file_lock import lock_in
from cluster.system.kept_folder import replace_text, whole_lines

DEFAULT_OUT = Path("out/experiments")


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
        self._counts: dict[str, IO[str]] = {}

    def __enter__(self) -> Store:
        """Locks the folder; raises InvalidInput (out) if another run writes to it."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._stack.enter_context(
            lock_in(self.path, "lock", "a folder that no other run of experiments is writing to")
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._matches.clear()
        self._counts.clear()
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
        for unit in map(json.loads, whole_lines(self._count_path(need))):
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
        if need.key not in self._counts:
            self._counts[need.key] = self._stack.enter_context(self._open_count(need))
        file = self._counts[need.key]
        line = {"number": done.index, "found": done.found, "cpu_s": done.cpu_s}
        file.write(json.dumps(line) + "\n")
        file.flush()

    def _open_count(self, need: CountNeed) -> IO[str]:
        path = self._count_path(need)
        path.parent.mkdir(parents=True, exist_ok=True)
        identity = {"name": need.name, "arguments": json.loads(need.arguments)}
        replace_text(path, "".join(whole_lines(path)) or json.dumps(identity) + "\n")
        return path.open("a", encoding="utf-8")

    def _match_path(self, need: MatchNeed) -> Path:
        return self.path / "matches" / need.key

    def _count_path(self, need: CountNeed) -> Path:
        return self.path / "counts" / f"{need.key}.jsonl"
