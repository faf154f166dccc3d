"""How many rounds `tree` needs: a law fitted to what was measured, see search/README.md.

    python -m tests.rounds_fit out/scaling/full/strength/rounds out/scaling/full/strength/gomoku
    python -m tests.rounds_fit ROUNDS CURVE --plot cluster/plots/rounds.svg

ROUNDS is the folder of a `banyan strength --scores-only` whose strategies are tree:rounds=R, CURVE that of
one with a sequential curve of about the same budgets. The law: L lanes in R rounds are worth
1 / (1 + a (L - 1) / R) of their simulations. Its rival says that rounds alone matter: 1 / (1 + a / R).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cluster.matches.statistics import Z95, score_of

CHI2_95 = 3.841
"""A sum of squares that grows by as much when one parameter is moved leaves its 95 % interval."""

Worth = Callable[[float, int, int], float]
"""From a, rounds and lanes to the share of its simulations that a search is worth."""


@dataclass(frozen=True)
class Cell:
    """What one parallel search scored against the sequential one with as many simulations."""

    rounds: int
    lanes: int
    score: float
    error: float
    """Standard error."""


def by_lanes_and_rounds(a: float, rounds: float, lanes: int) -> float:
    return 1.0 / (1.0 + a * (lanes - 1) / rounds)


def by_rounds(a: float, rounds: int, lanes: int) -> float:
    return 1.0 / (1.0 + a / rounds) if lanes > 1 else 1.0


def read_cells(folder: Path) -> tuple[list[Cell], int]:
    """The cells of a measurement, and the simulations of each."""
    found = json.loads((folder / "strength.json").read_text())
    cells = []
    for row in found["rows"]:
        name, _, rounds = row["strategy"].partition(":rounds=")
        assert name == "tree"
        low, high = row["equal_total_interval"]
        error = (high - low) / (2 * Z95)
        cells.append(Cell(int(rounds), row["lanes"], row["equal_total_score"], error))
    return cells, found["total_simulations"]


def read_curve(folder: Path) -> Callable[[float], float]:
    """Elo by simulations of the sequential search: lines between the budgets, continued below the first."""
    points = json.loads((folder / "strength.json").read_text())["curve"]
    x = [math.log2(point["simulations"]) for point in points]
    y = [point["elo"] for point in points]

    def elo(simulations: float) -> float:
        at = math.log2(simulations)
        if at < x[0]:
            return float(y[0] + (at - x[0]) * (y[1] - y[0]) / (x[1] - x[0]))
        return float(np.interp(at, x, y))

    return elo


class Law:
    """A law, with the scores that it expects."""

    def __init__(self, worth: Worth, elo: Callable[[float], float], total: int) -> None:
        self._worth, self._elo, self._total = worth, elo, total

    def expected(self, a: float, rounds: int, lanes: int) -> float:
        """The score against the sequential search."""
        worth = self._worth(a, rounds, lanes)
        return score_of(self._elo(self._total * worth) - self._elo(self._total))

    def misfit(self, a: float, cells: Sequence[Cell]) -> float:
        """Sum of squares of (score - expected) / error."""
        return sum(
            ((cell.score - self.expected(a, cell.rounds, cell.lanes)) / cell.error) ** 2 for cell in cells
        )

    def fit(self, cells: Sequence[Cell]) -> tuple[float, tuple[float, float]]:
        """a and its 95 % interval. The curve is taken as known."""
        grid = np.geomspace(0.001, 100.0, 2000)
        sums = np.array([self.misfit(a, cells) for a in grid])
        inside = grid[sums <= sums.min() + CHI2_95]
        return float(grid[sums.argmin()]), (float(inside[0]), float(inside[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores by rounds, and a law of them.")
    parser.add_argument("rounds", type=Path)
    parser.add_argument("curve", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    cells, total = read_cells(arguments.rounds)
    elo = read_curve(arguments.curve)
    law, rival = Law(by_lanes_and_rounds, elo, total), Law(by_rounds, elo, total)
    many = [cell for cell in cells if cell.lanes > 1]
    numbers = sorted({cell.lanes for cell in cells})
    a, (low, high) = law.fit(many)

    print("| rounds |" + "".join(f" {n} lane{'s' * (n > 1)} | by the law |" for n in numbers))
    print("|" + " ---: |" * (1 + 2 * len(numbers)))
    for rounds in sorted({cell.rounds for cell in cells}):
        here = {cell.lanes: cell for cell in cells if cell.rounds == rounds}
        columns = []
        for n in numbers:
            score, error = 100 * here[n].score, 100 * Z95 * here[n].error
            columns.append(f" {score:.0f} ± {error:.0f} | {100 * law.expected(a, rounds, n):.0f} |")
        print(f"| {rounds} |" + "".join(columns))
    print(f"\na = {a:.3f} ({low:.3f} to {high:.3f}); misfit {law.misfit(a, many):.1f} of {len(many)} scores")
    b, _ = rival.fit(many)
    print(f"rounds alone: misfit {rival.misfit(b, many):.1f}")
    for n in numbers[numbers[0] == 1 :]:
        of_lanes = [cell for cell in cells if cell.lanes == n]
        a_n, (low, high) = law.fit(of_lanes)
        print(f"{n} lanes alone: a = {a_n:.3f} ({low:.3f} to {high:.3f})")
    if arguments.plot:
        draw(cells, law, a, arguments.plot)


def draw(cells: Sequence[Cell], law: Law, a: float, path: Path) -> None:
    """Scores by rounds: a colour for each number of lanes, and what the law says of it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panel = plt.subplots(figsize=(7, 4.2), layout="constrained")
    numbers = sorted({cell.lanes for cell in cells})
    rounds = sorted({cell.rounds for cell in cells})
    panel.axhline(50, linestyle=":", color="#999999", label="nothing is lost")
    looks = zip(numbers, "osD^v", ("#999999", "#1b6e9c", "#2c8c4a", "#c26a1b", "#8a3d8f"), strict=False)
    for number, (n, marker, colour) in enumerate(looks):
        mine = [cell for cell in cells if cell.lanes == n]
        beside = 2 ** (0.06 * (number - (len(numbers) - 1) / 2))
        panel.errorbar(
            [cell.rounds * beside for cell in mine],
            [100 * cell.score for cell in mine],
            yerr=[100 * Z95 * cell.error for cell in mine],
            fmt=marker,
            color=colour,
            capsize=3,
            label=f"{n} lane{'s' * (n > 1)}",
        )
        if n > 1:
            line = np.geomspace(rounds[0], rounds[-1], 100)
            panel.plot(line, [100 * law.expected(a, r, n) for r in line], "-", color=colour, linewidth=1)
    panel.set_xscale("log", base=2)
    panel.set_xticks(rounds, [str(r) for r in rounds])
    panel.set_xticks([], minor=True)
    panel.set_ylim(0, 80)
    panel.set_xlabel(f"rounds (lines: the law, a = {a:.2f})")
    panel.set_ylabel("score against the sequential search\nwith the same total, %")
    panel.grid(color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")
    with mpl.rc_context({"svg.hashsalt": "banyan"}):
        figure.savefig(path, dpi=100, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


if __name__ == "__main__":
    main()
