"""Claims of the sources about search: what decides each, its verdict, and the page CLAIMS.md.

tables/claims.toml has for each claim:

    title, quote, where = "..."         the quote translated; source and section
    holds_if = ["few > 50", ...]        rules over figures; or, where none decides, verdict = "holds"
    open = "..."                        optional: what is not measured: the claim holds in part at most
    because."holds in part" = "..."     a sentence for each verdict that is expected
    [claims.figures]
    few = { row = "claims/root: name" }                        measured: the score in %; or its figure = "..."
    many = { record = "cores", what = "...", value = 78 }      from a report, of [records.cores]; low and high
                                                               of its interval, if any; exact = true: counted

A rule is true if it is true of all values in the intervals, false if of none, and else not decided, as of a
figure without one. A claim holds if all its rules are true, and in part if some are; else it does not hold if
one is false, and is not shown if none is decided. A sentence is printed with its own verdict only.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from cluster.lab.sources.estimate import PERCENT, Estimate
from cluster.lab.sources.report import Part, Picture, command, ours_text
from cluster.lab.sources.table import load, names
from cluster.lab.sources.units import UnitStore
from cluster.lab.sources.verdict import Laboratory, Verdict
from games.errors import InvalidInput, counted

SOURCE = "claims"
"""What stands before the slash in names of tables that only claims have."""
HOLDS, IN_PART, FAILS, NOT_SHOWN, NOT_RUN = "holds", "holds in part", "does not hold", "not shown", "not run"
SAID = {True: "yes", False: "no", None: "not decided"}
SHOWN = 99
"""Number of observations given to figures without one, enough for their intervals to be printed."""
_RULE, _NUMBER = re.compile(r"(\S+) ([<>]) (\S+)"), re.compile(r"[0-9]+(\.[0-9]+)?")

Figures = Mapping[str, tuple[str, Estimate | None]]
"""Label and value by name; without a value if the row was not run."""


@cache
def read() -> dict[str, Any]:
    """The file of claims, with ``claims`` and ``records``."""
    text = (resources.files("cluster.lab.sources") / "tables" / "claims.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def tables_of(claim: Mapping[str, Any]) -> list[str]:
    """Names of the tables of a claim."""
    figures = claim.get("figures", {}).values()
    return list(dict.fromkeys(each["row"].partition(": ")[0] for each in figures if "row" in each))


def truth(rule: str, figures: Mapping[str, Estimate]) -> bool | None:
    """Whether a rule is true of all values in the intervals, or (False) of none; None: of some.

    Raises InvalidInput (rule).
    """
    parts = _RULE.fullmatch(rule)
    sides = parts.group(*((1, 3) if parts[2] == ">" else (3, 1))) if parts else ("",)
    if not all(_NUMBER.fullmatch(side) or side in figures for side in sides):
        raise InvalidInput("rule", rule, "such as few > 50, of numbers and " + ", ".join(figures))
    first, second = (figures.get(side) or Estimate.exact(float(side)) for side in sides)
    return True if first.low > second.high else False if first.high <= second.low else None


def truths_of(claim: Mapping[str, Any], figures: Figures) -> dict[str, bool | None]:
    """The truth of each rule; None without a value."""
    there = {name: estimate or Estimate.alone(math.nan, "", 0) for name, (_, estimate) in figures.items()}
    return {rule: truth(rule, there) for rule in claim.get("holds_if", ())}


def decided(truths: Sequence[bool | None]) -> str:
    """The verdict that follows from the truth of the rules."""
    if all(truths):
        return HOLDS
    return IN_PART if any(truths) else FAILS if False in truths else NOT_SHOWN


def verdict_of(claim: Mapping[str, Any], figures: Figures) -> str:
    """The verdict that the rules compute."""
    if "holds_if" not in claim:
        return str(claim["verdict"])
    found = decided([*truths_of(claim, figures).values()] + [None] * ("open" in claim))
    return found if all(estimate for _, estimate in figures.values()) else NOT_RUN


def figures_of(claim: Mapping[str, Any], results: Mapping[str, Sequence[Verdict]]) -> Figures:
    """The figures of a claim, from records and from the results of tables."""
    found: dict[str, tuple[str, Estimate | None]] = {}
    for name, each in claim.get("figures", {}).items():
        if "record" in each:
            value = float(each["value"])
            low, high = (value if each.get("exact") else each.get(end, math.nan) for end in ("low", "high"))
            found[name] = f"{each['what']} ({each['record']})", Estimate(value, low, high, number=SHOWN)
            continue
        table, _, row = each["row"].partition(": ")
        measured = {verdict.row.name: verdict.measured for verdict in results[table]}[row]
        estimate = measured.estimates[each["figure"]] if measured and "figure" in each else None
        if measured and measured.score and "figure" not in each:
            value, low, high = (100 * end for end in measured.score)
            estimate = Estimate(value, low, high, PERCENT, SHOWN)
        what = [each.get("figure", ""), f"`{table}`", measured.what if measured else "not run"]
        found[name] = f"{row} ({', '.join(filter(None, what))})", estimate
    return found


def parts(
    store: UnitStore, scale: str, seed: int, pictures: Mapping[str, Sequence[Picture]]
) -> Iterator[Part]:
    """The page, from results that are in the store. ``pictures``: by the name of a table."""
    data = read()
    needed = {name for claim in data["claims"] for name in tables_of(claim)}
    laboratory = Laboratory(map(load, filter(needed.__contains__, names())), scale, seed, store)
    results = {each.name: laboratory.result(each.name).verdicts for each in laboratory.tables}
    judged = [(claim, figures_of(claim, results)) for claim in data["claims"]]
    verdicts = [verdict_of(*each) for each in judged]
    counts = ", ".join(f"{name}: {number}" for name, number in Counter(verdicts).most_common())
    yield "# Claims of the sources"
    yield f"{counted(len(verdicts), 'claim')} of the [sources](RESULTS.md); {counts}. {data['about']}"
    yield f"Made on {date.today()} by `{command(SOURCE, scale, seed)}`."
    left = dict(pictures)
    for number, ((claim, figures), verdict) in enumerate(zip(judged, verdicts, strict=True), start=1):
        yield f"## {number}. {claim['title']}: {verdict}"
        because = claim.get("because", {}).get(verdict, "")
        yield f'"{claim["quote"]}" ({claim["where"]}). {because}'.strip()
        rules = [(*rule.split(), SAID[truth]) for rule, truth in truths_of(claim, figures).items()]
        between = [rule for rule in rules if rule[0] not in figures or rule[2] in figures]
        alone = [rule for rule in rules if rule not in between]
        for name, (label, estimate) in figures.items():
            named = f"{name}: " * any(name in rule for rule in between)
            needs = (f"; needs {by}{end}: {said}" for of, by, end, said in alone if of == name)
            yield f"- {named}{label}: {ours_text(estimate) if estimate else '-'}{''.join(needs)}"
        if between:
            yield f"Needs {', '.join('{} {} {}: {}'.format(*rule) for rule in between)}."
        if "open" in claim:
            yield f"Not measured: {claim['open']}."
        for table in tables_of(claim):
            yield from left.pop(table, ())
    yield "## Where recorded figures come from"
    for name, record in data["records"].items():
        yield f"- {name}: {record['command']} ({record['where']})"
    yield data["references"]
