"""Strength judged by games: matches between parallel and sequential searches, and what their scores say.

Each parallel search plays two sequential ones: with the budget of one of its lanes, and with that of all
lanes together. Sequential searches play each other at all budgets in between; this gives the curve that
converts a score to a strength speedup (`fit.py`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster.lab.predict.costs import Costs, read_costs
from cluster.lab.predict.prediction import predict
from cluster.lab.strength.fit import Figure, Fit, Scores, Side, fit
from cluster.lab.strength.request import APART, Cell, Searches, simulations_of
from cluster.matches.game import MatchContext, MatchWorker, start_of
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.matches.standing import Standing
from cluster.matches.statistics import Interval
from cluster.report.table import Cell as TableCell
from cluster.report.table import Table, count, left, number, percent, right, text
from cluster.system import terminal
from cluster.system.status_line import StatusLine
from games.errors import InvalidInput, counted
from search.players.monte_carlo import Uct

CURVE, LANE, TOTAL = "sequential", "equal lane", "equal total"
"""Kinds of matches."""
DEFAULT_PAIRS, MAX_PAIRS = 100, 500_000
FOLDER = "games"
"""Name of the folder in the report's folder that contains a folder for each match."""
SEQUENTIAL = "root"
"""The strategy whose jobs grow one tree without interruption, like the sequential search."""
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


@dataclass(frozen=True)
class Meeting:
    """One match of a measurement."""

    kind: str
    """CURVE, LANE or TOTAL."""
    a: Side
    b: Side
    """A sequential search as the binary logarithm of its simulations, or a parallel one by its Cell.name."""
    context: MatchContext
    pairs: int
    cell: Cell | None = None
    """The parallel search that plays as A; None if A is sequential."""

    @property
    def folder(self) -> str:
        """A folder name, unique among the meetings of this measurement."""
        names = [
            f"sequential-{simulations_of(side)}" if isinstance(side, float) else side
            for side in (self.a, self.b)
        ]
        return re.sub(r"[^\w=.,-]+", "-", "-against-".join(names))

    @property
    def cost(self) -> int:
        """Simulations that a move of each side costs, added."""
        sides = [simulations_of(side) for side in (self.a, self.b) if isinstance(side, float)]
        return sum(sides) + (self.cell.total_simulations if self.cell is not None else 0)


class ByGames:
    """The judge: plays the matches of a plan."""

    make_worker = MatchWorker

    def __init__(self, searches: Searches, costs: Path | None = None) -> None:
        """Plans the matches, the most expensive first. ``costs``: written by `banyan predict --save-costs`.

        Raises InvalidInput (pairs, total_pairs, opening_plies, options, strategies, costs).
        """
        request, game = searches.request, searches.game
        for name in ("pairs", "total_pairs"):
            asked = getattr(request, name)
            if asked is not None and not 1 <= asked <= MAX_PAIRS:
                raise InvalidInput(name, asked, f"a whole number from 1 to {MAX_PAIRS}")
        plies = game.opening_plies if request.opening_plies is None else request.opening_plies
        if not 0 <= plies <= game.max_plies:
            raise InvalidInput("opening_plies", plies, f"a whole number from 0 to {game.max_plies}")
        self.searches, self.opening_plies = searches, plies
        self.pairs = DEFAULT_PAIRS if request.pairs is None else request.pairs
        """Of a match."""
        self.total_pairs = self.pairs if request.total_pairs is None else request.total_pairs
        """Of a match at equal totals."""
        self.meetings = sorted(self._meetings(), key=lambda meeting: meeting.cost, reverse=True)
        start_of(self.meetings[0].context, game, 0)
        self.predicted: dict[str, float] | None = None
        """Throughput speedups by `Cell.name`, predicted from costs."""
        if costs is not None:
            strategies = [SEQUENTIAL, *(cell.strategy.name for cell in searches.cells)]
            self.predicted = self._predict(read_costs(costs, list(dict.fromkeys(strategies))))

    def _meetings(self) -> Iterator[Meeting]:
        searches, scores_only = self.searches, self.searches.request.scores_only
        for cell in searches.cells:
            if cell.is_sequential:
                continue
            if not scores_only and cell.lanes > 1:
                yield self._meeting(LANE, cell.name, math.log2(cell.lane_simulations), cell)
            yield self._meeting(TOTAL, cell.name, math.log2(cell.total_simulations), cell)
        if not scores_only:
            rungs = searches.ladder
            for low, high in zip(rungs, rungs[APART:], strict=False):
                yield self._meeting(CURVE, math.log2(high), math.log2(low))

    def _meeting(self, kind: str, a: Side, b: Side, cell: Cell | None = None) -> Meeting:
        searches = self.searches
        specs = (searches.player(a, cell)[0], searches.player(b, cell)[0])
        # The seed of one match: openings differ between matches, and do not depend on the other matches.
        identity = "\n".join((str(searches.request.seed), *specs))
        seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1
        context = MatchContext(searches.game.spec, searches.source, specs, seed, self.opening_plies)
        return Meeting(kind, a, b, context, self.total_pairs if kind == TOTAL else self.pairs, cell)

    def _predict(self, costs: Mapping[str, Costs]) -> dict[str, float]:
        """Throughput speedup of each parallel search with a worker for each lane, relative to one core.

        It is predicted for the start position, with the budget of the matches. ``costs``: by strategy.
        """
        found = {}
        for cell in (meeting.cell for meeting in self.meetings if meeting.kind == TOTAL):
            assert cell is not None
            player = self.searches.player(cell.name, cell)[1]
            assert isinstance(player, Uct)
            request = replace(player.request, seed=self.searches.request.seed)
            (row,) = predict(request, costs[request.strategy], [cell.lanes], report=lambda _: None)
            found[cell.name] = row.simulations_per_s * costs[SEQUENTIAL].simulation_s
        return found

    def open(self, stack: ExitStack, out: Path | None, line: StatusLine | None = None) -> Tournament:
        """The games, without those in the folder ``out``, in which all are kept; it is closed with the stack.

        Raises InvalidInput (out), OSError.
        """
        folders = []
        if out is not None:
            for each in self.meetings:
                folder = MatchFolder(out / FOLDER / each.folder, each.context)
                folders.append(stack.enter_context(closing(folder)))
        kept = [folder.played for folder in folders] if folders else [[] for _ in self.meetings]
        matches = [
            Match(meeting.context, 2 * meeting.pairs, None, played)
            for meeting, played in zip(self.meetings, kept, strict=True)
        ]
        self.tournament = Tournament(matches, folders)
        return self.tournament

    def in_short(self) -> list[str]:
        """The progress of a measurement in a few words."""
        tournament = self.tournament
        if not tournament.done:
            return ["no game has ended yet"]
        pairs = min(len(match.standing().pairs) for match in tournament.matches)
        return [
            f"{terminal.count(tournament.done)} of {counted(tournament.games, 'game')}",
            f"{counted(pairs, 'pair')} of each of {counted(len(tournament.matches), 'match', 'matches')}",
        ]

    def run_json(self, executor: str | None) -> dict[str, Any]:
        """How a measurement ran, as JSON."""
        return {
            "games_played": self.tournament.done,
            "games_retried": self.tournament.retried,
            "stopped_by": self.tournament.stopped_by,
            "executor": executor,
        }

    def result(self) -> GamesResult:
        """What the games played so far say."""
        return GamesResult(self, [match.standing() for match in self.tournament.matches])


@dataclass(frozen=True)
class Row:
    """The results of one parallel search."""

    cell: Cell
    equal_lane: Figure | None
    """Score against a sequential search with the budget of one lane; None if not played."""
    equal_total: Figure | None
    """Score against a sequential search with the budget of all lanes; 50 % means no loss. None if not
    played."""
    pairs: tuple[int, int]
    """Numbers of pairs of the two matches."""
    strength: Figure | None
    """Strength speedup; None if a match is missing for it."""
    throughput: float | None
    """Upper limit of the throughput speedup: lanes x CPU seconds of the sequential search / CPU seconds of
    the parallel one, for equal simulations. It excludes calls and waiting."""
    predicted: float | None
    """Predicted throughput speedup with a worker per lane; None without costs."""

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; infinite and unknown values are null."""
        cell, strength = self.cell, self.strength
        known: dict[str, Any] = {
            "strategy": str(cell.strategy),
            "lanes": cell.lanes,
            "simulations_per_lane": cell.lane_simulations,
            "total_simulations": cell.total_simulations,
            "strength_speedup": None if strength is None else _rounded(strength.value),
            "strength_speedup_interval": None if strength is None else _both(strength.interval),
            "strength_efficiency": None if strength is None else _rounded(strength.value / cell.lanes),
            "throughput_speedup_at_most": _rounded(self.throughput),
            "throughput_speedup_predicted": _rounded(self.predicted),
        }
        scores = (("equal_lane", self.equal_lane), ("equal_total", self.equal_total))
        for (name, score), pairs in zip(scores, self.pairs, strict=True):
            known |= {
                f"{name}_score": None if score is None else _rounded(score.value),
                f"{name}_interval": None if score is None else _both(score.interval),
                f"{name}_pairs": pairs,
            }
        return known


@dataclass(frozen=True)
class Doubling:
    """One budget of the sequential curve."""

    simulations: int
    elo: Figure
    """Elo above the smallest budget."""
    doubling: float
    """Elo gained by doubling this budget."""


class GamesResult:
    """The result of matches that were played completely or in part."""

    def __init__(self, plan: ByGames, standings: Sequence[Standing]) -> None:
        """``standings``: one for each meeting of the plan, in order."""
        self.plan = plan
        self.played = list(zip(plan.meetings, standings, strict=True))

    @property
    def pairs(self) -> tuple[int, int]:
        """The smallest and the largest number of pairs of a match."""
        numbers = [len(standing.pairs) for _, standing in self.played]
        return min(numbers), max(numbers)

    @property
    def title(self) -> str:
        """The title of the measurement."""
        fewest, most = self.pairs
        pairs = counted(most, "pair") if fewest == most else f"{fewest} to {most} pairs"
        return self.plan.searches.title(f"{pairs} a match")

    @cached_property
    def fit(self) -> Fit | None:
        """The fit of all matches; None without a curve, or if a match has no pair yet."""
        request = self.plan.searches.request
        if request.scores_only or not self.pairs[0]:
            return None
        matches = [Scores(each.a, each.b, tuple(standing.pair_scores)) for each, standing in self.played]
        return fit(matches, seed=request.seed)

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of all parallel searches, ordered by strategy, then by lanes."""
        return [self._row(cell) for cell in self.plan.searches.cells]

    @cached_property
    def curve(self) -> list[Doubling]:
        """All sequential budgets that played each other, ascending; empty without a fit."""
        found = self.fit
        if found is None:
            return []
        of_curve = [meeting for meeting, _ in self.played if meeting.kind == CURVE]
        sides = {side for each in of_curve for side in (each.a, each.b) if isinstance(side, float)}
        return [
            Doubling(simulations_of(side), found.elo(side, found.low), found.elo(side + 1, side).value)
            for side in sorted(sides)
        ]

    def _row(self, cell: Cell) -> Row:
        played = {meeting.kind: standing for meeting, standing in self.played if meeting.cell == cell}
        strength = None
        if self.fit is not None:
            sequential = Figure(1.0, (1.0, 1.0))
            strength = (
                sequential if cell.is_sequential else self.fit.speedup(cell.name, cell.lane_simulations)
            )
        predicted = self.plan.predicted
        lane, total = played.get(LANE), played.get(TOTAL)
        return Row(
            cell,
            _score(lane),
            _score(total),
            (len(lane.pairs) if lane else 0, len(total.pairs) if total else 0),
            strength,
            throughput(cell, total),
            None if predicted is None else predicted.get(cell.name, 1.0),
        )

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON; infinite and unknown values are null."""
        found, plan = self.fit, self.plan
        return plan.searches.describe() | {
            "pairs": plan.pairs,
            "total_pairs": plan.total_pairs,
            "opening_plies": plan.opening_plies,
            "rows": [row.to_json() for row in self.rows],
            "curve": [
                {
                    "simulations": point.simulations,
                    "elo": _rounded(point.elo.value),
                    "elo_interval": _both(point.elo.interval),
                    "elo_of_doubling": _rounded(point.doubling),
                }
                for point in self.curve
            ],
            "matches": [
                self._match_json(number, meeting, standing)
                for number, (meeting, standing) in enumerate(self.played)
            ],
            "misfit": None if found is None else _rounded(found.misfit),
            "freedom": None if found is None else found.freedom,
        }

    def _match_json(self, number: int, meeting: Meeting, standing: Standing) -> dict[str, Any]:
        score = _score(standing)
        return {
            "kind": meeting.kind,
            "a": meeting.context.players[0],
            "b": meeting.context.players[1],
            "seed": meeting.context.seed,
            "pairs": len(standing.pairs),
            "score": None if score is None else _rounded(score.value),
            "score_interval": None if score is None else _both(score.interval),
            "expected": None if self.fit is None else _rounded(self.fit.expected[number]),
            "different_games": standing.different_games,
        }

    def records(self) -> list[dict[str, Any]]:
        """The rows as flat JSON, with two columns for each interval."""
        return [_flat(row.to_json()) for row in self.rows]

    def tables(self) -> list[Table]:
        """A table with a row for each parallel search, and one of the sequential search by budget."""
        speedups = not self.plan.searches.request.scores_only
        known = self.plan.predicted is not None
        headings = ["lanes", "each", "through-\nput" if known else "through-\nput <", "against\nthe total"]
        if speedups:
            headings[2:2] = ["strength\nspeedup"]
            headings[4:4] = ["against\none lane's"]
        table = Table([*left("strategy"), *right(*headings)], title=self.title)
        for row in self.rows:
            cells = [count(row.cell.lanes), count(row.cell.lane_simulations)]
            if speedups:
                cells.append(_speedup(row))
            cells.append(number(row.predicted if known else row.throughput))
            if speedups:
                cells.append(_percent(row.equal_lane))
            table.add(str(row.cell.strategy), *cells, _percent(row.equal_total))
        curve = Table(right("simulations", "Elo", "a doubling adds"), title="the sequential search")
        for point in self.curve:
            interval = point.elo.interval if point.elo.value else None
            elo = number(point.elo.value, "+.0f", interval)
            curve.add(count(point.simulations), elo, number(point.doubling, "+.0f"))
        return [table, curve] if curve.rows else [table]

    def notes(self) -> list[str]:
        """Explanations of the columns."""
        throughput = AT_MOST if self.plan.predicted is None else PREDICTED
        speedups = [] if self.plan.searches.request.scores_only else [STRENGTH]
        return [*speedups, throughput, SCORES, PLACE]

    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, one line each."""
        lines, found = [], self.fit
        fewest, _ = self.pairs
        if fewest < FEW_PAIRS:
            lines.append(f"only {counted(fewest, 'pair')} a match: the intervals are wide and inaccurate")
        if found is not None and found.freedom > 0:
            usual = found.freedom + MUCH * math.sqrt(2 * found.freedom)
            if found.misfit > usual:
                lines.append(
                    f"one rating for each search does not explain all scores (misfit {found.misfit:.0f}, "
                    f"usually {found.freedom}): scores depend on the opponents, and speedups are less certain"
                )
        outside = [
            row.cell.name
            for row in self.rows
            if row.strength is not None
            and not all(map(math.isfinite, (row.strength.value, *row.strength.interval)))
        ]
        if outside:
            lines.append(f"{', '.join(outside)}: strength is outside the range of the sequential searches")
        gains = [(row, row.throughput if row.predicted is None else row.predicted) for row in self.rows]
        thin = [row.cell.name for row, gain in gains if gain is not None and gain < THIN * row.cell.lanes]
        if thin:
            lines.append(
                f"{', '.join(thin)}: dividing so few simulations takes longer than running them. Strength is "
                "per simulation; in time, only longer searches gain as much"
            )
        repeated = sum(standing.different_games < standing.number for _, standing in self.played)
        if repeated:
            lines.append(
                f"some games repeat others, move by move, in {counted(repeated, 'match', 'matches')}"
            )
        return lines


def throughput(cell: Cell, total: Standing | None) -> float | None:
    """The value of `Row.throughput`, from the match at equal totals."""
    if cell.is_sequential:
        return 1.0
    if total is None:
        return None
    ours, theirs = total.efforts
    if not (ours.simulations and theirs.simulations and ours.cpu_s and theirs.cpu_s):
        return None
    return cell.lanes * (ours.simulations / ours.cpu_s) / (theirs.simulations / theirs.cpu_s)


def _score(standing: Standing | None) -> Figure | None:
    """A's score in one match, over the games played so far."""
    if standing is None or not standing.pairs:
        return None
    return Figure(standing.score, standing.score_interval)


def _speedup(row: Row) -> TableCell:
    """The strength speedup with its interval."""
    if row.strength is None:
        return text("unknown")
    if row.cell.is_sequential:
        return number(1)
    return _narrow(number(row.strength.value, interval=row.strength.interval, unknown="beyond"))


def _percent(score: Figure | None) -> TableCell:
    """A score with its interval; empty for None."""
    return text("") if score is None else _narrow(percent(score.value, interval=score.interval))


def _narrow(cell: TableCell) -> TableCell:
    """The cell with a dash in its interval, so that the table fits into 80 columns."""
    return replace(cell, text=cell.text.replace(" to ", "-"))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of JSON with two columns for each interval."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_interval"):
            low, high = value or (None, None)
            flat |= {f"{name.removesuffix('interval')}low": low, f"{name.removesuffix('interval')}high": high}
        else:
            flat[name] = value
    return flat


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def _both(interval: Interval) -> list[float | None]:
    return [_rounded(value) for value in interval]
