"""The report as one page of HTML that needs nothing else: tables, and a picture of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from cluster import terminal
from cluster.experiments import report_words as words
from cluster.experiments.plots import picture
from cluster.experiments.report_text import remarks
from cluster.experiments.verdict import NO, YES, TableResult, Verdict, rows_of, summary


def render(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """The page."""
    style = (resources.files("cluster.experiments") / "report.css").read_text(encoding="utf-8")
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
        f"Measured on {escape(words.machine())}; {escape(words.effort(results))} of CPU time in all.</p>"
    )
    yield "<details><summary>When two figures agree</summary>"
    for text in words.how():
        yield f"<p>{escape(text)}</p>"
    yield "</details>"
    yield from _contents(results)
    source = ""
    for result in results:
        if result.table.source != source:
            source = result.table.source
            yield f"<h2>{escape(source)}</h2>"
        yield from _section(result)


def _contents(results: Sequence[TableResult]) -> Iterator[str]:
    yield '<div class="wide"><table class="contents"><thead><tr><th>table</th><th>what it measures</th>'
    yield "".join(f'<th class="n">{name}</th>' for name in ("rows", "agree", "do not", "CPU"))
    yield "</tr></thead>"
    for result in results:
        name = result.table.name
        differ = result.count(NO)
        yield (
            f'<tr><td><a href="#{_anchor(name)}">{name}</a></td><td>{escape(result.table.title)}</td>'
            f'<td class="n">{len(result.verdicts)}</td><td class="n">{result.count(YES)}</td>'
            f'<td class="n{" no" * bool(differ)}">{differ}</td>'
            f'<td class="n">{terminal.duration(result.cpu_s)}</td></tr>'
        )
    yield "</table></div>"


def _section(result: TableResult) -> Iterator[str]:
    table = result.table
    yield f'<section id="{_anchor(table.name)}"><h3>{table.name} {escape(table.title)}</h3>'
    if table.note:
        yield f"<p>{_prose(table.note)}</p>"
    drawn = picture(result)
    if drawn:
        yield f'<figure class="wide">{drawn}<figcaption><span class="source">&#9671; source</span> '
        yield '<span class="ours">&#9679; ours</span>, with 95 % intervals</figcaption></figure>'
    yield from _figures(result)
    yield f'<p class="sum">{escape(summary(result))}; {terminal.duration(result.cpu_s)} of CPU.</p>'
    said = [f"<li>{_prose(text)}</li>" for text in remarks(result)]
    if said:
        yield f"<ul>{''.join(said)}</ul>"
    yield "</section>"


def _figures(result: TableResult) -> Iterator[str]:
    numbers = words.HEADINGS[2:5]
    heads = "".join(f"<th{_class(name in numbers)}>{escape(name)}</th>" for name in words.HEADINGS)
    yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead>'
    before: Verdict | None = None
    for verdict, figure in rows_of(result):
        new = verdict is not before
        before = verdict
        name = words.name_of(verdict) if new else ""
        *values, agreement = words.cells(verdict, figure)
        row = "".join(
            f"<td{_class(head in numbers)}>{escape(text)}</td>"
            for head, text in zip(words.HEADINGS, (name, *values), strict=False)
        )
        verdict_class = f' class="{agreement}"' if agreement in (YES, NO) else ""
        yield f"<tr{' class=first' if new else ''}>{row}<td{verdict_class}>{escape(agreement)}</td></tr>"
    yield "</table></div>"


def _prose(text: str) -> str:
    """What is between backquotes is code, as in Markdown."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))


def _class(number: bool) -> str:
    return ' class="n"' if number else ""


def _anchor(name: str) -> str:
    return "t" + name.replace("/", "-")
