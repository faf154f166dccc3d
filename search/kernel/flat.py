"""Flat Monte Carlo: playouts after given moves, no tree."""

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
    """Generic: set ``values[i]`` to the first player's return of a playout after ``moves[i]``.

    ``values`` is float64[n]; stream and workspace are modified in place. With hidden information each
    playout has a determinization of its own.
    """
    for i in range(len(moves)):
        determinize(root_state, work.state, stream)
        play(work.state, np.int64(moves[i]))
        if is_terminal(work.state):
            values[i] = returns(work.state)
        else:
            values[i] = leaf_playout(params, work, stream)
