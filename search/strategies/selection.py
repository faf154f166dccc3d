"""How strategy leaf selects its leaves: with the rules of the game, or from what workers say of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.specialise import entry_of
from games.rng import Stream, new_stream
from search.job import LeafJob, Positions
from search.kernel.evaluation import positions_of
from search.kernel.known import Known, new_known, remember, with_room
from search.kernel.workspace import Leaves
from search.strategies.base import Setup
from search.tree.arena import Tree


class Selection:
    """Selects with the game's rules, or from known positions: then with compiled code whatever the game is
    written in.

    With known positions, the rules are asked only about positions whose first result is still in flight, and
    about those that `known.with_room` has forgotten. Both ways select the same leaves.
    """

    def __init__(self, setup: Setup, from_known: bool | None = None) -> None:
        """``from_known`` None: as suits the game."""
        self._engine, self._params = setup.engine, setup.params
        self._root_state = setup.context.root_state
        self._work = setup.engine.new_workspace()
        self.asked = 0
        """Number of positions that the rules were asked about."""
        self._known: Known | None = None
        self._select: Callable[..., Any] = setup.engine.select_leaves
        self._absorb: Callable[..., Any] = setup.engine.absorb_leaves
        if setup.engine.asks_workers if from_known is None else from_known:
            self._use(new_known())
            self._select, self._absorb, self._add = self._compiled(setup)

    def select(self, tree: Tree, leaves: Leaves, stream: Stream) -> None:
        """Fill the batch with leaves of the tree; see `search.kernel.loop.select_leaves`."""
        done = 0
        while True:
            root: Any = self._root_state if self._known is None else self._known
            done = self._select(tree, self._params, root, leaves, done, stream, self._work)
            if done == len(leaves.depths):
                return
            self.asked += 1
            moves, depths = leaves.moves[done : done + 1], leaves.depths[done : done + 1]
            self._remember(moves, depths, positions_of(self._engine, self._root_state, moves, depths)[0])

    def absorb(self, tree: Tree, leaves: Leaves, sums: npt.NDArray[np.float64]) -> None:
        """Back the batch up; see `search.kernel.loop.absorb_leaves`."""
        self._absorb(tree, self._params, leaves, sums, self._work)

    def learn(self, job: LeafJob, positions: Positions) -> None:
        """Take what a result says of its job's leaves."""
        self._remember(job.moves, job.depths, positions)

    def _remember(
        self, moves: npt.NDArray[np.uint16], depths: npt.NDArray[np.int32], positions: Positions
    ) -> None:
        if self._known is None:
            return
        known = with_room(self._known, len(depths), len(positions.moves))
        if known is not self._known:
            self._use(known)
        self._add(known, moves, depths, positions.movers, positions.scores, positions.counts, positions.moves)

    def _compiled(self, setup: Setup) -> tuple[Callable[..., Any], ...]:
        """The kernels for selecting, absorbing and remembering, after a call of each on minimal data."""
        kernels, engine, known = setup.engine.known, setup.engine, new_known()
        tree, leaves = engine.new_tree(64), engine.new_leaves(np.ones(1, dtype=np.int32))
        work, params, stream = self._work._replace(state=known), setup.params, new_stream(0)  # type: ignore[arg-type]
        nothing = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint16)
        return (
            entry_of(kernels["select_leaves"], tree, params, known, leaves, 0, stream, work),
            entry_of(kernels["absorb_leaves"], tree, params, leaves, np.zeros(len(work.ends)), work),
            entry_of(
                remember, known, leaves.moves, leaves.depths, np.zeros(1, np.uint8), np.zeros(1), *nothing
            ),
        )

    def _use(self, known: Known) -> None:
        self._known = known
        # Kernels are compiled for what they are called with: here known positions in the place of a state.
        self._work = self._work._replace(state=known)  # type: ignore[arg-type]
