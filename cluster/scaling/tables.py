"""What a run found, as a Markdown table. The input is the JSON that the commands write with --out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cluster import terminal

Cells = Sequence[str]


def render(kind: str, found: Any) -> list[str]:
    """The lines of the table (or tables) for a run of that kind."""
    return list(_RENDERERS[kind](found))


def strength(found: dict[str, Any]) -> Iterator[str]:
    """A row for each parallel search; with the curve behind speedups, if there are any."""
    rows, speedups = found["rows"], any(row["strength_speedup"] is not None for row in found["rows"])
    yield (
        f"`{found['game']}`, {_pairs(found)} pairs of games a match, which begin with "
        f"{found['opening_plies']} random plies (seed {found['seed']}); 95 % intervals."
    )
    yield ""
    headings = ["strategy", "lanes", "simulations each"]
    if speedups:
        headings += ["strength speedup", "against one lane's"]
    headings += ["score against the total", "throughput, at most"]
    lines = []
    for row in rows:
        cells = [f"`{row['strategy']}`", f"{row['lanes']:,}", f"{row['simulations_per_lane']:,}"]
        if speedups:
            cells += [
                _with_interval(row["strength_speedup"], row["strength_speedup_interval"], _three),
                _with_interval(row["equal_lane_score"], None, _percent),
            ]
        cells += [
            _with_interval(row["equal_total_score"], row["equal_total_interval"], _percent),
            _or_nothing(row["throughput_speedup_at_most"], _three),
        ]
        lines.append(cells)
    yield from _table(headings, lines)
    if found["curve"]:
        yield ""
        yield "The sequential search that stands behind it:"
        yield ""
        yield from _table(
            ["simulations", *(f"{point['simulations']:,}" for point in found["curve"])],
            [["Elo", *(_or_nothing(point["elo"], lambda elo: f"{elo:+.0f}") for point in found["curve"])]],
        )


def speedup(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each strategy and number of workers."""
    first = rows[0]
    yield (
        f"`{first['game']}`, {first['lanes']} lanes, repeated {first['repeats']} times, interleaved; "
        "medians, and the range of the share of the ceiling."
    )
    yield ""
    yield from _table(
        ["strategy", "workers", "simulations/s", "speedup", "efficiency", "ceiling", "of the ceiling"],
        [
            [
                f"`{row['strategy']}`",
                f"{row['workers']:,}",
                terminal.rate(row["simulations_per_s"]),
                f"{row['speedup']:.2f}",
                _percent(row["efficiency"]),
                terminal.rate(row["ceiling_simulations_per_s"]),
                _with_interval(row["of_ceiling"], row["of_ceiling_spread"], _percent),
            ]
            for row in rows
        ],
    )


def predict(found: dict[str, Any]) -> Iterator[str]:
    """What was measured beside what the simulation says; then the simulation alone."""
    if found["measured"]:
        yield "Measured, and what the simulation says of the same searches:"
        yield ""
        yield from _table(
            ["strategy", "workers", "measured", "lowest to highest", "simulated", "error"],
            [
                [
                    f"`{each['strategy']}`",
                    f"{each['workers']:,}",
                    terminal.rate(each["measured_per_s"]),
                    " to ".join(map(terminal.rate, each["spread"])),
                    terminal.rate(each["predicted_per_s"]),
                    f"{each['predicted_per_s'] / each['measured_per_s'] - 1:+.1%}",
                ]
                for each in found["measured"]
            ],
        )
        yield ""
    yield "**Simulated, not run:**"
    yield ""
    yield from _table(
        ["strategy", "lanes", "workers", "simulations/s", "speedup", "efficiency", "coordinator busy"],
        [
            [
                f"`{row['strategy']}`",
                f"{row['lanes']:,}",
                f"{row['workers']:,}",
                terminal.rate(row["simulations_per_s"]),
                f"{row['speedup']:,.1f}",
                _percent(row["efficiency"]),
                _percent(row["coordinator_busy"]),
            ]
            for row in found["predicted"]
        ],
    )
    most = max(row["workers"] for row in found["predicted"])
    rows = [row for row in found["predicted"] if row["workers"] == most]
    yield ""
    yield f"**Simulated:** what {most:,} workers do and whom they wait for, in per cent of their time:"
    yield ""
    yield from _table(
        ["strategy", *rows[0]["spent"]],
        [
            [f"`{row['strategy']}`", *(f"{100 * share:.1f}" for share in row["spent"].values())]
            for row in rows
        ],
    )
    if found.get("changes"):
        yield ""
        yield "**Simulated**, with one thing changed on the largest number of workers:"
        yield ""
        yield from _table(
            ["strategy", "workers", "with", "simulations/s", "times as much"],
            [
                [
                    f"`{change['strategy']}`",
                    f"{change['workers']:,}",
                    str(change["what"]),
                    terminal.rate(change["simulations_per_s"]),
                    f"{change['factor']:.2f}",
                ]
                for change in found["changes"]
            ],
        )


def moves(text: str) -> Iterator[str]:
    """What tests/move_loss.py printed: a line and a table."""
    yield text.strip()


def proof(text: str) -> Iterator[str]:
    """What a script printed, as it is."""
    yield "```"
    yield text.strip()
    yield "```"


_RENDERERS: dict[str, Callable[[Any], Iterator[str]]] = {
    "strength": strength,
    "speedup": speedup,
    "predict": predict,
    "proof": proof,
    "moves": moves,
}


def _table(headings: Cells, rows: Sequence[Cells]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "| --- |" + " ---: |" * (len(headings) - 1)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _pairs(found: dict[str, Any]) -> str:
    counts = sorted({match["pairs"] for match in found["matches"]})
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _with_interval(
    value: float | None, interval: list[float | None] | None, text: Callable[[float], str]
) -> str:
    if value is None:
        return "beyond what was played"
    if interval is None:
        return text(value)
    low, high = (_or_nothing(end, text).removesuffix(" %") or "?" for end in interval)
    return f"{text(value)} ({low} to {high})"


def _or_nothing(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _three(number: float) -> str:
    """Three digits that matter."""
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"
