"""What a tree says of its root: the children, the principal variation, the digest."""

from __future__ import annotations

import hashlib

import numpy as np

from games.game import FIRST, Game, State
from search.final_move import Child, choose
from search.statistics import Statistics, snapshot
from search.tree import DRAWN, FIRST_WINS, NODES, ROOT, SECOND_WINS, UNPROVEN, Tree, num_children, proof

PV_LENGTH = 12


def root_children(tree: Tree, mover: int) -> list[Child]:
    """The root's children as ``mover``, who moves there, sees them; most visited first."""
    return sorted(_children(tree, ROOT, mover), key=lambda child: (-child.visits, -child.value, child.move))


def principal_variation(tree: Tree, game: Game, root_state: State, final_move: str) -> list[int]:
    """The chosen move, and then the most visited line that follows it."""
    state = root_state.copy()
    line: list[int] = []
    node = ROOT
    while len(line) < PV_LENGTH and num_children(tree, node) > 0 and not game.rules.is_terminal(state):
        children = [c for c in _children(tree, node, int(game.rules.current_player(state))) if c.visits > 0]
        if not children:
            break
        move = choose(children, final_move if not line else "robust").move
        first = int(tree.children[node])
        moves = tree.move[first : first + num_children(tree, node)]
        node = first + int(np.flatnonzero(moves == move)[0])
        game.rules.play(state, move)
        line.append(move)
    return line


def digest(tree: Tree) -> str:
    """sha256 of all that the tree holds: equal digests mean equal statistics, bit for bit.

    Covers moves, visits, total values, shape and proofs, node for node in breadth-first
    order with siblings in the order of their moves; so it does not depend on where in the
    arena a node lies or which child was found first.
    """
    return digest_of(snapshot(tree, 0, int(tree.counts[NODES]))[0])


def digest_of(statistics: Statistics) -> str:
    """sha256 of statistics; see `digest`."""
    order = _canonical_order(statistics)
    sha = hashlib.sha256()
    for column in statistics:
        # Byte order is fixed, so that machines of either kind agree.
        ordered = column[order]
        sha.update(ordered.astype(ordered.dtype.newbyteorder("<"), copy=False).tobytes())
    return sha.hexdigest()


def _canonical_order(statistics: Statistics) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows, level by level, by (place of the parent, move)."""
    counts = statistics.num_children.astype(np.int64)
    rows = len(counts)
    first = 1 + np.concatenate(([0], np.cumsum(counts)[:-1]))
    parent = np.zeros(rows, dtype=np.int64)
    parent[1:] = np.repeat(np.arange(rows), counts)
    order = np.zeros(rows, dtype=np.int64)
    place = np.zeros(rows, dtype=np.int64)
    start, end = 0, 1
    # Breadth-first rows: a level's children are the rows that follow it.
    while end < rows:
        below = int(first[end - 1] + counts[end - 1])
        level = np.arange(end, below)
        level = level[np.lexsort((statistics.move[level], place[parent[level]]))]
        order[end:below] = level
        place[level] = np.arange(end, below)
        start, end = end, below
    return order


def _children(tree: Tree, node: int, mover: int) -> list[Child]:
    sign = 1.0 if mover == FIRST else -1.0
    won = FIRST_WINS if mover == FIRST else SECOND_WINS
    children = []
    first = int(tree.children[node])
    for slot in range(first, first + num_children(tree, node)):
        visits = int(tree.visits[slot])
        known = int(proof(tree, slot))
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
