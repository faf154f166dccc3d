"""Verdicts on tables: comparisons of rows with our figures, of each row and of all rows of a source.

Each row of a source is tested once: rows of matches by the exact test of both sides' numbers of wins, draws
and losses, other rows by the least probability of their figures, times the number of figures. The
probabilities of all rows of a source that are in a report are corrected together by Holm's method. Rows of
ours are not tested; rows that cannot fail are neither corrected nor counted as rows that agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from cluster.lab.sources.estimate import PERCENT, Estimate, SourceFigure
from cluster.lab.sources.measures import Measured, measure
from cluster.lab.sources.measures import names as measures
from cluster.lab.sources.table import OUTCOMES, SAID, PublishedRow, PublishedTable, names
from cluster.lab.sources.units import Need, UnitStore, missing, need_of
from cluster.matches.statistics import finite, freeman_halton, holm
from cluster.runtime.jobset import Unit, UnitDone, Units
from cluster.runtime.tasks import Task
from cluster.system.terminal import duration
from games.errors import InvalidInput, counted

AGREES, DIFFERS, NOT_EXCLUDED, OPEN = "agrees", "differs", "not excluded", "open"
CANNOT_FAIL, NOT_COMPARABLE, NOT_RUN = "cannot fail", "not comparable", "not run"
SAME, OPPOSITE = "same", "opposite"
LEVEL = 0.05
"""Corrected probability below which a row differs."""
EVEN = 80
"""Score of the player ahead up to which a match is not one-sided, in percent."""
COMPARED = (DIFFERS, AGREES, OPEN, NOT_EXCLUDED)
CAUSES = {"cause": "{} with a known cause", "suspected": "{} with a suspected cause"}
FEW = "its own {games} games a row are too few to decide"
CLAUSES: Mapping[str, tuple[str, str]] = {
    DIFFERS: ("differs{causes}", "differ{causes}"),
    AGREES: ("agrees", "agree"),
    OPEN: ("is open", "are open"),
    NOT_EXCLUDED: (f"is not excluded ({FEW})", f"are not excluded ({FEW})"),
    CANNOT_FAIL: ("more cannot fail", "more cannot fail"),
    NOT_COMPARABLE: ("more is not comparable", "more are not comparable"),
    NOT_RUN: ("more is not run", "more are not run"),
}
"""What the sentence on a source says of one row, and of several, by outcome."""
MATCHES = (
    "Matches that agree: {agree}, of {least:.0f} to {most:.0f} % for the source's player ahead, {sided} of "
    f"them above {EVEN} %. Matches of {100 - EVEN} to {EVEN} %: {{even}}, of them in agreement: {{both}}."
)


@dataclass(frozen=True)
class Comparison:
    """The comparison of one figure."""

    name: str
    source: SourceFigure
    ours: Estimate

    @property
    def games(self) -> tuple[int, int]:
        """The source's and our number of games with the outcome whose share this is."""
        number = self.source.number or 0
        return round(float(self.source.value) * number / 100), round(self.ours.value * self.ours.number / 100)


@dataclass
class Verdict:
    """A row with its measured figures, or the reason why there are none."""

    row: PublishedRow
    measured: Measured | None = None
    failure: str = ""
    """Why the row was not run; empty if it was."""
    corrected: float | None = None
    """The row's p, corrected for the rows of its source by `judge`; None: not tested, or not judged yet."""

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Comparisons of the figures that both the source and we have."""
        ours = self.measured.estimates if self.measured else {}
        return [Comparison(name, each, ours[name]) for name, each in self.row.figures.items() if name in ours]

    @cached_property
    def tested(self) -> list[Comparison]:
        """Comparisons of figures that can be tested."""
        if self.row.ours or self.row.not_comparable:
            return []
        return [each for each in self.comparisons if each.ours.has_interval]

    @cached_property
    def p(self) -> float | None:
        """Probability of a difference as large as this between equal players; None if there is no test."""
        tested = self.tested
        if not tested:
            return None
        if tested[0].ours.unit == PERCENT and (number := tested[0].source.number):
            return _exact(tested, number)
        return min(1.0, len(tested) * min(each.source.probability(each.ours) for each in tested))

    @property
    def outcome(self) -> str:
        """AGREES, DIFFERS, NOT_EXCLUDED, OPEN, CANNOT_FAIL, or why there is no comparison.

        NOT_EXCLUDED: the source's own number of games can never show that it agrees. OPEN: more games of ours
        can. CANNOT_FAIL: it agrees, but could not differ.
        """
        if self.measured is None:
            return NOT_RUN
        probability = self.p if self.corrected is None else self.corrected
        if probability is None:
            return NOT_COMPARABLE
        if probability < LEVEL:
            return DIFFERS
        if all(each.source.equivalent(each.ours) for each in self.tested):
            return CANNOT_FAIL if self.row.cannot_fail else AGREES
        return OPEN if all(each.source.decidable(each.ours) for each in self.tested) else NOT_EXCLUDED

    @property
    def conclusion(self) -> str:
        """Whether the player ahead in a match is the source's: SAME, OPPOSITE, or OPEN if there may be none.

        Empty if there is no score to compare.
        """
        score = self.row.score
        if self.measured is None or self.measured.score is None or score is None:
            return ""
        _, low, high = self.measured.score
        if score == 50 or low <= 0.5 <= high:
            return OPEN
        return SAME if (score > 50) == (low > 0.5) else OPPOSITE

    def to_json(self) -> dict[str, Any]:
        row, measured = self.row, self.measured
        said = {name: getattr(row, name) for name in SAID}
        return {
            "row": row.name,
            "outcome": self.outcome,
            "p": self.p,
            "p_corrected": self.corrected,
            "conclusion": self.conclusion or None,
            "ours": row.ours,
            **{name: text or None for name, text in {**said, "failure": self.failure}.items()},
            "played": measured.what if measured else None,
            "cpu_s": round(measured.cpu_s, 3) if measured else None,
            "figures": [
                {
                    "name": each.name,
                    "source": float(each.source.value),
                    "source_number": each.source.number,
                    "ours": each.ours.value,
                    "low": finite(each.ours.low),
                    "high": finite(each.ours.high),
                    "unit": each.ours.unit,
                    "p": each.source.probability(each.ours) if each.ours.has_interval else None,
                }
                for each in self.comparisons
            ],
        }


@dataclass(frozen=True)
class TableResult:
    """A table with the verdicts of its rows."""

    table: PublishedTable
    scale: str
    verdicts: tuple[Verdict, ...]

    @property
    def cpu_s(self) -> float:
        return sum(each.measured.cpu_s for each in self.verdicts if each.measured is not None)

    def rows(self, ours: bool) -> list[Verdict]:
        """The verdicts of rows of the source, or of ours."""
        return [each for each in self.verdicts if each.row.ours == ours]

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table.name,
            "title": self.table.title,
            "source": self.table.source,
            "scale": self.scale,
            "cpu_s": round(self.cpu_s, 3),
            "rows": [each.to_json() for each in self.verdicts],
        }


@dataclass(frozen=True)
class Study:
    """The tables of one source, or those of them that were run."""

    results: tuple[TableResult, ...]

    @property
    def name(self) -> str:
        """The number of the source, such as 002."""
        return self.results[0].table.name.partition("/")[0]

    @property
    def rows(self) -> list[Verdict]:
        """The verdicts of all rows of the source."""
        return [each for result in self.results for each in result.rows(ours=False)]

    @property
    def missing(self) -> int:
        """Number of tables of the source that are not among the results."""
        return max(0, sum(name.partition("/")[0] == self.name for name in names()) - len(self.results))

    @property
    def sentence(self) -> str:
        """How many rows do what, causes of differences, and how one-sided the matches are that agree."""
        number = Counter(each.outcome for each in self.rows)
        compared = counted(sum(number[each] for each in COMPARED), "row")
        here = " in this report" if self.missing or number[NOT_RUN] else ""
        differing = [each.row for each in self.rows if each.outcome == DIFFERS]
        explained = {said: sum(bool(getattr(row, by)) for row in differing) for by, said in CAUSES.items()}
        causes = ", ".join(said.format(rows) for said, rows in explained.items() if rows)
        undecided = [each for each in self.rows if each.outcome == NOT_EXCLUDED]
        ends = sorted((each.tested[0].source.number or 0, each.row.played) for each in undecided)
        games = " to ".join(dict.fromkeys(played for _, played in ends[:1] + ends[-1:]))
        clauses = [counted(number[each], *words) for each, words in CLAUSES.items() if number[each]]
        said = ", ".join([f"of {compared}{here}", *clauses]).format(
            games=games, causes=f" ({causes})" if causes else ""
        )
        return f"{said}. {self._matches()}".strip()

    def _matches(self) -> str:
        """How one-sided matches are that agree, and how many of the others do; empty if none agrees."""
        scores = [(each.outcome, float(each.row.score or 0)) for each in self.rows if each.conclusion]
        matches = [(outcome, max(score, 100 - score)) for outcome, score in scores]
        agreeing = [ahead for outcome, ahead in matches if outcome == AGREES]
        if not agreeing:
            return ""
        both = sum(ahead <= EVEN for ahead in agreeing)
        even = sum(ahead <= EVEN for outcome, ahead in matches if outcome in COMPARED)
        sides = {"least": min(agreeing), "most": max(agreeing), "sided": len(agreeing) - both}
        return MATCHES.format(agree=len(agreeing), even=even, both=both, **sides)


def judge(results: Sequence[TableResult]) -> list[Study]:
    """The studies of the results; corrects p of all rows of a study, in place, by Holm's method."""
    sources = groupby(results, lambda result: result.table.name.partition("/")[0])
    studies = [Study(tuple(own)) for _, own in sources]
    for study in studies:
        verdicts = [each for result in study.results for each in result.verdicts]
        tested = [(each, each.p) for each in verdicts if each.p is not None and not each.row.cannot_fail]
        for (each, _), corrected in zip(tested, holm([p for _, p in tested]), strict=True):
            each.corrected = corrected
    return studies


def pooled(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """For each pool, the source's games in all its rows, by outcome, against ours in percent, with p."""
    pools: dict[str, list[list[Comparison]]] = {}
    for each in verdicts:
        pools.setdefault(each.row.pool, []).append(each.tested)
    for name, rows in pools.items():
        if name and all(rows):
            source, ours = np.sum([[each.games for each in row] for row in rows], axis=0).T.tolist()
            shares = "/".join(figure_text(100 * games / sum(ours)) for games in ours)
            p = freeman_halton(source, ours)
            yield f"{name}: {'/'.join(map(str, source))} against {shares} %, p = {p:.2g}"


def figure_text(value: float) -> str:
    """A figure with its significant digits."""
    if not math.isfinite(value):
        return "?"
    form = ".4g" if abs(value) >= 1e7 else ",.0f" if value == int(value) or abs(value) >= 1000 else ".3g"
    return f"{value:{',.1f' if form == '.3g' and abs(value) >= 10 else form}}"


def _exact(figures: Sequence[Comparison], number: int) -> float:
    """The exact probability of a match of the source and of ours.

    Outcomes that the source does not state are taken together. If it states all three, and their sum is less
    than its number of games, the result is the largest probability of all ways in which the others may have
    ended.
    """
    source, ours = ([each.games[side] for each in figures] for side in (0, 1))
    gap = max(0, number - sum(source))
    if len(figures) < len(OUTCOMES):
        return freeman_halton([*source, gap], [*ours, figures[0].ours.number - sum(ours)])
    return max(
        freeman_halton([source[0] + a, source[1] + b, source[2] + gap - a - b], ours)
        for a in range(gap + 1)
        for b in range(gap + 1 - a)
    )


class Left(NamedTuple):
    """How much of some tables is done and left."""

    done: int
    units: int
    """Number of all units."""
    cpu_s: float
    """CPU seconds of the units that are left, estimated from stored units, or else as the tables state."""
    complete: bool
    """Whether ``cpu_s`` includes all units that are left; if not, the cost of some is not known."""

    @property
    def time(self) -> str:
        """The CPU time that is left, in words; empty if nothing is."""
        if self.done == self.units:
            return ""
        if not self.complete:
            return f"more than {duration(self.cpu_s)}" if self.cpu_s else "unknown"
        return duration(self.cpu_s)


class Laboratory(Units):
    """Tables at one scale, and the units that their rows need; rows that need equal games share them.

    Stored units are not run again. A unit that fails makes only the rows fail that need it.
    """

    done = 0
    """Number of finished units of this run."""

    def __init__(self, tables: Iterable[PublishedTable], scale: str, seed: int, store: UnitStore) -> None:
        """Raises InvalidInput (measure). If a row's game or player cannot be created, only that row fails."""
        self.scale = scale
        self.tables = list(tables)
        self.contexts: dict[int, Need] = {}
        """The needs of all tables, without duplicates."""
        self.failures: dict[int, str] = {}
        """Reasons of failed needs, by their keys in `contexts`."""
        self.spent_s = 0.0
        """CPU seconds of the units of this run that are done."""
        self._store = store
        self._costs: dict[int, float] = {}
        """CPU seconds of a unit as tables state them, by key in `contexts`; of single counts, 0 otherwise."""
        places: dict[str, int] = {}
        self._of_rows = {
            (table.name, number): self._needed(row, seed, places)
            for table in self.tables
            for number, row in enumerate(table.rows_at[scale])
        }
        """By table name and row index: the key in `contexts`, and the row's own need, which may have fewer
        units; or why a row has no need."""
        self.kept = {place: store.read(need) for place, need in self.contexts.items()}
        """The stored units of all needs."""
        self.units = len(self.missing())
        """Number of units of this run."""

    def _needed(self, row: PublishedRow, seed: int, places: dict[str, int]) -> tuple[int, Need] | str:
        if row.measure not in measures():
            raise InvalidInput("measure", row.measure, "one of " + ", ".join(measures()))
        try:
            need = need_of(row, seed)
        except InvalidInput as error:
            return f"{error.field} {error.value} is not accepted: expected {error.accepted}"
        place = places.setdefault(need.key, len(places))
        if place not in self.contexts or self.contexts[place].units < need.units:
            self.contexts[place] = need
        if row.cpu_s is not None or need.units == 1:
            self._costs[place] = row.cpu_s or 0.0
        return place, need

    @property
    def finished(self) -> bool:
        return super().finished or self.done == self.units

    def missing(self) -> list[Task]:
        """Tasks of missing units, in the order of needs. Units are never bundled: their durations differ."""
        return [
            Task(number, Unit(number), work=0, context=place)
            for place, need in self.contexts.items()
            for number in missing(need, self.kept[place])
        ]

    def take(self, context: int, result: UnitDone) -> None:
        """Store the result of a unit."""
        self.done += 1
        self.kept[context][result.index] = result.found
        self.spent_s += result.found[1]
        self._store.add(self.contexts[context], result.index, result.found)

    def fail(self, context: int, index: int, error: str, cause: Exception | None = None) -> None:
        """Note that a unit raised, or its result could not be sent: its need has failed."""
        self.done += 1
        self.failures.setdefault(context, error)

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Note that a unit was lost too often: its need has failed."""
        self.fail(context, index, reason)

    def is_whole(self, table: str) -> bool:
        """Whether each need of a table is done or has failed."""
        places = self._needs_of(table) - self.failures.keys()
        return not any(missing(self.contexts[place], self.kept[place]) for place in places)

    def left(self, tables: Collection[str] = ()) -> Left:
        """What is done and left of some tables, or of all; units that rows share count once."""
        places = set().union(*map(self._needs_of, tables)) if tables else self.contexts
        units = sum(self.contexts[place].units for place in places)
        left, cpu_s, complete = 0, 0.0, True
        for place in places:
            done = self.kept[place]
            if number := len(missing(self.contexts[place], done)):
                spent_s = sum(each_s for _, each_s in done.values())
                cost = spent_s / len(done) if spent_s else self._costs.get(place)
                left, cpu_s = left + number, cpu_s + number * (cost or 0.0)
                complete = complete and cost is not None
        return Left(units - left, units, cpu_s, complete)

    def _needs_of(self, name: str) -> set[int]:
        needed = (each for (table, _), each in self._of_rows.items() if table == name)
        return {each[0] for each in needed if not isinstance(each, str)}

    def result(self, name: str) -> TableResult:
        """The verdicts of a table. Rows with missing units count as not run."""
        table = next(table for table in self.tables if table.name == name)
        verdicts = []
        for index, row in enumerate(table.rows_at[self.scale]):
            needed, measured = self._of_rows[name, index], None
            if isinstance(needed, str):
                failure = needed
            else:
                place, need = needed
                number = len(missing(need, self.kept[place]))
                lost = counted(number, "unit is missing", "units are missing") if number else ""
                failure = self.failures.get(place, lost)
                measured = None if failure else measure(row, need, self.kept[place])
            verdicts.append(Verdict(row, measured, failure))
        return TableResult(table, self.scale, tuple(verdicts))
