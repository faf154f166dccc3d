"""Whether the search ever loses at tic-tac-toe: every line of play of its opponent is tried, for both sides.

    python -m tests.tictactoe_never_loses                                      # several budgets
    python -m tests.tictactoe_never_loses --simulations 500 --exploration 0.35 --seeds 1000

One sequential search is made in each position that the searching side can come to, and one seed means one
answer in each. Lines are counted whole: two that come to one position by different moves are two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import games
from games import FIRST, SECOND
from games.game import State
from search.players.presets import PRESETS
from search.request import EXPLORATION
from tests.three_mens_strength import searcher

GAME = games.load("tictactoe")
EXPLORATIONS = (EXPLORATION, 0.7, 1.0, float(PRESETS["tictactoe-article"]["exploration"]))
BUDGETS = (50, 100, 200, 300, 500, 700, 1_000, 2_000, 5_000, 10_000)
Answer = Callable[[State], int]


@dataclass
class Lines:
    """How many lines of play end in which way for the side that searches."""

    won: int = 0
    drawn: int = 0
    lost: int = 0


def all_lines(answer: Answer, side: int) -> Lines:
    """Every line of play against who has that side and answers a position with a legal move."""
    lines = Lines()
    _follow(answer, side, GAME.initial_state(), {}, lines)
    return lines


def _follow(answer: Answer, side: int, state: State, answers: dict[bytes, int], lines: Lines) -> None:
    """Count the lines from ``state`` on; ``answers`` and ``lines`` are modified in place."""
    legal = GAME.legal_moves(state)
    if not legal:
        value = GAME.calls.returns(state) * (1 if side == FIRST else -1)
        lines.won, lines.drawn, lines.lost = (
            lines.won + (value > 0),
            lines.drawn + (value == 0),
            lines.lost + (value < 0),
        )
        return
    if GAME.calls.current_player(state) == side:
        key = state.tobytes()
        if key not in answers:
            answers[key] = legal[0] if len(legal) == 1 else answer(state)
        legal = [answers[key]]
    for move in legal:
        after = state.copy()
        GAME.calls.play(after, move)
        _follow(answer, side, after, answers, lines)


def searching(simulations: int, exploration: float, solver: bool, seed: int) -> Answer:
    """The search as an answer; each position has a random stream of its own."""
    search = searcher(GAME, simulations, exploration, solver, seed)
    return lambda state: search(state, int.from_bytes(state.tobytes(), "little") % 2**61)


def report(simulations: int, exploration: float, solver: bool, seeds: int) -> str:
    """One line: how often the search lost."""
    told = []
    for side, name in ((FIRST, "first"), (SECOND, "second")):
        found = [all_lines(searching(simulations, exploration, solver, seed), side) for seed in range(seeds)]
        lost, lines = sum(one.lost for one in found), sum(one.won + one.drawn + one.lost for one in found)
        losing = sum(one.lost > 0 for one in found)
        told.append(f"{name} player: lost {lost} of {lines:,} lines, with {losing} of {seeds} seeds")
    budget = f"{simulations:,} simulations, C {exploration:g}, solver {'on' if solver else 'off'}"
    return f"{budget}: {'; '.join(told)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, action="append", help="of each search")
    parser.add_argument(
        "--exploration", type=float, action="append", help="C, on the scale of rewards in [0, 1]"
    )
    parser.add_argument("--solver", action="store_true", help="propagate proven results")
    parser.add_argument("--seeds", type=int, default=100, help="how many, from 0 on")
    given = parser.parse_args()
    for exploration in given.exploration or EXPLORATIONS:
        for simulations in given.simulations or BUDGETS:
            print(report(simulations, exploration, given.solver, given.seeds), flush=True)


if __name__ == "__main__":
    sys.exit(main())
