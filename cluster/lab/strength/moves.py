"""Sharp positions, and the moves of players in them.

Positions come from games of uniformly random moves. A position is taken if at most a third of its moves keep
its value, so that a player who does not see the difference loses more often than not. Where such positions
are still too easy, only those are taken in which a short search has lost something.

A unit is a few moves of one player. A move has a number: that of its position, and MAX_POSITIONS more for
each earlier try in the same position. The seed of a search follows from the seed of the measurement and this
number, so a unit that is lost is run again with the same moves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import games
from cluster.matches.game import ask, seed_of
from cluster.runtime.jobset import Unit, UnitWorker
from games.errors import InvalidInput
from games.game import FIRST, Game, Judge, State
from search.players import Player, player_of

MAX_POSITIONS = 1_000_000
"""The most positions of a measurement."""
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


class Move(NamedTuple):
    """A move that a player chose, and its cost."""

    move: str
    cpu_s: float


@dataclass(frozen=True)
class MoveContext:
    """A player, and the positions in which it moves."""

    game: str
    game_source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    player: str
    positions: tuple[str, ...]
    seed: int


class MoveWorker(UnitWorker):
    """Runs units one after the other in its process."""

    def load(self, context: MoveContext) -> None:
        self._game = games.load(context.game, context.game_source, tried=False)
        self._player = player_of(context.player, self._game)
        self._warm = False

    def find(self, context: MoveContext, unit: Unit) -> dict[int, Move]:
        """The moves of a unit by number. Raises PlayerFailed."""
        if not self._warm:
            # So that no move includes the time to compile or load kernels.
            self._move(context, unit.what[0])
            self._warm = True
        return {number: self._move(context, number) for number in unit.what}

    def _move(self, context: MoveContext, number: int) -> Move:
        state = self._game.parse_position(context.positions[number % MAX_POSITIONS])
        choice, cpu_s = ask(self._player, self._game, state, seed_of(context.seed, number))
        return Move(self._game.format_move(state, choice.move), cpu_s)


def numbers_of(positions: int, tries: int) -> list[int]:
    """The numbers of all moves: the first try in every position, then the second."""
    return [attempt * MAX_POSITIONS + place for attempt in range(tries) for place in range(positions)]
