"""Connect Four, compiled, whose playouts wait a millisecond: it measures many threads on few cores.

banyan speedup ./cluster/lab/predict/waiting_compiled.py --executor threads --strategies leaf --batch 1 \
    --lanes 128 --workers 1,4,16,64
"""

import numpy as np
from numba import types

from games.connect_four import RULES, ConnectFour, rules
from games.jit import njit
from games.rng import Stream
from games.rules import Moves, State

WAIT_US = np.uint32(1000)
_usleep = types.ExternalFunction("usleep", types.int32(types.uint32))
_play_out = rules.playout


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """A playout after a wait in which the thread needs no core."""
    _usleep(WAIT_US)
    return _play_out(state, moves, stream)


class WaitingConnectFour(ConnectFour):
    """Connect Four whose playouts wait."""

    name = "waiting_connect_four"

    def __init__(self, rows: int = 6, columns: int = 7) -> None:
        super().__init__(rows, columns)
        self.rules = RULES._replace(playout=playout)
        self.nominal_simulations_per_s = 930.0
