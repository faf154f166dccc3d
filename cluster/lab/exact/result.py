"""What players lose by their moves, and what lanes are worth by that.

The loss of a move is the exact value of the position minus that of the move, for the player who makes it. The
sequential search's mean loss by its budget is the curve on which a parallel search is read: its strength
speedup is the budget of a sequential search with an equal mean loss, divided by the budget of one lane. The
curve is made monotone (isotonic regression: pool adjacent violators) and interpolated in the logarithm of the
budget and of the loss.

All players move in the same positions, in each as often. Intervals are 95 %, by a bootstrap that resamples
positions, for all players together, so that what positions have in common cancels out. No clock, no files,
no searches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cluster.lab.exact.moves import numbers_of
from cluster.lab.exact.positions import SharpPosition
from cluster.lab.exact.store import Move
from cluster.lab.strength.strength import Cell
from cluster.matches.statistics import Interval

SAMPLES = 2000
"""Number of bootstrap samples."""
SMALLEST = 1e-9
"""A mean loss of 0 counts as this where its logarithm is taken."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """An estimate with its 95 % interval."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class Row:
    """One player's results."""

    cell: Cell | None
    """The parallel search; None for a sequential one."""
    simulations: int
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


class ExactResult:
    """The results of players that moved in the same positions."""

    def __init__(
        self,
        positions: Sequence[SharpPosition],
        sequential: Mapping[int, Mapping[int, Move]],
        parallel: Sequence[tuple[Cell, Mapping[int, Move]]],
        seed: int,
        tries: int = 1,
    ) -> None:
        """``sequential``: moves by number, by budget; ``parallel``: searches and their moves.

        Only positions count in which all players have made all ``tries`` moves.
        """
        players = [*sequential.values(), *(moves for _, moves in parallel)]
        done = [all(n in moves for moves in players) for n in numbers_of(len(positions), tries)]
        by_position = np.reshape(done, (tries, len(positions))).all(axis=0)
        self.numbers = [int(n) for n in np.flatnonzero(by_position)]
        """The positions that count."""
        self._tries = tries
        self._positions = positions
        self._sequential = sequential
        self._parallel = parallel
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, max(1, len(self.numbers)), (SAMPLES, len(self.numbers)))
        counts = [np.bincount(each, minlength=len(self.numbers)) for each in drawn]
        self._weights = np.array([np.ones(len(self.numbers)), *counts])
        """[1 + samples, positions] how often each position counts; the first row is the data."""

    @cached_property
    def rows(self) -> list[Row]:
        """The sequential searches by budget, then the parallel ones in their order; empty without data."""
        if not self.numbers:
            return []
        budgets = sorted(self._sequential)
        means = {budget: self._means(self._losses(self._sequential[budget])) for budget in budgets}
        curve = np.stack([means[budget] for budget in budgets], axis=1)
        rows = [self._row(None, b, self._sequential[b], means[b]) for b in budgets]
        for cell, moves in self._parallel:
            lost = self._means(self._losses(moves))
            beside = _figure(lost - means[cell.total_simulations])
            found = budgets_of(np.log2(budgets), curve, lost)
            strength = _figure(np.exp2(found) / cell.lane_simulations)
            rows.append(self._row(cell, cell.total_simulations, moves, lost, beside, strength))
        return rows

    def _row(
        self,
        cell: Cell | None,
        simulations: int,
        moves: Mapping[int, Move],
        lost: Floats,
        beside: Figure | None = None,
        strength: Figure | None = None,
    ) -> Row:
        kept = self._means((self._losses(moves) == 0).astype(np.float64))
        cpu_ms = 1000 * float(np.mean([move.cpu_s for move in self._made(moves)]))
        return Row(cell, simulations, _figure(kept), _figure(lost), beside, strength, cpu_ms)

    def _losses(self, moves: Mapping[int, Move]) -> Floats:
        """[tries, positions] the loss of each move."""
        places = self.numbers * self._tries
        made = zip(places, self._made(moves), strict=True)
        losses = np.array([self._positions[n].loss(move.move) for n, move in made], dtype=np.float64)
        return losses.reshape(self._tries, len(self.numbers))

    def _made(self, moves: Mapping[int, Move]) -> list[Move]:
        """The moves that count: the first try in every position, then the second."""
        starts = numbers_of(1, self._tries)
        return [moves[start + n] for start in starts for n in self.numbers]

    def _means(self, values: Floats) -> Floats:
        """[1 + samples] the mean over the positions, and over each bootstrap sample of them.

        ``values``: [tries, positions].
        """
        return np.asarray(self._weights @ values.mean(axis=0) / len(self.numbers))


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


def _figure(values: Floats) -> Figure:
    """The value of row 0, and the middle 95 % of the other rows."""
    low, high = np.quantile(values[1:], (0.025, 0.975), method="nearest")
    return Figure(float(values[0]), (float(low), float(high)))
