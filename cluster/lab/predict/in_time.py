"""Strength in time: how long one core must think to play as well as a move of N workers.

    banyan strength connect_four --judge exact --hard 1000 --lanes 4,16,64 --simulations 100,1000 --out here
    banyan predict connect_four --save-costs costs.json
    python -m cluster.lab.predict.in_time here/strength.json --costs costs.json --simulation-ms 1 --out here

Several files, of the same game and seed, make one table.

Strength is what the exact judge measured. The time of a move is simulated: the same search, with a worker of
Ray with a core of its own for each lane, where a simulation takes the given time. Workers and speed do not
change an answer, so both belong to one search.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl

import games
from cluster.lab.predict.costs import Costs
from cluster.lab.predict.launch import read_costs
from cluster.lab.predict.prediction import predict
from cluster.lab.strength.strength import Cell, player_spec, read_options
from cluster.report import table as report
from cluster.report.files import write_files
from cluster.report.machine import provenance
from cluster.report.plot_frame import COLOURS, MARKERS, dress, game_name, points, save
from games.errors import InvalidInput
from games.spec import parse_spec
from games.user_games import read_text
from search.players import player_of
from search.players.uct import Uct
from search.request import SUBTREE, SearchRequest

mpl.use("Agg")
from matplotlib import pyplot as plt

WIDE, TALL = 4.5, 4.5
"""Inches of a panel."""
BESIDE = 0.06
"""Horizontal distance, in doublings, between the points of two strategies."""


@dataclass(frozen=True)
class InTime:
    """One parallel search with a worker for each lane."""

    strategy: str
    lanes: int
    simulations_per_lane: int
    move_s: float
    """Simulated time of a move."""
    equal_s: float
    """Time in which one core makes the simulations of an equally strong sequential search."""
    equal_low_s: float
    equal_high_s: float | None
    """None: more than the largest budget of a sequential search that was measured."""

    @property
    def gain(self) -> tuple[float, float, float | None]:
        """How many times longer one core thinks to play as well, and its 95 % interval."""
        high = None if self.equal_high_s is None else self.equal_high_s / self.move_s
        return self.equal_s / self.move_s, self.equal_low_s / self.move_s, high


def in_time(measured: Mapping[str, Any], costs: Mapping[str, Costs], simulation_s: float) -> list[InTime]:
    """The parallel searches of a ``strength.json`` by the exact judge whose speedup is known.

    ``costs``: by strategy; their time of a simulation is replaced by ``simulation_s``.
    """
    found = []
    for row in measured["rows"]:
        speedup, low, high = [row.get(f"strength_speedup{end}") for end in ("", "_low", "_high")]
        if row["strategy"] == "sequential" or not speedup or low is None:
            continue
        strategy, lanes = parse_spec(row["strategy"], "strategies"), row["lanes"]
        cell = Cell(strategy, lanes, row["simulations_per_lane"], row["total_simulations"])
        slow = replace(
            costs[strategy.name],
            simulation_s=simulation_s,
            crowded_simulation_s=simulation_s,
            job_cpu_share=1.0,
            cores=1,
        )
        (predicted,) = predict(request_of(measured, cell), slow, [lanes], report=lambda _: None)
        move_s = cell.total_simulations / predicted.simulations_per_s
        lane_s = cell.lane_simulations * simulation_s
        equal = speedup * lane_s, low * lane_s, None if high is None else high * lane_s
        found.append(InTime(str(strategy), lanes, cell.lane_simulations, move_s, *equal))
    return found


def request_of(measured: Mapping[str, Any], cell: Cell) -> SearchRequest:
    """The request of a parallel search, as the judge's player made it."""
    game = games.load(measured["game"])
    player = player_of(player_spec(cell.name, read_options(measured["options"]), cell), game)
    assert isinstance(player, Uct)
    return replace(player.request, seed=measured["seed"])


def table(rows: Sequence[InTime]) -> report.Table:
    """A line for each search."""
    headings = ("workers", "simulations each", "s a move", "as strong as one core in s", "gain")
    made = report.Table([*report.left("strategy"), *report.right(*headings)])
    for row in rows:
        gain, *interval = row.gain
        made.add(
            row.strategy,
            report.count(row.lanes),
            report.count(row.simulations_per_lane),
            report.number(row.move_s),
            report.number(row.equal_s),
            report.number(gain, interval=interval),
        )
    return made


def plot(game: str, rows: Sequence[InTime], simulation_s: float, where: str, path: Path) -> None:
    """A panel for each budget of a lane, a line for each strategy."""
    budgets = sorted({row.simulations_per_lane for row in rows})
    lanes = sorted({row.lanes for row in rows})
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    size = (WIDE * len(budgets), TALL)
    figure, grid = plt.subplots(
        1, len(budgets), figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    for panel, budget in zip(grid.flat, budgets, strict=True):
        panel.plot(lanes, lanes, ":", color="#999999", label="nothing is lost")
        for place, strategy in enumerate(strategies):
            own = [row for row in rows if (row.simulations_per_lane, row.strategy) == (budget, strategy)]
            gains = [row.gain for row in own]
            places = [row.lanes * 2 ** (BESIDE * place) for row in own]
            colour = COLOURS[parse_spec(strategy, "strategies").name]
            figures = [(gain, low, math.inf if high is None else high) for gain, low, high in gains]
            points(panel, places, figures, marker=MARKERS[place % 8], color=colour, label=strategy)
            beyond = [(x, gain) for x, (gain, _, high) in zip(places, gains, strict=True) if high is None]
            for x, gain in beyond:
                panel.errorbar(x, gain, yerr=gain / 2, lolims=True, color=colour)
        panel.set_title(f"{budget * simulation_s:g} s of work for each worker", fontsize=10)
        dress(panel, "workers, one lane each", doublings=lanes)
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    grid[0][0].set_ylabel("strength in time: how many times longer\none core thinks to play as well")
    title = f"What workers buy in {game_name(game)}: strength in time"
    details = (
        f"strength measured by exact values (95 % intervals), time of a move simulated with "
        f"{1000 * simulation_s:g} ms a simulation, workers are processes"
    )
    save(figure, path, title, details, where)


def read_strength(path: Path) -> dict[str, Any]:
    """The ``strength.json`` of an exact judge; raises InvalidInput (strength) for any other file."""
    accepted = "a strength.json that banyan strength --judge exact --out wrote"
    text = read_text(path, "strength", f"{accepted}, and", 2**28)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput("strength", str(path), f"{accepted} ({type(error).__name__})") from None
    if not isinstance(value, dict) or value.get("judge") != "exact":
        raise InvalidInput("strength", str(path), accepted)
    return value


def joined(files: Sequence[Path]) -> dict[str, Any]:
    """One measurement with the searches of all files. Raises InvalidInput (strength)."""
    first, *others = [read_strength(path) for path in files]
    for path, other in zip(files[1:], others, strict=True):
        for name in ("game", "options", "seed"):
            if other[name] != first[name]:
                raise InvalidInput(
                    "strength", str(path), f"a file with the {name} {first[name]!r} of {files[0]}"
                )
    return first | {"rows": [row for each in (first, *others) for row in each["rows"]]}


def main() -> None:
    """Print the table as Markdown, and write in_time.json, .csv, .png and .svg."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("strength", type=Path, nargs="+", metavar="STRENGTH.JSON")
    parser.add_argument("--costs", type=Path, metavar="COSTS.JSON", required=True)
    parser.add_argument("--simulation-ms", type=float, default=1.0, help="time of a simulation (1)")
    parser.add_argument("--out", type=Path, help="folder for in_time.json, .csv, .png and .svg")
    given = parser.parse_args()
    try:
        if not 0 < given.simulation_ms < float("inf"):
            raise InvalidInput("simulation_ms", given.simulation_ms, "a number of more than 0")
        measured = joined(given.strength)
        names = {parse_spec(row["strategy"], "strategies").name for row in measured["rows"]}
        if SUBTREE in names:
            raise InvalidInput("strength", SUBTREE, "strategies of Ray: lanes of subtree are threads")
        costs = read_costs(given.costs, sorted(names - {"sequential"}))
        simulation_s = given.simulation_ms / 1000
        rows = in_time(measured, costs, simulation_s)
        print("\n".join(report.markdown(table(rows))))
        if given.out is not None:
            lines = [asdict(row) for row in rows]
            where = str(measured["measured_on"])
            value = {"simulation_ms": given.simulation_ms, "measured_on": provenance(), "rows": lines}
            draw = partial(plot, measured["game"], rows, simulation_s, where)
            write_files(given.out, "in_time", value, lines, draw, "png", "svg")
    except InvalidInput as error:
        sys.exit(f"in_time: {error}")


if __name__ == "__main__":
    main()
