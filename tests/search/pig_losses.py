"""What searches lose in Pig beside optimal play: ``python -m tests.search.pig_losses PLAYER ...``."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import Annotated

import numpy as np
import typer

from cluster.matches.statistics import Z95
from games.catalogue import load
from games.game import CHANCE, State
from games.pig.rules import HOLD, MOVER, ROLL, TURN
from games.rng import new_stream
from search.players.catalogue import player_of
from search.players.player import Seen
from tests.games.naive_pig import Probabilities, win_probabilities

GOAL = 100


def worth_of(values: Probabilities, state: State) -> dict[int, float]:
    """By legal move the probability to win of the player to move, if both play optimally afterwards."""
    mover, turn = int(state[MOVER]), int(state[TURN])
    own, other = int(state[mover]), int(state[1 - mover])
    if own + turn >= GOAL:
        return {HOLD: 1.0}
    faces = sum(values[own, other, turn + face] for face in range(2, 7))
    return {
        ROLL: float(1.0 - values[other, own, 0] + faces) / 6,
        HOLD: float(1.0 - values[other, own + turn, 0]),
    }


def main(players: Annotated[list[str], typer.Argument(help="Players.")], games: int = 40) -> None:
    """Let each play an optimal player, sides swapped after each game, and print a row of a table."""
    game, values = load(f"pig:goal={GOAL}"), win_probabilities(GOAL, 1e-9)
    scratch = np.zeros(game.max_moves, dtype=np.uint16)
    assert game.calls.chance is not None
    for spec in players:
        player = player_of(spec, game)
        losses, right, decisions, won = [], 0, 0, 0
        for number in range(games):
            state, stream, side, lost = game.initial_state(), new_stream(number // 2, 9), number % 2, 0.0
            while not game.calls.is_terminal(state):
                if game.calls.current_player(state) == CHANCE:
                    move = int(game.calls.chance(state, scratch, stream))
                else:
                    worth = worth_of(values, state)
                    move = max(worth, key=lambda each: worth[each])
                    if len(worth) > 1 and state[MOVER] == side:
                        best = worth[move]
                        seen = Seen(game, state.copy(), side, tuple(sorted(worth)))
                        move = player.choose(seen, 1000 * number + decisions).move
                        lost += best - worth[move]
                        right, decisions = right + (best == worth[move]), decisions + 1
                game.calls.play(state, move)
            won += bool(game.calls.returns(state) * (1 - 2 * side) > 0)
            losses.append(100 * lost)
        half = Z95 * stdev(losses) / math.sqrt(games)
        each = sum(losses) / decisions
        print(
            f"| {spec} | {games} | {won} | {fmean(losses):.2f} ± {half:.2f} | {each:.3f} | "
            f"{100 * right / decisions:.1f} % |",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
