"""Proofs: wins, losses and draws that no further visit can change (MCTS-Solver).

Winands, Bjornsson and Saito 2008, "Monte-Carlo Tree Search Solver", section 3; draws are proven as well.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from search.tree.arena import (
    COMPLETE,
    DRAWN,
    FIRST_WINS,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    num_children,
    proof,
    set_proof,
)


@inner_njit
def note_result(tree: Tree, node: Int, value: float) -> None:
    """Note a finished position as proven if its return is 1, -1 or 0; modifies the tree."""
    if value == 1.0:
        set_proof(tree, node, FIRST_WINS)
    elif value == -1.0:
        set_proof(tree, node, SECOND_WINS)
    elif value == 0.0:
        set_proof(tree, node, DRAWN)


@inner_njit
def proof_from_children(tree: Tree, node: Int, player: Int) -> int:
    """What the children prove of a node at which ``player`` moves (UNPROVEN where they do not).

    A win needs one child; a loss or draw needs every legal move to have a proven child.
    """
    won = FIRST_WINS if player == 0 else SECOND_WINS
    result = SECOND_WINS if player == 0 else FIRST_WINS
    all_proven = (np.int64(tree.shape[node]) & COMPLETE) != 0
    first = np.int64(tree.children[node])
    for child in range(first, first + num_children(tree, node)):
        known = proof(tree, child)
        if known == won:
            return won
        if known == UNPROVEN:
            all_proven = False
        elif known == DRAWN:
            result = DRAWN
    return result if all_proven else UNPROVEN


@inner_njit
def spread_proof(tree: Tree, nodes: npt.NDArray[np.int32], movers: npt.NDArray[np.uint8], depth: Int) -> None:
    """Carry the proof of the leaf nodes[depth] up the path as far as it reaches; modifies the tree.

    ``movers[d]`` is who moves at nodes[d].
    """
    for d in range(depth - 1, -1, -1):
        if proof(tree, nodes[d + 1]) == UNPROVEN:
            return
        if proof(tree, nodes[d]) == UNPROVEN:
            result = proof_from_children(tree, nodes[d], movers[d])
            if result == UNPROVEN:
                return
            set_proof(tree, nodes[d], result)


@cached_njit
def prove_root(tree: Tree, player: Int, num_legal: Int) -> None:
    """Note what the root's children prove of it, from whichever lanes they come; modifies the tree.

    ``player`` moves at the root, which has ``num_legal`` legal moves.
    """
    if proof(tree, ROOT) != UNPROVEN:
        return
    if num_children(tree, ROOT) == num_legal:
        tree.shape[ROOT] |= np.uint16(COMPLETE)
    result = proof_from_children(tree, ROOT, player)
    if result != UNPROVEN:
        set_proof(tree, ROOT, result)
