"""What the game's evaluation says of nodes, beside what playouts say: implicit minimax and progressive bias.

Implicit minimax (Lanctot, Winands, Pepels and Sturtevant 2014): each node keeps the minimax of the
evaluations in the tree below it, and selection goes by (1 - a) Q + a v. Progressive bias (Chaslot
et al. 2008, section 4.1): selection adds b h / (n + 1), which fades as a child is visited; h is here
the evaluation of the position after the move. Both are off where a and b are 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rules import State
from games.unbound import evaluate, is_terminal, returns
from search.selection import Knobs
from search.tree import Tree, num_children


def note_heuristic(
    tree: Tree,
    knobs: Knobs,
    state: State,
    nodes: npt.NDArray[np.int32],
    movers: npt.NDArray[np.uint8],
    depth: Int,
) -> None:
    """Generic: evaluate the leaf at the end of the path, whose position is ``state``, if it is new.

    With implicit minimax its value is carried up as far as it changes anything. Modifies the tree.
    """
    leaf = nodes[depth]
    if tree.visits[leaf] != 0:
        return
    tree.heuristic[leaf] = returns(state) if is_terminal(state) else evaluate(state)
    if knobs.implicit == 0.0:
        return
    for d in range(depth - 1, -1, -1):
        value = minimax_of_children(tree, nodes[d], movers[d])
        if tree.heuristic[nodes[d]] == value:
            return
        tree.heuristic[nodes[d]] = value


@njit
def minimax_of_children(tree: Tree, node: Int, player: Int) -> float:
    """The best of the children's heuristics for ``player``, who moves at the node; it has a child."""
    sign = 1.0 - 2.0 * player
    first = np.int64(tree.children[node])
    best = -math.inf
    for child in range(first, first + num_children(tree, node)):
        best = max(best, sign * np.float64(tree.heuristic[child]))
    return sign * best
