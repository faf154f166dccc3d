"""A report as a file: Markdown or one page of HTML, by the file's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.experiments import report_markdown
from cluster.experiments.verdict import TableResult
from games.errors import InvalidInput

WRITERS: dict[str, Callable[[Sequence[TableResult], str], str]] = {".md": report_markdown.render}


def check(path: Path) -> None:
    """Raises InvalidInput (report) for a file that could not be written, before hours have passed."""
    if path.suffix.lower() not in WRITERS:
        raise InvalidInput("report", str(path), "a file whose name ends in " + " or ".join(WRITERS))
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput("report", str(path), "a file in a folder that there is")


def write(path: Path, results: Sequence[TableResult], scale: str) -> None:
    """Replace the file, all at once."""
    text = WRITERS[path.suffix.lower()](results, scale)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
