"""Writes a report file, as Markdown or HTML according to its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cluster.lab.sources.verdict import TableResult
from games.errors import InvalidInput

ENDINGS = (".md", ".html")


def check(path: Path) -> None:
    """Raise InvalidInput (report) if the file cannot be written; called before anything is run."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput("report", str(path), "a file whose name ends in " + " or ".join(ENDINGS))
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput("report", str(path), "a file in a folder that there is")


def write(path: Path, results: Sequence[TableResult], scale: str, everything: bool) -> None:
    """Replace the file atomically. ``everything``: whether ``results`` contains all existing tables."""
    if path.suffix.lower() == ".html":
        # Imported here because plots, which only HTML pages have, take a second to import.
        from cluster.lab.sources.report_html import render
    else:
        from cluster.lab.sources.report_markdown import render
    text = render(results, scale, everything)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
