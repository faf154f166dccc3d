"""Summaries of a tree: the root's children, the final move among them, the principal variation, the digest.

The rules of the final move are those of Chaslot et al. 2008, "Progressive strategies", 3.3.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from games.game import CHANCE, FIRST, Game, State
from search.tree.arena import (
    DRAWN,
    FIRST_WINS,
    NODES,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    children_of,
    proof_of,
    worth_of,
)
from search.tree.merge import Statistics, snapshot

PV_LENGTH = 12
PV_VISITS = 25
"""Minimum visits of a move of the principal variation; Pachi (uct/uct.c) has the same limit."""
DIGEST_ROWS = 250_000
"""Maximum rows that a digest covers; hashing them takes some tens of milliseconds."""


def root_children(tree: Tree, mover: int) -> list[Child]:
    """The root's children as ``mover``, who moves there, sees them; most visited first."""
    return sorted(_children(tree, ROOT, mover), key=lambda child: (-child.visits, -child.value, child.move))


def principal_variation(tree: Tree, game: Game, root_state: State, best: int) -> list[int]:
    """``best``, a visited move of the root, followed by the most visited moves.

    The line has at most PV_LENGTH moves. It ends before a move with fewer than PV_VISITS visits, and where
    two moves share the most visits, unless the move is a proven win or every move is a proven loss; where
    chance moves; and where something is hidden, before a move that is not legal in this position.
    """
    state = root_state.copy()
    line: list[int] = []
    node = ROOT
    while len(line) < PV_LENGTH and not game.calls.is_terminal(state):
        move = best
        if line:
            player = int(game.calls.current_player(state))
            if player == CHANCE:
                break
            seen = _children(tree, node, game.viewpoint(player))
            children = [child for child in seen if child.visits > 0]
            if not children:
                break
            chosen = choose(children, "robust")
            most = [child for child in children if child.visits >= chosen.visits and not child.lost]
            stands_out = chosen.visits >= PV_VISITS and len(most) == 1
            if not (stands_out or chosen.won or chosen.lost):
                break
            move = chosen.move
            if game.hidden_information and move not in game.legal_moves(state):
                break
        node = next(child for child in children_of(tree, node) if tree.move[child] == move)
        game.calls.play(state, move)
        line.append(move)
    return line


def digest(tree: Tree) -> str:
    """SHA-256 of the tree's statistics: equal digests mean equal statistics, bit for bit.

    Covers moves, visits, total values, proofs, number of children and availability of up to DIGEST_ROWS
    nodes, breadth first with siblings in the order of their moves, so that it does not depend
    on which child was added first. In a larger tree it covers the nodes with the most visits;
    what was added below them is in their visits and total values.
    """
    return digest_of(snapshot(tree, 0, min(DIGEST_ROWS, int(tree.counts[NODES])))[0])


def digest_of(statistics: Statistics) -> str:
    """SHA-256 of statistics, siblings in the order of their moves; see `digest`."""
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


def _canonical_order(
    move: npt.NDArray[np.uint16], num_children: npt.NDArray[np.uint16]
) -> npt.NDArray[np.int64]:
    """[R] the rows, breadth first with siblings by their moves: level by level."""
    parent = np.repeat(np.arange(len(move)), num_children)
    place = np.zeros(len(move), dtype=np.int64)
    levels = [np.zeros(1, dtype=np.int64)]
    begin, end = 0, 1
    while begin < end:
        place[levels[-1]] = np.arange(begin, end)
        begin, end = end, end + int(num_children[begin:end].sum())
        levels.append(begin + np.lexsort((move[begin:end], place[parent[begin - 1 : end - 1]])))
    return np.concatenate(levels)


def _children(tree: Tree, node: int, mover: int) -> list[Child]:
    sign = 1.0 if mover == FIRST else -1.0
    won = FIRST_WINS if mover == FIRST else SECOND_WINS
    children, slots = [], children_of(tree, node)
    columns = (column[slots.start : slots.stop].tolist() for column in (tree.move, tree.visits))
    for slot, move, visits in zip(slots, *columns, strict=True):
        known = proof_of(tree, slot)
        # No minus zero for people to wonder at.
        value = sign * worth_of(tree, slot) + 0.0
        children.append(Child(move, visits, value, known == won, known not in (won, DRAWN, UNPROVEN)))
    return children


SECURITY = 1.0
"""The parameter A of the secure child, which maximises value - A / sqrt(visits); values in [-1, 1]."""


@dataclass(frozen=True)
class Child:
    """A child of a node, from the viewpoint of the player to move at the node."""

    move: int
    visits: int
    value: float
    """Mean value for the player to move at the node (a return in [-1, 1], or rewards); the proven value if
    there is one."""
    won: bool = False
    """Whether the move is a proven win."""
    lost: bool = False
    """Whether the move is a proven loss."""
    forced: bool = False
    """Whether it has only the visits that it was to get at least (`SearchRequest.least_visits`)."""
    votes: int = 0
    """Strategy root with the rule vote: the number of lanes in which the child has the most visits."""


def choose(children: Sequence[Child], rule: str) -> Child:
    """The child selected by ``rule``; ties are broken by more visits, higher value, lower move code.

    robust: most visits. max: highest value. robust-max: the child with both, if there is one, else the
    robust child. secure: highest value - A / sqrt(visits). vote: most votes of lanes of the strategy root
    (majority voting, Soejima et al. 2010). A proven win precedes all others, and a proven loss is selected
    only if every child is one.

    Visits or votes that were forced say nothing for a move. But a search that would have visited it as often
    anyway gives it none beside them, so it is not left out for that: it is if its value is no higher than
    that of the child selected among the others. Values alone are compared as they are.
    """

    def rank(child: Child) -> tuple[float, ...]:
        robust = (child.visits, child.value, -child.move)
        if rule == "max":
            return (child.value, *robust)
        if rule == "secure":
            return (child.value - SECURITY / math.sqrt(max(1, child.visits)), *robust)
        if rule == "vote":
            return (child.votes, *robust)
        # For robust-max, without a child that has both the most visits and the highest value.
        return robust

    won = [child for child in children if child.won]
    if won:
        rule = "robust"
    children = won or [child for child in children if not child.lost] or children
    if rule not in ("max", "secure") and (free := [child for child in children if not child.forced]):
        worth = max(free, key=rank).value
        children = free + [child for child in children if child.forced and child.value > worth]
    return max(children, key=rank)
