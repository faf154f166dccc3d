"""A match by the clock on the wall: what threads of one machine buy in strength.

    python -m cluster.lab.studies.timed_match gomoku:size=9 strategy=subtree,workers=2 lanes=1 --seconds 0.5

Players of `banyan match` have CPU time, in one thread. Here a player is options of `banyan.search`, and both
have the same wall time for each move, one after the other, so that each has the whole machine. Games are
played in pairs from one random opening with swapped sides. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import games
from cluster.front_door.calls import search
from cluster.matches.game import MOVES, MatchContext, seed_of, start_of
from cluster.matches.statistics import elo_of, mean, score_interval
from games.errors import InvalidInput
from games.game import Game
from games.spec import parse_spec

OPENING_PLIES = 2
EARLY = 10
"""Moves of a game whose simulations are counted: late ones are proven, or cheap."""

Options = Mapping[str, Any]


def read_options(text: str) -> Options:
    """Options such as ``strategy=subtree,workers=2``; workers are threads, where nothing else is said."""
    options = parse_spec(f"search:{text}", "player").options
    return {"executor": "threads"} | {
        name: int(value) if value.isdigit() else value for name, value in options.items()
    }


def play_pair(
    game: Game, players: Sequence[Options], seconds: float, seed: int, pair: int
) -> tuple[float, tuple[list[int], list[int]]]:
    """The score of the first player in both games, from 0 to 1, and the simulations of early moves."""
    context = MatchContext(game.spec, None, ("", ""), seed, OPENING_PLIES)
    score, simulations = 0.0, (list[int](), list[int]())
    for leg in (0, 1):
        state, opening, _ = start_of(context, game, pair)
        moves = list(opening)
        while game.legal_moves(state):
            mover = int(game.calls.current_player(state))
            who = mover ^ leg
            found = search(
                game.spec,
                moves=tuple(moves),
                seconds=seconds,
                seed=seed_of(seed, MOVES, pair, leg, len(moves)),
                **players[who],
            )
            if len(moves) < EARLY:
                simulations[who].append(found.simulations)
            assert found.move is not None
            moves.append(found.move)
            game.calls.play(state, game.parse_move(state, found.move))
        value = (float(game.calls.returns(state)) + 1) / 2
        score += (value if leg == 0 else 1 - value) / 2
    return score, simulations


def main() -> None:
    """Print a line for each pair of games, and the standing last."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", metavar="GAME", help="a game of two players in which nothing is hidden")
    parser.add_argument("a", metavar="A", help="options of banyan.search: strategy=subtree,workers=2")
    parser.add_argument("b", metavar="B", help="the same: lanes=1,workers=1")
    parser.add_argument("--seconds", type=float, default=0.5, help="wall time for each move (0.5)")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of games (20)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    try:
        game = games.load(given.game)
        players = [read_options(given.a), read_options(given.b)]
        for player in players:
            # Compiled, or loaded, before the first clock runs.
            search(game.spec, simulations=10_000, **player)
        scores: list[float] = []
        counts: tuple[list[int], list[int]] = ([], [])
        for pair in range(given.pairs):
            score, simulations = play_pair(game, players, given.seconds, given.seed, pair)
            scores.append(score)
            for count, more in zip(counts, simulations, strict=True):
                count.extend(more)
            low, high = score_interval(scores)
            ratio = median(counts[0]) / median(counts[1])
            print(
                f"{pair + 1} pairs: A scores {mean(scores):.1%} ({low:.1%} to {high:.1%}), "
                f"Elo {elo_of(mean(scores)):+.0f}, simulations {ratio:.2f} to 1",
                flush=True,
            )
    except InvalidInput as error:
        sys.exit(f"timed_match: {error}")


if __name__ == "__main__":
    main()
