"""Reports of a measurement of strength: progress line, tables, and files."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from cluster.lab.strength.strength_result import Row, Score, StrengthResult, row_json
from cluster.matches.match import Tournament
from cluster.report.machine import provenance
from cluster.report.table import Cell, Table, count, left, number, percent, right, text, write_files
from cluster.system import terminal
from games.errors import counted

FEW_PAIRS = 50
THIN = 0.5
"""Smallest throughput as a share of the lanes; below it, dividing a search costs more CPU than the search."""
MUCH = 2.33
"""Limit of the misfit in standard deviations; by chance it is exceeded once in a hundred measurements."""
PLACE = (
    "A search on N lanes plays the same moves on one core as on N machines: placement changes only its "
    "duration. So its strength can be measured on this machine."
)
STRENGTH = "strength speedup: the budget of an equally strong sequential search / the budget of one lane."
AT_MOST = (
    "throughput <: lanes x CPU time of the sequential search / that of the parallel one, for equal "
    "simulations: an upper limit, without calls and waiting. --costs predicts the throughput with them."
)
PREDICTED = "throughput: predicted simulations/s with a worker for each lane / simulations/s of one core."
SCORES = (
    "against: the score against the sequential search with the simulations of one lane, and of all lanes."
)


def in_short(tournament: Tournament) -> list[str]:
    """The progress of a measurement in a few words."""
    if not tournament.done:
        return ["no game has ended yet"]
    pairs = min(len(match.standing().pairs) for match in tournament.matches)
    return [
        f"{terminal.count(tournament.done)} of {counted(tournament.games, 'game')}",
        f"{counted(pairs, 'pair')} of each of {counted(len(tournament.matches), 'match', 'matches')}",
    ]


def title(result: StrengthResult) -> str:
    """The title of a measurement: game, budget, options, pairs and seed."""
    request = result.plan.request
    fewest, most = result.pairs
    pairs = counted(most, "pair") if fewest == most else f"{fewest} to {most} pairs"
    budget = (
        f"{counted(request.simulations, 'simulation')} a move for each lane"
        if request.simulations is not None
        else f"{request.total:,} simulations a move for all lanes together"
    )
    options = f", {request.options}" if request.options else ""
    return f"{result.plan.game.spec}: {budget}{options}, {pairs} a match, seed {request.seed}"


def rows_table(result: StrengthResult) -> Table:
    """A table with a row for each parallel search."""
    speedups, known = not result.plan.request.scores_only, result.predicted is not None
    headings = ["lanes", "each", "through-\nput" if known else "through-\nput <", "against\nthe total"]
    if speedups:
        headings[2:2] = ["strength\nspeedup"]
        headings[4:4] = ["against\none lane's"]
    table = Table([*left("strategy"), *right(*headings)], title=title(result))
    for row in result.rows:
        cells = [count(row.cell.lanes), count(row.cell.lane_simulations)]
        if speedups:
            cells.append(_speedup(row))
        cells.append(number(row.predicted if known else row.throughput))
        if speedups:
            cells.append(_score(row.equal_lane))
        table.add(str(row.cell.strategy), *cells, _score(row.equal_total))
    return table


def notes(result: StrengthResult) -> list[str]:
    """Explanations of the columns."""
    throughput = AT_MOST if result.predicted is None else PREDICTED
    return [*([] if result.plan.request.scores_only else [STRENGTH]), throughput, SCORES]


def curve_table(result: StrengthResult) -> Table:
    """A table of the sequential search by budget."""
    headings = ("simulations", "Elo", "a doubling adds")
    table = Table(right(*headings), title="the sequential search")
    for point in result.curve:
        interval = point.interval if point.elo else None
        table.add(
            count(point.simulations), number(point.elo, "+.0f", interval), number(point.doubling, "+.0f")
        )
    return table


def warnings(result: StrengthResult) -> list[str]:
    """Reasons to doubt the figures, one line each."""
    lines, found = [], result.fit
    fewest, _ = result.pairs
    if fewest < FEW_PAIRS:
        lines.append(f"only {counted(fewest, 'pair')} a match: the intervals are wide and inaccurate")
    if found is not None and found.freedom > 0:
        usual = found.freedom + MUCH * math.sqrt(2 * found.freedom)
        if found.misfit > usual:
            lines.append(
                f"one rating for each search does not explain all scores (misfit {found.misfit:.0f}, usually "
                f"{found.freedom}): scores depend on the opponents, and speedups are less certain"
            )
    outside = [
        row.cell.name
        for row in result.rows
        if row.strength is not None
        and not all(map(math.isfinite, (row.strength.value, *row.strength.interval)))
    ]
    if outside:
        lines.append(f"{', '.join(outside)}: strength is outside the range of the sequential searches")
    thin = [row.cell.name for row in result.rows if _gained(row) < THIN * row.cell.lanes]
    if thin:
        lines.append(
            f"{', '.join(thin)}: dividing so few simulations takes longer than running them. Strength is per "
            "simulation; in time, only longer searches gain as much"
        )
    repeated = [m.folder for m, s in result.played if s.different_games < s.number]
    if repeated:
        lines.append(
            f"some games repeat others, move by move, in {counted(len(repeated), 'match', 'matches')}"
        )
    return lines


def write_report(result: StrengthResult, folder: Path, picture: str) -> list[Path]:
    """Write strength.json, .csv and a figure in the format ``picture`` into the folder."""
    # Imported here because it takes a second.
    from cluster.lab.strength.strength_plot import plot

    value = result.to_json() | {"measured_on": provenance()}
    records = [_flat(row) for row in result.rows]
    draw = partial(plot, result, title(result), warnings=warnings(result))
    return write_files(folder, "strength", value, records, draw, picture)


def _speedup(row: Row) -> Cell:
    """The strength speedup with its interval."""
    if row.strength is None:
        return text("unknown")
    if row.cell.is_sequential:
        return number(1)
    return _narrow(number(row.strength.value, interval=row.strength.interval, unknown="beyond"))


def _score(score: Score | None) -> Cell:
    """A score with its interval; empty for None."""
    return text("") if score is None else _narrow(percent(score.score, interval=score.interval))


def _narrow(cell: Cell) -> Cell:
    """The cell with a dash in its interval, so that the table fits into 80 columns."""
    return replace(cell, text=cell.text.replace(" to ", "-"))


def _gained(row: Row) -> float:
    known = row.throughput if row.predicted is None else row.predicted
    return math.inf if known is None else known


def _flat(row: Row) -> dict[str, object]:
    """A row of JSON with two columns for each interval."""
    flat: dict[str, object] = {}
    for name, value in row_json(row).items():
        if name.endswith("_interval"):
            low, high = value or (None, None)
            flat |= {f"{name.removesuffix('interval')}low": low, f"{name.removesuffix('interval')}high": high}
        else:
            flat[name] = value
    return flat
