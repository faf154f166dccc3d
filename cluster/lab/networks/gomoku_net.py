"""A small network for gomoku on any board, in NumPy: an example of `banyan search --evaluator FILE`.

For each cell and each of the four lines through it, the inputs of the first layer are the four cells on
either side: the mover's, the opponent's, or off the board. The outputs of the four lines are added, and the
sum is the input of the second layer. Its output on empty cells gives the policy; its maximum and mean over
them give the value.
Its weights were fitted to visits and results of 9x9 games between searches that use the pattern table.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from games.game import Game
from search.evaluator import Evaluator

Floats = npt.NDArray[Any]
LINES = ((0, 1), (1, 0), (1, 1), (1, -1))
"""(rows, columns) of one step along each kind of line."""
STEPS = (-4, -3, -2, -1, 1, 2, 3, 4)
"""Offsets of the neighbours on a line that are inputs of the first layer."""


@cache
def neighbours(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """[cells, lines, steps] the index of the neighbour along a line; rows * columns is off the board."""
    found = np.full((rows * columns, len(LINES), len(STEPS)), rows * columns)
    for cell in range(rows * columns):
        for line, (down, across) in enumerate(LINES):
            for place, step in enumerate(STEPS):
                row, column = cell // columns + step * down, cell % columns + step * across
                if 0 <= row < rows and 0 <= column < columns:
                    found[cell, line, place] = row * columns + column
    return found


def windows(planes: Floats) -> Floats:
    """[B, cells, lines, 24] the contents of each cell's lines (one-hot); planes are [B, 2, rows, columns]."""
    rows, columns = planes.shape[2:]
    padded = np.zeros((len(planes), rows * columns + 1, 3), dtype=np.float32)
    padded[:, :-1, :2] = planes.reshape(len(planes), 2, -1).swapaxes(1, 2)
    padded[:, -1, 2] = 1
    return padded[:, neighbours(rows, columns)].reshape(len(planes), rows * columns, len(LINES), -1)


class GomokuNet(Evaluator):
    """The network with weights from a file in the folder of this module."""

    def __init__(self, game: Game, weights: str = "gomoku_net.npz") -> None:
        super().__init__(game)
        stored = np.load(Path(__file__).with_name(weights))
        self.weights = {name: stored[name].astype(np.float32) for name in stored}

    def evaluate(self, states: Floats) -> tuple[Floats, Floats]:
        """Values [B] of the player to move, and policies [B, cells] as logits."""
        planes, w = self.planes(states), self.weights
        lines = np.maximum(windows(planes) @ w["line"] + w["line_bias"], 0).sum(axis=2)
        found = np.maximum(lines @ w["cell"] + w["cell_bias"], 0)
        empty = 1 - planes.sum(axis=1).reshape(len(states), -1, 1)
        found *= empty
        pooled = np.concatenate([found.max(axis=1), found.mean(axis=1)], axis=1)
        return np.tanh(pooled @ w["value"] + w["value_bias"]), found @ w["policy"]
