"""The printed report of a benchmark: a block of lines for each game."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cluster.report.table import Cell, Column, Table, rate, terminal, text
from games.errors import counted

if TYPE_CHECKING:
    from rich.console import Console, Group

    from cluster.lab.throughput.benchmark import Rival

Rows = Sequence[dict[str, Any]]
NAME_WIDTH, RATE_WIDTH = 17, 8
"""Widths of the columns in characters; with a remark, a line fits into 80 columns."""


def print_rates(
    console: Console, rows: Rows, rival: Rival | None, seconds: float, repeats: int, seed: int
) -> None:
    """Print the blocks, followed by the conditions of the measurement."""
    console.print(blocks(rows, console.width))
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


def blocks(rows: Rows, width: int) -> Group:
    """For each game its spec, and a line for each measurement: median, lowest, highest, remark.

    A spec longer than ``width`` characters is wrapped.
    """
    from rich.console import Group
    from rich.text import Text

    heading = _new_table()
    heading.add(*(text(name, "dim") for name in ("", "median", "lowest", "highest")))
    parts: list[Any] = [terminal(heading, headings=False)]
    for game, measured in groupby(rows, key=itemgetter("game")):
        block = _new_table()
        for line in _lines(list(measured)):
            block.add(*line)
        name = Text(_folded(game, width), style="bold", overflow="fold")
        parts += [name, terminal(block, headings=False), Text()]
    return Group(*parts)


def _new_table() -> Table:
    """A table with the column widths that all blocks have."""
    rates = [Column("", right=True, width=RATE_WIDTH) for _ in range(3)]
    return Table([Column("", width=NAME_WIDTH), *rates, Column("")])


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
            yield [text("  ratio", "strong"), *(text(f"{ratio:.1f}", "strong") for ratio in ratios)]
        elif against is not None:
            yield [text(f"  {against['name']}"), text("-"), text(""), text(""), text(against["missing"])]


def _rates(name: str, row: dict[str, Any], key: str, remark: str) -> list[Cell]:
    values = (row[key], *row["spread"][key])
    return [text(f"  {name}"), *map(rate, values), text(remark, "dim")]


def _results(results: dict[str, float] | None) -> str:
    if results is None:
        return ""
    first, draw, second = (f"{100 * results[key]:.0f} %" for key in ("first", "draw", "second"))
    return f"won {first}, drawn {draw}, lost {second}"


def _folded(spec: str, width: int) -> str:
    """The spec wrapped into lines after commas."""
    lines = [""]
    for part in re.findall("[^,]+,?", spec):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("  ")
        lines[-1] += part
    return "\n".join(lines)
