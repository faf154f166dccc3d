"""Measures the number of shots that Battleship players need to sink a hidden fleet.

    python -m cluster.lab.studies.shooters random density posterior:samples=1000 --games 2000
    python -m cluster.lab.studies.shooters density uct:preset=best,simulations=1000 --games 200

The standard fleet is placed uniformly, ships may touch, and sunk ships are announced. All players get equal
fleets, so the difference to the previous player is computed over pairs of games. Intervals are 95 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import games
from cluster.matches.game import ask
from cluster.matches.statistics import Z95, mean, standard_error
from cluster.report import table as report
from games.battleship import rules
from games.rng import new_stream
from search.players import Player, player_of

GAME = games.load("battleship:task=solo,announce_sunk=yes")
PLAYERS = ("random", "hunt", "parity", "density", "posterior:samples=1000")


def shots_needed(player: Player, seed: int) -> int:
    """The shots of one game; the fleet and the player's random numbers depend on the seed alone."""
    state, shots = GAME.initial_state(), 0
    assert GAME.calls.determinize is not None
    GAME.calls.determinize(GAME.observation(state, games.FIRST), state, new_stream(seed, 2))
    while not GAME.calls.is_terminal(state):
        legal, shots = GAME.legal_moves(state), shots + 1
        move = legal[0] if len(legal) == 1 else ask(player, GAME, state, 1000 * seed + shots)[0].move
        GAME.calls.play(state, move)
        # The answer of the fleet, which is its only legal move.
        GAME.calls.play(state, GAME.legal_moves(state)[0])
    return int(state[rules.BLOCK + rules.SHOTS])


def table_of(players: Sequence[str], shots: Sequence[Sequence[int]]) -> report.Table:
    """A row for each player; ``shots`` is [player][game]."""
    headings = ("shots", "median", "most", "fewer than the player before")
    table = report.Table([*report.left("player"), *report.right(*headings)])
    before: Sequence[int] | None = None
    for spec, mine in zip(players, shots, strict=True):
        ordered = sorted(mine)
        fewer = [] if before is None else [float(a - b) for a, b in zip(before, mine, strict=True)]
        table.add(
            report.code(spec),
            _mean([float(number) for number in mine]),
            report.number((ordered[(len(mine) - 1) // 2] + ordered[len(mine) // 2]) / 2, "g"),
            report.count(ordered[-1]),
            _mean(fewer) if fewer else "",
        )
        before = mine
    return table


def main() -> None:
    """Play the games of each player, and print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("players", metavar="PLAYER", nargs="*", default=PLAYERS)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shots = []
    for spec in given.players:
        began, player = time.perf_counter(), player_of(spec, GAME)
        shots.append([shots_needed(player, given.seed + number) for number in range(given.games)])
        took_s = time.perf_counter() - began
        print(f"{spec}: {given.games} games, {took_s:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(report.markdown(table_of(given.players, shots))))


def _mean(values: Sequence[float]) -> report.Cell:
    return report.number(mean(values), ".2f", half=Z95 * standard_error(values))


if __name__ == "__main__":
    main()
