"""Flat Monte Carlo: playouts from each legal move, no tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.rng import Stream
from games.rules import State
from games.unbound import determinize, is_terminal, play, returns
from search.kernel import Workspace
from search.playouts import leaf_playout
from search.selection import Knobs


def play_flat(
    root_state: State,
    knobs: Knobs,
    moves: npt.NDArray[np.uint16],
    values: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: set ``values[m, i]`` to what the i-th playout after ``moves[m]`` is worth to the first player.

    ``values`` is float64[M, n]; stream and workspace are modified in place. With hidden
    information each playout has a determinization of its own.
    """
    for m in range(len(moves)):
        for i in range(values.shape[1]):
            determinize(root_state, work.state, stream)
            play(work.state, np.int64(moves[m]))
            if is_terminal(work.state):
                values[m, i] = returns(work.state)
            else:
                values[m, i] = leaf_playout(knobs, work, stream)
