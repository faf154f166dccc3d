"""A game that is a given tree: nested lists of moves, numbers for what finished games are worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from games.game import FIRST, SECOND, Game, State
from games.rules import Moves, Rules

Tree = float | list[Any]


class TreeGame(Game):
    """FIRST moves at the root, and the players take turns; values are in [-1, 1]. Plain Python."""

    name = "tree"

    def __init__(self, tree: Tree) -> None:
        self._nodes: list[tuple[int, list[int], float]] = []
        self._add(tree, FIRST)
        self.max_moves = max(1, *(len(children) for _, children, _ in self._nodes))
        self.max_plies = len(self._nodes)
        self.rules = Rules(self._mover, self._list, self._play, self._is_over, self._value)

    def initial_state(self) -> State:
        return np.zeros(1, dtype=np.int32)

    def _add(self, tree: Tree, mover: int) -> int:
        number = len(self._nodes)
        children: list[int] = []
        self._nodes.append((mover, children, 0.0 if isinstance(tree, list) else float(tree)))
        if isinstance(tree, list):
            children += [self._add(child, SECOND - mover) for child in tree]
        return number

    def _mover(self, state: State) -> int:
        return self._nodes[state[0]][0]

    def _list(self, state: State, moves: Moves) -> int:
        children = self._nodes[state[0]][1]
        moves[: len(children)] = range(len(children))
        return len(children)

    def _play(self, state: State, move: int) -> None:
        state[0] = self._nodes[state[0]][1][move]

    def _is_over(self, state: State) -> bool:
        return not self._nodes[state[0]][1]

    def _value(self, state: State) -> float:
        return self._nodes[state[0]][2]
