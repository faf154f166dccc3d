"""Flat Monte Carlo: playouts from each legal move, no tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import determinize, is_terminal, play, returns
from games.rng import Stream
from games.rules import State
from search.kernel.params import SearchParams
from search.kernel.stubs import leaf_playout
from search.kernel.workspace import Workspace


def play_flat(
    root_state: State,
    params: SearchParams,
    moves: npt.NDArray[np.uint16],
    values: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: set ``values[m, i]`` to the first player's return of the i-th playout after ``moves[m]``.

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
                values[m, i] = leaf_playout(params, work, stream)
