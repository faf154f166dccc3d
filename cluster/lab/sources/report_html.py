"""The report as one self-contained HTML page: tables, and a plot of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from cluster.lab.sources import report_words as words
from cluster.lab.sources.plots import picture
from cluster.lab.sources.verdict import TableResult, summary
from cluster.report.machine import machine
from cluster.report.table import html
from cluster.system import terminal


def render(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """The HTML text of the page."""
    style = (resources.files("cluster.lab.sources") / "report.css").read_text(encoding="utf-8")
    body = "\n".join(_body(results, scale, everything))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Banyan: {escape(words.TITLE.lower())}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _body(results: Sequence[TableResult], scale: str, everything: bool) -> Iterator[str]:
    yield f"<h1>{escape(words.TITLE)}</h1>"
    yield f'<p class="lead">{escape(words.totals(results))}</p>'
    made = words.command(results, scale, everything)
    yield (
        f"<p>Made by <code>{escape(made)} --report results.html</code>; {escape(words.of_scale(scale))} "
        f"Measured on {escape(machine())}; {escape(words.effort(results))} of CPU time in all.</p>"
    )
    yield "<details><summary>When two figures agree</summary>"
    for text in words.how():
        yield f"<p>{escape(text)}</p>"
    yield "</details>"
    yield html(words.contents(results, lambda result: _anchor(result.table.name)), "contents")
    source = ""
    for result in results:
        if result.table.source != source:
            source = result.table.source
            yield f"<h2>{escape(source)}</h2>"
        yield from _section(result)


def _section(result: TableResult) -> Iterator[str]:
    table = result.table
    yield f'<section id="{_anchor(table.name)}"><h3>{table.name} {escape(table.title)}</h3>'
    if table.note:
        yield f"<p>{_prose(table.note)}</p>"
    drawn = picture(result)
    if drawn:
        yield f'<figure class="wide">{drawn}<figcaption><span class="source">&#9671; source</span> '
        yield '<span class="ours">&#9679; ours</span>, with 95 % intervals</figcaption></figure>'
    yield html(words.figures(result))
    yield f'<p class="sum">{escape(summary(result))}; {terminal.duration(result.cpu_s)} of CPU.</p>'
    said = [f"<li>{_prose(text)}</li>" for text in words.remarks(result)]
    if said:
        yield f"<ul>{''.join(said)}</ul>"
    yield "</section>"


def _prose(text: str) -> str:
    """Text as HTML; parts between backquotes become code, as in Markdown."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))


def _anchor(name: str) -> str:
    return "t" + name.replace("/", "-")
