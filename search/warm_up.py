"""Compiles kernels, or loads them from the cache, before a search needs them."""

from __future__ import annotations

import numpy as np

from games.rng import new_stream
from search.job import Context, empty_portions
from search.kernel.engine import Engine
from search.kernel.lazy_snapshot import begin
from search.kernel.params import params_of
from search.kernel.portions import divide
from search.kernel.puct import expand_leaves
from search.kernel.solver import prove_root
from search.request import SUBTREE
from search.summary import digest
from search.tree.merge import increments, merge, snapshot


def warm_up_worker(engine: Engine, context: Context) -> None:
    """Run each kernel of the search's jobs once, on minimal data."""
    work = engine.new_workspace()
    stream = new_stream(0)
    with np.errstate(over="ignore"):
        if context.request.strategy == SUBTREE:
            # Compiled where the tree is (search/strategies/subtree.py).
            return
        if context.request.strategy == "leaf":
            moves, depths = np.zeros((1, 1), dtype=np.uint16), np.zeros(1, dtype=np.int32)
            # A stream of zeros never moves on: a draw that rejects would not end.
            draws = new_stream(0).reshape(1, 2)
            visits, sums = np.ones(1, dtype=np.int32), np.zeros(len(work.ends))
            root_state, params = context.root_state.copy(), params_of(context)
            engine.evaluate_leaves(root_state, params, moves, depths, visits, draws, sums, stream, work)
            return
        tree = engine.new_tree(64)
        begin(tree, work.base, params_of(context))
        root_state, params = engine.lane_root(context, 0), params_of(context)
        if context.has_portions:
            whole = empty_portions(1, len(work.nodes))
            whole.visits[0] = 1
            engine.grow_portions(tree, params, root_state, whole, stream, work)
        else:
            engine.simulate(tree, params, root_state, 1, stream, work)
        if engine.features.learnt:
            engine.look_back(tree, work.base.statistics, work.base.first_children, work)
        increments(tree, work.base.statistics, 2, 16)


def warm_up_coordinator(engine: Engine, context: Context) -> None:
    """Run each kernel that the coordinator uses on the shared tree once, on minimal data."""
    tree = engine.new_tree(64)
    statistics, _ = snapshot(tree, 0, 64)
    merge(tree, statistics, np.zeros(1, dtype=np.int32))
    digest(tree)
    if context.request.solver:
        prove_root(tree, 0, 1)
    if context.has_portions:
        work = engine.new_workspace()
        with np.errstate(over="ignore"):
            engine.plan_visits(tree, params_of(context), context.root_state.copy(), 1, 1, work, new_stream(0))
        lanes, plies = np.zeros(1, dtype=np.int32), len(work.nodes)
        stack = np.zeros((plies + 1, 2), dtype=np.int32)
        divide(tree, np.ones(1, dtype=np.int64), 1, stack, lanes, empty_portions(1, plies))
    if context.request.strategy == "leaf" and not engine.asks_workers:
        work = engine.new_workspace()
        leaves = engine.new_leaves(np.ones(1, dtype=np.int32))
        with np.errstate(over="ignore"):
            engine.select_leaves(tree, params_of(context), context.root_state, leaves, 0, new_stream(0), work)
            if engine.features.priors:
                counts, moves = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint16)
                expand_leaves(tree, leaves.depths, leaves.slots, counts, moves, np.zeros(0, dtype=np.float32))
            engine.absorb_leaves(tree, params_of(context), leaves, np.zeros(len(work.ends)), work)
