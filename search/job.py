"""Jobs and what comes back from them: plain values that travel between coordinator and workers.

A job is a pure function of its context and itself: run twice, on any machine, it returns
the same increments. So a lost job is run again, and a result counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from search.features import Features
from search.request import SearchRequest, features_of
from search.statistics import Statistics

GROW_STREAM, ROUND_STREAM, PLAYOUT_STREAM, SELECTION_STREAM, DEAL_STREAM, SPREAD_STREAM = range(6)
"""The second number of a random stream's identity, after the seed: what it is drawn for."""


@dataclass(frozen=True, eq=False)
class Context:
    """What all jobs of one search have in common."""

    search_id: str
    """Names the search to caches; no result depends on it."""
    request: SearchRequest
    game: str
    """The game's full spec."""
    game_source: str | None
    """The text of the game's file, which a worker elsewhere has not got; None for other games."""
    root_state: npt.NDArray[Any]
    """What the player to move knows of the position that is searched: Game.observation."""
    hidden: str
    """How hidden information is searched, one of HIDDEN_INFORMATION; empty where nothing is hidden."""
    exploration_scale: float
    """What C is multiplied with: 1, or the spread of what leaves turn out to be worth."""
    tree_slots: int
    """Slots of the arena that a job grows a tree in (0: jobs grow none)."""
    report_visits: int
    """root: nodes with fewer visits report no children."""
    snapshot_rows: int = 0
    """tree: rows of a snapshot at most..."""
    increment_rows: int = 0
    """...and of the increments of a job."""
    evaluator_source: str | None = None
    """The text of the evaluator's file, if the request names one."""
    staleness: int = 0
    """tree: how many rounds a lane lags behind."""

    @property
    def anticipated(self) -> int:
        """tree: visits expected of the other lanes, and of rounds not seen yet, for each of one's own."""
        return round((self.request.lanes * (1 + self.staleness) - 1) * self.request.anticipation)

    @property
    def features(self) -> Features:
        """What the kernels of this search have to be able to do."""
        return features_of(self.request, self.hidden)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The top of the shared tree, published once for all the jobs that start from it."""

    key: int
    statistics: Statistics


@dataclass(frozen=True, eq=False)
class LaneTree:
    """root: a lane's tree as it was after so many pieces; a cache, like what workers keep."""

    pieces: int
    data: bytes
    """Squeezed: search/npz.py, search/packed_tree.py."""


@dataclass(frozen=True, eq=False)
class GrowJob:
    """root: one more piece of a lane's own tree.

    ``sizes`` are the simulations of all pieces of the lane up to this one. A worker that has
    the lane's tree at hand makes the last piece only; any other makes them all again, or those
    that ``begin`` lacks.
    """

    index: int
    lane: int
    sizes: tuple[int, ...]
    begin: LaneTree | None = None
    """The lane's tree as a checkpoint had it, for the first jobs of a search that goes on."""
    hand_in: bool = False
    """Whether the result is to bring the lane's tree, for a checkpoint."""

    @property
    def simulations(self) -> int:
        return self.sizes[-1]


@dataclass(frozen=True, eq=False)
class RoundJob:
    """tree: one lane's part of one round, from a snapshot of the shared tree."""

    index: int
    lane: int
    round: int
    simulations: int
    snapshot: Snapshot


@dataclass(frozen=True, eq=False)
class LeafJob:
    """leaf: playouts from a batch of leaves, each given by its moves: less to send than its state."""

    index: int
    moves: npt.NDArray[np.uint16]
    """[B, longest way]"""
    depths: npt.NDArray[np.int32]
    """[B] how many of the moves lead to the leaf."""
    visits: npt.NDArray[np.int32]
    """[B] playouts from each."""
    draws: npt.NDArray[np.uint64]
    """[B, 2] the random stream of each leaf's determinization; [0, 2] where nothing is hidden."""

    @property
    def simulations(self) -> int:
        return int(self.visits.sum())


@dataclass(frozen=True, eq=False)
class Policies:
    """leaf, with an evaluator: priors of the legal moves at each of B leaves, and of no others."""

    counts: npt.NDArray[np.int32]
    """[B] how many legal moves there are; 0 where the game is over."""
    moves: npt.NDArray[np.uint16]
    """[sum of counts] these moves, one leaf's after the other's..."""
    priors: npt.NDArray[np.float32]
    """...and their priors."""


Job = GrowJob | RoundJob | LeafJob


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job added, and what it cost. The first four fields and ``policies`` alone change the answer."""

    index: int
    simulations: int
    """Simulations made: fewer than asked only when the lane's root was proven."""
    added: Statistics | None
    """root, tree: increments."""
    sums: npt.NDArray[np.float64] | None
    """leaf: [B] sum of the first player's returns for each leaf."""
    playouts: int
    """With an evaluator: the positions that it evaluated."""
    tree_nodes: int
    """Nodes of the job's own tree; of a snapshot those that were unfolded."""
    tree_bytes: int
    tree_full: bool
    duration_s: float
    """Time in the kernel and around it, on the worker."""
    tree: LaneTree | None = None
    """root: the lane's tree, if it was to be handed in."""
    policies: Policies | None = None
    """leaf: what an evaluator says of moves."""
