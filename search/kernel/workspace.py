"""The arrays that a running kernel writes into: its scratch, and a batch of leaves in flight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from search.kernel.lazy_snapshot import Base
from search.minimax.alphabeta import Frames

PLAYOUTS, PLIES = 0, 1
"""Places in `Workspace.tally`."""
VALUE, LENGTH = 0, 1
"""Places in `Workspace.best`."""
LOCK, LEFT, STOPPED, MARKS = 0, 8, 16, 24
"""Places in `Workspace.marks`, a cache line each: the lock of the tree, with the number of its owner; how
many simulations may still be begun; whether no more should be. Their length."""
NUMBER, COUNT = 0, 1
"""Places in `Workspace.place`."""


class Experience(NamedTuple):
    """Positions in cells, their moves, and what came of these (search/kernel/learning.py)."""

    taken: npt.NDArray[np.bool_]
    """[cells] whether a position has the cell."""
    keys: npt.NDArray[np.uint64]
    """[cells] the position, packed."""
    worth: npt.NDArray[np.float64]
    """[cells] the rewards that follow the position if the best moves are made."""
    first: npt.NDArray[np.int32]
    """[cells] the entry of the position's first move."""
    size: npt.NDArray[np.int32]
    """[cells] how many moves it has, side by side; 0 where chance moves, which has one entry."""
    order: npt.NDArray[np.int32]
    """[cells] the cells that are taken, in the order in which positions came."""
    move: npt.NDArray[np.int32]
    """[entries] the move."""
    value: npt.NDArray[np.float64]
    """[entries] the mean of its reward plus the worth of what followed."""
    tried: npt.NDArray[np.int64]
    """[entries] how often it was made."""
    outcome: npt.NDArray[np.int32]
    """[entries] the first of what came of it, or NONE."""
    after: npt.NDArray[np.int32]
    """[outcomes] the cell of the next position, or END."""
    times: npt.NDArray[np.int64]
    """[outcomes] how often it came."""
    gains: npt.NDArray[np.float64]
    """[outcomes] the sum of the rewards."""
    link: npt.NDArray[np.int32]
    """[outcomes] the next outcome of the same move, or NONE."""
    counts: npt.NDArray[np.int64]
    """[4] how many positions, entries and outcomes there are; lessons since all positions were settled."""


class Workspace(NamedTuple):
    """Scratch of one running kernel; all of it but ``base`` and ``kept`` is overwritten."""

    state: npt.NDArray[np.generic]
    """[state length] the position that a simulation has reached."""
    leaf_state: npt.NDArray[np.generic]
    """[state length] the position from which several playouts start."""
    moves: npt.NDArray[np.uint16]
    """[max_moves] legal moves of ``state``."""
    slot_of: npt.NDArray[np.uint16]
    """[65,536] by move: 1 + the slot of its child, 0 without one; all zero between uses."""
    used: npt.NDArray[np.int64]
    """[max_moves + 1] paired search: how many moves of the root have searched this determinization, and then
    these moves."""
    draw: npt.NDArray[np.uint64]
    """[2] the random stream of a leaf's determinization."""
    nodes: npt.NDArray[np.int32]
    """[max_plies + 1] path of the simulation: its nodes from the root down."""
    slots: npt.NDArray[np.uint16]
    """[max_plies + 1] path of the simulation: slots[d] is the place of nodes[d + 1] among its siblings."""
    movers: npt.NDArray[np.uint8]
    """[max_plies + 1] path of the simulation: who moves at nodes[d]."""
    frames: Frames
    """Scratch of players in playouts who look ahead (search/minimax/alphabeta.py)."""
    kept: npt.NDArray[np.uint64]
    """[KEPT] memory of `Rules.decisive_moves`; [1] where the game has none. Never cleared."""
    tally: npt.NDArray[np.int64]
    """[2] number of playouts and of their plies; kernels count up and never reset."""
    scores: npt.NDArray[np.float64]
    """[max_plies + 1] path of the simulation: the score at nodes[d]: the first player's, or from three
    players on that of who moves there. [1] in games of two players with a return at the end."""
    ends: npt.NDArray[np.float64]
    """[players] each player's score at the end of the simulation, from three players on; else [1]."""
    totals: npt.NDArray[np.float64]
    """[players] sum of ``ends`` over all simulations of the job, from three players on; else [1]."""
    line: npt.NDArray[np.uint16]
    """[max_plies + 1] moves of the playout; [1] where ``scores`` is."""
    best: npt.NDArray[np.float64]
    """[2] the most that a simulation of the job came to, with one player; the number of moves in ``line``."""
    best_line: npt.NDArray[np.int32]
    """[max_plies + 2] the line of that simulation: its number of moves, then the moves; [2] where ``scores``
    is [1]."""
    experience: Experience
    """What simulations of the job have met. Its arrays, and those from ``places`` to ``chosen``, have length
    1 where playouts do not learn."""
    places: npt.NDArray[np.int32]
    """[max_plies + 1] path of the simulation: the cell of nodes[d] in ``experience``, or UNKNOWN."""
    cells: npt.NDArray[np.int32]
    """[max_plies + 1] by ply of the playout: the cell of the position, END or UNKNOWN."""
    entries: npt.NDArray[np.int32]
    """[max_plies + 1] by ply of the playout: the entry of the move in ``experience``."""
    gains: npt.NDArray[np.float64]
    """[max_plies + 1] by ply of the playout: the reward."""
    chosen: npt.NDArray[np.bool_]
    """[max_plies + 1] by ply of the playout: whether the player moved, and not chance."""
    base: Base
    """The snapshot that the tree began with, whose rows the lazy nodes stand for."""
    marks: npt.NDArray[np.int64]
    """[MARKS] what threads that grow one tree have in common (search/kernel/turns.py)."""
    place: npt.NDArray[np.int64]
    """[2] of this thread among them: its NUMBER, from 1 on, 0 where it grows a tree alone; the COUNT of
    children that the path's last node had when one of them was chosen."""


class Leaves(NamedTuple):
    """A batch of B leaves in flight: selected, and not yet backed up."""

    moves: npt.NDArray[np.uint16]
    """[B, max_plies + 1] path from the root to each leaf, as moves."""
    slots: npt.NDArray[np.uint16]
    """[B, max_plies + 1] path to each leaf, as places of its nodes among their siblings."""
    movers: npt.NDArray[np.uint8]
    """[B, max_plies + 1] who moves at each node of the path."""
    depths: npt.NDArray[np.int32]
    """[B] number of moves of the path."""
    visits: npt.NDArray[np.int32]
    """[B] number of visits that the leaf stands for, which is its number of playouts."""
    draws: npt.NDArray[np.uint64]
    """[B, 2] random stream from which a leaf's determinization was drawn."""
    scores: npt.NDArray[np.float64]
    """[B, max_plies + 1] `Workspace.scores` on the way to each leaf; [B, 1] where those are [1]."""
