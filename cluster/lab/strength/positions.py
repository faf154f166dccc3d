"""Positions of known value in which careless moves lose something.

They come from games of uniformly random moves. A position is taken if at most a third of its moves keep its
value, so that a player who does not see the difference loses more often than not. Where such positions are
still too easy, only those are taken in which a short search has lost something.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.matches.game import ask, seed_of
from games.errors import InvalidInput
from games.game import FIRST, Game, Judge, State
from search.players import Player

KEEPING = 1 / 3
"""The largest share of a position's moves that keep its value."""
GAMES_PER_POSITION = 200
"""Random games without a new position after which the search for positions ends."""
HARD_GAMES_PER_POSITION = 5_000
"""The limit for hard positions: a short search may lose in one sharp position out of a hundred."""
TRIES = 2
"""Moves that a short search makes in a position, with different seeds: it is hard if one of them loses."""


@dataclass(frozen=True)
class SharpPosition:
    """A position, and what each of its moves is worth."""

    text: str
    """As `Game.format_position` writes it: without the moves that led to it."""
    values: Mapping[str, int]
    """The value after each legal move, for the player who makes it: 1 win, 0 draw, -1 loss."""

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> SharpPosition:
        """The inverse of `to_json`; raises ValueError, TypeError or KeyError for anything else."""
        values = {str(move): int(value) for move, value in entry["values"].items()}
        return cls(str(entry["position"]), values)

    def to_json(self) -> dict[str, Any]:
        """The position as JSON."""
        return {"position": self.text, "values": self.values}

    def loss(self, move: str) -> int:
        """What the move gives away: 0, 1 (a win for a draw, a draw for a loss) or 2 (a win for a loss)."""
        return max(self.values.values()) - self.values[move]


def sharp_positions(
    game: Game,
    judge: Judge,
    count: int,
    seed: int,
    tell: Callable[[int], None] = lambda found: None,
    short_search: Player | None = None,
) -> list[SharpPosition]:
    """``count`` different sharp positions, at most one from each of a series of random games.

    The first of them are the same whatever ``count`` is. ``tell`` is called with the number found so far.
    With ``short_search`` only positions in which it loses something. Raises InvalidInput (field
    ``positions``) if the game does not have so many.
    """
    draw = random.Random(seed)
    found: dict[str, SharpPosition] = {}
    seen: set[str] = set()
    fruitless, most = 0, GAMES_PER_POSITION if short_search is None else HARD_GAMES_PER_POSITION
    while len(found) < count:
        candidates = [state for state in _random_game(game, draw) if judge.can_judge(state)]
        draw.shuffle(candidates)
        sharp = next(filter(None, (_sharp(game, judge, state) for state in candidates)), None)
        fruitless += 1
        if sharp is not None and sharp.text not in seen:
            seen.add(sharp.text)
            if short_search is None or _is_hard(game, sharp, short_search, seed):
                found[sharp.text] = sharp
                fruitless = 0
                tell(len(found))
        if fruitless > most:
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


def _is_hard(game: Game, position: SharpPosition, short_search: Player, seed: int) -> bool:
    """Whether the short search loses something in one of TRIES moves.

    Their seeds depend on the position's text, so they differ from those of the measured moves.
    """
    state = game.parse_position(position.text)
    for number in range(TRIES):
        choice, _ = ask(short_search, game, state, seed_of(seed, *position.text.encode(), number))
        if position.loss(game.format_move(state, choice.move)) > 0:
            return True
    return False
