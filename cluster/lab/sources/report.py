"""Reports: a page as a list of parts, its forms, and the parts that report tables of the sources.

The forms are Markdown, one self-contained HTML file, and text on a terminal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from html import escape
from importlib import resources
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING
from urllib.parse import quote

from markdown_it import MarkdownIt

from cluster.lab.sources.estimate import Estimate, SourceFigure
from cluster.lab.sources.table import OUTCOMES, SAID, sources
from cluster.lab.sources.verdict import (
    AGREES,
    CANNOT_FAIL,
    DIFFERS,
    NOT_COMPARABLE,
    OPEN,
    OPPOSITE,
    SAME,
    Study,
    Verdict,
    figure_text,
    pooled,
)
from cluster.report.machine import machine
from cluster.report.table import Table, Tone, html, left, markdown, right
from cluster.report.table import text as cell
from cluster.system import terminal
from cluster.system.files import replace_text
from games.errors import InvalidInput, counted

if TYPE_CHECKING:
    from rich.console import Console

ENDINGS = (".md", ".html")
PICTURES = "pictures"
"""Name of the folder beside a Markdown file in which its pictures are."""
HOW = """\
Games: the source's (in brackets if inferred) and ours. Intervals are of 95 %; beside wins, draws and losses \
(in %) that of the score. [Verdicts](README.md#verdicts) correct p for the number of rows. "Other ahead": \
the source's player is behind. Letters: below a table. Rows are as printed unless one says what deviates."""
"""How to read the tables."""
WIDEST = 5.0
"""Width of an interval, as a multiple of its figure, above which it is not shown."""
FEWEST = 2
"""Number of observations up to which an interval is not shown."""
TONES: Mapping[str, Tone] = {AGREES: "good", DIFFERS: "bad"}
MOST_OF_OURS = 3
"""Most figures shown of a row that the source has not."""


@dataclass(frozen=True)
class Picture:
    """An SVG."""

    stem: str
    """Name of its file without ending."""
    svg: str


Part = str | Picture | Table
"""A string is a heading, a paragraph or an item of a list in Markdown."""


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
            case str():
                lines += [part, ""]
            case Picture(stem):
                lines += [f"![{stem}]({PICTURES}/{quote(stem)}.svg)", ""]
            case Table():
                lines += [*markdown(part), ""]
    return "\n".join(lines)


def to_html(parts: Sequence[Part]) -> str:
    """The text of an HTML page, which needs no other file."""
    style = (resources.files("cluster.lab.sources") / "report.css").read_text(encoding="utf-8")
    body = "\n".join(map(_element, parts)).replace("</ul>\n<ul>\n", "")
    title = next(part for part in parts if isinstance(part, str)).removeprefix("# ")
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
            case str():
                console.print(Text(part.lstrip("#- "), "bold" if part[0] == "#" else ""), soft_wrap=True)


def _element(part: Part) -> str:
    match part:
        case Picture(svg=svg):
            return f'<figure class="wide">{svg[svg.index("<svg") :]}</figure>'
        case Table():
            return html(part)
        case str():
            return str(MarkdownIt().render(part)).strip()


def parts(
    studies: Sequence[Study], scale: str, seed: int, pictures: Mapping[str, Sequence[Picture]]
) -> Iterator[Part]:
    """The report. ``pictures``: those below the heading of a table or of a source, by its name."""
    results = [result for study in studies for result in study.results]
    tables = [
        study.name if not study.missing else " ".join(result.table.name for result in study.results)
        for study in studies
    ]
    made = command(" ".join(tables), scale, seed)
    cpu = terminal.duration(sum(result.cpu_s for result in results))
    yield "# The sources' tables, measured again"
    yield "Claims about search: [CLAIMS.md](CLAIMS.md). How rows are judged: [README.md](README.md#verdicts)."
    concluded = Table(left("source", "concludes", "verdict", "why"))
    for study in studies:
        for conclusion in sources().get(study.name, {}).get("conclusions", ()):
            concluded.add(study.name, *conclusion)
    yield concluded
    for study in studies:
        title = study.results[0].table.source.partition(",")[0]
        yield f"- {study.name} ({title}): {study.sentence}"
    yield f"Made on {date.today()} by `{made}`, on {machine()}; {cpu} of CPU time in all."
    yield HOW
    for study in studies:
        heading, _, *others = of_study(study, pictures)  # The sentence stands above.
        yield from (heading, *others)


def command(tables: str, scale: str, seed: int) -> str:
    """The command that makes a report."""
    return f"banyan experiment {tables} --scale {scale}{f' --seed {seed}' if seed else ''}"


def of_study(study: Study, pictures: Mapping[str, Sequence[Picture]]) -> Iterator[Part]:
    """The section of one source."""
    yield f"## {study.name} {study.results[0].table.source}"
    yield study.sentence
    if ahead := Counter(each.conclusion for each in study.rows if each.conclusion):
        same = f"The player ahead is that of the source in {counted(ahead[SAME], 'row')}"
        yield f"{same}, the other in {ahead[OPPOSITE]}, and open in {ahead[OPEN]}."
    yield from pictures.get(study.name, ())
    for result in study.results:
        table = result.table
        yield f"### {table.name} {table.title}"
        if table.note:
            yield table.note
        yield from pictures.get(table.name, ())
        reasons = list(dict.fromkeys(reason for each in result.verdicts for reason in _reasons(each)))
        shared = [each for each in reasons if all(each in _reasons(one) for one in result.verdicts)]
        names_of = (a + b for a in ("", *ascii_lowercase) for b in ascii_lowercase)
        letters = dict(zip([each for each in reasons if each not in shared], names_of, strict=False))
        for ours in (False, True):
            if rows := result.rows(ours):
                if ours and len(rows) < len(result.verdicts):
                    yield "Of ours:"
                yield _rows(rows, table.relative, letters)
            if pools := "; ".join(pooled(rows)):
                yield f"Pooled over who begins: {pools}."
        for sentence in (*shared, *(f"{letter}: {reason}" for reason, letter in letters.items())):
            yield f"- {sentence}"


def _reasons(each: Verdict) -> list[str]:
    """What is said about a row."""
    said = {"not run": each.failure, **{name.replace("_", " "): getattr(each.row, name) for name in SAID}}
    return [f"{name.capitalize()}: {text}" for name, text in said.items() if text]


def _rows(rows: Sequence[Verdict], relative: bool, letters: Mapping[str, str]) -> Table:
    """A line for each row; ``letters`` are those of sentences about rows."""
    columns_of = [_figures(each, rows[0] if relative else None) for each in rows]
    names_of = [*columns_of[0]]
    shared = _heading(names_of) if all([*each] == names_of for each in columns_of) else ""
    stated = any(each.row.figures for each in rows)
    headings = right(*[f"source: {shared}" if shared else "source"] * stated, "ours")
    tested = left("verdict") if any(each.outcome != NOT_COMPARABLE for each in rows) else []
    played = left("games") if any(map(_games, rows)) else []
    found = Table([*left("row"), *played, *headings, *tested])
    for each, figures in zip(rows, columns_of, strict=True):
        marks = [letters[reason] for reason in _reasons(each) if reason in letters]
        columns = [
            "; ".join(
                texts[side] if shared else f"{name} {texts[side]}"
                for name, texts in figures.items()
                if texts[side]
            )
            for side in (0, 1)
        ]
        if columns[0] == columns[1] != "":
            columns[1] = "equal"
        name = f"{each.row.name} ({','.join(marks)})" if marks else each.row.name
        games, verdict = [_games(each)] * len(played), [cell(_outcome(each), TONES.get(each.outcome, ""))]
        found.add(name, *games, *columns[not stated :], *verdict * len(tested))
    return found


def _figures(each: Verdict, first: Verdict | None) -> dict[str, tuple[str, str]]:
    """By name the source's and our text of each figure of a row; with ratios to the first row's, if given."""
    estimates = each.measured.estimates if each.measured else {}
    names_of = [*(each.row.figures or estimates)]
    if (*names_of,) == OUTCOMES:
        source = "/".join(map(source_text, each.row.figures.values()))
        own = "/".join(figure_text(estimates[name].value) for name in names_of if name in estimates)
        if each.measured and each.measured.score and estimates["wins"].number > FEWEST:
            _, low, high = each.measured.score
            own += f" ({100 * low:.0f}-{100 * high:.0f})"
        return {"/".join(OUTCOMES): (source, own)}
    found = {}
    for name in names_of[: None if each.row.figures else MOST_OF_OURS]:
        printed, ours = each.row.figures.get(name), estimates.get(name)
        source = source_text(printed) if printed else ""
        own = (figure_text(ours.value) if first else ours_text(ours)) if ours else ""
        if printed and ours and first and first.measured and name in first.row.figures:
            source += _ratio(float(printed.value), float(first.row.figures[name].value))
            own += _ratio(ours.value, first.measured.estimates[name].value)
        found[name] = source, own
    return found


def _heading(names: Sequence[str]) -> str:
    """Names of figures, what they have in common first."""
    common = {name.rpartition(", ")[0] for name in names}
    if len(common) == 1 and common != {""}:
        return f"{common.pop()}: {'/'.join(name.rpartition(', ')[2] for name in names)}"
    return "/".join(names)


def _ratio(value: float, first: float) -> str:
    return f" (x{figure_text(value / first)})" if first > 0 and value != first else ""


def source_text(figure: SourceFigure) -> str:
    """The source's figure as it prints it."""
    return f"{figure.value:,f}" if abs(figure.value) < 10**7 else f"{float(figure.value):.6g}"


def ours_text(ours: Estimate) -> str:
    """Our figure with its interval, unless that says nothing."""
    value = figure_text(ours.value)
    wide = ours.high - ours.low > WIDEST * abs(ours.value) and not ours.unit.startswith("%")
    if ours.is_exact or wide or not ours.has_interval or math.isinf(ours.high) or ours.number <= FEWEST:
        return value
    return f"{value} ({figure_text(ours.low)}{'-' if ours.low >= 0 else ' to '}{figure_text(ours.high)})"


def _games(each: Verdict) -> str:
    """Numbers of games of the source and of ours; empty where figures are counted."""
    what = each.measured.what if each.measured and each.measured.what != "counted" else ""
    return "/".join(filter(None, [each.row.played, what.removesuffix(" games")]))


def _outcome(each: Verdict) -> str:
    """The verdict on a row, its p if that says more, and who is ahead if that is another player."""
    p = "" if each.p is None else "p<0.001" if each.p < 0.001 else f"p={each.p:.2g}"
    p = "" if each.outcome in (AGREES, CANNOT_FAIL) else p
    ahead = "other ahead" if each.conclusion == OPPOSITE else ""
    return ", ".join(filter(None, [each.outcome, p, ahead]))
