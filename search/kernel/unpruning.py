"""Progressive unpruning: a node begins with its moves of highest priority, and gets more as it is visited.

Chaslot, Winands, van den Herik, Uiterwijk and Bouzy 2008, "Progressive strategies for Monte-Carlo
tree search", section 4.2: after A B**(k - k_init) visits a node has k moves.
"""

from __future__ import annotations

import math

import numpy as np

from games.compile.rule_stubs import priority
from games.jit import Int, inner_njit
from games.rng import Stream, below
from games.rules import Moves, State
from search.kernel.expansion import is_tried
from search.kernel.params import SearchParams
from search.kernel.uct import natural_log
from search.kernel.workspace import Workspace
from search.tree.arena import NO_BLOCK, Tree, add_child

FIRST_VISITS = 50
"""A: a node has more than its first moves only after so many visits."""
GROWTH = 1.3
"""B: the factor by which visits grow for each further move."""
_LN_A = math.log(FIRST_VISITS)
_PER_LN = 1.0 / math.log(GROWTH)


@inner_njit
def allowed(params: SearchParams, visits: Int) -> int:
    """The number of children that a node may have after so many visits."""
    if visits <= FIRST_VISITS:
        return params.widening
    return int(params.widening + np.int64((natural_log(visits) - _LN_A) * _PER_LN))


@inner_njit
def below_limit(tree: Tree, params: SearchParams, node: Int, count: Int) -> bool:
    """`search.kernel.stubs.may_expand`: visits in flight count as visits."""
    visits = np.int64(tree.visits[node]) + np.int64(tree.unobserved[node])
    return count < allowed(params, visits)  # type: ignore[return-value]


def add_best(
    tree: Tree, params: SearchParams, node: Int, depth: Int, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """Generic: `search.kernel.stubs.add_untried` that adds the untried move of highest priority."""
    move = best_untried(tree, node, work.state, work.moves, num_moves, stream)
    return add_child(tree, node, move) != NO_BLOCK


def best_untried(tree: Tree, node: Int, state: State, moves: Moves, num_moves: Int, stream: Stream) -> int:
    """Generic: of the first ``num_moves`` moves that have no child (there is one) one of highest priority.

    Of equal ones each is as likely. ``stream`` is modified in place.
    """
    best = -math.inf
    found = 0
    chosen = np.int64(moves[0])
    for i in range(num_moves):
        move = np.int64(moves[i])
        if is_tried(tree, node, move):
            continue
        score = priority(state, move)
        if score > best:
            best = score
            found = 0
        if score == best:
            found += 1
            if below(stream, found) == 0:
                chosen = move
    return chosen  # type: ignore[return-value]
