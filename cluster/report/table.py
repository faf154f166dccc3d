"""Tables of results: typed cells, renderers for the terminal, Markdown and HTML, and files of results.

A cell is made by the function for its type: text, count, number, percent, rate, duration.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cluster.system import terminal as words

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Tone = Literal["", "good", "bad", "strong", "dim"]
Ends = Sequence[float | None]
"""The lower and the upper end of an interval; None where it has no end."""
STYLES: Mapping[Tone, str] = {"": "", "good": "", "bad": "yellow", "strong": "bold", "dim": "dim"}
"""Styles on a terminal."""
CLASSES: Mapping[Tone, str] = {"good": "yes", "bad": "no"}
"""Classes of HTML cells."""


@dataclass(frozen=True)
class Cell:
    """One field of a table."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """Heading and layout of a column. A line break in the heading is kept on a terminal only."""

    name: str
    right: bool = False
    width: int | None = None
    """In characters, on a terminal; None: as wide as its longest cell."""


@dataclass
class Table:
    """Rows of cells below headings. A row may have fewer cells than there are columns."""

    columns: Sequence[Column]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    title: str = ""
    caption: str = ""

    def add(self, *cells: Cell | str) -> None:
        """Append a row; a string is a text cell."""
        self.rows.append([text(cell) if isinstance(cell, str) else cell for cell in cells])

    def __rich__(self) -> RichTable:
        """The table for a console: numbers are never wrapped, texts at the end of the line."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        grid = RichTable(
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            title=Text(self.title) if self.title else None,
            title_justify="left",
            caption=Text(self.caption) if self.caption else None,
            caption_justify="left",
        )
        for column in self.columns:
            grid.add_column(
                Text(column.name),
                justify="right" if column.right else "left",
                no_wrap=column.right and column.width is None,
                overflow="fold",
                width=column.width,
            )
        for row in self.rows:
            grid.add_row(*(Text(cell.text, style=STYLES[cell.tone]) for cell in row))
        return grid


def left(*names: str) -> list[Column]:
    """Columns of text."""
    return [Column(name) for name in names]


def right(*names: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(name, right=True) for name in names]


def text(content: str, tone: Tone = "") -> Cell:
    """Words."""
    return Cell(content, tone)


def count(number: float | None) -> Cell:
    """A whole number with thousands separators; empty for None."""
    return Cell("" if number is None else words.count(number))


def number(
    value: float | None,
    form: str = "",
    interval: Ends | None = None,
    half: float | None = None,
    unknown: str = "",
    unit: str = "",
) -> Cell:
    """A number in a format of Python, or with three significant digits; its interval is in brackets.

    ``half`` is half the width of a symmetric interval, printed after a plus-minus sign; ``unknown``
    is the text of None, and of an infinite value; ``unit`` follows the number.
    """
    if value is None or not math.isfinite(value):
        return Cell(unknown)
    beside = "" if half is None else f" ± {_digits(half, form.lstrip('+'))}"
    return Cell(_digits(value, form) + unit + _brackets(interval, form) + beside)


def percent(
    share: float | None,
    decimals: int = 0,
    interval: Ends | None = None,
    half: float | None = None,
    signed: bool = False,
) -> Cell:
    """A share in per cent; 1 is 100 %. ``interval`` and ``half`` are shares too. Empty for None."""
    if share is None:
        return Cell("")
    ends = interval and [None if end is None else 100 * end for end in interval]
    return number(100 * share, f"{'+' * signed}.{decimals}f", ends, half and 100 * half, unit=" %")


def rate(per_s: float) -> Cell:
    """Events a second."""
    return Cell(words.rate(per_s))


def duration(seconds: float) -> Cell:
    """A time as microseconds, milliseconds, seconds, minutes or hours."""
    if 0 < seconds < 0.1:
        return Cell(f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.1f} ms")
    return Cell(words.duration(seconds))


def markdown(table: Table) -> list[str]:
    """The lines of a table as GitHub reads it, without title and caption."""
    lines = [_line(_heading(column) for column in table.columns)]
    lines.append("".join("|---:" if column.right else "|---" for column in table.columns) + "|")
    lines += [_line(_markdown_cell(cell) for cell in _whole(table, row)) for row in table.rows]
    return lines


def html(table: Table) -> str:
    """A table element without title and caption."""
    heads = "".join(
        f"<th{_class('n' * column.right)}>{escape(_heading(column))}</th>" for column in table.columns
    )
    lines = [f'<div class="wide"><table><thead><tr>{heads}</tr></thead>']
    for row in table.rows:
        cells = "".join(
            f"<td{_class('n' * column.right, CLASSES.get(cell.tone, ''))}>{escape(cell.text)}</td>"
            for column, cell in zip(table.columns, _whole(table, row), strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table></div>"])


def write_files(
    folder: Path,
    name: str,
    value: Any,
    records: Sequence[Mapping[str, Any]],
    plot: Callable[[Path], object],
    picture: str,
) -> list[Path]:
    """Write NAME.json, NAME.csv and a picture into a folder, created if it is missing; returns their paths.

    ``value`` is the content of the JSON file, ``records`` are the lines of the CSV file, ``plot`` draws the
    picture into a file, and ``picture`` is its format: png or svg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("json", "csv", picture)]
    paths[0].write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    with paths[1].open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, records[0] if records else ())
        writer.writeheader()
        writer.writerows({name: _plain(value) for name, value in record.items()} for record in records)
    plot(paths[2])
    return paths


def _plain(value: Any) -> Any:
    """A value for CSV. Elements of lists, names and values of objects are separated by blanks."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _digits(value: float, form: str) -> str:
    if form or math.isinf(value):
        return f"{value:{form}}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _brackets(interval: Ends | None, form: str) -> str:
    if interval is None:
        return ""
    low, high = ("?" if end is None or math.isnan(end) else _digits(end, form) for end in interval)
    return f" ({low} to {high})"


def _heading(column: Column) -> str:
    return column.name.replace("\n", " ")


def _whole(table: Table, row: Sequence[Cell]) -> list[Cell]:
    """The row, filled with empty cells up to the last column."""
    return [*row, *(Cell("") for _ in range(len(table.columns) - len(row)))]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    content = cell.text.replace("|", "\\|")
    return f"**{content}**" if cell.tone in ("bad", "strong") and content else content


def _class(*names: str) -> str:
    found = " ".join(name for name in names if name)
    return f' class="{found}"' if found else ""
