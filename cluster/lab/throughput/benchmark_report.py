"""The printed report of a benchmark: a table for each game."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cluster.report.table import Cell, Table, left, rate, right, text
from games.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

    from cluster.lab.throughput.benchmark import OpenSpiel

Rows = Sequence[dict[str, Any]]


def print_rates(
    console: Console, rows: Rows, rival: OpenSpiel | None, seconds: float, repeats: int, seed: int
) -> None:
    """Print the tables, followed by the conditions of the measurement."""
    for table in tables(rows):
        console.print(table)
    console.print(
        f"median (lowest - highest) of {counted(repeats, 'interleaved repeat')} of {seconds:g} s each; "
        f"one core, from the start position, seed {seed}",
        soft_wrap=True,
    )
    if rival is not None:
        console.print(
            f"{rival.name} {rival.version}: its C++ MCTSBot, random rollouts, the same exploration constant",
            soft_wrap=True,
        )


def tables(rows: Rows) -> Iterator[Table]:
    """For each game a table with a line for each measurement: median, lowest, highest, remark."""
    for game, measured in groupby(rows, key=itemgetter("game")):
        table = Table([*left(""), *right("median", "lowest", "highest"), *left("")], title=game)
        for line in _lines(list(measured)):
            table.add(*line)
        yield table


def _lines(rows: Rows) -> Iterator[list[Cell]]:
    """The lines of one game; ``rows`` differ in the number of simulations only."""
    first = rows[0]
    yield _rates("random playouts", first, "playouts_per_s", _results(first["results"]))
    yield _rates("random moves", first, "moves_per_s", f"{first['mean_length']:.1f} in each playout")
    for cut in first["cuts"]:
        remark = f"{cut['mean_length']:.1f} in each playout, worth {cut['mean_value']:+.3f}"
        yield _rates(f"cut after {cut['plies']}", cut, "playouts_per_s", remark)
    for row in rows:
        yield _rates("simulations", row, "simulations_per_s", f"{row['simulations']:,} in each search")
        against = row.get("against")
        if against is not None and "missing" not in against:
            yield _rates(against["name"], against, "simulations_per_s", "the same searches")
            ratios = (against["ratio"], *against["spread"]["ratio"])
            yield [text("ratio", "strong"), *(text(f"{ratio:.1f}", "strong") for ratio in ratios)]
        elif against is not None:
            yield [text(against["name"]), text("-"), text(""), text(""), text(against["missing"])]


def _rates(name: str, row: dict[str, Any], key: str, remark: str) -> list[Cell]:
    values = (row[key], *row["spread"][key])
    return [text(name), *map(rate, values), text(remark, "dim")]


def _results(results: dict[str, float] | None) -> str:
    if results is None:
        return ""
    shares = "/".join(f"{100 * results[key]:.0f}" for key in ("first", "draw", "second"))
    return f"won/drawn/lost {shares} %"
