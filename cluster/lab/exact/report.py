"""Reports of strength by an exact judge: table, files and picture."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from cluster.lab.exact.plan import ExactPlan
from cluster.lab.exact.result import ExactResult, Figure, Row
from cluster.report.machine import provenance
from cluster.report.table import Cell, Table, count, left, number, percent, right, text, write_files
from games.errors import counted

LOSS = (
    "loss: exact value of the position minus that of the chosen move, in thousandths of the step from a draw "
    "to a win; beside the total: minus the loss of the sequential search with as many simulations."
)
STRENGTH = (
    "strength speedup: the budget of a sequential search with an equal loss / the budget of one lane "
    "(?: beyond the largest budget that was measured)."
)
POSITIONS = (
    "Positions are from random games; at most a third of their moves keep the value. Intervals are 95 %."
)
HARD = "Hard positions: a sequential search with {} simulations has lost something in one of two tries."


def title(plan: ExactPlan, result: ExactResult) -> str:
    """The title of a measurement: game, budget, options, positions and seed."""
    request = plan.request.searches
    lane_budgets = plan.request.lane_simulations
    budget = (
        f"{', '.join(f'{each:,}' for each in lane_budgets)} simulations a move for each lane"
        if lane_budgets
        else f"{request.total:,} simulations a move for all lanes together"
    )
    options = f", {request.options}" if request.options else ""
    hard = f" hard for {plan.request.hard:,} simulations" if plan.request.hard else ""
    tries = f", {plan.request.tries:,} moves in each" if plan.request.tries > 1 else ""
    positions = f"{counted(len(result.numbers), 'position')}{hard}{tries}"
    return f"{plan.game.spec}: {budget}{options}, {positions}, seed {request.seed}"


def table(plan: ExactPlan, result: ExactResult) -> Table:
    """A row for each player: the sequential searches by budget, then the parallel ones."""
    headings = ["lanes", "simulations", "keeps the\nvalue", "loss", "beside\nthe total", "strength\nspeedup"]
    made = Table([*left("search"), *right(*headings, "CPU\nms")], title=title(plan, result))
    for row in result.rows:
        made.add(
            "sequential" if row.cell is None else str(row.cell.strategy),
            count(None if row.cell is None else row.cell.lanes),
            count(row.simulations),
            percent(row.kept.value, 1),
            _thousandths(row.loss),
            text("") if row.beside_total is None else _thousandths(row.beside_total, "+.1f"),
            text("") if row.strength is None else _speedup(row.strength),
            number(row.cpu_ms),
        )
    return made


def notes(plan: ExactPlan) -> list[str]:
    """Explanations of the columns and the positions."""
    hard = [] if plan.request.hard is None else [HARD.format(f"{plan.request.hard:,}")]
    return [LOSS, STRENGTH, POSITIONS, *hard]


def to_json(plan: ExactPlan, result: ExactResult) -> dict[str, Any]:
    """The whole result as JSON; infinite values are null."""
    found = {"positions": len(result.numbers), "rows": [_row(row) for row in result.rows]}
    return plan.describe() | found


def write_report(plan: ExactPlan, result: ExactResult, folder: Path, picture: str) -> list[Path]:
    """Write strength.json, .csv and a figure in the format ``picture`` into the folder."""
    # Imported here because it takes a second.
    from cluster.lab.exact.plot import plot

    value = to_json(plan, result) | {"measured_on": provenance()}
    draw = partial(plot, plan, result, title(plan, result))
    return write_files(folder, "strength", value, [_row(row) for row in result.rows], draw, picture)


def _row(row: Row) -> dict[str, Any]:
    """A row as flat JSON, which is also a line of CSV."""
    flat: dict[str, Any] = {
        "strategy": "sequential" if row.cell is None else str(row.cell.strategy),
        "lanes": 1 if row.cell is None else row.cell.lanes,
        "simulations_per_lane": row.simulations if row.cell is None else row.cell.lane_simulations,
        "total_simulations": row.simulations,
        "cpu_ms": round(row.cpu_ms, 3),
    }
    figures = {
        "kept": row.kept,
        "loss": row.loss,
        "loss_beside_total": row.beside_total,
        "strength_speedup": row.strength,
    }
    for name, figure in figures.items():
        values = (math.nan,) * 3 if figure is None else (figure.value, *figure.interval)
        parts = (name, f"{name}_low", f"{name}_high")
        flat |= {
            part: round(value, 6) if math.isfinite(value) else None
            for part, value in zip(parts, values, strict=True)
        }
    return flat


def _thousandths(figure: Figure, form: str = ".1f") -> Cell:
    low, high = figure.interval
    return number(1000 * figure.value, form, half=500 * (high - low))


def _speedup(figure: Figure) -> Cell:
    """The speedup with its interval, or on which side of the curve it lies."""
    if math.isfinite(figure.value) and figure.value > 0:
        return number(figure.value, interval=[end if math.isfinite(end) else None for end in figure.interval])
    return text("beyond the curve" if figure.value > 0 else "below the curve")
