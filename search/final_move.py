"""Choice of the move to play from the root's children: Chaslot et al. 2008, "Progressive strategies", 3.3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SECURITY = 1.0
"""The parameter A of the secure child, which maximises value - A / sqrt(visits); values in [-1, 1]."""


@dataclass(frozen=True)
class Child:
    """A child of the root, from the viewpoint of the player to move at the root."""

    move: int
    visits: int
    value: float
    """Mean return in [-1, 1] of the player to move at the root; the proven value if there is one."""
    won: bool = False
    """Whether the move is a proven win."""
    lost: bool = False
    """Whether the move is a proven loss."""
    votes: int = 0
    """Strategy root with the rule vote: the number of lanes in which the child has the most visits."""


def choose(children: Sequence[Child], rule: str) -> Child:
    """The child selected by ``rule``; ties are broken by more visits, higher value, lower move code.

    robust: most visits. max: highest value. robust-max: the child with both, if there is one, else the
    robust child. secure: highest value - A / sqrt(visits). vote: most votes of lanes of the strategy root
    (majority voting, Soejima et al. 2010). A proven win precedes all others, and a proven loss is selected
    only if every child is one.
    """
    won = [child for child in children if child.won]
    if won:
        return max(won, key=_robust)
    candidates = [child for child in children if not child.lost] or list(children)
    if rule == "max":
        return max(candidates, key=_max)
    if rule == "secure":
        return max(candidates, key=_secure)
    if rule == "vote":
        return max(candidates, key=_vote)
    # For robust-max, without a child that has both the most visits and the highest value.
    return max(candidates, key=_robust)


def _robust(child: Child) -> tuple[float, ...]:
    return (child.visits, child.value, -child.move)


def _max(child: Child) -> tuple[float, ...]:
    return (child.value, child.visits, -child.move)


def _vote(child: Child) -> tuple[float, ...]:
    return (child.votes, *_robust(child))


def _secure(child: Child) -> tuple[float, ...]:
    return (child.value - SECURITY / math.sqrt(max(1, child.visits)), child.visits, -child.move)
