"""Tables: how cells read, and what each renderer makes of them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cluster.report import table as report
from cluster.report.table import Table, html, markdown, table_of, write_files


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (report.count(12345), "12,345"),
        (report.count(None), ""),
        (report.number(1.2345), "1.23"),
        (report.number(12345.6), "12,346"),
        (report.number(1.5, interval=(1.25, None)), "1.5 (1.25 to ?)"),
        (report.number(-2.0, "+.1f", half=0.25), "-2.0 ± 0.2"),
        (report.number(float("inf")), ""),
        (report.percent(0.946, interval=(0.93, 0.95)), "95 % (93 to 95)"),
        (report.percent(0.05, 1, signed=True), "+5.0 %"),
        (report.rate(1.5e6), "1.50 M/s"),
        (report.duration(0.0123), "12.3 ms"),
        (report.duration(90), "1:30 min"),
    ],
)
def test_a_cell_reads_by_its_type(cell: str, words: str) -> None:
    assert cell == words


@pytest.fixture
def table() -> Table:
    first = {"player": "a|b", "games\nplayed": report.count(1200), "agrees": report.text("no", "bad")}
    table = table_of([first], "A title", "Below", words=["player", "agrees"])
    table.add(report.text("<i>"), report.percent(0.5))
    return table


def test_markdown_escapes_and_fills_up(table: Table) -> None:
    assert markdown(table) == [
        "| player | games played | agrees |",
        "|---|---:|---|",
        "| a\\|b | 1,200 | **no** |",
        "| <i> | 50 % |  |",
    ]


def test_html_escapes_and_has_classes(table: Table) -> None:
    page = html(table)
    assert '<td class="n">1,200</td><td class="no">no</td>' in page
    assert "<td>&lt;i&gt;</td>" in page


def test_a_console_prints_it_with_title_and_caption(table: Table) -> None:
    console = Console(file=StringIO(), width=60)
    console.print(table)
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    for words in ("A title", "Below", "a|b", "1,200", "50 %"):
        assert words in printed


def test_records_are_lines_of_csv_in_which_lists_are_text(tmp_path: Path) -> None:
    records = [
        {"name": "x", "ends": (1, 2), "parts": {"a": 0.5}, "elo_interval": [3, 4], "score_interval": None}
    ]
    _, file, _ = write_files(tmp_path, "some", records, records, Path.touch, "png")
    assert file.read_text().splitlines() == [
        "name,ends,parts,elo_low,elo_high,score_low,score_high",
        "x,1 2,a 0.5,3,4,,",
    ]
