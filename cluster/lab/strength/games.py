"""Strength judged by games: matches between parallel and sequential searches, and what their scores say.

Each parallel search plays two sequential ones: with the budget of one of its lanes, and with that of all
lanes together. Sequential searches play each other at all budgets in between; this gives the curve that
converts a score to a strength speedup (`fit.py`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster.lab.strength.fit import Figure, Fit, Scores, fit, json_of, rounded
from cluster.lab.strength.request import APART, Cell, Searches
from cluster.matches.game import MatchContext, MatchWorker, start_of
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.matches.standing import Standing
from cluster.report.table import Table, count, number, percent, table_of
from cluster.system import terminal
from cluster.system.status_line import StatusLine
from games.errors import InvalidInput, counted

CURVE, LANE, TOTAL = "sequential", "equal lane", "equal total"
"""Kinds of matches."""
DEFAULT_PAIRS = 100
FOLDER = "games"
"""Name of the folder in the report's folder that contains a folder for each match."""
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
    "simulations: an upper limit, without calls and waiting."
)
SCORES = (
    "against: the score against the sequential search with the simulations of one lane, and of all lanes."
)


@dataclass(frozen=True)
class Meeting:
    """One match of a measurement; A of CURVE is sequential too."""

    kind: str
    """CURVE, LANE or TOTAL."""
    a: Cell
    b: Cell
    context: MatchContext
    pairs: int

    @property
    def folder(self) -> str:
        """A folder name, unique among the meetings of this measurement."""
        return re.sub(r"[^\w=.,-]+", "-", f"{self.a.name}-against-{self.b.name}")


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

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; infinite and unknown values are null."""
        strength = self.strength
        return {
            **self.cell.to_json(),
            **json_of("strength_speedup", strength),
            "strength_efficiency": None if strength is None else rounded(strength.value / self.cell.lanes),
            "throughput_speedup_at_most": rounded(self.throughput),
            **json_of("equal_lane_score", self.equal_lane, of_interval="equal_lane"),
            "equal_lane_pairs": self.pairs[0],
            **json_of("equal_total_score", self.equal_total, of_interval="equal_total"),
            "equal_total_pairs": self.pairs[1],
        }


@dataclass(frozen=True)
class Doubling:
    """One budget of the sequential curve."""

    simulations: int
    elo: Figure
    """Elo above the smallest budget."""
    doubling: float
    """Elo gained by doubling this budget."""


class ByGames(Tournament):
    """The judge: plans and plays matches; figures are of the games played so far."""

    make_worker = MatchWorker

    def __init__(self, searches: Searches) -> None:
        """Plans the matches, the most expensive first. Raises InvalidInput (opening_plies, options)."""
        request, game = searches.request, searches.game
        plies = game.opening_plies if request.opening_plies is None else request.opening_plies
        if not 0 <= plies <= game.max_plies:
            raise InvalidInput("opening_plies", plies, f"a whole number from 0 to {game.max_plies}")
        self.searches, self.opening_plies = searches, plies
        self.pairs = DEFAULT_PAIRS if request.pairs is None else request.pairs
        """Number of pairs of each match that is not at equal totals."""
        self.total_pairs = self.pairs if request.total_pairs is None else request.total_pairs
        """Number of pairs of each match at equal totals."""
        meetings = [self._meeting(*each) for each in self._encounters()]
        self.meetings = sorted(
            meetings, key=lambda each: each.a.total_simulations + each.b.total_simulations, reverse=True
        )
        start_of(self.meetings[0].context, game, 0)

    def _encounters(self) -> Iterator[tuple[str, Cell, Cell]]:
        """Kind, A and B of each match."""
        searches, scores_only = self.searches, self.searches.request.scores_only
        for cell in searches.cells:
            if cell.is_sequential:
                continue
            if not scores_only and cell.lanes > 1:
                yield LANE, cell, Cell.sequential(cell.lane_simulations)
            yield TOTAL, cell, Cell.sequential(cell.total_simulations)
        if not scores_only:
            rungs = [Cell.sequential(budget) for budget in searches.ladder]
            for low, high in zip(rungs, rungs[APART:], strict=False):
                yield CURVE, high, low

    def _meeting(self, kind: str, a: Cell, b: Cell) -> Meeting:
        searches = self.searches
        specs = (searches.player(a)[0], searches.player(b)[0])
        # The seed of one match: openings differ between matches, and do not depend on the other matches.
        identity = "\n".join((str(searches.request.seed), *specs))
        seed = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1
        context = MatchContext(searches.game.spec, searches.source, specs, seed, self.opening_plies)
        return Meeting(kind, a, b, context, self.total_pairs if kind == TOTAL else self.pairs)

    def open(self, stack: ExitStack, out: Path | None, line: StatusLine | None = None) -> None:
        """Make the games that are not in the folder ``out``, which keeps all results; the stack closes it.

        Raises InvalidInput (out), OSError.
        """
        matches, folders = [], []
        for each in self.meetings:
            if out is not None:
                folder = MatchFolder(out / FOLDER / each.folder, each.context)
                folders.append(stack.enter_context(closing(folder)))
            played = folders[-1].played if folders else ()
            matches.append(Match(each.context, 2 * each.pairs, None, played))
        super().__init__(matches, folders)

    def in_short(self) -> list[str]:
        """The progress of a measurement in a few words."""
        if not self.done:
            return ["no game has ended yet"]
        pairs = min(len(match.standing().pairs) for match in self.matches)
        return [
            f"{terminal.count(self.done)} of {counted(self.games, 'game')}",
            f"{counted(pairs, 'pair')} of each of {counted(len(self.matches), 'match', 'matches')}",
        ]

    @cached_property
    def played(self) -> list[tuple[Meeting, Standing]]:
        """Each match with its standing: what its games so far show."""
        standings = (match.standing() for match in self.matches)
        return list(zip(self.meetings, standings, strict=True))

    @property
    def pairs_played(self) -> tuple[int, int]:
        """The smallest and the largest number of pairs of a match."""
        numbers = [len(standing.pairs) for _, standing in self.played]
        return min(numbers), max(numbers)

    @property
    def title(self) -> str:
        """The title of the measurement."""
        fewest, most = self.pairs_played
        pairs = counted(most, "pair") if fewest == most else f"{fewest} to {most} pairs"
        return self.searches.title(f"{pairs} a match")

    @cached_property
    def fit(self) -> Fit | None:
        """The fit of all matches; None without a curve, or if a match has no pair yet."""
        request = self.searches.request
        if request.scores_only or not self.pairs_played[0]:
            return None
        scores = [Scores(m.a.side, m.b.side, tuple(standing.pair_scores)) for m, standing in self.played]
        return fit(scores, seed=request.seed)

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of all parallel searches, ordered by strategy, then by lanes."""
        return [self._row(cell) for cell in self.searches.cells]

    @cached_property
    def curve(self) -> list[Doubling]:
        """All sequential budgets that played each other, ascending; empty without a fit."""
        found = self.fit
        if found is None:
            return []
        return [
            Doubling(budget, found.elo(side, found.low), found.elo(side + 1, side).value)
            for budget, side in ((each, math.log2(each)) for each in self.searches.ladder)
        ]

    def _row(self, cell: Cell) -> Row:
        played = {meeting.kind: standing for meeting, standing in self.played if meeting.a == cell}
        strength = None if self.fit is None else Figure(1.0, (1.0, 1.0))
        if self.fit is not None and not cell.is_sequential:
            strength = self.fit.speedup(cell.name, cell.lane_simulations)
        lane, total = played.get(LANE), played.get(TOTAL)
        return Row(
            cell,
            _score(lane),
            _score(total),
            (len(lane.pairs) if lane else 0, len(total.pairs) if total else 0),
            strength,
            throughput(cell, total),
        )

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON; infinite and unknown values are null."""
        found = self.fit
        return self.searches.describe() | {
            "pairs": self.pairs,
            "total_pairs": self.total_pairs,
            "opening_plies": self.opening_plies,
            "rows": [row.to_json() for row in self.rows],
            "curve": [
                {
                    "simulations": point.simulations,
                    **json_of("elo", point.elo),
                    "elo_of_doubling": rounded(point.doubling),
                }
                for point in self.curve
            ],
            "matches": [
                {
                    "kind": meeting.kind,
                    "a": meeting.context.players[0],
                    "b": meeting.context.players[1],
                    "seed": meeting.context.seed,
                    "pairs": len(standing.pairs),
                    **json_of("score", _score(standing)),
                    "expected": None if found is None else rounded(found.expected[number]),
                    "different_games": standing.different_games,
                }
                for number, (meeting, standing) in enumerate(self.played)
            ],
            "misfit": None if found is None else rounded(found.misfit),
            "freedom": None if found is None else found.freedom,
        }

    def tables(self) -> list[Table]:
        """A table with a row for each parallel search, and one of the sequential search by budget."""
        speedups = not self.searches.request.scores_only
        lines = [
            {
                "strategy": str(row.cell.strategy),
                "lanes": count(row.cell.lanes),
                "each": count(row.cell.lane_simulations),
                **({"strength\nspeedup": _speedup(row)} if speedups else {}),
                "through-\nput <": number(row.throughput),
                **({"against\none lane's": _percent(row.equal_lane)} if speedups else {}),
                "against\nthe total": _percent(row.equal_total),
            }
            for row in self.rows
        ]
        curve = [
            {
                "simulations": count(point.simulations),
                "Elo": number(point.elo.value, "+.0f", point.elo.interval if point.elo.value else None),
                "a doubling adds": number(point.doubling, "+.0f"),
            }
            for point in self.curve
        ]
        found = [table_of(lines, self.title, words=["strategy"])]
        return [*found, table_of(curve, "the sequential search")] if curve else found

    def notes(self) -> list[str]:
        """Explanations of the columns."""
        speedups = [] if self.searches.request.scores_only else [STRENGTH]
        return [*speedups, AT_MOST, SCORES, PLACE]

    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, one line each."""
        lines, found = [], self.fit
        fewest, _ = self.pairs_played
        if fewest < FEW_PAIRS:
            lines.append(f"only {counted(fewest, 'pair')} a match: the intervals are wide and inaccurate")
        if found is not None and found.freedom > 0:
            usual = found.freedom + MUCH * math.sqrt(2 * found.freedom)
            if found.misfit > usual:
                lines.append(
                    f"one rating for each search does not explain all scores (misfit {found.misfit:.0f}, "
                    f"usually {found.freedom}): scores depend on the opponents, and speedups are less certain"
                )
        outside = [row.cell.name for row in self.rows if row.strength and not row.strength.is_finite]
        if outside:
            lines.append(f"{', '.join(outside)}: strength is outside the range of the sequential searches")
        thin = [
            row.cell.name for row in self.rows if row.throughput and row.throughput < THIN * row.cell.lanes
        ]
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


def _speedup(row: Row) -> str:
    """The strength speedup with its interval."""
    if row.strength is None:
        return "unknown"
    if row.cell.is_sequential:
        return "1"
    return _narrow(number(row.strength.value, interval=row.strength.interval)) or "beyond"


def _percent(score: Figure | None) -> str:
    """A score with its interval; empty for None."""
    return "" if score is None else _narrow(percent(score.value, interval=score.interval))


def _narrow(cell: str) -> str:
    """The cell with a dash in its interval, so that the table fits into 80 columns."""
    return cell.replace(" to ", "-")
