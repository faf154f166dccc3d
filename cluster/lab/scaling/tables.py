"""Results of a run as Markdown tables. The input is the JSON that commands write with --out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cluster.report.table import (
    Cell,
    Table,
    code,
    count,
    left,
    markdown,
    number,
    percent,
    rate,
    right,
    text,
)
from cluster.system import terminal
from games.errors import counted

SIMULATED = "**Simulated, not run.**"
PREDICTED_BASE = (
    "Speedups are against one worker of the same strategy alone on the machine, which is simulated as well; "
    "a simulation takes longer while all cores are busy."
)
BEYOND = "beyond what was played"
OUTSIDE = "outside the curve"


def render(kind: str, found: Any) -> list[str]:
    """The lines of the tables for a run of this kind."""
    return list(_RENDERERS[kind](found))


def strength(found: dict[str, Any]) -> Iterator[str]:
    """A row for each parallel search; with speedups, also the sequential curve."""
    rows = found["rows"]
    yield (
        f"`{found['game']}`, {_pairs(found)} pairs of games a match, each pair from "
        f"{found['opening_plies']} random plies (seed {found['seed']}); 95 % intervals."
    )
    yield ""
    yield from markdown(_strengths(rows))
    if found["curve"]:
        yield ""
        yield "Strength of the sequential search by budget:"
        yield ""
        budgets = [f"{point['simulations']:,}" for point in found["curve"]]
        curve = Table([*left("simulations"), *right(*budgets)])
        curve.add("Elo", *(number(point["elo"], "+.0f") for point in found["curve"]))
        yield from markdown(curve)


def _strengths(rows: list[dict[str, Any]]) -> Table:
    speedups = any(row["strength_speedup"] is not None for row in rows)
    headings = ["lanes", "simulations each"]
    headings += ["strength speedup", "against one lane's"] if speedups else []
    headings += ["score against the total", "throughput, at most"]
    table = Table([*left("strategy"), *right(*headings)])
    for row in rows:
        gained: list[Cell] = []
        if speedups:
            speedup, interval = row["strength_speedup"], row["strength_speedup_interval"]
            gained = [number(speedup, interval=interval, unknown=BEYOND), _score(row["equal_lane_score"])]
        table.add(
            code(row["strategy"]),
            count(row["lanes"]),
            count(row["simulations_per_lane"]),
            *gained,
            _score(row["equal_total_score"], row["equal_total_interval"]),
            number(row["throughput_speedup_at_most"]),
        )
    return table


def exact(found: dict[str, Any]) -> Iterator[str]:
    """The sequential searches by budget, then a row for each parallel search."""
    hard = f", hard for {found['hard']:,} simulations" if found["hard"] else ""
    tries = f", {found['tries']:,} moves in each" if found.get("tries", 1) > 1 else ""
    yield (
        f"`{found['game']}`, {found['positions']:,} positions{hard}{tries} (seed {found['seed']}); losses in "
        "thousandths of the step from a draw to a win; 95 % intervals."
    )
    yield ""
    headings = (
        "lanes",
        "simulations each",
        "keeps the value",
        "loss",
        "beside the total",
        "strength speedup",
    )
    table = Table([*left("search"), *right(*headings)])
    for row in found["rows"]:
        is_parallel = row["strategy"] != "sequential"
        cells = [count(row["lanes"] if is_parallel else None), count(row["simulations_per_lane"])]
        cells += [percent(row["kept"], 1), number(1000 * row["loss"], ".0f", half=_half(row, "loss"))]
        if is_parallel:
            ends = [row["strength_speedup_low"], row["strength_speedup_high"]]
            beside = number(1000 * row["loss_beside_total"], "+.0f", half=_half(row, "loss_beside_total"))
            cells += [beside, number(row["strength_speedup"], interval=ends, unknown=OUTSIDE)]
        table.add(code(row["strategy"]) if is_parallel else text("sequential"), *cells)
    yield from markdown(table)


def _half(row: dict[str, Any], name: str) -> float:
    """Half the width of an interval, in thousandths."""
    return float(500 * (row[f"{name}_high"] - row[f"{name}_low"]))


def speedup(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each strategy and number of workers."""
    first = rows[0]
    yield (
        f"`{first['game']}`, {first['lanes']} lanes, repeated {counted(first['repeats'], 'time')}, "
        "interleaved; medians, and the range of the share of the ceiling."
    )
    yield ""
    headings = ("workers", "simulations/s", "speedup", "efficiency", "ceiling", "of the ceiling")
    table = Table([*left("strategy"), *right(*headings)])
    for row in rows:
        table.add(
            code(row["strategy"]),
            count(row["workers"]),
            rate(row["simulations_per_s"]),
            number(row["speedup"], ".2f"),
            percent(row["efficiency"]),
            rate(row["ceiling_simulations_per_s"]),
            percent(row["of_ceiling"], interval=row["of_ceiling_spread"]),
        )
    yield from markdown(table)


def predict(found: dict[str, Any]) -> Iterator[str]:
    """Measured and simulated rates side by side; then simulated rates alone."""
    if found["measured"]:
        yield "Measured rates, and simulated rates of the same searches:"
        yield ""
        yield from markdown(_checks(found["measured"]))
        yield ""
    yield f"{SIMULATED} {PREDICTED_BASE}"
    yield ""
    yield from markdown(_predictions(found["predicted"]))
    most = max(row["workers"] for row in found["predicted"])
    yield ""
    what = f"the work of {counted(most, 'worker')} and the reasons of their waiting"
    yield f"**Simulated:** {what}, in per cent of their time:"
    yield ""
    rows = [row for row in found["predicted"] if row["workers"] == most]
    spent = Table([*left("strategy"), *right(*rows[0]["spent"])])
    for row in rows:
        spent.add(code(row["strategy"]), *(number(100 * share, ".1f") for share in row["spent"].values()))
    yield from markdown(spent)
    if found.get("changes"):
        yield ""
        yield "**Simulated**, with one change on the largest number of workers:"
        yield ""
        yield from markdown(_changes(found["changes"]))


def _checks(rows: list[dict[str, Any]]) -> Table:
    headings = ("workers", "measured", "lowest to highest", "simulated", "error")
    table = Table([*left("strategy"), *right(*headings)])
    for row in rows:
        table.add(
            code(row["strategy"]),
            count(row["workers"]),
            rate(row["measured_per_s"]),
            text(" to ".join(map(terminal.rate, row["spread"]))),
            rate(row["predicted_per_s"]),
            percent(row["predicted_per_s"] / row["measured_per_s"] - 1, 1, signed=True),
        )
    return table


def _predictions(rows: list[dict[str, Any]]) -> Table:
    headings = ("lanes", "workers", "simulations/s", "speedup", "efficiency", "coordinator busy")
    table = Table([*left("strategy"), *right(*headings)])
    for row in rows:
        table.add(
            code(row["strategy"]),
            count(row["lanes"]),
            count(row["workers"]),
            rate(row["simulations_per_s"]),
            number(row["speedup"], ",.1f"),
            percent(row["efficiency"]),
            percent(row["coordinator_busy"]),
        )
    return table


def _changes(rows: list[dict[str, Any]]) -> Table:
    table = Table([*left("strategy"), *right("workers", "with", "simulations/s", "times as much")])
    for row in rows:
        table.add(
            code(row["strategy"]),
            count(row["workers"]),
            str(row["what"]),
            rate(row["simulations_per_s"]),
            number(row["factor"], ".2f"),
        )
    return table


def proof(printed: str) -> Iterator[str]:
    """The unchanged output of a fault campaign."""
    yield "```"
    yield printed.strip()
    yield "```"


_RENDERERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "strength": strength,
    "exact": exact,
    "speedup": speedup,
    "predict": predict,
    "proof": proof,
}


def _pairs(found: dict[str, Any]) -> str:
    counts = sorted({match["pairs"] for match in found["matches"]})
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _score(score: float | None, interval: list[float | None] | None = None) -> Cell:
    return text(BEYOND) if score is None else percent(score, interval=interval)
