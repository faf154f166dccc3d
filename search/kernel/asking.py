"""Asks the rules of a game about positions: who moves there, which moves are legal, is the game over."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.rules import State
from search.job import Positions
from search.kernel.engine import Engine


def positions_of(
    engine: Engine, root_state: State, moves: npt.NDArray[np.uint16], depths: npt.NDArray[np.int32]
) -> Positions:
    """What the rules say of the positions to which the first depths[b] of moves[b] lead from the root."""
    size = len(depths)
    states = np.zeros((size, len(root_state)), dtype=root_state.dtype)
    signs, counts = np.zeros(size), np.zeros(size, dtype=np.int32)
    legal = np.zeros((size, engine.game.max_moves), dtype=np.uint16)
    scratch = np.zeros(engine.game.max_moves, dtype=np.uint16)
    engine.reach_leaves(root_state.copy(), moves, depths, states, signs, counts, legal, scratch)
    return Positions(signs, counts, legal[np.arange(legal.shape[1]) < counts[:, None]])
