"""Selection where something is hidden: single-observer information set MCTS.

Cowling, Powley and Whitehouse 2012, section 5 (SO-ISMCTS). Each simulation plays in one
determinization, and a node stands for all positions that the searching player cannot tell
apart. So a node's children are the moves that were legal in *some* determinization; in a
simulation only those count that are legal in its own, and the exploration term of child i
asks how often i was available when its parent was visited, not how often the parent was:

    Q_i + 2 C sqrt(ln N'_i / (N_i + O_i)),    N'_i the availability count.

What the rules reveal (the answer to a shot) is a move too: there is one legal one in each
determinization, and the tree branches on it.

What a move is worth hangs more on the deal than on the move. So a search may be ``paired``: a few moves of
the root, the best ones by their scores, search each determinization one after the other, and what the
deal does for all of them does not tell them apart (common random numbers).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import Stream
from games.rules import Moves, State
from games.unbound import determinize
from search.selection import Knobs, inverse_sqrt, sqrt_log
from search.tree import ROOT, Tree, num_children

if TYPE_CHECKING:
    from search.kernel import Workspace

NO_SLOT = -1


@njit
def best_available(
    tree: Tree,
    knobs: Knobs,
    node: Int,
    player: Int,
    visits: int,
    moves: Moves,
    num_legal: int,
    slots: npt.NDArray[np.uint16],
) -> tuple[int, float, int]:
    """The slot and score of the best child that is legal here, and how many legal moves have no child.

    ``moves`` holds the legal moves; those without a child are brought to its front. The slot is
    NO_SLOT if no child is legal. The availability of each legal child grows by ``visits``. ``slots``
    ([65,536], all zero, and so again afterwards) is scratch. Of equal scores the first in the
    order of ``moves`` wins.
    """
    sign = 1.0 - 2.0 * player
    first = np.int64(tree.children[node])
    count = num_children(tree, node)
    visits_here = np.int64(tree.visits[node])
    in_flight_here = np.int64(tree.unobserved[node])
    for slot in range(count):
        slots[tree.move[first + slot]] = slot + 1
    best_slot: Int = NO_SLOT
    best_score = -math.inf
    num_untried = 0
    for i in range(num_legal):
        move = moves[i]
        known = np.int64(slots[move])
        if known == 0:
            moves[num_untried] = move
            num_untried += 1
            continue
        child = first + known - 1
        tree.available[child] += visits
        available = np.int64(tree.available[child])
        if knobs.anticipated != 0 and visits_here > 0:
            # Other lanes' visits are expected to find it as often as one's own did.
            available = available + in_flight_here * available // visits_here
        child_visits = np.int64(tree.visits[child])
        in_flight = np.int64(tree.unobserved[child])
        value = sign * tree.total_value[child]
        scale = inverse_sqrt(child_visits)
        mean = value * scale * scale
        if knobs.virtual_loss and in_flight > 0:
            mean = (value - in_flight) / (child_visits + in_flight)
        elif child_visits == 0 and visits_here > 0:
            mean = sign * tree.total_value[node] / visits_here
        explore = knobs.exploration * sqrt_log(max(available, np.int64(1)))
        score = mean + explore * inverse_sqrt(child_visits + in_flight)
        if score > best_score:
            best_score, best_slot = score, known - 1
    for slot in range(count):
        slots[tree.move[first + slot]] = 0
    return best_slot, best_score, num_untried  # type: ignore[return-value]


@njit
def unused(used: npt.NDArray[np.int64], moves: Moves, num_legal: int) -> int:
    """Bring the legal moves that are not among the used[0] ones after used[0] to the front; returns how many.

    If that were none, all stay.
    """
    count = 0
    for i in range(num_legal):
        move = np.int64(moves[i])
        new = True
        for k in range(1, used[0] + 1):
            new &= used[k] != move
        if new:
            moves[count] = moves[i]
            count += 1
    return count if count > 0 else num_legal


def deal(tree: Tree, knobs: Knobs, root_state: State, done: int, stream: Stream, work: Workspace) -> None:
    """Generic: write the next simulation's determinization into work.state.

    A new one when as many moves of the root as it should, or as there are, have searched the last one.
    """
    num_used = work.used[0]
    if done == 0 or num_used == knobs.paired or num_used >= num_children(tree, ROOT):
        work.used[0] = 0
        determinize(root_state, work.leaf_state, stream)
    for i in range(len(work.state)):
        work.state[i] = work.leaf_state[i]
