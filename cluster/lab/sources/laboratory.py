"""Converts tables to needs (units to run), and results of units to verdicts. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from cluster.lab.sources.measures import measure
from cluster.lab.sources.measures import names as measures
from cluster.lab.sources.need import Need, need_of
from cluster.lab.sources.store import Kept, Store
from cluster.lab.sources.table import Row, Table
from cluster.lab.sources.verdict import TableResult, Verdict
from cluster.system.terminal import duration
from games.errors import InvalidInput, counted


class Left(NamedTuple):
    """How much of some tables is done and left."""

    done: int
    units: int
    """Number of all units."""
    cpu_s: float
    """CPU seconds of the units that are left, from those that are stored, or else as the tables state."""
    known: bool
    """Whether that contains all of them."""

    @property
    def time(self) -> str:
        """The CPU time that is left, in words; empty if nothing is."""
        if self.done == self.units:
            return ""
        if not self.known:
            return f"more than {duration(self.cpu_s)}" if self.cpu_s else "unknown"
        return duration(self.cpu_s)


class Laboratory:
    """Tables at one scale. Rows that need equal games share them."""

    def __init__(self, tables: Iterable[Table], scale: str, seed: int = 0) -> None:
        """Raises InvalidInput (measure). If a row's game or player cannot be created, only that row fails."""
        self.scale = scale
        self.tables = list(tables)
        self.needs: list[Need] = []
        """The needs of all tables, without duplicates."""
        self._places: dict[str, int] = {}
        self._costs: dict[int, float] = {}
        """CPU seconds of a unit as tables state them, by index in `needs`; of single counts, 0 otherwise."""
        self._failures: dict[tuple[str, int], str] = {}
        self._of_rows: dict[tuple[str, int], tuple[int, Need]] = {}
        """By table name and row index: the index in `needs`, and the row's own need, which may have fewer
        units."""
        for table in self.tables:
            for number, row in enumerate(table.rows_at[scale]):
                self._add(table.name, number, row, seed)

    def _add(self, table: str, number: int, row: Row, seed: int) -> None:
        if row.measure not in measures():
            raise InvalidInput("measure", row.measure, "one of " + ", ".join(measures()))
        try:
            need = need_of(row, seed)
        except InvalidInput as error:
            text = f"{error.field} {error.value} is not accepted: expected {error.accepted}"
            self._failures[table, number] = text
            return
        place = self._places.setdefault(need.key, len(self.needs))
        if place == len(self.needs):
            self.needs.append(need)
        elif self.needs[place].units < need.units:
            self.needs[place] = need
        self._of_rows[table, number] = place, need
        if row.cpu_s is not None or need.units == 1:
            self._costs[place] = row.cpu_s or 0.0

    def keep_from(self, store: Store) -> dict[int, Kept]:
        """The stored units of all needs, by index in `needs`."""
        return {place: store.read(need) for place, need in enumerate(self.needs)}

    def left(self, kept: Mapping[int, Kept], tables: Collection[str] = ()) -> Left:
        """What is done and left of some tables, or of all; units that rows share count once."""
        places = set().union(*map(self.places, tables)) if tables else range(len(self.needs))
        missing = {place: len(kept[place].missing(self.needs[place])) for place in places}
        costs = [
            (number, kept[place].unit_cpu_s or self._costs.get(place)) for place, number in missing.items()
        ]
        units = sum(self.needs[place].units for place in places)
        cpu_s = sum(number * (cost or 0.0) for number, cost in costs)
        known = all(cost is not None for number, cost in costs if number)
        return Left(units - sum(missing.values()), units, cpu_s, known)

    def places(self, name: str) -> set[int]:
        """Indices of the needs of a table."""
        return {place for (table, _), (place, _) in self._of_rows.items() if table == name}

    def result(self, name: str, kept: Mapping[int, Kept], failures: Mapping[int, str]) -> TableResult:
        """The verdicts of a table. Rows with missing units count as not run.

        ``failures``: reasons by index of need.
        """
        table = next(table for table in self.tables if table.name == name)
        verdicts = []
        for number, row in enumerate(table.rows_at[self.scale]):
            failure = self._failures.get((name, number), "")
            if not failure:
                place, need = self._of_rows[name, number]
                missing = kept[place].missing(need)
                lost = counted(len(missing), "unit is missing", "units are missing") if missing else ""
                failure = failures.get(place, lost)
            verdicts.append(
                Verdict(row, failure=failure) if failure else Verdict(row, measure(row, need, kept[place]))
            )
        return TableResult(table, self.scale, tuple(verdicts))
