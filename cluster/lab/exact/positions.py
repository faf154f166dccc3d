"""Positions of known value in which careless moves lose something.

They come from games of uniformly random moves. A position is taken if at most a third of its moves keep its
value, so that a player who does not see the difference loses more often than not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from games.analysis.judge import Judge
from games.errors import InvalidInput
from games.game import FIRST, Game, State

KEEPING = 1 / 3
"""The largest share of a position's moves that keep its value."""
GAMES_PER_POSITION = 200
"""Random games without a new position after which the search for positions ends."""


@dataclass(frozen=True)
class SharpPosition:
    """A position, and what each of its moves is worth."""

    text: str
    """As `Game.format_position` writes it: without the moves that led to it."""
    values: Mapping[str, int]
    """The value after each legal move, for the player who makes it: 1 win, 0 draw, -1 loss."""

    def loss(self, move: str) -> int:
        """What the move gives away: 0, 1 (a win for a draw, a draw for a loss) or 2 (a win for a loss)."""
        return max(self.values.values()) - self.values[move]


def sharp_positions(
    game: Game, judge: Judge, count: int, seed: int, tell: Callable[[int], None] = lambda found: None
) -> list[SharpPosition]:
    """``count`` different sharp positions, at most one from each of a series of random games.

    The first of them are the same whatever ``count`` is. ``tell`` is called with the number found so far.
    Raises InvalidInput (field ``positions``) if the game does not have so many.
    """
    draw = random.Random(seed)
    found: dict[str, SharpPosition] = {}
    fruitless = 0
    while len(found) < count:
        candidates = [state for state in _random_game(game, draw) if judge.can_judge(state)]
        draw.shuffle(candidates)
        sharp = next(filter(None, (_sharp(game, judge, state) for state in candidates)), None)
        fruitless += 1
        if sharp is not None and sharp.text not in found:
            found[sharp.text] = sharp
            fruitless = 0
            tell(len(found))
        if fruitless > GAMES_PER_POSITION:
            raise InvalidInput(
                "positions", count, f"at most {len(found)}: {game.spec} has no more to be found"
            )
    return [*found.values()]


def _random_game(game: Game, draw: random.Random) -> list[State]:
    """The unfinished positions of a random game, without the moves that led to them."""
    state = game.initial_state()
    passed = []
    while legal := game.legal_moves(state):
        passed.append(state.copy())
        game.calls.play(state, draw.choice(legal))
    return passed


def _sharp(game: Game, judge: Judge, state: State) -> SharpPosition | None:
    """The position, if at most KEEPING of its moves keep its value."""
    text = game.format_position(state)
    state = game.parse_position(text)
    outcomes = judge.outcomes(state)
    sign = 1 if game.calls.current_player(state) == FIRST else -1
    values = {game.format_move(state, outcome.move): sign * outcome.value for outcome in outcomes}
    best = max(values.values())
    keeping = sum(value == best for value in values.values())
    return SharpPosition(text, values) if keeping <= KEEPING * len(values) else None
