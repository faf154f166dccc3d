"""Implicit minimax: evaluations of nodes beside the results of playouts.

After Lanctot, Winands, Pepels and Sturtevant 2014: each node keeps v, the minimax of the evaluations in the
tree below it, and selection goes by (1 - a) Q + a v. It is off where a is 0. The value enters the score in
search/kernel/uct.py, `best_child`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import evaluate, is_terminal, returns
from games.jit import Int, inner_njit
from games.rules import State
from search.kernel.params import SearchParams
from search.tree.arena import Tree, num_children


@inner_njit
def nothing_to_note(
    tree: Tree,
    params: SearchParams,
    state: State,
    nodes: npt.NDArray[np.int32],
    movers: npt.NDArray[np.uint8],
    depth: Int,
) -> None:
    """`search.kernel.stubs.note_leaf` of searches that evaluate no nodes."""


def note_heuristic(
    tree: Tree,
    params: SearchParams,
    state: State,
    nodes: npt.NDArray[np.int32],
    movers: npt.NDArray[np.uint8],
    depth: Int,
) -> None:
    """Generic: `search.kernel.stubs.note_leaf` that evaluates a leaf without visits.

    With implicit minimax its value is carried up as far as it changes anything.
    """
    leaf = nodes[depth]
    if tree.visits[leaf] != 0:
        return
    tree.heuristic[leaf] = returns(state) if is_terminal(state) else evaluate(state)
    if params.implicit == 0.0:
        return
    for d in range(depth - 1, -1, -1):
        value = minimax_of_children(tree, nodes[d], movers[d])
        if tree.heuristic[nodes[d]] == value:
            return
        tree.heuristic[nodes[d]] = value


@inner_njit
def minimax_of_children(tree: Tree, node: Int, player: Int) -> float:
    """The best of the children's heuristics for ``player``, who moves at the node; it has a child.

    In the first player's view, as all heuristics in the tree.
    """
    sign = 1.0 - 2.0 * player
    first = np.int64(tree.children[node])
    best = -math.inf
    for child in range(first, first + num_children(tree, node)):
        best = max(best, sign * np.float64(tree.heuristic[child]))
    return sign * best
