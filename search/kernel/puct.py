"""PUCT: selection where an evaluator's policy gives each move a prior P.

The score of child i of node s for the player who moves at s is

    Q_i + 2 C(s) P_i sqrt(N_s + O_s) / (1 + N_i + O_i),   C(s) = C + ln((1 + N_s + O_s + c_base) / c_base)

Silver et al. 2018, "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", with unobserved samples O as in search/kernel/uct.py; Q in [-1, 1], C on the scale of rewards in
[0, 1], hence the 2. A child without results is worth the first-play urgency: Q_s - r sqrt(the sum of P over
children with results), as in KataGo and lc0, or a fixed value.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from search.kernel.logarithms import natural_log
from search.kernel.params import SearchParams
from search.kernel.uct import child_mean, parent_mean
from search.tree.arena import (
    DRAWN,
    FIRST_WINS,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    add_children,
    num_children,
    proof,
)

PARTS = 2**20
"""A c_base with a fraction is counted in units of 1 / PARTS, since logarithms are those of whole numbers."""


@inner_njit
def first_play_urgency(tree: Tree, params: SearchParams, node: Int, player: Int) -> float:
    """What a child without results is worth to ``player``, who moves at the node."""
    if params.first_play_urgency < math.inf:
        return params.first_play_urgency
    first = np.int64(tree.children[node])
    visited = 0.0
    for child in range(first, first + num_children(tree, node)):
        if tree.visits[child] > 0:
            visited += np.float64(tree.prior[child])
    return parent_mean(tree, node, 1.0 - 2.0 * player) - params.fpu_reduction * math.sqrt(visited)


@inner_njit
def best_by_prior(tree: Tree, params: SearchParams, node: Int, player: Int) -> int:
    """The slot of the child that ``player``, who moves at the node, goes to. The node has at least one child.

    Proven children are treated as in `search.kernel.uct.best_child`. Of equal scores the first wins.
    """
    sign = 1.0 - 2.0 * player
    # Unsigned, so that no access asks whether the index is negative.
    here = np.uint64(node)
    first = np.uint64(tree.children[here])
    total = np.int64(tree.visits[here]) + np.int64(tree.unobserved[here])
    unit, base = np.int64(1), np.int64(params.cpuct_base)
    if base != params.cpuct_base:
        # Logarithms are those of whole numbers.
        unit, base = np.int64(PARTS), np.int64(params.cpuct_base * PARTS)
    table = params.table
    growth = natural_log(table, (total + 1) * unit + base) - natural_log(table, base)
    explore = (params.exploration + 2.0 * growth) * math.sqrt(float(total))
    urgency = first_play_urgency(tree, params, node, player)
    won = FIRST_WINS if player == 0 else SECOND_WINS
    lost = SECOND_WINS if player == 0 else FIRST_WINS
    best_slot = 0
    best_score = -math.inf
    for slot in range(num_children(tree, here)):
        child = first + np.uint64(slot)
        known = proof(tree, child) if params.solver else UNPROVEN
        if known == won:
            return slot
        if known == lost:
            continue
        score = 0.0
        if known != DRAWN:
            visits = np.int64(tree.visits[child])
            in_flight = np.int64(tree.unobserved[child])
            value = sign * tree.total_value[child]
            mean = child_mean(value, visits, in_flight, value / max(visits, 1), urgency, params.virtual_loss)
            score = mean + explore * np.float64(tree.prior[child]) / (1 + visits + in_flight)
        if score > best_score:
            best_score = score
            best_slot = slot
    return best_slot


@cached_njit
def expand_leaves(
    tree: Tree,
    depths: npt.NDArray[np.int32],
    slots: npt.NDArray[np.uint16],
    counts: npt.NDArray[np.int32],
    moves: npt.NDArray[np.uint16],
    priors: npt.NDArray[np.float32],
) -> None:
    """Give each leaf without children all its children, with priors; the tree is modified in place.

    The path to leaf b is the first depths[b] of slots[b]. It has counts[b] children (0: the game is
    over there), whose ``moves`` and ``priors`` ([sum of counts]) stand one leaf after the other. A leaf that
    another job has expanded meanwhile keeps its children, which are equal to these.
    """
    start = 0
    for b in range(len(depths)):
        end = start + counts[b]
        node: Int = ROOT
        for d in range(depths[b]):
            node = np.int64(tree.children[node]) + np.int64(slots[b, d])
        if end > start and num_children(tree, node) == 0 and proof(tree, node) == UNPROVEN:
            add_children(tree, node, moves[start:end], priors[start:end])
        start = end
