"""Writing figures to files in the format that the suffix of the file's name determines."""

from __future__ import annotations

from pathlib import Path

from cluster.drawing.dot import write_dot
from cluster.drawing.figure import Figure
from cluster.drawing.svg import write_svg
from cluster.drawing.text import write_text
from games.errors import InvalidInput

FORMATS = {".svg": write_svg, ".dot": write_dot, ".txt": write_text}


def format_of(path: Path) -> str:
    """The suffix of the file's name; raises InvalidInput (field ``out``) for an unknown one."""
    if path.suffix not in FORMATS:
        raise InvalidInput("out", str(path), "a file that ends in " + ", ".join(FORMATS))
    return path.suffix


def write_figure(figure: Figure, path: Path) -> None:
    """Write the figure to a file; raises InvalidInput (field ``out``), OSError."""
    path.write_text(FORMATS[format_of(path)](figure), encoding="utf-8")
