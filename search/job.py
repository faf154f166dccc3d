"""Jobs and their results: plain values that are sent between coordinator and workers.

The result of a job depends only on the job and its context: every run, on any machine, returns equal
increments. So a lost job is simply run again, and each result is counted exactly once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.game import Game
from search.features import Features
from search.request import SearchRequest, features_of
from search.tree.merge import Statistics

GROW_STREAM, ROUND_STREAM, PLAYOUT_STREAM, SELECTION_STREAM, DEAL_STREAM, SPREAD_STREAM = range(6)
"""The purpose of a random stream: the second number of its identity, after the seed."""


@dataclass(frozen=True, eq=False)
class Context:
    """The data that all jobs of a search share."""

    search_id: str
    """Identifies the search in caches; no result depends on it."""
    request: SearchRequest
    """What is asked for; its ``exploration`` is never None, and the path of its evaluator is absolute."""
    game: str
    """The game's full spec."""
    game_source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    root_state: npt.NDArray[Any]
    """The searched position as far as the player to move knows it: `Game.observation`."""
    hidden: str
    """The method for hidden information, one of HIDDEN_INFORMATION; empty if nothing is hidden."""
    exploration_scale: float
    """Factor of the exploration constant C: 1, or the measured spread of leaf values."""
    tree_slots: int
    """Capacity, in nodes, of the arena in which a job grows a tree; 0 if jobs grow no tree."""
    report_visits: int
    """Strategy root: nodes with fewer visits than this report no children."""
    snapshot_rows: int = 0
    """Strategy tree: upper bound of the rows (nodes) of a snapshot."""
    increment_rows: int = 0
    """Strategy tree: upper bound of the rows (nodes) of a job's increments."""
    evaluator_source: str | None = None
    """The text of the evaluator's file, if the request names one."""
    strategy_source: str | None = None
    """The text of the strategy's file, if the request names one."""
    lanes: int = 1
    """`SearchPlan.lanes`."""
    allowed: tuple[int, ...] = ()
    """The moves of the root that are searched; empty: all."""
    least: tuple[tuple[int, int], ...] = ()
    """Moves of the root, each with the least visits that it is to get from all lanes together."""
    begun: tuple[LaneTree, ...] = ()
    """Strategy root: with what each lane begins, which a checkpoint or an earlier search has left; empty:
    with lone roots."""
    recalls: bool = False
    """Whether the evaluator is asked for nothing but what jobs ask for: the rest may be in a store."""

    @property
    def features(self) -> Features:
        """The features that the kernels of this search need."""
        return features_of(self.request, self.hidden)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The top of the shared tree, published once for all jobs that start from it."""

    key: int
    statistics: Statistics
    first_children: npt.NDArray[np.int32] | None = None
    """Where the statistics are columns of the shared tree itself, which nobody changes meanwhile: the slot of
    each node's first child. None: the rows are breadth first (`search.tree.merge.first_children_of`)."""


class Job:
    """What coordinators and executors need to know of a job of any strategy."""

    index: int
    """Its number among the jobs of its search."""
    simulations: int
    lane: int | None
    """The sequence of jobs that it belongs to; None if it belongs to none."""
    divided = False
    """Whether it has a part for each thread of the process that runs it: see `Task.divided`."""

    @property
    def pieces(self) -> tuple[int, ...]:
        """The simulations of each job of the lane up to this one, if workers keep the lane's state."""
        return ()

    @property
    def common(self) -> Snapshot | None:
        """The snapshot from which all jobs of its round start; None if it starts from none."""
        return None


class DividedJob(Job, ABC):
    """Several jobs as one, divided among all threads of the process that runs them: each has a part."""

    lane = None
    divided = True
    changes_tree = False
    """Whether it changes the tree, at which nothing may look while it runs."""

    @abstractmethod
    def parts(self) -> list[Callable[[], int]]:
        """Begin; returns what each thread has to do, side by side with the others."""

    def stop(self) -> None:
        """Have the parts return soon, with what is done then."""

    @abstractmethod
    def outcome(self) -> JobResult:
        """What the parts have done, when all have returned."""

    def run(self) -> JobResult:
        """Run it in this thread."""
        self.parts()[0]()
        return self.outcome()


@dataclass(frozen=True, eq=False)
class LaneTree:
    """Strategy root: a lane's tree after some of its jobs."""

    pieces: int
    """The number of the lane's jobs that the tree contains."""
    data: bytes
    """The packed tree as an archive: search/packing/tree.py, search/packing/arrays.py; empty: none."""


@dataclass(frozen=True, eq=False)
class GrowJob(Job):
    """The next piece of work of a lane: in strategy root on its independent tree.

    ``sizes`` is the number of simulations of every job of the lane up to this one. A worker that has the
    lane's tree in its cache runs the last of these only; another worker runs all of them again that are not
    in `Context.begun`.
    """

    index: int
    lane: int
    sizes: tuple[int, ...]
    hand_in: int | None = None
    """How far the lane's tree is compressed (see `search.packing.arrays.compress`) that the result must
    contain, for a checkpoint or for another search; None: it need not contain it."""
    told: tuple[bytes, ...] = ()
    """What `Strategy.tell` gave for each of ``sizes``, compressed (search/packing/arrays.py); empty if it was
    nothing for any."""

    @property
    def simulations(self) -> int:  # type: ignore[override]
        return self.sizes[-1]

    @property
    def pieces(self) -> tuple[int, ...]:
        return self.sizes


class Portions(NamedTuple):
    """Strategy tree: P subtrees, each with the simulations that one lane makes in it."""

    visits: npt.NDArray[np.int64]
    """[P] the number of simulations, at least 1."""
    depths: npt.NDArray[np.int32]
    """[P] the number of moves from the root to the subtree."""
    moves: npt.NDArray[np.uint16]
    """[P, longest path] these moves."""


def empty_portions(rows: int, plies: int) -> Portions:
    """``rows`` portions, with paths of up to ``plies`` moves; all entries are zero."""
    return Portions(
        visits=np.zeros(rows, dtype=np.int64),
        depths=np.zeros(rows, dtype=np.int32),
        moves=np.zeros((rows, plies), dtype=np.uint16),
    )


@dataclass(frozen=True, eq=False)
class LaneJob(Job):
    """Strategy tree: one lane's part of a round, which starts from a snapshot of the shared tree."""

    index: int
    lane: int
    round: int
    simulations: int
    snapshot: Snapshot
    portions: Portions | None = None
    """Where the simulations are made; None: in the whole tree, which then every lane grows."""

    @property
    def common(self) -> Snapshot:
        return self.snapshot


class _Sent:
    """A value that is pickled with its arrays as bytes: a pickled array takes twenty times as long."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = vars(self).values()
        return _received, (
            type(self),
            *([v.dtype.char, v.shape, v.tobytes()] if isinstance(v, np.ndarray) else v for v in values),
        )


def _received(kind: type[_Sent], *values: Any) -> _Sent:
    """A value that was sent. Its arrays are writable, as kernels are compiled for them."""
    arrays = [
        np.frombuffer(bytearray(each[2]), dtype=each[0]).reshape(each[1]) if isinstance(each, list) else each
        for each in values
    ]
    return kind(*arrays)


@dataclass(frozen=True, eq=False)
class LeafJob(_Sent, Job):
    """Strategy leaf: playouts from a batch of B leaves, each given by its moves from the root."""

    index: int
    moves: npt.NDArray[np.uint16]
    """uint16[B, longest path]: the moves from the root to each leaf."""
    depths: npt.NDArray[np.int32]
    """int32[B]: the number of moves from the root to each leaf."""
    visits: npt.NDArray[np.int32]
    """int32[B]: the number of playouts from each leaf."""
    draws: npt.NDArray[np.uint64]
    """uint64[B, 2]: the random stream of each leaf's determinization; [0, 2] if nothing is hidden."""
    lane = None

    @property
    def simulations(self) -> int:  # type: ignore[override]
        return sum(self.visits.tolist())


@dataclass(frozen=True, eq=False)
class Policies:
    """Strategy leaf with an evaluator: priors of the legal moves at each of B leaves."""

    counts: npt.NDArray[np.int32]
    """int32[B]: the number of legal moves; 0 if the game is over."""
    moves: npt.NDArray[np.uint16]
    """uint16[sum of counts]: the legal moves of all leaves, concatenated."""
    priors: npt.NDArray[np.float32]
    """float32[sum of counts]: the prior of each of ``moves``."""


@dataclass(frozen=True, eq=False)
class Positions(_Sent):
    """Strategy leaf with a game in plain Python: what its rules say of each of B leaves.

    With it the coordinator selects without the rules (search/kernel/known.py). A cache: without it the
    coordinator asks the rules itself, with equal answers.
    """

    movers: npt.NDArray[np.uint8]
    """uint8[B]: who moves; 0 if the game is over."""
    scores: npt.NDArray[np.float64]
    """float64[B]: `search.kernel.known.Known.scores`."""
    counts: npt.NDArray[np.int32]
    """int32[B]: the number of legal moves; 0 if the game is over."""
    moves: npt.NDArray[np.uint16]
    """uint16[sum of counts]: the legal moves of all leaves, concatenated."""


def tells_lines(game: Game, request: SearchRequest) -> bool:
    """Whether jobs report the best line to the end of the game: not where playouts are cut before the end."""
    return game.has_lines and request.playout_plies is None


@dataclass(frozen=True, eq=False)
class Outlook:
    """What a job found beside statistics of nodes, with one player, or with three or more."""

    line: tuple[int, ...] = ()
    """With one player and no chance: the moves from the root to the end of the best simulation."""
    value: float = -math.inf
    """The discounted rewards of that line; -inf without one."""
    totals: tuple[float, ...] = ()
    """From three players on: each player's score at the end, summed over the job's simulations."""


@dataclass(eq=False)
class JobResult(_Sent):
    """The increments of a job, and its cost.

    The answer of the search depends only on ``index``, ``simulations``, ``added`` (with ``portion_rows``),
    ``sums``, ``policies``, ``outlook`` and ``jobs``; where memory ends the search, also on the tree's nodes
    and fullness.
    """

    index: int
    simulations: int
    """Simulations run; fewer than requested only if the lane's root was proven."""
    added: Statistics | None = None
    """Strategies root and tree: the increments of nodes."""
    sums: npt.NDArray[np.float64] | None = None
    """Strategy leaf: float64[B], the sum of the first player's returns for each leaf."""
    playouts: int = 0
    """Number of playouts; with an evaluator, of evaluated positions."""
    tree_nodes: int = 0
    """Number of nodes of the job's tree; of a snapshot, only the nodes that were expanded into the arena."""
    tree_bytes: int = 0
    tree_full: bool = False
    duration_s: float = 0.0
    """Wall time of the job on the worker, in seconds; of several threads, the sum of theirs."""
    cpu_s: float = 0.0
    """CPU time of its threads there, in seconds; its wall time where it waits for an evaluator, or threads
    wait for each other."""
    tree: LaneTree | None = None
    """Strategy root: the lane's tree, if the job's ``hand_in`` is set."""
    policies: Policies | None = None
    """Strategy leaf with an evaluator: the priors of moves."""
    positions: Positions | None = None
    """Strategy leaf with a game in plain Python: what the rules say of the leaves."""
    outlook: Outlook | None = None
    """The best line, or scores by player."""
    jobs: int = 1
    """The number of jobs whose results it stands for."""
    portion_rows: npt.NDArray[np.int64] | None = None
    """[lists, 2] where ``added`` is several lists: the first row of each, and its number of rows."""
    threads: int = 1
    """How many threads ran it side by side."""
    portion_s: npt.NDArray[np.float64] | None = None
    """[lists] CPU time, in seconds, of each portion that threads shared out; None if there were none."""
    recalled: int = 0
    """With an evaluator, the number of positions that were not evaluated for this job, because they had been
    before."""
