"""Re-rooting: what a tree knows below one of its nodes, as the tree of the next search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int
from search.tree.arena import (
    COUNT_MASK,
    NO_BLOCK,
    NODES,
    ROOT,
    Tree,
    children_of,
    clear,
    counts_availability,
    has_priors,
    keeps_heuristics,
    reserve_block,
)


def child_after(tree: Tree, node: int, move: int) -> int | None:
    """The slot of the child to which ``move`` leads from ``node``; None if there is none."""
    return next((slot for slot in children_of(tree, node) if tree.move[slot] == move), None)


def reroot(tree: Tree, node: int, into: Tree) -> None:
    """Make ``into``, a tree of the same layout that is modified in place, the subtree below ``node``.

    What does not fit is left out. Visits in flight are not taken over: there must be none.
    """
    scratch = np.zeros((2, max(1, int(tree.counts[NODES]))), dtype=np.int32)
    _copy_below(tree, node, into, scratch)


@cached_njit
def _copy_below(tree: Tree, node: Int, into: Tree, places: npt.NDArray[np.int32]) -> None:
    """``places`` ([2, nodes of the tree]) is scratch: slots here and there, breadth first."""
    clear(into)
    places[0, 0], places[1, 0] = node, ROOT
    into.visits[ROOT] = tree.visits[node]
    into.shape[ROOT] = tree.shape[node]
    total = 0.0
    done, found = 0, 1
    while done < found:
        here, there = np.int64(places[0, done]), np.int64(places[1, done])
        done += 1
        count = np.int64(tree.shape[here]) & COUNT_MASK
        if count == 0:
            continue
        first = np.int64(reserve_block(into, count))
        if first == NO_BLOCK:
            into.shape[there] = 0
            continue
        into.children[there] = first
        into.counts[NODES] += count
        for slot in range(count):
            old, new = np.int64(tree.children[here]) + slot, first + slot
            into.total_value[new] = tree.total_value[old]
            into.visits[new] = tree.visits[old]
            into.unobserved[new] = 0
            into.children[new] = NO_BLOCK
            into.move[new] = tree.move[old]
            into.shape[new] = tree.shape[old]
            if counts_availability(tree):
                into.available[new] = tree.available[old]
            if keeps_heuristics(tree):
                into.heuristic[new] = tree.heuristic[old]
            if has_priors(tree):
                into.prior[new] = tree.prior[old]
            if here == node:
                total += tree.total_value[old]
            places[0, found], places[1, found] = old, new
            found += 1
    # The root has what its moves came to, without the reward of the move that led to it.
    into.total_value[ROOT] = total
