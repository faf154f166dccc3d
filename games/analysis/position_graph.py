"""The graph of all positions of a small solved game and of the moves between them.

Built from a solution (games/analysis/solving.py), so the value of every position is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from games.analysis.solving import Solution
from games.errors import InvalidInput
from games.game import FIRST


@dataclass(frozen=True)
class GraphEdge:
    """A legal move of a position: an edge of the graph."""

    text: str
    to: int
    """Index of the position that the move leads to."""


@dataclass(frozen=True, eq=False)
class GraphNode:
    """A position: a node of the graph."""

    text: str
    mover: int
    """The player to move: FIRST or SECOND; FIRST if the game is over."""
    value: int
    """The value for the first player under best play: 1 win, 0 draw, -1 loss."""
    plies: int | None
    """Plies to the end if the winner plays for a short game and the loser for a long one; None for a draw."""
    level: int
    """Length in plies of the shortest path from the start."""
    moves: tuple[GraphEdge, ...]
    """The legal moves; empty if the game is over."""

    def value_for(self, player: int) -> int:
        """The value for ``player`` (FIRST or SECOND): 1 win, 0 draw, -1 loss."""
        return self.value if player == FIRST else -self.value


class PositionGraph:
    """All positions, indexed in the order of discovery; index 0 is the start."""

    def __init__(self, solution: Solution, most: int = 20_000) -> None:
        """Raises InvalidInput (field ``max_positions``) if there are more positions than ``most``."""
        if solution.num_positions > most:
            raise InvalidInput("max_positions", most, f"at least {solution.num_positions:,}")
        self.solution = solution
        game = solution.game
        unpack = game.calls.unpack
        assert unpack is not None
        self.places: list[GraphNode] = []
        keys, levels = [solution.number_of(solution.start)], [0]
        order = {keys[0]: 0}
        for key, level in zip(keys, levels, strict=True):
            # Without the history of the moves that led there.
            state = solution.start.copy()
            unpack(np.uint64(key), state)
            moves = []
            for move, child in game.successors(state):
                after = solution.number_of(child)
                if after not in order:
                    order[after] = len(keys)
                    keys.append(after)
                    levels.append(level + 1)
                moves.append(GraphEdge(game.format_move(state, move), order[after]))
            self.places.append(
                GraphNode(
                    text=game.format_position(state),
                    mover=int(game.calls.current_player(state)) if moves else FIRST,
                    value=solution.value_of(state),
                    plies=solution.plies_of(state),
                    level=level,
                    moves=tuple(moves),
                )
            )

    @property
    def num_moves(self) -> int:
        """The number of edges of the graph; moves of a position that lead to the same position are one
        edge."""
        return sum(len({move.to for move in place.moves}) for place in self.places)

    def level_sizes(self) -> list[int]:
        """The number of positions at each distance (in plies) from the start."""
        sizes: list[int] = np.bincount([place.level for place in self.places]).tolist()
        return sizes

    def tree_sizes(self) -> tuple[list[int], int] | None:
        """Of the complete game tree: (nodes of each level, leaves in all); None if a game can be endless."""
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

    def keeping(self, place: GraphNode, player: int) -> tuple[GraphEdge, ...]:
        """The moves of ``place`` that do not lower the value for ``player``."""
        now = place.value_for(player)
        return tuple(move for move in place.moves if self.places[move.to].value_for(player) >= now)

    @cached_property
    def is_finite(self) -> bool:
        """Whether the graph has no cycle, so that no position can occur twice in a game."""
        ends = {number: [move.to for move in place.moves] for number, place in enumerate(self.places)}
        try:
            TopologicalSorter(ends).prepare()
        except CycleError:
            return False
        return True
