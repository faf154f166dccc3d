"""Progressive unpruning: a node begins with its best-looking moves, and more come in as it is visited.

Chaslot, Winands, van den Herik, Uiterwijk and Bouzy 2008, "Progressive strategies for Monte-Carlo
tree search", section 4.2: after A B**(k - k_init) visits a node has k moves.
"""

from __future__ import annotations

import math

import numpy as np

from games.jit import Int, njit
from games.rng import Stream, below
from games.rules import Moves, State
from games.unbound import priority
from search.selection import Knobs, natural_log
from search.tree import Tree, num_children

FIRST_VISITS = 50
"""A."""
GROWTH = 1.3
"""B."""
_LN_A = math.log(FIRST_VISITS)
_PER_LN = 1.0 / math.log(GROWTH)


@njit
def allowed(knobs: Knobs, visits: Int) -> int:
    """How many children a node may have after so many visits."""
    if visits <= FIRST_VISITS:
        return knobs.widening
    return int(knobs.widening + np.int64((natural_log(visits) - _LN_A) * _PER_LN))


def best_untried(tree: Tree, node: Int, state: State, moves: Moves, num_legal: Int, stream: Stream) -> int:
    """Generic: of the legal moves without a child (there is one) the one of highest priority.

    Of equal ones each is as likely. ``stream`` is modified in place.
    """
    first = np.int64(tree.children[node])
    count = num_children(tree, node)
    best = -math.inf
    found = 0
    chosen = np.int64(moves[0])
    for i in range(num_legal):
        move = np.int64(moves[i])
        tried = False
        for child in range(first, first + count):
            tried |= tree.move[child] == move
        if tried:
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
