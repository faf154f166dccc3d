"""Honest shooters at a hidden fleet: how many shots each needs to sink it.

    python -m tests.battleship_shooters --games 2000 --samples 1000
    python -m tests.battleship_shooters --shooters greedy ahead --games 500
    python -m tests.battleship_shooters --shooters search --games 2000 --simulations 1000
    python -m tests.battleship_shooters --shooters density uct:playout_plies=0,simulations=300 --games 200

The standard fleet, placed uniformly, touching allowed, sunk ships announced. All shooters meet the
same fleets, so the difference from the shooter before is printed too, over pairs of games. They are
players (search/players/shooters.py) and see what a search sees, Game.observation: ``greedy`` is
``posterior``, ``ahead`` the same with a width, and ``search`` is ``uct:preset=best``; any other
name is a player's spec.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np
import numpy.typing as npt

import games
from games.battleship import rules
from games.rng import new_stream
from search.players import Player, Seen, player_of

GAME = games.load("battleship:task=solo,announce_sunk=yes")


def shots_needed(player: Player, seed: int) -> int:
    """One game: the fleet and the shooter's draws depend on the seed alone."""
    state, shots = GAME.initial_state(), 0
    GAME.calls.determinize(GAME.observation(state, games.FIRST), state, new_stream(seed, 2))
    while not GAME.calls.is_terminal(state):
        legal, shots = GAME.legal_moves(state), shots + 1
        move = legal[0]
        if len(legal) > 1:
            seen = Seen(GAME, GAME.observation(state, games.FIRST), games.FIRST, tuple(legal))
            move = player.choose(seen, 1000 * seed + shots).move
        GAME.calls.play(state, move)
        GAME.calls.play(state, GAME.legal_moves(state)[0])
    return int(state[rules.BLOCK + rules.SHOTS])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["random", "hunt", "parity", "density", "greedy"]
    parser.add_argument("--shooters", nargs="+", default=names)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1000, help="fleets drawn for each shot")
    parser.add_argument("--width", type=int, default=6, help="cells that `ahead` compares")
    parser.add_argument("--simulations", type=int, default=1000, help="of `search` for each shot")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    specs = {
        "greedy": f"posterior:samples={given.samples}",
        "ahead": f"posterior:samples={given.samples},width={given.width}",
        "search": f"uct:preset=best,simulations={given.simulations}",
    }
    before: npt.NDArray[np.int64] | None = None
    for name in given.shooters:
        began = time.perf_counter()
        player = player_of(specs.get(name, name), GAME)
        shots = np.array([shots_needed(player, given.seed + n) for n in range(given.games)])
        elapsed_s = time.perf_counter() - began
        line = f"{name:8} {_mean(shots)} shots, median {np.median(shots):.0f}, worst {shots.max()}"
        if before is not None:
            line += f"; less than the one before by {_mean(before - shots)}"
        print(f"{line}  ({given.games} games, {elapsed_s:.0f} s)", flush=True)
        before = shots


def _mean(values: npt.NDArray[np.int64]) -> str:
    return f"{values.mean():.2f} +- {values.std(ddof=1) / math.sqrt(len(values)):.2f}"


if __name__ == "__main__":
    sys.exit(main())
