"""Tables of results: texts of cells, tables for the terminal, for Markdown and HTML, and files of results.

The text of a cell is made by the function for its type: count, number, percent, rate, duration.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from cluster.system import terminal as words
from cluster.system.files import replace_text, replacing
from cluster.system.terminal import rate as rate

Cell = str | Text
Tone = Literal["", "good", "bad", "strong", "dim"]
Ends = Sequence[float | None]
"""The lower and the upper end of an interval; None where it has no end."""
STYLES: Mapping[str, str] = {"bad": "yellow", "strong": "bold"}
"""Styles of tones on a terminal; dim is a style itself, and good is none."""
CLASSES: Mapping[str, str] = {"good": "yes", "yellow": "no"}
"""Classes of HTML cells by style."""


class Table(RichTable):
    """Rows of cells below headings. A row may have fewer cells than there are columns."""

    def __init__(self, columns: Sequence[Column], title: str = "", caption: str = "") -> None:
        super().__init__(
            *columns,
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
            title=Text(title) if title else None,
            title_justify="left",
            caption=Text(caption) if caption else None,
            caption_style="none",
            caption_justify="left",
        )

    def add(self, *cells: Cell) -> None:
        """Append a row. Nothing in a string is markup."""
        self.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def table_of(
    rows: Sequence[Mapping[str, Cell]], title: str = "", caption: str = "", words: Collection[str] = ()
) -> Table:
    """A table of rows, each with its cells by heading; all have the headings of the first.

    The columns with the headings ``words`` are text, the others are numbers.
    """
    names = list(rows[0]) if rows else []
    columns = [column for name in names for column in (left(name) if name in words else right(name))]
    table = Table(columns, title, caption)
    for row in rows:
        table.add(*row.values())
    return table


def left(*names: str, width: int | None = None) -> list[Column]:
    """Columns of text, as wide on a terminal as their longest cells or as given.

    A line break in a heading is kept on a terminal only.
    """
    return [Column(Text(name), overflow="fold", width=width) for name in names]


def right(*names: str) -> list[Column]:
    """Columns of numbers, which are never wrapped."""
    return [Column(Text(name), justify="right", overflow="fold", no_wrap=True) for name in names]


def text(content: str, tone: Tone = "") -> Text:
    """Words in a tone."""
    return Text(content, STYLES.get(tone, tone))


def count(number: float | None) -> str:
    """A whole number with thousands separators; empty for None."""
    return "" if number is None else words.count(number)


def number(
    value: float | None,
    form: str = "",
    interval: Ends | None = None,
    half: float | None = None,
    unit: str = "",
) -> str:
    """A number in a format of Python, or with three significant digits; its interval is in brackets.

    ``half`` is half the width of a symmetric interval, printed after a plus-minus sign; ``unit`` follows the
    number. Empty for None, and for an infinite value.
    """
    if value is None or not math.isfinite(value):
        return ""
    beside = "" if half is None else f" ± {_digits(half, form.lstrip('+'))}"
    return _digits(value, form) + unit + _brackets(interval, form) + beside


def percent(
    share: float | None, decimals: int = 0, interval: Ends | None = None, signed: bool = False
) -> str:
    """A share in per cent; 1 is 100 %. The ends of ``interval`` are shares too. Empty for None."""
    if share is None:
        return ""
    ends = interval and [None if end is None else 100 * end for end in interval]
    return number(100 * share, f"{'+' * signed}.{decimals}f", ends, unit=" %")


def duration(seconds: float) -> str:
    """A time as microseconds, milliseconds, seconds, minutes or hours."""
    if 0 < seconds < 0.1:
        return f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.1f} ms"
    return words.duration(seconds)


def markdown(table: Table) -> list[str]:
    """The lines of a table as GitHub reads it, without title and caption."""
    lines = [_line(map(_heading, table.columns))]
    lines.append("".join("|---:" if column.justify == "right" else "|---" for column in table.columns) + "|")
    for row in _rows(table):
        cells = [(content.replace("|", "\\|"), style) for content, style in row]
        lines.append(
            _line(f"**{content}**" if style in STYLES.values() else content for content, style in cells)
        )
    return lines


def html(table: Table) -> str:
    """A table element without title and caption."""
    numeric = ["n" if column.justify == "right" else "" for column in table.columns]
    heads = [escape(_heading(column)) for column in table.columns]
    cells = "".join(f"<th{_class(kind)}>{head}</th>" for kind, head in zip(numeric, heads, strict=True))
    lines = [f'<div class="wide"><table><thead><tr>{cells}</tr></thead>']
    for row in _rows(table):
        cells = "".join(
            f"<td{_class(kind, CLASSES.get(style, ''))}>{escape(content)}</td>"
            for kind, (content, style) in zip(numeric, row, strict=True)
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

    ``value`` is the content of the JSON file, ``records`` are the lines of the CSV file (as `flat` makes
    them), ``plot`` draws the picture into a file, and ``picture`` is its format: png or svg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("json", "csv", picture)]
    replace_text(paths[0], json.dumps(value, indent=2) + "\n")
    write_csv(paths[1], [flat(record) for record in records])
    plot(paths[2])
    return paths


def write_csv(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write a CSV file whole or not at all; all lines have the names of the first. Raises OSError."""
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, lines[0] if lines else ())
        writer.writeheader()
        writer.writerows({name: _plain(value) for name, value in line.items()} for line in lines)


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with two values, ``x_low`` and ``x_high``, for each ``x_interval``; None without it."""
    line: dict[str, Any] = {}
    for name, value in record.items():
        if name.endswith("_interval"):
            of = name.removesuffix("interval")
            line[f"{of}low"], line[f"{of}high"] = value or (None, None)
        else:
            line[name] = value
    return line


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
    return str(column.header).replace("\n", " ")


def _rows(table: Table) -> list[list[tuple[str, str]]]:
    """Words and style of the cells of each row; empty ones up to the last column."""
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return [[(str(cell), str(getattr(cell, "style", ""))) for cell in row] for row in rows]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _class(*names: str) -> str:
    found = " ".join(name for name in names if name)
    return f' class="{found}"' if found else ""
