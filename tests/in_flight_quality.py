"""How often a search with many leaves in flight keeps the value of a solved game, at equal simulations.

    python -m tests.in_flight_quality                        three men's morris, 1 to 64 leaves in flight
    python -m tests.in_flight_quality --game tictactoe --simulations 100 --lanes 1,32

`leaf` with one leaf a job has as many leaves in flight as lanes, so `lanes` 1 is the sequential search.
Positions are those in which a move can go wrong, drawn alike for every number. The interval is of the
difference to one leaf in flight, position by position: two standard errors. No worker is needed: how
many there are changes no answer.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import games
from games import FIRST
from games.rng import below, new_stream
from games.solving import Solution, solve
from search.final_move import choose
from search.opening import open_search
from search.request import IN_FLIGHT, SearchRequest
from search.run_here import run_here
from search.summary import root_children

GAME = "morris:variant=three,move=adjacent"


def risky_positions(solution: Solution, most: int, seed: int) -> list[tuple[str, dict[str, float]]]:
    """Positions and what each move gives away there, in points of 0 to 1; ``most`` of them, drawn."""
    game, found = solution.game, []
    for state in solution.states():
        value = solution.value_of(state)
        sign = 1 if game.calls.current_player(state) == FIRST else -1
        lost = {o.move: sign * (value - o.value) / 2 for o in solution.outcomes(state)}
        if any(lost.values()):
            named = {game.format_move(state, move): points for move, points in lost.items()}
            found.append((game.format_position(state), named))
    stream = new_stream(seed)
    for k in range(min(most, len(found))):
        other = k + below(stream, len(found) - k)
        found[k], found[other] = found[other], found[k]
    return found[:most]


def points_lost(request: SearchRequest, positions: Sequence[tuple[str, dict[str, float]]]) -> list[float]:
    """What the search's move gives away in each position."""
    lost = []
    for seed, (position, moves) in enumerate(positions):
        search = open_search(_at(request, position, seed))
        run_here(search.context, search.plan, search.strategy, 1.0, time.monotonic)
        state = search.root_state
        children = root_children(search.strategy.tree, int(search.game.calls.current_player(state)))
        lost.append(moves[search.game.format_move(state, choose(children, request.final_move).move)])
    return lost


def _at(request: SearchRequest, position: str, seed: int) -> SearchRequest:
    return replace(request, position=position, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default=GAME, help="a game that can be solved")
    parser.add_argument("--simulations", default="128,512", help="of each search")
    parser.add_argument("--lanes", default="1,2,4,8,16,32,64", help="leaves in flight")
    parser.add_argument("--positions", type=int, default=1000, help="how many are searched")
    parser.add_argument("--exploration", type=float, help="C, on the scale of rewards in [0, 1]")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    game = games.load(given.game)
    positions = risky_positions(solve(game, game.initial_state()), given.positions, given.seed)
    print(f"{game.spec}: {len(positions)} positions where a move can go wrong", flush=True)
    for simulations in map(int, given.simulations.split(",")):
        for in_flight in IN_FLIGHT:
            base: list[float] = []
            for lanes in map(int, given.lanes.split(",")):
                lost = points_lost(
                    SearchRequest(
                        game=game.spec,
                        strategy="leaf",
                        lanes=lanes,
                        simulations=simulations,
                        batch=1,
                        playouts_per_leaf=1,
                        in_flight=in_flight,
                        exploration=given.exploration,
                    ),
                    positions,
                )
                base = base or lost
                print(_line(simulations, in_flight, lanes, lost, base), flush=True)


def _line(simulations: int, in_flight: str, lanes: int, lost: list[float], base: list[float]) -> str:
    n = len(lost)
    kept = sum(points == 0 for points in lost) / n
    changes = [float(a == 0) - float(b == 0) for a, b in zip(lost, base, strict=True)]
    mean = sum(changes) / n
    error = math.sqrt(sum((change - mean) ** 2 for change in changes)) / n
    return (
        f"{simulations:5} simulations, {in_flight:12}, {lanes:3} in flight: value kept in {kept:.1%} "
        f"({mean:+.1%} +- {2 * error:.1%} to the first), {sum(lost) / n:.4f} points lost a move"
    )


if __name__ == "__main__":
    sys.exit(main())
