"""How many rounds `tree` needs: what was measured beside what search/README.md derives.

    python -m tests.rounds_model out/scaling/full/strength/rounds out/scaling/full/strength/gomoku
    python -m tests.rounds_model ROUNDS CURVE --plot cluster/plots/rounds.svg

ROUNDS is the folder of a `banyan strength --scores-only` whose strategies are tree:rounds=R, CURVE that of
one whose sequential curve has about the same budgets. A search of R rounds on L lanes is expected to be
worth 1 - c (1 - 1/L) m(R) of its simulations; c is 1 by the derivation, and fitted here.
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

LEAST = 0.01
"""A search is worth at least so much of its simulations, whatever c is."""
CHI2_95 = 3.841
"""A sum of squares that grows by as much when one parameter is moved leaves its 95 % interval."""


@dataclass(frozen=True)
class Cell:
    """What one parallel search scored against the sequential one with as many simulations."""

    rounds: int
    lanes: int
    score: float
    error: float
    """Standard error."""


def unseen(rounds: int) -> float:
    """m(R): the share of all visits that a lane of very many has not seen, on average over a search."""
    return sum(1.0 - (r * math.log1p(1 / r) if r else 0.0) for r in range(rounds)) / rounds


def worth(c: float, rounds: int, lanes: int) -> float:
    """The share of its simulations that a sequential search needs to play as well."""
    return max(LEAST, 1.0 - c * (1.0 - 1.0 / lanes) * unseen(rounds))


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


def misfit(c: float, cells: Sequence[Cell], expected: Callable[[float, int, int], float]) -> float:
    """Sum of squares of (score - expected) / error."""
    return sum(((cell.score - expected(c, cell.rounds, cell.lanes)) / cell.error) ** 2 for cell in cells)


def fit(
    cells: Sequence[Cell], expected: Callable[[float, int, int], float]
) -> tuple[float, tuple[float, float]]:
    """c and its 95 % interval. The curve is taken as known."""
    grid = np.linspace(0.0, 3.0, 301)
    sums = np.array([misfit(c, cells, expected) for c in grid])
    inside = grid[sums <= sums.min() + CHI2_95]
    return float(grid[sums.argmin()]), (float(inside[0]), float(inside[-1]))


def pooled(cells: Sequence[Cell]) -> tuple[float, float]:
    """The mean score of cells and its standard error; each counts alike, for all have as many pairs."""
    return (
        sum(cell.score for cell in cells) / len(cells),
        math.sqrt(sum(cell.error**2 for cell in cells)) / len(cells),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores by rounds, and what is expected of them.")
    parser.add_argument("rounds", type=Path)
    parser.add_argument("curve", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    cells, total = read_cells(arguments.rounds)
    elo = read_curve(arguments.curve)

    def expected(c: float, rounds: int, lanes: int) -> float:
        return score_of(elo(total * worth(c, rounds, lanes)) - elo(total))

    numbers = sorted({cell.lanes for cell in cells})
    many = [cell for cell in cells if cell.lanes > 1]
    print("| rounds | m(R) | " + " | ".join(f"{n} lanes" for n in numbers) + " | pooled | c = 1 |")
    print("|" + " ---: |" * (len(numbers) + 4))
    for rounds in sorted({cell.rounds for cell in cells}):
        here = {cell.lanes: cell for cell in cells if cell.rounds == rounds}
        score, error = pooled([cell for cell in here.values() if cell.lanes > 1])
        columns = [f"{100 * here[n].score:.0f} ± {100 * Z95 * here[n].error:.0f}" for n in numbers]
        columns += [f"{100 * score:.0f} ± {100 * Z95 * error:.0f}"]
        columns += [f"{100 * expected(1.0, rounds, 16):.0f}"]
        print(f"| {rounds} | {unseen(rounds):.3f} | " + " | ".join(columns) + " |")
    c, (low, high) = fit(many, expected)
    print(f"\nall lanes: c = {c:.2f} ({low:.2f} to {high:.2f})")
    misfits = [misfit(value, many, expected) for value in (c, 1.0)]
    print(f"misfit {misfits[0]:.0f} of {len(many)} scores (c = 1: {misfits[1]:.0f})")
    for n in numbers:
        of_lanes = [cell for cell in cells if cell.lanes == n]
        if n > 1:
            c_n, (low, high) = fit(of_lanes, expected)
            print(f"{n} lanes alone: c = {c_n:.2f} ({low:.2f} to {high:.2f})")
    if arguments.plot:
        draw(cells, expected, c, arguments.plot)


def draw(cells: Sequence[Cell], expected: Callable[[float, int, int], float], c: float, path: Path) -> None:
    """Scores by rounds, a line for each number of lanes, and what is expected of 16."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panel = plt.subplots(figsize=(7, 4.2), layout="constrained")
    numbers = sorted({cell.lanes for cell in cells})
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
    rounds = sorted({cell.rounds for cell in cells})
    line = range(rounds[0], rounds[-1] + 1)
    for value, style, label in ((1.0, "-", "derived, c = 1"), (c, "--", f"fitted, c = {c:.2f}")):
        panel.plot(line, [100 * expected(value, r, 16) for r in line], style, color="#555555", label=label)
    panel.set_xscale("log", base=2)
    panel.set_xticks(rounds, [str(r) for r in rounds])
    panel.set_xticks([], minor=True)
    panel.set_ylim(0, 80)
    panel.set_xlabel("rounds")
    panel.set_ylabel("score against the sequential search\nwith the same total, %")
    panel.grid(color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, frameon=False, ncols=2)
    with mpl.rc_context({"svg.hashsalt": "banyan"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
