"""Plays searches of equal totals against each other, to show what a strategy is worth.

    python -m tests.playing_strength --games 100                 # what the README claims, in some minutes
    python -m tests.playing_strength --a "strategy=root,lanes=16" --b "strategy=root,lanes=1"

Each side is a list of fields of SearchRequest. Pairs of games start from one random opening with
sides swapped. The score of A is printed with its standard error over pairs. By default several
forms of 16 lanes play against the sequential search (one lane, one tree) of the same total.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from typing import Any

import games
from cluster.coordinator import Coordinator
from cluster.inline_executor import InlineExecutor
from cluster.session import Session
from games.rng import below, new_stream
from search.opening import open_search
from search.request import SearchRequest

SEQUENTIAL = "strategy=root,lanes=1"
CLAIMS = {
    "tree, 32 rounds, as it is by default": "strategy=tree,lanes=16,rounds=32",
    "tree, 32 rounds, lanes explore with all of C": "strategy=tree,lanes=16,rounds=32,lane_exploration=1",
    "tree, 32 rounds, no perturbation": "strategy=tree,lanes=16,rounds=32,perturbation=0",
    "tree, 32 rounds, nor anticipation": "strategy=tree,lanes=16,rounds=32,perturbation=0,anticipation=0",
    "tree, 8 rounds, neither": "strategy=tree,lanes=16,rounds=8,perturbation=0,anticipation=0",
    "root": "strategy=root,lanes=16",
}


def parse_side(text: str) -> dict[str, Any]:
    """``key=value,...`` as fields of a SearchRequest, each of the type that its default has."""
    kinds = {field.name: str(field.type) for field in fields(SearchRequest)}
    side: dict[str, Any] = {}
    for item in text.split(","):
        key, value = item.split("=")
        kind = kinds[key]
        side[key] = int(value) if kind.startswith("int") else float(value) if "float" in kind else value
    return side


def best_move(game: str, position: str, side: dict[str, Any], seed: int) -> str:
    """The move of one search."""
    search = open_search(SearchRequest(game=game, position=position, seed=seed, **side))
    executor = InlineExecutor()
    executor.open(search.context)
    answer = Session(Coordinator(search, 1), executor).run().answer
    assert answer.best_move is not None
    return answer.best_move


def play_game(
    game_text: str, opening: list[str], first: dict[str, Any], second: dict[str, Any], seed: int
) -> float:
    """The first player's return."""
    game = games.load(game_text)
    state = game.initial_state()
    game.play_text(state, opening)
    ply = 0
    while not game.rules.is_terminal(state):
        side = first if game.rules.current_player(state) == games.FIRST else second
        move = best_move(game_text, game.format_position(state), side, seed * 1000 + ply)
        game.play_text(state, [move])
        ply += 1
    return float(game.rules.returns(state))


def random_opening(game_text: str, plies: int, seed: int) -> list[str]:
    """Moves drawn at random, after which the game is not over."""
    game = games.load(game_text)
    stream = new_stream(seed, 7)
    while True:
        state = game.initial_state()
        moves = []
        for _ in range(plies):
            legal = game.legal_moves(state)
            if not legal:
                break
            move = legal[below(stream, len(legal))]
            moves.append(game.format_move(state, move))
            game.rules.play(state, move)
        if not game.rules.is_terminal(state):
            return moves


def play_pair(task: tuple[str, str, str, int, int, int]) -> float:
    """A's score, from 0 to 1, over two games with sides swapped."""
    game, a_text, b_text, simulations, plies, seed = task
    a = {"simulations": simulations} | parse_side(a_text)
    b = {"simulations": simulations} | parse_side(b_text)
    opening = random_opening(game, plies, seed)
    total = play_game(game, opening, a, b, seed) - play_game(game, opening, b, a, seed)
    return 0.5 + total / 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="gomoku:size=9")
    parser.add_argument("--simulations", type=int, default=6400, help="a move, in all lanes together")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--opening-plies", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--a", action="append", help="fields of A's request; several are played one after the other"
    )
    parser.add_argument("--b", default=SEQUENTIAL, help="fields of B's request")
    given = parser.parse_args()
    sides = {text: text for text in given.a} if given.a else CLAIMS
    with ProcessPoolExecutor(given.processes) as pool:
        for name, text in sides.items():
            tasks = [
                (given.game, text, given.b, given.simulations, given.opening_plies, given.seed + i)
                for i in range(given.games // 2)
            ]
            scores = list(pool.map(play_pair, tasks))
            mean = sum(scores) / len(scores)
            variance = sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1)
            error = math.sqrt(variance / len(scores))
            print(f"{mean:6.1%} +- {error:.1%}  {name}  ({2 * len(scores)} games)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
