"""What a tree says of its root: the children, the principal variation, the digest."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from games.game import FIRST, Game, State
from games.specialise import cached_njit
from search.final_move import Child, choose
from search.statistics import Statistics, first_children_of, snapshot
from search.tree import (
    DRAWN,
    FIRST_WINS,
    NODES,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    children_of,
    proof_of,
)

PV_LENGTH = 12
DIGEST_ROWS = 250_000
"""Rows that a digest covers at most: some tens of milliseconds."""


def root_children(tree: Tree, mover: int) -> list[Child]:
    """The root's children as ``mover``, who moves there, sees them; most visited first."""
    return sorted(_children(tree, ROOT, mover), key=lambda child: (-child.visits, -child.value, child.move))


def principal_variation(tree: Tree, game: Game, root_state: State, best: int) -> list[int]:
    """``best``, a visited move of the root, and then the most visited line that follows it."""
    state = root_state.copy()
    line: list[int] = []
    node = ROOT
    while len(line) < PV_LENGTH and not game.calls.is_terminal(state):
        children = [c for c in _children(tree, node, int(game.calls.current_player(state))) if c.visits > 0]
        if not children:
            break
        move = choose(children, "robust").move if line else best
        node = next(child for child in children_of(tree, node) if tree.move[child] == move)
        game.calls.play(state, move)
        line.append(move)
    return line


def digest(tree: Tree) -> str:
    """sha256 of what the tree holds: equal digests mean equal statistics, bit for bit.

    Covers moves, visits, total values, proofs, number of children and availability of up to DIGEST_ROWS
    nodes, breadth first with siblings in the order of their moves, so that it does not depend
    on which child was found first. In a larger tree it covers the nodes with the most visits;
    what was added anywhere below them is in their visits and total values.
    """
    return digest_of(snapshot(tree, 0, min(DIGEST_ROWS, int(tree.counts[NODES])))[0])


def digest_of(statistics: Statistics) -> str:
    """sha256 of statistics; see `digest`."""
    order = _canonical_order(statistics.move, statistics.num_children)
    sha = hashlib.sha256()
    for column in statistics:
        if len(column) == 0:
            # Nothing is hidden: availability is not counted.
            continue
        ordered = column[order]
        # Byte order is fixed, so that machines of either kind agree.
        sha.update(ordered.astype(ordered.dtype.newbyteorder("<"), copy=False).tobytes())
    return sha.hexdigest()


@cached_njit
def _canonical_order(
    move: npt.NDArray[np.uint16], num_children: npt.NDArray[np.uint16]
) -> npt.NDArray[np.int32]:
    """[R] the rows, breadth first with siblings by their moves."""
    rows = len(move)
    first = first_children_of(num_children)
    order = np.zeros(rows, dtype=np.int32)
    end = 1
    for place in range(rows):
        row = order[place]
        start = end
        for child in range(first[row], first[row] + np.int64(num_children[row])):
            # Siblings are few, and mostly in order already: insertion.
            hole = end
            while hole > start and move[order[hole - 1]] > move[child]:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = child
            end += 1
    return order


def _children(tree: Tree, node: int, mover: int) -> list[Child]:
    sign = 1.0 if mover == FIRST else -1.0
    won = FIRST_WINS if mover == FIRST else SECOND_WINS
    children = []
    for slot in children_of(tree, node):
        visits = int(tree.visits[slot])
        known = proof_of(tree, slot)
        value = sign * float(tree.total_value[slot]) / visits if visits else 0.0
        if known != UNPROVEN:
            value = sign * (DRAWN - known)
        children.append(
            Child(
                move=int(tree.move[slot]),
                visits=visits,
                # No minus zero for people to wonder at.
                value=value + 0.0,
                won=known == won,
                lost=known not in (won, DRAWN, UNPROVEN),
            )
        )
    return children
