"""The number of rounds that strategy `tree` needs: a law fitted to scores of `banyan strength`.

    python -m cluster.lab.studies.rounds_fit out/scaling/full/strength/rounds out/scaling/full/strength/gomoku
    python -m cluster.lab.studies.rounds_fit ROUNDS CURVE --plot cluster/plots/rounds.svg

ROUNDS is the folder of a `banyan strength --scores-only` with strategies tree:rounds=R; CURVE is the folder
of a `banyan strength` with a sequential curve over similar budgets. The law: L lanes in R rounds are worth
1 / (1 + a (L - 1) / R) of their simulations. In the rival law only rounds matter: 1 / (1 + a / R).
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
from cluster.report import table as report
from cluster.report.plot_frame import save

CHI2_95 = 3.841
"""The 95 % point of chi-squared with one degree of freedom."""

Worth = Callable[[float, float, int], float]
"""A function of a, rounds and lanes: the worth of a search's simulations as a share of sequential ones."""


@dataclass(frozen=True)
class Cell:
    """The score of one parallel search against the sequential one with equal simulations."""

    rounds: int
    lanes: int
    score: float
    error: float
    """Standard error of the score."""


def by_lanes_and_rounds(a: float, rounds: float, lanes: int) -> float:
    """The law: 1 / (1 + a (lanes - 1) / rounds)."""
    return 1.0 / (1.0 + a * (lanes - 1) / rounds)


def by_rounds(a: float, rounds: float, lanes: int) -> float:
    """The rival law: 1 / (1 + a / rounds)."""
    return 1.0 / (1.0 + a / rounds) if lanes > 1 else 1.0


def read_cells(folder: Path) -> tuple[list[Cell], int]:
    """The cells of a measurement, and the number of simulations of each cell."""
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
    """A function from simulations to Elo of the sequential search, piecewise linear."""
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
    """A law, and the scores expected from it."""

    def __init__(self, worth: Worth, elo: Callable[[float], float], total: int) -> None:
        self._worth, self._elo, self._total = worth, elo, total

    def expected(self, a: float, rounds: float, lanes: int) -> float:
        """The expected score against the sequential search."""
        worth = self._worth(a, rounds, lanes)
        return score_of(self._elo(self._total * worth) - self._elo(self._total))

    def misfit(self, a: float, cells: Sequence[Cell]) -> float:
        """Sum of squares of (score - expected) / error."""
        return sum(
            ((cell.score - self.expected(a, cell.rounds, cell.lanes)) / cell.error) ** 2 for cell in cells
        )

    def fit(self, cells: Sequence[Cell]) -> tuple[float, tuple[float, float]]:
        """The best a and its 95 % interval. The error of the curve is ignored."""
        grid = np.geomspace(0.001, 100.0, 2000)
        sums = np.array([self.misfit(a, cells) for a in grid])
        inside = grid[sums <= sums.min() + CHI2_95]
        return float(grid[sums.argmin()]), (float(inside[0]), float(inside[-1]))


def table_of(cells: Sequence[Cell], law: Law, a: float) -> report.Table:
    """A table of scores and expected scores, by rounds and lanes."""
    numbers = sorted({cell.lanes for cell in cells})
    headings = [name for n in numbers for name in (_lanes(n), "by the law")]
    table = report.Table(report.right("rounds", *headings))
    for rounds in sorted({cell.rounds for cell in cells}):
        here = {cell.lanes: cell for cell in cells if cell.rounds == rounds}
        row = [report.count(rounds)]
        for n in numbers:
            row.append(report.percent(here[n].score, half=Z95 * here[n].error))
            row.append(report.percent(law.expected(a, rounds, n)))
        table.add(*row)
    return table


def main() -> None:
    """Fit both laws, print the scores as a table and the fits below it, and draw them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rounds", type=Path)
    parser.add_argument("curve", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    cells, total = read_cells(arguments.rounds)
    elo = read_curve(arguments.curve)
    law, rival = Law(by_lanes_and_rounds, elo, total), Law(by_rounds, elo, total)
    many = [cell for cell in cells if cell.lanes > 1]
    a, (low, high) = law.fit(many)
    print("\n".join(report.markdown(table_of(cells, law, a))))
    print(f"\na = {a:.3f} ({low:.3f} to {high:.3f}); misfit {law.misfit(a, many):.1f} of {len(many)} scores")
    b, _ = rival.fit(many)
    print(f"rounds alone: misfit {rival.misfit(b, many):.1f}")
    for n in sorted({cell.lanes for cell in many}):
        a_n, (low, high) = law.fit([cell for cell in cells if cell.lanes == n])
        print(f"{_lanes(n)} alone: a = {a_n:.3f} ({low:.3f} to {high:.3f})")
    if arguments.plot:
        draw(cells, law, a, arguments.plot)


def _lanes(number: int) -> str:
    return f"{number} lane{'s' * (number > 1)}"


def draw(cells: Sequence[Cell], law: Law, a: float, path: Path) -> None:
    """Plot scores by rounds, with a colour for each number of lanes, and the expected scores as lines."""
    from matplotlib import pyplot as plt

    figure, panel = plt.subplots(figsize=(7, 4.6), layout="constrained")
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
            label=_lanes(n),
        )
        if n > 1:
            line = np.geomspace(rounds[0], rounds[-1], 100)
            panel.plot(line, [100 * law.expected(a, r, n) for r in line], "-", color=colour, linewidth=1)
    panel.set_xscale("log", base=2)
    panel.set_xticks(rounds, [str(r) for r in rounds])
    panel.set_xticks([], minor=True)
    panel.set_ylim(0, 80)
    panel.set_xlabel("rounds")
    panel.set_ylabel("score against the sequential search\nwith the same total, %")
    panel.grid(color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, path, "Scores by the number of rounds", f"lines: the law with a = {a:.2f}")


if __name__ == "__main__":
    main()
