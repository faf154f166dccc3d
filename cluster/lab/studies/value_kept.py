"""Measures how often the moves of players keep the value of a solved game.

    python -m cluster.lab.studies.value_kept morris:variant=three,move=adjacent uct:simulations=500,c=1
    python -m cluster.lab.studies.value_kept tictactoe uct:strategy=leaf,lanes=1,batch=1,simulations=128 \\
        uct:strategy=leaf,lanes=32,batch=1,simulations=128 --positions 800

Each player moves once in each position in which some move loses value: in all of them, or in a random sample
of the size --positions. A move that turns a win into a draw, or a draw into a loss, loses half a point.
Intervals are 95 %; the difference to the first player is paired by position.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import games
from cluster.matches.game import ask, seed_of
from cluster.matches.statistics import Z95, mean, standard_error, wilson
from cluster.report import table as report
from games.analysis.solving import Solution, solve
from games.game import FIRST, State
from search.players import player_of


@dataclass(frozen=True)
class Position:
    """A position in which some move loses value, and the points that each legal move loses."""

    state: State
    lost: dict[int, float]


def risky_positions(solution: Solution) -> tuple[list[Position], int]:
    """Positions in which some move loses value, and the number of all unfinished positions."""
    game, found, unfinished = solution.game, [], 0
    for state in solution.states():
        sign = 1 if game.calls.current_player(state) == FIRST else -1
        value = solution.value_of(state)
        lost = {each.move: sign * (value - each.value) / 2 for each in solution.outcomes(state)}
        unfinished += bool(lost)
        if any(lost.values()):
            found.append(Position(state, lost))
    return found, unfinished


def points_lost(solution: Solution, spec: str, positions: Sequence[Position], seed: int) -> list[float]:
    """The points that the player's move loses in each position."""
    game = solution.game
    player = player_of(spec, game)
    lost = []
    for number, position in enumerate(positions):
        choice, _ = ask(player, game, position.state, seed_of(seed, number))
        lost.append(position.lost[choice.move])
    return lost


def table_of(players: Sequence[str], lost: Sequence[Sequence[float]]) -> report.Table:
    """A row for each player; ``lost`` is [player][position]."""
    table = report.Table(
        [*report.left("player"), *report.right("value kept", "beside the first", "points lost a move")]
    )
    for spec, mine in zip(players, lost, strict=True):
        kept = sum(points == 0 for points in mine)
        beside = [float(a == 0) - float(b == 0) for a, b in zip(mine, lost[0], strict=True)]
        change, half = mean(beside), Z95 * standard_error(beside)
        table.add(
            report.code(spec),
            report.percent(kept / len(mine), 1, wilson(kept, len(mine))),
            report.percent(change, 1, half=half, signed=True),
            report.number(mean(mine), ".4f"),
        )
    return table


def main() -> None:
    """Solve the game, let each player move in the positions, and print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", metavar="GAME", help="a game that can be solved")
    parser.add_argument("players", metavar="PLAYER", nargs="+")
    parser.add_argument("--positions", type=int, help="number of positions to draw; default: all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    game = games.load(given.game)
    solution = solve(game, game.initial_state())
    positions, unfinished = risky_positions(solution)
    print(f"{game.spec}: a move can go wrong in {len(positions):,} of {unfinished:,} unfinished positions\n")
    if given.positions is not None and given.positions < len(positions):
        positions = random.Random(given.seed).sample(positions, given.positions)
    lost = []
    for spec in given.players:
        began = time.perf_counter()
        lost.append(points_lost(solution, spec, positions, given.seed))
        took_s = time.perf_counter() - began
        print(f"{spec}: {len(positions)} positions, {took_s:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(report.markdown(table_of(given.players, lost))))


if __name__ == "__main__":
    main()
