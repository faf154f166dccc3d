"""Figures in files: the kind by the end of the name."""

from __future__ import annotations

from pathlib import Path

from cluster.drawing.dot import write_dot
from cluster.drawing.figure import Figure
from cluster.drawing.svg import write_svg
from cluster.drawing.text import write_text
from games.errors import InvalidInput

FORMATS = {".svg": write_svg, ".dot": write_dot, ".txt": write_text}


def format_of(path: Path) -> str:
    """The end of the file's name; raises InvalidInput (field ``out``) for one that is not known."""
    if path.suffix not in FORMATS:
        raise InvalidInput("out", str(path), "a file that ends in " + ", ".join(FORMATS))
    return path.suffix


def write_figure(figure: Figure, path: Path) -> None:
    """Write the file; raises InvalidInput (field ``out``), OSError."""
    path.write_text(FORMATS[format_of(path)](figure), encoding="utf-8")
