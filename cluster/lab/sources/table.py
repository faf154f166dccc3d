"""A table of a source as data: one TOML file, read and checked.

    title = "..."                       what the source's table shows
    note = "..."                        how it was translated: what our figures mean, budgets
    not_comparable = "..."              optional: why no figure can be compared
    inferred = 250                      optional: n of its rows of matches, which none states: the smallest
                                        number whose rounded percentages are all theirs, or a like table's
    relative = true                     optional: figures are shown as ratios to those of the first row
    [defaults]                          default values of all rows
    [scales.quick]                      values for {names} in the rows' texts; games: their number
    [scales.full]
    [axis]                              optional: what a picture of the rows shows; see _AXIS below
    [[rows]]
    name = "..."                        as in the source
    measure = "results"                 one of cluster/lab/sources/measures.py
    n = 250                             games, or pairs, of the source
    figures = { wins = 64.8, ... }      of the source, by name
    remark = "..."                      optional: such as an error in the source
    not_comparable = "..."              optional: why
    as_printed = true                   the row is what the source describes; or, instead:
    deviates = "..."                    one sentence: what deviates from the source, and why
    cause = "..."                       optional: what explains a figure that differs, such as a wrong sum
    suspected = "..."                   optional: what may explain it
    cannot_fail = "..."                 optional: why the row agrees whatever is played
    pool = "..."                        optional: rows of a table with the same words, which differ in who
                                        begins only, are also tested together
    ours = true                         the row is no row of the source: own budget, variant or program
    x = 144                             place on the axis; default: the number after the axis' x in its name
    series = "..."                      its curve; default: what follows that number in its name
    cpu_s = 1.5                         optional, also in [defaults] and [scales]: CPU seconds of a game, from
                                        which the time of a run is estimated before any game is played
    ...                                 further keys are arguments of the measure

A row may have its own ``smoke``, ``quick`` and ``full`` tables, whose values override the table's.
``smoke``, for tests, is ``quick`` with two games and with the file's own values for ``smoke``. Tables have
the names of their files: ``002/11`` for 002-11.toml. What stands before the slash is a source in
sources.toml, or ``claims``: its rows are all ours.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any

from cluster.lab.sources.estimate import SourceFigure
from games.errors import InvalidInput
from search.players import describe
from search.players import names as player_names

OUTCOMES = ("wins", "draws", "losses")
SCALES = ("smoke", "quick", "full")
SMOKE_GAMES = 2
SAID = ("remark", "not_comparable", "cannot_fail", "deviates", "cause", "suspected")
"""Keys of sentences about a row."""
_TABLE = ("title", "note", "not_comparable", "inferred", "relative", "axis", "defaults", "scales", "rows")
_AXIS = ("x", "y", "figure", "log", "title", "beside")
"""Keys of an axis: labels x and y (no x: rows one below the other); the figure that is drawn (default: the
score); which of x and y are logarithmic, as "x", "y" or "xy"; the picture's title; and the table beside whose
rows these are drawn."""


@dataclass(frozen=True)
class PublishedRow:
    """One row of a table, at one scale."""

    name: str
    measure: str
    figures: Mapping[str, SourceFigure]
    details: Mapping[str, Any]
    """Arguments of the measure: players, a game, ``games``, and others."""
    remark: str
    not_comparable: str
    """Why the source's figures cannot be compared to ours; empty if they can."""
    cannot_fail: str
    """Why the row agrees whatever is played; empty if it may differ."""
    deviates: str
    """What deviates from the source, and why; empty if nothing does, and in rows of ours."""
    cause: str
    """What explains figures that differ; empty if nothing is known."""
    suspected: str
    """What may explain figures that differ."""
    pool: str
    """Rows of a table with the same pool are also tested together."""
    as_printed: bool
    """Whether the row is what the source describes."""
    ours: bool
    """Whether the row is no row of the source."""
    x: float | None
    """Place on the axis of the table; None without one."""
    series: str
    """Curve to which the row belongs in a picture."""
    cpu_s: float | None
    """CPU seconds of a unit, as the table states them; None if it does not."""
    inferred: bool
    """Whether the source's number of games is inferred."""

    @property
    def score(self) -> Decimal | None:
        """The source's score of A in percent, wins and half the draws; None unless it has wins and losses."""
        if not self.figures.keys() >= {"wins", "losses"}:
            return None
        return (self.figures["wins"].value + 100 - self.figures["losses"].value) / 2

    @property
    def played(self) -> str:
        """The source's number of games, in brackets if it is inferred; empty without one."""
        number = next((each.number for each in self.figures.values() if each.number), None)
        return "" if not number else f"({number:,})" if self.inferred else f"{number:,}"


@dataclass(frozen=True)
class PublishedTable:
    """A table of a source."""

    name: str
    """Name of the table, such as 002/11."""
    source: str
    title: str
    note: str
    rows_at: Mapping[str, tuple[PublishedRow, ...]]
    """Rows by scale."""
    axis: Mapping[str, str]
    """What a picture of the rows shows, see _AXIS; empty if there is none of them."""
    relative: bool = False
    """Whether figures are shown as ratios to those of the first row."""


def names() -> list[str]:
    """Names of all tables, in the order of sources and numbers."""
    files = (entry.name for entry in _folder().iterdir())
    found = [name.removesuffix(".toml").replace("-", "/", 1) for name in files]
    return sorted((name for name in found if "/" in name), key=_order)


@cache
def load(name: str) -> PublishedTable:
    """Load the table of a name that is one of `names`. Raises InvalidInput (table) for an invalid file."""
    text = (_folder() / f"{name.replace('/', '-', 1)}.toml").read_text(encoding="utf-8")
    return read(name, text, sources()[name.partition("/")[0]]["title"])


@cache
def sources() -> dict[str, dict[str, Any]]:
    """By number of a source its title, its conclusions, and the players that are its programs."""
    return tomllib.loads((_folder() / "sources.toml").read_text(encoding="utf-8"))


def described_players() -> list[dict[str, str]]:
    """By player its name, a description, and the source whose program it is, if it is one's."""
    of = {name: source["title"] for source in sources().values() for name in source.get("players", ())}
    return [
        {"name": name, "description": describe(name), "source": of.get(name, "")} for name in player_names()
    ]


def read(name: str, text: str, source: str) -> PublishedTable:
    """A table from its text; raises InvalidInput."""
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput("table", name, f"TOML ({error})") from None
    unknown = sorted(data.keys() - set(_TABLE)) + sorted(data.get("axis", {}).keys() - set(_AXIS))
    if unknown or not data.get("rows") or "title" not in data:
        raise InvalidInput("table", name, f"a title and rows, and of {', '.join((*_TABLE, *_AXIS))} only")
    return PublishedTable(
        name=name,
        source=source,
        title=data["title"],
        note="\n\n".join(" ".join(each.split()) for each in data.get("note", "").split("\n\n")),
        rows_at={scale: tuple(_row(name, data, row, scale) for row in data["rows"]) for scale in SCALES},
        axis=data.get("axis", {}),
        relative=bool(data.get("relative")),
    )


def _row(table: str, data: Mapping[str, Any], own: Mapping[str, Any], scale: str) -> PublishedRow:
    defaults = data.get("defaults", {})
    ours = bool(own.get("ours", defaults.get("ours")))
    of_source = ("as_printed", "deviates", "cause", "suspected") if ours else ()
    row = {key: value for key, value in defaults.items() if key not in of_source} | dict(own)
    needed = ("name", "measure") if ours else ("name", "measure", "figures")
    if not row.keys() >= {*needed}:
        raise InvalidInput("table", f"{table} {row.get('name', '')}", f"a row with {', '.join(needed)}")
    scales = data.get("scales", {})
    like = "quick" if scale == "smoke" else scale
    values = {**scales.get(like, {}), **row.get(like, {})}
    if scale == "smoke":
        values["games"] = min(SMOKE_GAMES, values.get("games", SMOKE_GAMES))
        values |= scales.get("smoke", {}) | row.get("smoke", {})
    cpu_s = values.pop("cpu_s", row.get("cpu_s"))
    own_keys = {*PublishedRow.__annotations__, "n", *SCALES}
    details = {key: value for key, value in row.items() if key not in own_keys} | values
    try:
        details = {key: _filled(value, values) for key, value in details.items()}
    except KeyError as error:
        raise InvalidInput("table", f"{table} {row['name']}", f"a value for {error} at {like}") from None
    stated = row.get("figures", {})
    inferred = data.get("inferred") if stated.keys() == {*OUTCOMES} and "n" not in row else None
    figures = {key: SourceFigure.read(value, row.get("n", inferred)) for key, value in stated.items()}
    said = {key: " ".join(row.get(key, data.get(key, "")).split()) for key in SAID}
    label = data.get("axis", {}).get("x")
    place = re.search(rf"\b{re.escape(label)} (?:= )?([0-9.]+),? ?(.*)", row["name"]) if label else None
    x = row.get("x", place and place[1])
    return PublishedRow(
        name=row["name"],
        measure=row["measure"],
        figures=figures,
        details=details,
        as_printed=bool(row.get("as_printed")),
        ours=ours,
        x=None if x is None else float(x),
        series=str(row.get("series", place[2] if place else "")),
        cpu_s=None if cpu_s is None else float(cpu_s),
        inferred=inferred is not None,
        pool=row.get("pool", ""),
        **said,
    )


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Replace names in curly brackets, twice, because replaced values may contain names."""
    if not isinstance(value, str):
        return value
    return value.format_map(values).format_map(values) if "{" in value else value


def _order(name: str) -> tuple[str, float, str]:
    source, _, number = name.partition("/")
    try:
        return source, float(number), ""
    except ValueError:
        return source, float("inf"), number


def _folder() -> Any:
    return resources.files("cluster.lab.sources") / "tables"
