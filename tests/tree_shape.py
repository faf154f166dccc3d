"""What the trees of searches look like: how deep they look, and over how many moves visits are spread.

    python -m tests.tree_shape GAME PLAYER PLAYER... --seeds 6
    python -m tests.tree_shape morris uct:strategy=tree,lanes=64,simulations=32000

A parallel search that is as good as the sequential one makes a tree of the same shape: `tree` with one
lane, which shares as much of it, is what to compare with. It takes seconds, where games take hours to tell
two settings apart; but a deeper tree is no better by itself, so games must say whether one is.

Depth is the mean length of the way to a leaf; moves are the effective number that the root's visits are
spread over (the exponential of their entropy), and that the most visited child's are. Means over seeds;
± two standard errors.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import games
from cluster.matches.statistics import mean, standard_error
from search.opening import open_search
from search.players import player_of
from search.players.uct import Uct
from search.request import SearchRequest
from search.run_here import run_here
from search.statistics import snapshot
from search.tree import NODES


def effective(visits: npt.NDArray[Any]) -> float:
    """How many moves as many visits would be, spread evenly: [k] counts, of which one is not 0."""
    shares = visits[visits > 0] / visits.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def shape(request: SearchRequest) -> tuple[float, float, float]:
    """Mean depth, and effective moves at the root and at its most visited child."""
    search = open_search(request)
    run_here(search.context, search.plan, search.strategy, 1.0, time.monotonic)
    tree = search.strategy.tree
    rows, _ = snapshot(tree, 1, int(tree.counts[NODES]))
    visits = rows.visits.astype(np.int64)
    count = int(rows.num_children[0])
    children = visits[1 : 1 + count]
    best = int(children.argmax())
    first = 1 + int(rows.num_children[: 1 + best].sum())
    replies = visits[first : first + int(rows.num_children[1 + best])]
    return float(visits[1:].sum() / visits[0]), effective(children), effective(replies)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the trees of searches look like.")
    parser.add_argument("game", metavar="GAME")
    parser.add_argument(
        "players", metavar="PLAYER", nargs="+", help="uct with strategy=root or tree, and simulations"
    )
    parser.add_argument("--moves", default="", help="from the start, in the game's notation")
    parser.add_argument("--seeds", type=int, default=6)
    asked = parser.parse_args()
    game = games.load(asked.game)
    print("| player | depth | moves at the root | at its best child |\n| --- | ---: | ---: | ---: |")
    for spec in asked.players:
        player = player_of(spec, game)
        if not isinstance(player, Uct) or player.request.simulations is None:
            parser.error(f"{spec}: uct with a number of simulations is what can be compared")
        request = replace(player.request, moves=tuple(asked.moves.split()))
        found = [shape(replace(request, seed=seed)) for seed in range(asked.seeds)]
        cells = [
            f"{mean(column):.2f} ± {2 * standard_error(column):.2f}" for column in zip(*found, strict=True)
        ]
        print(f"| {spec} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
