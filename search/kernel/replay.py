"""From the ways to leaves, as moves, to their positions: what an evaluator is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import current_player, is_terminal, legal_moves, play, returns
from games.rules import Moves, State


def reach_leaves(
    root_state: State,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    states: npt.NDArray[Any],
    signs: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int32],
    legal: npt.NDArray[np.uint16],
    scratch: Moves,
) -> None:
    """Generic: play the first depths[b] of moves[b] from the root, for each b, and describe where they lead.

    These are written:

    ``states`` [B, state length]; ``signs`` [B]: 1 where the first player moves, -1 where the second does, and
    for a finished game the first player's return; ``counts`` [B]: how many legal moves there are, 0 in a
    finished game; ``legal`` [B, max_moves]: these moves.
    """
    for b in range(len(depths)):
        state = states[b]
        for i in range(len(root_state)):
            state[i] = root_state[i]
        for d in range(depths[b]):
            play(state, np.int64(moves[b, d]))
        counts[b] = 0
        if is_terminal(state):
            signs[b] = returns(state)
            continue
        signs[b] = 1.0 - 2.0 * current_player(state)
        counts[b] = legal_moves(state, scratch)
        for k in range(counts[b]):
            legal[b, k] = scratch[k]
