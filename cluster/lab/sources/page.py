"""A page as a list of parts, and its forms: Markdown, one self-contained HTML file, text on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from cluster.report.table import Table, html, markdown
from cluster.system.kept_folder import replace_text
from games.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

ENDINGS = (".md", ".html")
PICTURES = "pictures"
"""Name of the folder beside a Markdown file in which its pictures are."""
THEME = {"#22251f": "ink", "#65695f": "dim", "#d9dbd3": "rule", "#fdfdfb": "paper", "#f7e4de": "differs"}
THEME |= {"#a3341f": "no", "#1b6e9c": "ours", "#b0581a": "source", "#3f8f55": "third", "#9a5fb3": "fourth"}
THEME |= {"#a08a10": "fifth"}
"""Colours of pictures, and the variables that replace them in HTML, whose theme is light or dark."""


@dataclass(frozen=True)
class Heading:
    """A heading of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Prose; parts between backquotes are code."""

    text: str
    more: str = ""
    """What only the HTML page says besides."""


@dataclass(frozen=True)
class Item:
    """An item of a list; as `Paragraph`."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An SVG."""

    stem: str
    """Name of its file without ending."""
    title: str
    svg: str


Part = Heading | Paragraph | Item | Picture | Table


def check(path: Path) -> None:
    """Raise InvalidInput (report) if the file cannot be written; called before anything is run."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput("report", str(path), "a file whose name ends in " + " or ".join(ENDINGS))
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidInput("report", str(path), "a file in an existing folder")
    pictures = path.parent / PICTURES
    if path.suffix.lower() != ".html" and pictures.exists() and not pictures.is_dir():
        raise InvalidInput("report", str(path), f"a file beside which {PICTURES} is a folder, or nothing")


def write(path: Path, parts: Sequence[Part]) -> None:
    """Replace the file and, of Markdown, its pictures, whose names begin with its own; each atomically."""
    if path.suffix.lower() == ".html":
        text = to_html(parts)
    else:
        own = [replace(p, stem=f"{path.stem}-{p.stem}") if isinstance(p, Picture) else p for p in parts]
        text = to_markdown(own)
        for part in own:
            if isinstance(part, Picture):
                (path.parent / PICTURES).mkdir(exist_ok=True)
                replace_text(path.parent / PICTURES / f"{part.stem}.svg", part.svg)
    replace_text(path, text)


def to_markdown(parts: Iterable[Part]) -> str:
    """The text of a Markdown file."""
    lines: list[str] = []
    for part in parts:
        match part:
            case Heading(level, text):
                lines.append(f"{'#' * level} {text}")
            case Picture(stem):
                lines.append(f"![{stem}]({PICTURES}/{quote(stem)}.svg)")
            case Table():
                lines += markdown(part)
            case Item(text):
                lines.append(f"- {text}")
            case Paragraph(text):
                lines.append(text)
        lines.append("")
    return "\n".join(lines)


def to_html(parts: Sequence[Part]) -> str:
    """The text of an HTML page, which needs no other file."""
    style = (resources.files("cluster.lab.sources") / "report.css").read_text(encoding="utf-8")
    body = "\n".join(map(_element, parts)).replace("</ul>\n<ul>", "\n")
    title = next(part.text for part in parts if isinstance(part, Heading))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Banyan: {escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def show(parts: Iterable[Part], console: Console) -> None:
    """Print the parts, but for pictures, on a terminal."""
    from rich.text import Text

    for part in parts:
        match part:
            case Table():
                console.print(part)
            case Heading(text=text):
                console.print(Text(text, style="bold"), soft_wrap=True)
            case Paragraph(text) | Item(text):
                console.print(Text(text), soft_wrap=True)


def _element(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Picture(svg=svg):
            themed = re.sub("|".join(THEME), lambda found: f"var(--{THEME[found[0]]})", svg)
            return f'<figure class="wide">{themed}</figure>'
        case Table():
            return html(part)
        case Item(text):
            return f"<ul><li>{_prose(text)}</li></ul>"
        case Paragraph(text):
            more = f"<p>{_prose(part.more)}</p>" if part.more else ""
            return f"<p>{_prose(text)}</p>{more}"


def _prose(text: str) -> str:
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))
