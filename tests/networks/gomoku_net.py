"""A small network for gomoku on any board, in NumPy: `banyan search gomoku:size=9 --evaluator` of this file.

For each cell and each of the four lines through it a first layer looks at the four cells on either side
(mine, his, or off the board); the lines are added up, a second layer looks at the sum. What it finds on
empty cells is the policy, and its maximum and mean over them are the value. gomoku_train.py made the weights.
"""

from functools import cache
from pathlib import Path

import numpy as np

from search.evaluator import Evaluator

LINES = ((0, 1), (1, 0), (1, 1), (1, -1))
STEPS = (-4, -3, -2, -1, 1, 2, 3, 4)


@cache
def neighbours(rows, columns):
    """[cells, lines, steps] the cell that is so many steps along a line; rows * columns is off the board."""
    found = np.full((rows * columns, len(LINES), len(STEPS)), rows * columns)
    for cell in range(rows * columns):
        for line, (down, across) in enumerate(LINES):
            for place, step in enumerate(STEPS):
                row, column = cell // columns + step * down, cell % columns + step * across
                if 0 <= row < rows and 0 <= column < columns:
                    found[cell, line, place] = row * columns + column
    return found


def windows(planes):
    """[B, cells, lines, 24] what stands along each cell's lines; planes are [B, 2, rows, columns]."""
    rows, columns = planes.shape[2:]
    padded = np.zeros((len(planes), rows * columns + 1, 3), dtype=np.float32)
    padded[:, :-1, :2] = planes.reshape(len(planes), 2, -1).swapaxes(1, 2)
    padded[:, -1, 2] = 1
    return padded[:, neighbours(rows, columns)].reshape(len(planes), rows * columns, len(LINES), -1)


class GomokuNet(Evaluator):
    """Weights come from ``weights``, a file beside this one."""

    def __init__(self, game, weights="gomoku_net.npz"):
        super().__init__(game)
        stored = np.load(Path(__file__).with_name(weights))
        self.weights = {name: stored[name].astype(np.float32) for name in stored}

    def evaluate(self, states):
        planes, w = self.planes(states), self.weights
        lines = np.maximum(windows(planes) @ w["line"] + w["line_bias"], 0).sum(axis=2)
        found = np.maximum(lines @ w["cell"] + w["cell_bias"], 0)
        empty = 1 - planes.sum(axis=1).reshape(len(states), -1, 1)
        found *= empty
        pooled = np.concatenate([found.max(axis=1), found.mean(axis=1)], axis=1)
        return np.tanh(pooled @ w["value"] + w["value_bias"]), found @ w["policy"]
