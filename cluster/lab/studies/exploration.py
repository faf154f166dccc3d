"""Which exploration constant C keeps the value of a solved game most often.

    python -m cluster.lab.studies.exploration
    python -m cluster.lab.studies.exploration --game grundy:pile=25 --simulations 300 --exploration 0.35

Positions in which some move loses value are drawn from all reachable ones, or for a game with an exact solver
from random games of STONES plies. In each of them, one sequential search is run for each constant, with the
same seeds, and its move is looked up.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator
from itertools import islice

import games
from games import FIRST, Game
from games.analysis.judge import Judge
from games.analysis.solving import solve
from games.game import State
from search.players import Seen
from search.players.uct import Uct
from search.request import SearchRequest

GAMES = ("tictactoe", "grundy", "morris:variant=three", "connect_four")
SIMULATIONS = (300, 3_000)
EXPLORATIONS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
POSITIONS = 400
STONES = (10, 24)
"""The fewest and the most plies of random games."""


def risky_positions(game: Game, number: int) -> list[tuple[State, dict[int, float]]]:
    """At most ``number`` positions, drawn with a fixed seed, whose moves differ in value.

    Each comes with the values of its moves for the player to move.
    """
    solver = game.exact_solver()
    draw = random.Random(0)
    if solver is not None:
        drawn = (values for state in random_positions(game, draw) if (values := _risky(game, solver, state)))
        return list(islice(drawn, number))
    solution = solve(game, game.initial_state())
    found = [values for state in solution.states() if (values := _risky(game, solution, state))]
    return draw.sample(found, min(number, len(found)))


def random_positions(game: Game, draw: random.Random) -> Iterator[State]:
    """Unfinished positions after random moves, without end."""
    while True:
        state = game.initial_state()
        for _ in range(draw.randint(*STONES)):
            if moves := game.legal_moves(state):
                game.calls.play(state, draw.choice(moves))
        if not game.calls.is_terminal(state):
            yield state


def _risky(game: Game, judge: Judge, state: State) -> tuple[State, dict[int, float]] | None:
    sign = 1 if game.calls.current_player(state) == FIRST else -1
    values: dict[int, float] = {outcome.move: sign * outcome.value for outcome in judge.outcomes(state)}
    return (state.copy(), values) if len(set(values.values())) > 1 else None


def losses(
    game: Game, positions: list[tuple[State, dict[int, float]]], exploration: float, simulations: int
) -> list[float]:
    """The value lost by the search's move in each position, as a return."""
    request = SearchRequest(
        game.spec,
        strategy="root",
        lanes=1,
        simulations=simulations,
        exploration=exploration,
    )
    player = Uct(f"uct:simulations={simulations},c={exploration:g}", request)
    lost = []
    for number, (state, values) in enumerate(positions):
        mover = int(game.calls.current_player(state))
        seen = Seen(game, game.observation(state, mover), mover, tuple(game.legal_moves(state)))
        lost.append(max(values.values()) - values[player.choose(seen, number).move])
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", action="append", help="a game that can be solved")
    parser.add_argument("--simulations", type=int, action="append", help="of each search")
    parser.add_argument("--exploration", type=float, action="append", help="C for rewards in [0, 1]")
    parser.add_argument("--positions", type=int, default=POSITIONS, help="how many at most")
    given = parser.parse_args()
    for spec in given.game or GAMES:
        game = games.load(spec)
        positions = risky_positions(game, given.positions)
        for simulations in given.simulations or SIMULATIONS:
            for exploration in given.exploration or EXPLORATIONS:
                began = time.process_time()
                lost = losses(game, positions, exploration, simulations)
                wrong = sum(loss > 0 for loss in lost) / len(lost)
                error = 1.96 * math.sqrt(wrong * (1 - wrong) / len(lost))
                cpu_s = time.process_time() - began
                print(
                    f"{game.spec}, {simulations:,} simulations, C {exploration:g}: "
                    f"{100 * wrong:.1f} % +- {100 * error:.1f} of {len(lost)} moves lose ({cpu_s:.0f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
