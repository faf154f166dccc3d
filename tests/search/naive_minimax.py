"""The slow twin of search/minimax/alphabeta.py: recursive, in plain Python, over the same rules."""

from __future__ import annotations

from games.game import FIRST, Game, State
from games.rules import Rules
from search.minimax.alphabeta import DOUBT, HURRY


def score(game: Game, state: State, depth: int, ply: int = 0) -> tuple[float, int]:
    """The first player's score of a position by minimax, and the positions visited."""
    rules: Rules = game.calls
    if rules.is_terminal(state):
        return rules.returns(state) * (1 - HURRY * ply), 1
    if depth == 0:
        value = rules.evaluate(state) if rules.evaluate is not None else 0.0
        return value * (1 - DOUBT), 1
    best = max if rules.current_player(state) == FIRST else min
    values, positions = [], 1
    for move in game.legal_moves(state):
        value, visited = score(game, after(game, state, move), depth - 1, ply + 1)
        values.append(value)
        positions += visited
    return best(values), positions


def best_moves(game: Game, state: State, depth: int) -> list[int]:
    """All moves that are as good as the best."""
    value, _ = score(game, state, depth)
    return [
        m for m in game.legal_moves(state) if score(game, after(game, state, m), depth - 1, 1)[0] == value
    ]


def after(game: Game, state: State, move: int) -> State:
    """The position after the move."""
    following = state.copy()
    game.calls.play(following, move)
    return following
