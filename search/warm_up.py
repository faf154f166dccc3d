"""Compiles kernels, or loads them from the cache, before anything waits for them."""

from __future__ import annotations

import numpy as np

from games.rng import new_stream
from search.engine import Engine
from search.job import Context
from search.knobs import knobs_of
from search.puct import expand_leaves
from search.selection import prove_root
from search.statistics import increments, merge, snapshot
from search.summary import digest
from search.unfolding import begin


def warm_up_worker(engine: Engine, context: Context) -> None:
    """Run each kernel that the search's jobs use once on next to nothing."""
    work = engine.new_workspace()
    stream = new_stream(0)
    with np.errstate(over="ignore"):
        if context.request.strategy == "leaf":
            moves, depths = np.zeros((1, 1), dtype=np.uint16), np.zeros(1, dtype=np.int32)
            # A stream of zeros never moves on: a draw that rejects would not end.
            draws = new_stream(0).reshape(1, 2)
            visits, sums = np.ones(1, dtype=np.int32), np.zeros(1)
            root_state, knobs = context.root_state.copy(), knobs_of(context)
            engine.evaluate_leaves(root_state, knobs, moves, depths, visits, draws, sums, stream, work)
            return
        tree = engine.new_tree(64)
        begin(tree, work.base, knobs_of(context))
        engine.simulate(tree, knobs_of(context), engine.lane_root(context, 0), 1, stream, work)
        increments(tree, work.base.as_it_stands, 2, 16)


def warm_up_coordinator(engine: Engine, context: Context) -> None:
    """The same for what the coordinator itself does with the shared tree."""
    tree = engine.new_tree(64)
    statistics, _ = snapshot(tree, 0, 64)
    merge(tree, statistics, np.zeros(1, dtype=np.int32))
    digest(tree)
    if context.request.solver:
        prove_root(tree, 0, 1)
    if context.request.strategy == "leaf":
        work = engine.new_workspace()
        leaves = engine.new_leaves(np.ones(1, dtype=np.int32))
        with np.errstate(over="ignore"):
            engine.select_leaves(tree, knobs_of(context), context.root_state, leaves, new_stream(0), work)
            if engine.features.priors:
                counts, moves = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint16)
                expand_leaves(tree, leaves.depths, leaves.slots, counts, moves, np.zeros(0, dtype=np.float32))
            engine.absorb_leaves(tree, knobs_of(context), leaves, np.zeros(1), work)
