"""Counts the lines of play that a player loses when its opponent tries every move.

    python -m cluster.lab.studies.every_line tictactoe uct:simulations=500,c=0.35 --seeds 1000

The player moves once in each position that it can reach; each seed is a separate player. Lines that reach a
position by different moves are counted separately. The game must be without chance and small.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import games
from cluster.lab.sources.counts import Opponents
from cluster.matches.game import seed_of
from cluster.report import table as report
from games import FIRST, SECOND
from games.game import Game
from search.players import player_of

SIDES = {FIRST: "first", SECOND: "second"}


def lines_of(game: Game, spec: str, side: int, seeds: int) -> tuple[Counter[int], int]:
    """Counts of the results of all lines over all seeds, and the number of seeds with a lost line.

    Results are 1, 0 or -1 from the player's viewpoint.
    """
    player, total, losing = player_of(spec, game), Counter[int](), 0
    for seed in range(seeds):
        lines = Opponents(game, player, seed_of(seed)).lines(game.initial_state(), side)
        total += lines
        losing += lines[-1] > 0
    return total, losing


def main() -> None:
    """Follow all lines of each player on both sides, and print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("players", metavar="PLAYER", nargs="+")
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds, from 0 on")
    given = parser.parse_args()
    game = games.load(given.game)
    headings = ("lines", "won", "drawn", "lost", "seeds that lose")
    table = report.Table([*report.left("player", "plays"), *report.right(*headings)])
    for spec in given.players:
        for side, name in SIDES.items():
            found, losing = lines_of(game, spec, side, given.seeds)
            counts = (found.total(), found[1], found[0], found[-1], losing)
            table.add(report.code(spec), name, *map(report.count, counts))
            print(f"{spec}, {name} player: done", file=sys.stderr, flush=True)
    print(f"{game.spec}, {given.seeds} seeds\n")
    print("\n".join(report.markdown(table)))


if __name__ == "__main__":
    main()
