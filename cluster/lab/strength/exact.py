"""Strength judged by exact values: what searches lose by their moves, and what lanes are worth by that.

The loss of a move is the exact value of the position minus that of the move, for the player who makes it. The
sequential search's mean loss by its budget is the curve on which a parallel search is read: its strength
speedup is the budget of a sequential search with an equal mean loss, divided by the budget of one lane. The
curve is made monotone (isotonic regression: pool adjacent violators) and interpolated in the logarithm of the
budget and of the loss.

All players move in the same positions, in each as often. Intervals are 95 %, by a bootstrap that resamples
positions, for all players together, so that what positions have in common cancels out.
"""

from __future__ import annotations

import hashlib
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster.lab.strength.fit import Figure, json_of
from cluster.lab.strength.moves import (
    Move,
    MoveContext,
    MoveWorker,
    SharpPosition,
    numbers_of,
    sharp_positions,
)
from cluster.lab.strength.request import Cell, Searches
from cluster.report.table import Table, count, flat, left, number, percent, right
from cluster.runtime.jobset import Unit, UnitDone, UnitFailed, Units
from cluster.runtime.tasks import Task
from cluster.system import terminal
from cluster.system.kept_folder import Kept
from cluster.system.status_line import StatusLine
from games.analysis.table import judge_of
from games.errors import InvalidInput, counted

DEFAULT_POSITIONS = 2000
POSITIONS, MOVES = "positions.jsonl", "moves.jsonl"
"""Names of the files that keep the positions, and the moves with a line for each unit."""
UNIT_S = 2.0
"""Estimated CPU seconds of a unit."""
MOST_MOVES = 64
"""The most moves of a unit."""
SAMPLES = 2000
"""Number of bootstrap samples."""
SMALLEST = 1e-9
"""A mean loss of 0 counts as this where its logarithm is taken."""
LOSS = (
    "loss: exact value of the position minus that of the chosen move, in thousandths of the step from a draw "
    "to a win; beside the total: minus the loss of the sequential search with as many simulations."
)
STRENGTH = (
    "strength speedup: the budget of a sequential search with an equal loss / the budget of one lane "
    "(?: beyond the largest budget that was measured)."
)
SHARP = "Positions are from random games; at most a third of their moves keep the value. Intervals are 95 %."
HARD = "Hard positions: a sequential search with {} simulations has lost something in one of two tries."
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One player's results."""

    cell: Cell
    kept: Figure
    """Share of positions in which the move keeps the value."""
    loss: Figure
    """Mean loss of a move: 1 is a draw instead of a win, or a loss instead of a draw."""
    beside_total: Figure | None
    """A parallel search's mean loss minus that of the sequential one with all its simulations."""
    strength: Figure | None
    """A parallel search's strength speedup; inf or 0 beyond the curve."""
    cpu_ms: float
    """Mean CPU time of a move in milliseconds."""

    def to_json(self) -> dict[str, Any]:
        """The row as flat JSON; infinite values are null."""
        figures = {
            "kept": self.kept,
            "loss": self.loss,
            "loss_beside_total": self.beside_total,
            "strength_speedup": self.strength,
        }
        record = self.cell.to_json() | {"cpu_ms": round(self.cpu_ms, 3)}
        for name, figure in figures.items():
            record |= json_of(name, figure, digits=6)
        return flat(record)


class ByValues(Units):
    """The judge: lets all searches move in the same positions. A unit is a few moves of one search."""

    make_worker = MoveWorker
    done = 0
    """Number of moves that have been made."""

    def __init__(self, searches: Searches) -> None:
        """Raises InvalidInput (judge, strategies, options)."""
        request, game = searches.request, searches.game
        if not game.is_two_player or game.has_chance:
            raise InvalidInput("judge", "exact", f"games: {game.name} is {game.form}")
        if game.hidden_information:
            raise InvalidInput("judge", "exact", f"games: something is hidden in {game.name}")
        self.searches = searches
        self.positions = DEFAULT_POSITIONS if request.positions is None else request.positions
        self.tries = 1 if request.tries is None else request.tries
        self.cells = [cell for cell in searches.cells if not cell.is_sequential]
        self.budgets = sorted({*searches.ladder, *(cell.total_simulations for cell in self.cells)})
        """Simulations of the sequential searches; the totals of all cells are among them."""
        self.specs = [searches.player(cell)[0] for cell in self.players]
        self.found: list[SharpPosition] = []
        """The positions."""
        self.moves: list[dict[int, Move]] = []
        """For each player: the moves made so far, by their numbers (moves.py)."""

    @property
    def players(self) -> list[Cell]:
        """All searches: the sequential ones by budget, then the parallel ones in their order."""
        return [*map(Cell.sequential, self.budgets), *self.cells]

    def open(self, stack: ExitStack, out: Path | None, line: StatusLine) -> None:
        """Make the units that are not in the folder ``out``, which keeps all results; the stack closes it.

        Finds the positions, unless they are there too, and shows the progress on the line. Raises
        InvalidInput (out, positions), OSError.
        """
        request, game, source = self.searches.request, self.searches.game, self.searches.source
        identity = {
            "game": game.spec,
            "source": None if source is None else hashlib.sha256(source.encode()).hexdigest(),
            "seed": request.seed,
            "hard": request.hard,
            "options": request.options if request.hard else None,
        }
        self._kept = stack.enter_context(Kept(out, "exact.json", identity, "measurement"))
        self.found = self._kept.read(POSITIONS, SharpPosition.of_json)[: self.positions]
        if len(self.found) < self.positions:
            self.found = self._find(line)
            self._kept.replace(POSITIONS, (each.to_json() for each in self.found))
        texts = tuple(position.text for position in self.found)
        contexts = [MoveContext(game.spec, source, spec, texts, request.seed) for spec in self.specs]
        self.contexts = dict(enumerate(contexts))
        self.moves = [{} for _ in self.specs]
        for player, moves in self._kept.read(MOVES, _moves_of):
            if player in self.specs:
                self.moves[self.specs.index(player)] |= moves
        self._numbers = numbers_of(len(self.found), self.tries)
        self.done = sum(number in moves for moves in self.moves for number in self._numbers)

    @property
    def finished(self) -> bool:
        return super().finished or self.done == self.all

    @property
    def all(self) -> int:
        """Number of moves of all players."""
        return len(self.specs) * len(self._numbers)

    def missing(self) -> list[Task]:
        """The units to be run: the first of every player, then the second, so that all advance together."""
        tasks = []
        for key, (cell, made) in enumerate(zip(self.players, self.moves, strict=True)):
            move_s = cell.total_simulations / self.searches.game.nominal_simulations_per_s
            size = max(1, min(MOST_MOVES, int(UNIT_S / move_s)))
            left = [number for number in self._numbers if number not in made]
            for index, start in enumerate(range(0, len(left), size)):
                tasks.append(Task(index, Unit(index, tuple(left[start : start + size])), 0, context=key))
        return sorted(tasks, key=lambda task: (task.job.what[0], task.context))

    def take(self, context: int, result: UnitDone) -> None:
        self.moves[context] |= result.found
        self.done += len(result.found)
        moves = [[number, *move] for number, move in result.found.items()]
        self._kept.add(MOVES, {"player": self.specs[context], "moves": moves})

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        raise UnitFailed(error.removeprefix("PlayerFailed: ")) from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        raise UnitFailed(f"moves of {self.specs[context]} were {reason}")

    def _find(self, line: StatusLine) -> list[SharpPosition]:
        """The positions; shows the making of the judge's table and the search for positions."""
        request, game = self.searches.request, self.searches.game
        began_s = time.monotonic()

        def show(done: int, what: str) -> None:
            line.show(
                done,
                lambda: time.monotonic() - began_s,
                lambda now: f"{what}, {terminal.duration(now)}",
            )

        def solving(done: int, found: int) -> None:
            of = f"{terminal.count(done)} of {terminal.count(found)}"
            show(done, f"solving {game.spec}, once on this machine: {of} positions so far")

        def found(number: int) -> None:
            show(number, f"{terminal.count(number)} of {counted(self.positions, 'position')} found")

        short = None if request.hard is None else self.searches.player(Cell.sequential(request.hard))[1]
        with line:
            judge = judge_of(game, solving)
            return sharp_positions(game, judge, self.positions, request.seed, found, short)

    def in_short(self) -> list[str]:
        """The progress of a measurement in a few words."""
        return [f"{terminal.count(self.done)} of {counted(self.all, 'move')}"]

    @cached_property
    def numbers(self) -> list[int]:
        """The positions that count: those in which all players have made all tries."""
        starts = numbers_of(1, self.tries)
        return [
            place
            for place in range(len(self.found))
            if all(start + place in moves for moves in self.moves for start in starts)
        ]

    @cached_property
    def _weights(self) -> Floats:
        """[1 + samples, positions] how often each position counts; the first row is the data."""
        rng, number = np.random.default_rng(self.searches.request.seed), len(self.numbers)
        drawn = rng.integers(0, max(1, number), (SAMPLES, number))
        return np.array([np.ones(number), *(np.bincount(each, minlength=number) for each in drawn)])

    @cached_property
    def rows(self) -> list[Row]:
        """The sequential searches by budget, then the parallel ones in their order; empty without data."""
        if not self.numbers:
            return []
        # Position and number of each move.
        order = [(place, start + place) for start in numbers_of(1, self.tries) for place in self.numbers]
        losses = [
            np.array([self.found[place].loss(moves[number].move) for place, number in order])
            for moves in self.moves
        ]
        lost = [self._means(each) for each in losses]
        curve = np.stack(lost[: len(self.budgets)], axis=1)
        rows = []
        for cell, moves, each, own in zip(self.players, self.moves, losses, lost, strict=True):
            beside = strength = None
            if cell.is_parallel:
                beside = Figure.of(own - curve[:, self.budgets.index(cell.total_simulations)])
                budgets = budgets_of(np.log2(self.budgets), curve, own)
                strength = Figure.of(np.exp2(budgets) / cell.lane_simulations)
            kept = Figure.of(self._means(each == 0))
            cpu_ms = 1000 * float(np.mean([moves[number].cpu_s for _, number in order]))
            rows.append(Row(cell, kept, Figure.of(own), beside, strength, cpu_ms))
        return rows

    def _means(self, values: npt.NDArray[Any]) -> Floats:
        """[1 + samples] the mean over the positions, and over each bootstrap sample of them.

        ``values``: of each move, the first try in every position, then the second.
        """
        by_position = values.reshape(self.tries, -1).mean(axis=0)
        return np.asarray(self._weights @ by_position / len(self.numbers))

    @property
    def title(self) -> str:
        """The title of the measurement."""
        request = self.searches.request
        hard = f" hard for {request.hard:,} simulations" if request.hard else ""
        tries = f", {self.tries:,} moves in each" if self.tries > 1 else ""
        return self.searches.title(f"{counted(len(self.numbers), 'position')}{hard}{tries}")

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON; infinite values are null."""
        return self.searches.describe() | {
            "judge": "exact",
            "hard": self.searches.request.hard,
            "tries": self.tries,
            "positions": len(self.numbers),
            "rows": [row.to_json() for row in self.rows],
        }

    def tables(self) -> list[Table]:
        """A row for each player: the sequential searches by budget, then the parallel ones."""
        headings = ["lanes", "simulations", "keeps the\nvalue", "loss", "beside\nthe total"]
        headings += ["strength\nspeedup", "CPU\nms"]
        made = Table([*left("search"), *right(*headings)], title=self.title)
        for row in self.rows:
            made.add(
                str(row.cell.strategy),
                count(row.cell.lanes if row.cell.is_parallel else None),
                count(row.cell.total_simulations),
                percent(row.kept.value, 1),
                _thousandths(row.loss),
                "" if row.beside_total is None else _thousandths(row.beside_total, "+.1f"),
                "" if row.strength is None else _speedup(row.strength),
                number(row.cpu_ms),
            )
        return [made]

    def notes(self) -> list[str]:
        """Explanations of the columns and the positions."""
        hard = self.searches.request.hard
        return [LOSS, STRENGTH, SHARP, *([] if hard is None else [HARD.format(f"{hard:,}")])]

    def warnings(self) -> list[str]:
        """Reasons to doubt the figures: none, because the intervals tell all."""
        return []


def _moves_of(entry: dict[str, Any]) -> tuple[str, dict[int, Move]]:
    """The player and the moves of a line; raises ValueError, TypeError or KeyError for anything else."""
    moves = {int(number): Move(str(move), float(cpu_s)) for number, move, cpu_s in entry["moves"]}
    return str(entry["player"]), moves


def budgets_of(budgets: Floats, curve: Floats, lost: Floats) -> Floats:
    """[samples] log2 of the budget at which the sequential search has this mean loss.

    ``budgets`` [B]: log2 of the budgets of the curve, ascending; ``curve`` [samples, B]: mean losses;
    ``lost`` [samples]. Infinite where the loss is smaller than the curve's last, minus infinity where it is
    larger than its first.
    """
    found = np.empty(len(lost))
    for sample, (losses, loss) in enumerate(zip(curve, lost, strict=True)):
        falling = np.log(np.maximum(falling_fit(losses), SMALLEST))
        at = math.log(max(loss, SMALLEST))
        # Ascending in the loss, from the largest budget to the smallest.
        found[sample] = np.interp(at, falling[::-1], budgets[::-1], left=math.inf, right=-math.inf)
    return found


def falling_fit(values: Floats) -> Floats:
    """The falling sequence nearest to the values, in squares (pool adjacent violators)."""
    blocks: list[list[float]] = []
    for value in values:
        blocks.append([float(value), 1.0])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            mean, number = blocks.pop()
            blocks[-1][0] = (blocks[-1][0] * blocks[-1][1] + mean * number) / (blocks[-1][1] + number)
            blocks[-1][1] += number
    return np.repeat([mean for mean, _ in blocks], [int(number) for _, number in blocks])


def _thousandths(figure: Figure, form: str = ".1f") -> str:
    low, high = figure.interval
    return number(1000 * figure.value, form, half=500 * (high - low))


def _speedup(figure: Figure) -> str:
    """The speedup with its interval, or on which side of the curve it lies."""
    if math.isfinite(figure.value) and figure.value > 0:
        return number(figure.value, interval=[end if math.isfinite(end) else None for end in figure.interval])
    return "beyond the curve" if figure.value > 0 else "below the curve"
