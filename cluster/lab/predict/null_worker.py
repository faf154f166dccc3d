"""Null searches: strategies issue jobs and take results as usual, but no simulations are run.

Predictions use them, because only time matters there: the costs of the omitted work are added to the virtual
clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import games
from search.job import Context, Job, JobResult, LeafJob
from search.kernel.engine import engine_of
from search.kernel.params import params_of, with_exploration
from search.prepare import Search
from search.request import SearchRequest
from search.strategies import LeafStrategy, RootStrategy, Setup, Strategy, TreeStrategy, plan_search
from search.tree.merge import Statistics, lone_root

_NOTHING = lone_root()
_NO_MOVES: npt.NDArray[np.uint16] = np.zeros((0, 0), dtype=np.uint16)
_NO_LEAVES: npt.NDArray[np.int32] = np.zeros(0, dtype=np.int32)
_NO_DRAWS: npt.NDArray[np.uint64] = np.zeros((0, 2), dtype=np.uint64)


class NullWorker:
    """A worker that reports all simulations of a job as done, and returns no statistics."""

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


def open_null(request: SearchRequest) -> Search:
    """A null search with a budget in simulations; it needs almost no memory at any budget and lanes."""
    game = games.load(request.game)
    plan = plan_search(request, game)
    request = with_exploration(request, game)
    root_state = game.initial_state()
    context = Context(
        search_id="null",
        request=request,
        game=game.spec,
        game_source=None,
        root_state=root_state,
        hidden=request.hidden_information if game.hidden_information else "",
        exploration_scale=1.0,
        tree_slots=4,
        report_visits=2,
    )
    engine = engine_of(game)
    setup = Setup(
        context=context,
        engine=engine,
        params=params_of(context),
        plan=plan,
        tree=engine.new_tree(2),
        mover=0,
        num_legal=1,
    )
    return Search(request, game, root_state, context, plan, _CLASSES[request.strategy](setup))


class _NullRoot(RootStrategy):
    def _merge(self, added: Statistics) -> None:
        """Nothing has been added."""


class _NullTree(TreeStrategy):
    def _merge(self, added: Statistics) -> None:
        """Nothing has been added."""


@dataclass(frozen=True, eq=False)
class _NullLeafJob(LeafJob):
    size: int = 0

    @property
    def simulations(self) -> int:
        return self.size


class _NullLeaf(LeafStrategy):
    def _make_job(self, simulations: int) -> Job:
        return _NullLeafJob(self.issued, _NO_MOVES, _NO_LEAVES, _NO_LEAVES, _NO_DRAWS, simulations)

    def _absorb(self, job: Job, result: JobResult) -> None:
        """Ignore the result: it has no statistics."""


_CLASSES: dict[str, type[Strategy]] = {"root": _NullRoot, "tree": _NullTree, "leaf": _NullLeaf}
