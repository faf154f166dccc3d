"""PUCT: selection where an evaluator's policy gives each move a prior P.

The score of child i of node s for the player who moves at s is

    Q_i + 2 C(s) P_i sqrt(N_s + O_s) / (1 + N_i + O_i),   C(s) = C + ln((1 + N_s + O_s + c_base) / c_base)

(Silver et al. 2018, "A general reinforcement learning algorithm", with unobserved samples O as in
search/selection.py; Q in [-1, 1], C on the scale of rewards in [0, 1], hence the 2.) A child without
results is worth the first-play urgency: Q_s - r sqrt(the sum of P over children with results), as in
KataGo and lc0, or a fixed value.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.specialise import cached_njit
from search.selection import Knobs, natural_log
from search.tree import (
    COUNT_MASK,
    DRAWN,
    FIRST_WINS,
    PROOF_SHIFT,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    add_children,
    num_children,
    proof,
)


@njit
def first_play_urgency(tree: Tree, knobs: Knobs, node: Int, player: Int) -> float:
    """What a child without results is worth to ``player``, who moves at the node."""
    if knobs.first_play_urgency < math.inf:
        return knobs.first_play_urgency
    first = np.int64(tree.children[node])
    visited = 0.0
    for child in range(first, first + num_children(tree, node)):
        if tree.visits[child] > 0:
            visited += np.float64(tree.prior[child])
    visits = np.int64(tree.visits[node])
    mean = (1.0 - 2.0 * player) * tree.total_value[node] / visits if visits > 0 else 0.0
    return mean - knobs.urgency_reduction * math.sqrt(visited)


@njit
def best_by_prior(tree: Tree, knobs: Knobs, node: Int, player: Int) -> int:
    """The slot of the child that ``player``, who moves here, goes to; the node has at least one child.

    Proven children are treated as in `search.selection.best_child`. Of equal scores the first wins.
    """
    sign = 1.0 - 2.0 * player
    here = np.uint64(node)
    first = np.uint64(tree.children[here])
    count = np.int64(tree.shape[here]) & COUNT_MASK
    total = np.int64(tree.visits[here]) + np.int64(tree.unobserved[here])
    growth = natural_log(total + 1 + np.int64(knobs.exploration_base)) - natural_log(
        np.int64(knobs.exploration_base)
    )
    explore = (knobs.exploration + 2.0 * growth) * math.sqrt(float(total))
    urgency = first_play_urgency(tree, knobs, node, player)
    won = FIRST_WINS if player == 0 else SECOND_WINS
    lost = SECOND_WINS if player == 0 else FIRST_WINS
    best_slot = 0
    best_score = -math.inf
    for slot in range(count):
        child = first + np.uint64(slot)
        visits = np.int64(tree.visits[child])
        in_flight = np.int64(tree.unobserved[child])
        value = sign * tree.total_value[child]
        if knobs.virtual_loss and in_flight > 0:
            mean = (value - in_flight) / (visits + in_flight)
        elif visits > 0:
            mean = value / visits
        else:
            mean = urgency
        prior = np.float64(tree.prior[child])
        score = mean + explore * prior / (1 + visits + in_flight)
        if knobs.solver:
            known = (np.int64(tree.shape[child]) >> PROOF_SHIFT) & 3
            if known == won:
                return slot
            if known == lost:
                continue
            if known == DRAWN:
                score = 0.0
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
    """Give each leaf that has none its children, with priors; the tree is modified in place.

    The way to leaf b is the first depths[b] of slots[b]; it has counts[b] children (0: the game is
    over there), whose ``moves`` and ``priors`` stand one leaf's after the other's. A leaf that
    another job has expanded meanwhile keeps the children that it has, for they are the same.
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
