"""All positions of a small game and the moves between them, and the tree that they unfold into.

For games that are solved (games/solving.py): every position knows who wins it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from games.errors import InvalidInput
from games.game import FIRST, State
from games.solving import Solution


@dataclass(frozen=True)
class Move:
    """A move of a position."""

    text: str
    to: int
    """Place of the position that it leads to."""


@dataclass(frozen=True, eq=False)
class Place:
    """A position."""

    text: str
    mover: int
    """Who moves; FIRST if the game is over."""
    value: int
    """The first player's: 1 he wins, 0 draw, -1 the second player wins."""
    plies: int | None
    """To the end, if the winner hurries and the loser delays; None: a draw."""
    level: int
    """Plies of the shortest way from the start."""
    moves: tuple[Move, ...]
    """None if the game is over."""

    def value_for(self, player: int) -> int:
        """1 this player wins, 0 draw, -1 the other one wins."""
        return self.value if player == FIRST else -self.value


class PositionGraph:
    """The positions by their places in the order of discovery; place 0 is the start."""

    def __init__(self, solution: Solution, most: int = 20_000) -> None:
        """Raises InvalidInput (field ``max_positions``) if there are more positions than ``most``."""
        if solution.num_positions > most:
            raise InvalidInput("max_positions", most, f"at least {solution.num_positions:,}")
        self.solution = solution
        game, states = solution.game, list(solution.states())
        levels = {0: 0}
        self.places: list[Place] = []
        for number, state in enumerate(states):
            moves = []
            for move in game.legal_moves(state):
                child = state.copy()
                game.calls.play(child, move)
                to = solution.place_of(child)
                levels.setdefault(to, levels[number] + 1)
                moves.append(Move(game.format_move(state, move), to))
            self.places.append(self._place(state, levels[number], tuple(moves)))

    @property
    def num_moves(self) -> int:
        """The edges of the graph: a position, and another that one move leads to."""
        return sum(len({move.to for move in place.moves}) for place in self.places)

    @property
    def num_ends(self) -> int:
        """Positions where the game is over."""
        return sum(not place.moves for place in self.places)

    def level_sizes(self) -> list[int]:
        """Positions at each distance from the start."""
        sizes = [0] * (1 + max(place.level for place in self.places))
        for place in self.places:
            sizes[place.level] += 1
        return sizes

    def tree_sizes(self) -> tuple[list[int], int] | None:
        """Of the tree of all games: nodes of each level, and ends in all. None if games can be endless."""
        if not self.is_finite:
            return None
        sizes, ends = [], 0
        level = {0: 1}
        while level:
            sizes.append(sum(level.values()))
            following: dict[int, int] = {}
            for number, count in level.items():
                ends += 0 if self.places[number].moves else count
                for move in self.places[number].moves:
                    following[move.to] = following.get(move.to, 0) + count
            level = following
        return sizes, ends

    def keeping(self, place: Place, player: int) -> tuple[Move, ...]:
        """The moves of this position after which ``player`` has no less than before it."""
        now = place.value_for(player)
        return tuple(move for move in place.moves if self.places[move.to].value_for(player) >= now)

    @cached_property
    def is_finite(self) -> bool:
        """Whether no position can come again: taking off positions that nothing leads to leaves none."""
        incoming = [0] * len(self.places)
        for place in self.places:
            for move in place.moves:
                incoming[move.to] += 1
        free = [number for number, count in enumerate(incoming) if not count]
        for number in free:
            for move in self.places[number].moves:
                incoming[move.to] -= 1
                if not incoming[move.to]:
                    free.append(move.to)
        return len(free) == len(self.places)

    def _place(self, state: State, level: int, moves: tuple[Move, ...]) -> Place:
        solution, game = self.solution, self.solution.game
        return Place(
            text=game.format_position(state),
            mover=int(game.calls.current_player(state)) if moves else FIRST,
            value=solution.value_of(state),
            plies=solution.plies_of(state),
            level=level,
            moves=moves,
        )
