"""UCT: the scores of children by UCB1 with unobserved samples.

The score of child i of node s for the player who moves at s is

    Q_i + 2 C sqrt(ln(N_s + O_s) / (N_i + O_i))

UCT (Kocsis and Szepesvari 2006) with unobserved samples O (WU-UCT, Liu et al. 2020, equation 4).
Q is the mean in [-1, 1]; C is on the scale of rewards in [0, 1], hence the 2.
"""

from __future__ import annotations

import math

import numpy as np

from games.jit import Int, inner_njit
from search.kernel.logarithms import inverse_sqrt, sqrt_log
from search.kernel.params import EVALUATED, SCORED, SearchParams
from search.tree.arena import (
    COUNT_MASK,
    DRAWN,
    FIRST_WINS,
    PROOF_SHIFT,
    SECOND_WINS,
    Tree,
    num_children,
)


@inner_njit
def child_mean(
    value: float, visits: Int, in_flight: Int, mean: float, unvisited: float, virtual_loss: bool
) -> float:
    """Q of a child for the player who moves at its parent.

    ``value`` is W and ``mean`` W / N of the child (any number without visits), ``unvisited`` what a child
    without results is worth, all in that player's view. With ``virtual_loss`` visits in flight count as lost.
    """
    if virtual_loss and in_flight > 0:
        return (value - in_flight) / (visits + in_flight)
    return mean if visits > 0 else unvisited


@inner_njit
def parent_mean(tree: Tree, node: Int, sign: float) -> float:
    """Q of a node for the player with this sign (1: first, -1: second); 0 without visits."""
    visits = np.int64(tree.visits[node])
    return sign * tree.total_value[node] / visits if visits > 0 else 0.0


@inner_njit
def mean_of_children(tree: Tree, node: Int, sign: float) -> float:
    """`parent_mean` where nodes are SCORED: the mean of all visits of the node's children; 0 without any."""
    first = np.int64(tree.children[node])
    visits = np.int64(0)
    total = 0.0
    for child in range(first, first + num_children(tree, node)):
        visits += np.int64(tree.visits[child])
        total += tree.total_value[child]
    return sign * total / visits if visits > 0 else 0.0


def best_child(tree: Tree, params: SearchParams, node: Int, player: Int) -> tuple[int, float]:
    """Generic: the slot and score of the child that ``player``, who moves at the node, goes to.

    The node has at least one child. With the solver, a child that is proven lost for the player is taken only
    if there is no other, a child that is proven won at once, and a proven draw scores 0, with nothing left to
    explore. Of equal scores the first wins.

    One piece, with the mean of `child_mean` written out: a call in this loop, though inlined, costs lanes of
    `tree` in gomoku 2 to 7 % of their simulations, the mean of the parent before the loop 2 %.
    """
    sign = 1.0 - 2.0 * player
    # Unsigned, so that no access asks whether the index is negative.
    here = np.uint64(node)
    first = np.uint64(tree.children[here])
    count = np.int64(tree.shape[here]) & COUNT_MASK
    visits_here = np.int64(tree.visits[here])
    in_flight_here = np.int64(tree.unobserved[here])
    explore = params.exploration * sqrt_log(params.table, visits_here + in_flight_here)
    # Where nothing is in flight here, nothing is below; the compiler makes this a loop of its own.
    plain = in_flight_here == 0 and not params.solver and not EVALUATED
    won = FIRST_WINS if player == 0 else SECOND_WINS
    lost = SECOND_WINS if player == 0 else FIRST_WINS
    best_slot = 0
    best_score = -math.inf
    for slot in range(count):
        child = first + np.uint64(slot)
        visits = np.int64(tree.visits[child])
        value = sign * tree.total_value[child]
        if plain:
            scale = inverse_sqrt(params.table, visits)
            score = scale * (value * scale + explore)
        else:
            if params.solver:
                known = (np.int64(tree.shape[child]) >> PROOF_SHIFT) & 3
                if known == won:
                    return slot, math.inf
                if known == lost:
                    continue
                if known == DRAWN:
                    # Its value is known: only a sibling that may be better is worth a visit.
                    if best_score < 0.0:
                        best_score = 0.0
                        best_slot = slot
                    continue
            in_flight = np.int64(tree.unobserved[child])
            scale = inverse_sqrt(params.table, visits)
            mean = value * scale * scale
            if params.virtual_loss and in_flight > 0:
                mean = (value - in_flight) / (visits + in_flight)
            elif visits == 0 and visits_here > 0:
                # A child whose first visit is still in flight is believed to be as good as its parent.
                mean = (
                    mean_of_children(tree, here, sign)
                    if SCORED
                    else sign * tree.total_value[here] / visits_here
                )
            if EVALUATED:
                # A constant: asked of the params, in this loop, it would cost `tree` a quarter of its speed.
                mean += params.implicit * (sign * np.float64(tree.heuristic[child]) - mean)
            score = mean + explore * inverse_sqrt(params.table, visits + in_flight)
        if score > best_score:
            best_score = score
            best_slot = slot
    return best_slot, best_score
