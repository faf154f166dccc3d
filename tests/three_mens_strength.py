"""How often the search's move keeps the value of a solved game, over all positions that can be reached.

    python -m tests.three_mens_strength                       # three men's morris, both ways to move
    python -m tests.three_mens_strength --game tictactoe --simulations 300 --simulations 3000

From each unfinished position one sequential search is made, and its move is looked up in the solution: it
keeps the value, or it gives away half a point or a whole one. Positions in which no move can go wrong are
counted too, and told apart.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import games
from games import FIRST, Game
from games.game import State
from games.rng import new_stream
from games.solving import Solution, solve
from search.engine import engine_of
from search.final_move import choose
from search.knobs import knobs_of
from search.opening import open_search
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.summary import root_children
from search.tree import capacity_for, clear, new_tree

GAMES = ("morris:variant=three,move=adjacent", "morris:variant=three,move=any")
BUDGETS = (500, 2_000, 10_000)
EXPLORATIONS = (0.35, 0.7, 1.0)
"""C: the default, and more of it, for games with many traps."""


def searcher(
    game: Game, simulations: int, exploration: float, solver: bool, seed: int
) -> Callable[[State, int], int]:
    """A function from a position and the number of its random stream to the move of one search."""
    request = SearchRequest(
        game=game.spec, simulations=simulations, exploration=exploration, solver=solver, seed=seed
    )
    knobs = knobs_of(open_search(request).context)
    engine = engine_of(game)
    tree = new_tree(capacity_for(DEFAULT_MEMORY_MB * 2**20, simulations))
    work = engine.new_workspace()

    def search(state: State, number: int) -> int:
        clear(tree)
        engine.simulate(tree, knobs, state, simulations, new_stream(seed, number), work)
        children = root_children(tree, int(game.calls.current_player(state)))
        return choose(children, request.final_move).move

    return search


def report(solution: Solution, simulations: int, exploration: float, solver: bool, seed: int) -> str:
    """One line: how often the value was kept."""
    game = solution.game
    search = searcher(game, simulations, exploration, solver, seed)
    begin = time.perf_counter()
    positions, risky, kept = 0, 0, 0
    lost_points: list[tuple[float, str, str]] = []
    for number, state in enumerate(solution.states()):
        outcomes = {outcome.move: outcome.value for outcome in solution.outcomes(state)}
        if not outcomes:
            continue
        positions += 1
        risky += len(set(outcomes.values())) > 1
        move = search(state, number)
        value = solution.value_of(state)
        sign = 1 if game.calls.current_player(state) == FIRST else -1
        if outcomes[move] == value:
            kept += 1
        else:
            lost = sign * (value - outcomes[move]) / 2
            lost_points.append((lost, game.format_position(state), game.format_move(state, move)))
    worst = max(lost_points, default=None)
    example = f"; worst: {worst[0]:g} point by {worst[2]} in {worst[1]}" if worst else ""
    budget = f"{simulations:,} simulations, C {exploration:g}, solver {'on' if solver else 'off'}"
    return (
        f"{game.spec}, {budget}: kept in {kept} of {positions} = {kept / positions:.3%}; "
        f"of {risky} where a move can go wrong {1 - len(lost_points) / max(1, risky):.3%}{example} "
        f"({time.perf_counter() - begin:.0f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", action="append", help="a game that can be solved")
    parser.add_argument("--simulations", type=int, action="append", help="of each search")
    parser.add_argument(
        "--exploration", type=float, action="append", help="C, on the scale of rewards in [0, 1]"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for spec in given.game or GAMES:
        game = games.load(spec)
        solution = solve(game, game.initial_state())
        for simulations in given.simulations or BUDGETS:
            for exploration in given.exploration or EXPLORATIONS:
                for solver in (False, True):
                    print(report(solution, simulations, exploration, solver, given.seed), flush=True)


if __name__ == "__main__":
    sys.exit(main())
