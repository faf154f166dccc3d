"""From tables to what they need, and back from what was run to verdicts. Runs nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cluster.experiments.measures import measure
from cluster.experiments.measures import names as measures
from cluster.experiments.need import Need, need_of
from cluster.experiments.store import Kept, Store
from cluster.experiments.table import Row, Table
from cluster.experiments.verdict import TableResult, Verdict
from cluster.matches.game import MakePlayer
from games.errors import InvalidInput
from search.players import player_of


class Laboratory:
    """Some tables at one scale. Rows that need the same games share them."""

    def __init__(
        self, tables: Iterable[Table], scale: str, seed: int = 0, make_player: MakePlayer = player_of
    ) -> None:
        """Raises InvalidInput (measure). A row whose game or player cannot be made fails by itself."""
        self.scale = scale
        self.tables = list(tables)
        self.needs: list[Need] = []
        """What all tables need, without repetition."""
        self._places: dict[str, int] = {}
        self._failures: dict[tuple[str, int], str] = {}
        self._of_rows: dict[tuple[str, int], tuple[int, Need]] = {}
        """By table and row: the place in `needs`, and the row's own need, which may be of fewer units."""
        for table in self.tables:
            for number, row in enumerate(table.rows_at[scale]):
                self._add(table.name, number, row, seed, make_player)

    def _add(self, table: str, number: int, row: Row, seed: int, make_player: MakePlayer) -> None:
        if "not_run" in row.details:
            self._failures[table, number] = str(row.details["not_run"])
            return
        if row.measure not in measures():
            raise InvalidInput("measure", row.measure, "one of " + ", ".join(measures()))
        try:
            need = need_of(row, seed, make_player)
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

    def keep_from(self, store: Store) -> dict[int, Kept]:
        """What a folder has of all needs, by their places."""
        return {place: store.read(need) for place, need in enumerate(self.needs)}

    def units(self, name: str, kept: Mapping[int, Kept]) -> tuple[int, int]:
        """Of one table: how many units are there, and how many there are to be."""
        own: dict[int, Need] = {}
        for (table, _), (place, need) in self._of_rows.items():
            if table == name and (place not in own or own[place].units < need.units):
                own[place] = need
        done = sum(need.units - len(kept[place].missing(need)) for place, need in own.items())
        return done, sum(need.units for need in own.values())

    def places(self, name: str) -> set[int]:
        """Which needs a table has."""
        return {place for (table, _), (place, _) in self._of_rows.items() if table == name}

    def result(self, name: str, kept: Mapping[int, Kept], failures: Mapping[int, str]) -> TableResult:
        """A table's verdicts. ``failures``: of needs. Rows with units missing are not run, and say so."""
        table = next(table for table in self.tables if table.name == name)
        verdicts = []
        for number, row in enumerate(table.rows_at[self.scale]):
            failure = self._failures.get((name, number), "")
            if not failure:
                place, need = self._of_rows[name, number]
                missing = kept[place].missing(need)
                failure = failures.get(place, f"{len(missing)} units are missing" if missing else "")
            verdicts.append(
                Verdict(row, failure=failure) if failure else Verdict(row, measure(row, need, kept[place]))
            )
        return TableResult(table, self.scale, tuple(verdicts))
