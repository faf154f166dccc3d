"""A report as a file: Markdown or one page of HTML, by the file's name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cluster.experiments.verdict import TableResult
from games.errors import InvalidInput

ENDINGS = (".md", ".html")


def check(path: Path) -> None:
    """Raises InvalidInput (report) for a file that could not be written, before hours have passed."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput("report", str(path), "a file whose name ends in " + " or ".join(ENDINGS))
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput("report", str(path), "a file in a folder that there is")


def write(path: Path, results: Sequence[TableResult], scale: str, everything: bool) -> None:
    """Replace the file, all at once. ``everything``: whether these are all the tables that there are."""
    if path.suffix.lower() == ".html":
        # Only a page has pictures, and what draws them takes a second to import.
        from cluster.experiments.report_html import render
    else:
        from cluster.experiments.report_markdown import render
    text = render(results, scale, everything)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
