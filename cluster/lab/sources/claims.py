"""Claims of the sources about search: what decides each, its verdict, and the page CLAIMS.md.

tables/claims.toml has for each claim:

    title, quote, where = "..."         the quote translated; source and section
    holds_if = ["few > 50", ...]        rules over figures; or, where none decides, verdict = "holds"
    open = "..."                        optional: what is not measured: the claim holds in part at most
    because."holds in part" = "..."     a sentence for each verdict that is expected
    [claims.figures]
    few = { row = "claims/root: name" }                        measured: the score in %; or its figure = "..."
    many = { record = "cores", what = "...", value = 78 }      from a report, of [records.cores]; low, high

A rule is true if it is true of all values in the 95 % intervals, false if of none, and open otherwise. A
claim holds if all its rules are true, and in part if some are; else it does not hold if one is false, and is
not shown if all are open. A sentence is printed with its own verdict only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from cluster.lab.sources.estimate import PERCENT, Estimate
from cluster.lab.sources.laboratory import Laboratory
from cluster.lab.sources.page import Heading, Item, Paragraph, Part, Picture
from cluster.lab.sources.report import ours_text
from cluster.lab.sources.store import Store
from cluster.lab.sources.table import Row, load, names
from cluster.lab.sources.verdict import Verdict
from games.errors import InvalidInput, counted

SOURCE = "claims"
"""What stands before the slash in names of tables that only claims have."""
HOLDS, IN_PART, FAILS, NOT_SHOWN, NOT_RUN = "holds", "holds in part", "does not hold", "not shown", "not run"
SHOWN = 99
"""A number of observations of which intervals are printed."""
_RULE, _NUMBER = re.compile(r"(\S+) ([<>]) (\S+)"), re.compile(r"[0-9.]+")
ABOUT = """What the five sources say of search, its growth, and parallel and distributed execution; quotes are
translated. Verdicts are computed: a claim holds if its figures, with all values in their 95 % intervals, are
what it needs. Figures of games are the score of the first player: wins and half the draws, in percent."""
REFERENCES = """References of source 000: [15] (Bourki et al.): `tree` exchanges statistics between lanes in
rounds, though whole increments instead of the top of the tree; its independent trees are `root`. [16]
(Yoshizoe et al., positions distributed by hash) is not implemented. [17] (Liu et al., WU-UCT, visits in
flight count as unobserved): `leaf`, `subtree` and the plans of `tree`."""


@dataclass(frozen=True)
class Figure:
    """A figure of a claim; ``estimate`` is None if its row was not run."""

    label: str
    estimate: Estimate | None


@cache
def read() -> dict[str, Any]:
    """The file of claims, with ``claims`` and ``records``."""
    text = (resources.files("cluster.lab.sources") / "tables" / "claims.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def tables_of(claim: Mapping[str, Any]) -> list[str]:
    """Names of the tables of a claim."""
    rows = (figure["row"] for figure in claim.get("figures", {}).values() if "row" in figure)
    return list(dict.fromkeys(row.partition(": ")[0] for row in rows))


def row_of(reference: str, rows: Sequence[Row]) -> int:
    """The index of a row named as ``table: row``. Raises InvalidInput (row)."""
    name = reference.partition(": ")[2]
    found = [number for number, row in enumerate(rows) if row.name == name]
    if len(found) != 1:
        raise InvalidInput("row", reference, "a table and one of " + "; ".join(row.name for row in rows))
    return found[0]


def truth(rule: str, figures: Mapping[str, Estimate]) -> bool | None:
    """Whether a rule is true of all values in the intervals; None: of some. Raises InvalidInput (rule)."""
    parts = _RULE.fullmatch(rule)
    if parts is None or not all(_NUMBER.fullmatch(part) or part in figures for part in parts.group(1, 3)):
        raise InvalidInput("rule", rule, "such as few > 50, of numbers and " + ", ".join(figures))
    (least, most), (low, high) = (
        _ends(figures[part]) if part in figures else (float(part), float(part))
        for part in parts.group(*((1, 3) if parts[2] == ">" else (3, 1)))
    )
    return True if least > high else False if most <= low else None


def _ends(figure: Estimate) -> tuple[float, float]:
    return (figure.low, figure.high) if figure.has_interval else (figure.value, figure.value)


def verdict_of(claim: Mapping[str, Any], figures: Mapping[str, Figure]) -> str:
    """The verdict that the rules compute."""
    if "holds_if" not in claim:
        return str(claim["verdict"])
    there = {name: each.estimate for name, each in figures.items() if each.estimate is not None}
    if len(there) < len(figures):
        return NOT_RUN
    truths = [truth(rule, there) for rule in claim["holds_if"]] + [None] * ("open" in claim)
    if all(truths):
        return HOLDS
    return IN_PART if any(truths) else FAILS if False in truths else NOT_SHOWN


def figures_of(claim: Mapping[str, Any], results: Mapping[str, Sequence[Verdict]]) -> dict[str, Figure]:
    """The figures of a claim by name, from records and from the results of tables."""
    found = {}
    for name, each in claim.get("figures", {}).items():
        if "record" in each:
            value = float(each["value"])
            low, high = float(each.get("low", value)), float(each.get("high", value))
            found[name] = Figure(
                f"{each['what']} ({each['record']})", Estimate(value, low, high, number=SHOWN)
            )
            continue
        table, _, row = each["row"].partition(": ")
        verdicts = results[table]
        measured = verdicts[row_of(each["row"], [verdict.row for verdict in verdicts])].measured
        estimate = None
        if measured is not None and "figure" in each:
            estimate = measured.estimates[each["figure"]]
        elif measured is not None and measured.score is not None:
            value, low, high = (100 * end for end in measured.score)
            estimate = Estimate(value, low, high, PERCENT, SHOWN)
        what = [each.get("figure", ""), f"`{table}`", measured.what if measured else "not run"]
        found[name] = Figure(f"{row} ({', '.join(filter(None, what))})", estimate)
    return found


def parts(store: Store, scale: str, seed: int, pictures: Mapping[str, Sequence[Picture]]) -> Iterator[Part]:
    """The page, from results that are in the store. ``pictures``: by the name of a table."""
    data = read()
    needed = {name for claim in data["claims"] for name in tables_of(claim)}
    laboratory = Laboratory(map(load, filter(needed.__contains__, names())), scale, seed)
    kept = laboratory.keep_from(store)
    results = {each.name: laboratory.result(each.name, kept, {}).verdicts for each in laboratory.tables}
    judged = []
    for claim in data["claims"]:
        figures = figures_of(claim, results)
        judged.append((claim, figures, verdict_of(claim, figures)))
    words = [verdict for *_, verdict in judged]
    counts = [
        f"{words.count(each)} {each}"
        for each in dict.fromkeys((HOLDS, IN_PART, FAILS, *words))
        if each in words
    ]
    yield Heading(1, "Claims of the sources")
    yield Paragraph(f"Of {counted(len(words), 'claim')}: {', '.join(counts)}. " + " ".join(ABOUT.split()))
    made = f"`banyan experiment claims --scale {scale}`"
    yield Paragraph(f"Made on {date.today()} by {made}, with what is there of other sources' tables.")
    shown: set[str] = set()
    for number, (claim, figures, verdict) in enumerate(judged, start=1):
        yield Heading(2, f"{number}. {claim['title']}: {verdict}")
        because = claim.get("because", {}).get(verdict, "")
        yield Paragraph(f'"{claim["quote"]}" ({claim["where"]}). {because}'.strip())
        rules = [*map(str.split, claim.get("holds_if", ()))]
        between = [rule for rule in rules if rule[2] in figures]
        for name, figure in figures.items():
            value = ours_text(figure.estimate) if figure.estimate else "-"
            named = f"{name}: " if any(name in rule for rule in between) else ""
            needs = [f"{rule[1]} {rule[2]}" for rule in rules if rule[0] == name and rule not in between]
            yield Item(f"{named}{figure.label}: {value}{'; needs ' * bool(needs)}{' and '.join(needs)}")
        if between:
            yield Paragraph(f"Needs {', '.join(map(' '.join, between))}.")
        if "open" in claim:
            yield Paragraph(f"Not measured: {claim['open']}.")
        for table in tables_of(claim):
            yield from () if table in shown else pictures.get(table, ())
            shown.add(table)
    yield Heading(2, "Where recorded figures come from")
    for name, record in data["records"].items():
        yield Item(f"{name}: `{record['command']}` ({record['where']})")
    yield Paragraph(" ".join(REFERENCES.split()))
