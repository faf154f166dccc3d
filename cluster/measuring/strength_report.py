"""A measurement of strength as people read it: live, as tables, and as files."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from cluster import terminal
from cluster.matches.statistics import Interval
from cluster.matches.tournament import Tournament
from cluster.measuring.strength_result import Row, Score, StrengthResult, row_json

if TYPE_CHECKING:
    from rich.table import Table

FEW_PAIRS = 50
THIN = 0.5
"""Of the lanes: below that, dividing a search takes more CPU time than the search itself."""
MUCH = 2.33
"""Standard deviations of a misfit: by chance it is so large once in a hundred times."""
PLACE = (
    "A search on N lanes is the same search, move by move, on one core as on N machines: what runs where "
    "changes nothing but how long it takes. So its strength is measured here, on whatever there is."
)
STRENGTH = (
    "strength speedup: how many times the simulations of one lane a sequential search needs to play as well."
)
AT_MOST = (
    "throughput <: lanes x CPU time of the sequential search / that of the parallel one, for as many "
    "simulations: an upper limit, without calls and waiting. --costs predicts what is left of it."
)
PREDICTED = (
    "throughput: simulations a second with a worker for each lane, by the costs given, over one core's."
)
SCORES = "%: the score against the sequential search with the simulations of one lane, and of all of them."


def line(tournament: Tournament, elapsed_s: float) -> str:
    """How it goes, as one plain line."""
    if not tournament.done:
        return (
            f"no game has ended yet (kernels are compiled once on a machine), {terminal.duration(elapsed_s)}"
        )
    pairs = min(len(match.standing().pairs) for match in tournament.matches)
    parts = [
        f"{terminal.count(tournament.done)} of {terminal.count(tournament.games)} games",
        f"{pairs} pairs of each of {len(tournament.matches)} matches",
    ]
    if tournament.retried:
        parts.append(f"{tournament.retried} played again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])


def title(result: StrengthResult) -> str:
    """What was measured, in one line."""
    request = result.plan.request
    fewest, most = result.pairs
    pairs = f"{most}" if fewest == most else f"{fewest} to {most}"
    budget = (
        f"{request.simulations:,} simulations a move for each lane"
        if request.simulations is not None
        else f"{request.total:,} simulations a move for all lanes together"
    )
    options = f", {request.options}" if request.options else ""
    return f"{result.plan.game.spec}: {budget}{options}, {pairs} pairs a match, seed {request.seed}"


def rows_table(result: StrengthResult) -> Table:
    """A line for each parallel search."""
    table, speedups = _table(title(result)), not result.plan.request.scores_only
    table.add_column("strategy", overflow="fold")
    for heading in ("lanes", "each"):
        table.add_column(heading, justify="right", no_wrap=True)
    if speedups:
        table.add_column("strength\nspeedup", justify="right", no_wrap=True)
    known = result.predicted is not None
    table.add_column("through-\nput" if known else "through-\nput <", justify="right", no_wrap=True)
    if speedups:
        table.add_column("% against\none lane's", justify="right", no_wrap=True)
    table.add_column("% against\nthe total", justify="right", no_wrap=True)
    for row in result.rows:
        cells = [str(row.cell.strategy), str(row.cell.lanes), f"{row.cell.lane_simulations:,}"]
        if speedups:
            cells.append(speedup_text(row))
        throughput = row.predicted if known else row.throughput
        cells.append("" if throughput is None else f"{throughput:.3g}")
        if speedups:
            cells.append(score_text(row.equal_lane))
        table.add_row(*cells, score_text(row.equal_total))
    return table


def notes(result: StrengthResult) -> list[str]:
    """What the columns are."""
    throughput = AT_MOST if result.predicted is None else PREDICTED
    return [*([] if result.plan.request.scores_only else [STRENGTH]), throughput, SCORES]


def curve_table(result: StrengthResult) -> Table:
    """The sequential search by its budget."""
    table = _table("the sequential search")
    for heading in ("simulations", "Elo", "a doubling adds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in result.curve:
        low, high = point.interval
        interval = f" ({low:+.0f} to {high:+.0f})" if point.elo else ""
        table.add_row(f"{point.simulations:,}", f"{point.elo:+.0f}{interval}", f"{point.doubling:+.0f}")
    return table


def warnings(result: StrengthResult) -> list[str]:
    """What somebody who trusts the figures should know."""
    lines, found = [], result.fit
    fewest, _ = result.pairs
    if fewest < FEW_PAIRS:
        lines.append(f"{fewest} pairs a match are few: the intervals are wide, and themselves rough")
    if found is not None and found.freedom > 0:
        usual = found.freedom + MUCH * math.sqrt(2 * found.freedom)
        if found.misfit > usual:
            lines.append(
                f"one rating for each search does not explain all scores (misfit {found.misfit:.0f}, usually "
                f"{found.freedom}): which opponents a search meets matters, and speedups are less certain"
            )
    lines += [
        f"{row.cell.name}: somewhere beyond the sequential searches that were played"
        for row in result.rows
        if row.strength is not None
        and not all(map(math.isfinite, (row.strength.value, *row.strength.interval)))
    ]
    thin = [row.cell.name for row in result.rows if _gained(row) < THIN * row.cell.lanes]
    if thin:
        lines.append(
            f"{', '.join(thin)}: dividing so few simulations takes longer than doing them. Strengths are of "
            "simulations, as they always are; in time, only longer searches gain as much"
        )
    repeated = [m.folder for m, s in result.played if s.different_games < s.number]
    if repeated:
        lines.append(f"some games are others over again, move by move, in {len(repeated)} matches")
    return lines


def write_report(result: StrengthResult, folder: Path) -> list[Path]:
    """strength.json, .csv, .png and .svg in the folder, which is there."""
    # Takes a second to import.
    from cluster.measuring.strength_plot import plot

    paths = [folder / f"strength.{ending}" for ending in ("json", "csv", "png", "svg")]
    paths[0].write_text(json.dumps(result.to_json(), indent=1) + "\n", encoding="utf-8")
    with paths[1].open("w", newline="", encoding="utf-8") as file:
        lines = [_flat(row) for row in result.rows]
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    for path in paths[2:]:
        plot(result, title(result), path)
    return paths


def speedup_text(row: Row) -> str:
    """The speedup with its interval."""
    if row.strength is None:
        return "unknown"
    if row.cell.is_sequential:
        return "1"
    return f"{_times(row.strength.value)} ({_interval(row.strength.interval)})"


def score_text(score: Score | None) -> str:
    """A score in percent with its interval."""
    if score is None:
        return ""
    low, high = score.interval
    return f"{100 * score.score:.0f} ({100 * low:.0f}-{100 * high:.0f})"


def _gained(row: Row) -> float:
    known = row.throughput if row.predicted is None else row.predicted
    return math.inf if known is None else known


def _times(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "beyond"


def _interval(interval: Interval) -> str:
    low, high = interval
    return f"{_times(low)}-{_times(high)}" if math.isfinite(high) else f"{_times(low)} and more"


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


def _table(heading: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=heading, title_justify="left")
