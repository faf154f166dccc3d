"""Searches without their work: the strategies issue jobs and take results as ever, and nobody searches.

For predictions, where only time is of interest: what is left out is charged to the virtual clock instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import games
from search.engine import engine_of
from search.job import Context, Job, JobResult, LeafJob
from search.knobs import knobs_from
from search.opening import Search
from search.plan import make_plan, playouts_per_leaf
from search.request import SearchRequest
from search.statistics import Statistics, lone_root
from search.strategies import LeafStrategy, RootStrategy, Setup, Strategy, TreeStrategy

_NOTHING = lone_root()
_NO_MOVES: npt.NDArray[np.uint16] = np.zeros((0, 0), dtype=np.uint16)
_NO_LEAVES: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)
_NO_DRAWS: npt.NDArray[np.uint64] = np.zeros((0, 2), dtype=np.uint64)


class HollowWorker:
    """Claims to have made all simulations of a job, and brings nothing."""

    def prepare(self, context: Any) -> None:
        """Nothing is needed."""

    def run(self, context: Any, job: Any) -> JobResult:
        return JobResult(
            index=job.index,
            simulations=job.simulations,
            added=_NOTHING,
            sums=None,
            playouts=job.simulations,
            tree_nodes=0,
            tree_bytes=0,
            tree_full=False,
            duration_s=0.0,
        )


def open_hollow(request: SearchRequest) -> Search:
    """A search with a budget in simulations that takes no memory, whatever its budget and its lanes."""
    game = games.load(request.game)
    plan = make_plan(request, game)
    root_state = game.initial_state()
    context = Context(
        search_id="hollow",
        request=request,
        game=game.spec,
        game_source=None,
        root_state=root_state,
        hidden=request.hidden_information if game.hidden_information else "",
        exploration_scale=1.0,
        tree_slots=4,
        report_visits=2,
        staleness=plan.staleness,
    )
    engine = engine_of(game)
    setup = Setup(
        context=context,
        engine=engine,
        knobs=knobs_from(request, context.hidden, 1.0),
        lanes=plan.lanes,
        playouts_per_leaf=playouts_per_leaf(request, game),
        tree=engine.new_tree(2),
        mover=0,
        num_legal=1,
    )
    return Search(request, game, root_state, context, plan, _CLASSES[request.strategy](setup))


class _HollowRoot(RootStrategy):
    def _merge(self, added: Statistics) -> None:
        """Nothing has been added."""


class _HollowTree(TreeStrategy):
    def _merge(self, added: Statistics) -> None:
        """Nothing has been added."""


@dataclass(frozen=True, eq=False)
class _HollowLeafJob(LeafJob):
    size: int = 0

    @property
    def simulations(self) -> int:
        return self.size


class _HollowLeaf(LeafStrategy):
    def _make_job(self, simulations: int) -> Job:
        return _HollowLeafJob(self.issued, _NO_MOVES, _NO_LEAVES, _NO_LEAVES, _NO_DRAWS, simulations)

    def _absorb(self, job: Job, result: JobResult) -> None:
        """Nothing has been played."""


_CLASSES: dict[str, type[Strategy]] = {"root": _HollowRoot, "tree": _HollowTree, "leaf": _HollowLeaf}
