"""Which root child is played when the search is over: Chaslot et al. 2008, "Progressive strategies", 3.3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SECURITY = 1.0
"""A in the secure child's value - A / sqrt(visits), for values in [-1, 1]."""


@dataclass(frozen=True)
class Child:
    """A root child as the player to move sees it."""

    move: int
    visits: int
    value: float
    """Mean return in [-1, 1] of the player who moves at the root; the proven value if there is one."""
    won: bool = False
    lost: bool = False
    """Whether it is proven that this move wins, or loses."""
    votes: int = 0
    """root, where lanes vote: in how many of them it has the most visits."""


def choose(children: Sequence[Child], rule: str) -> Child:
    """The child that the rule picks; ties go to more visits, to the higher value, to the lower move.

    robust: most visits. max: highest value. robust-max: the child that is both, or else the
    robust one. secure: highest value - A / sqrt(visits). vote: most lanes of `root` (majority voting,
    Soejima et al. 2010), of equals the most visited. A proven win goes before all, and a
    proven loss is picked only when every child is one.
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
    # robust-max has no answer of its own where no child has both most visits and the highest value.
    return max(candidates, key=_robust)


def _robust(child: Child) -> tuple[float, ...]:
    return (child.visits, child.value, -child.move)


def _max(child: Child) -> tuple[float, ...]:
    return (child.value, child.visits, -child.move)


def _vote(child: Child) -> tuple[float, ...]:
    return (child.votes, *_robust(child))


def _secure(child: Child) -> tuple[float, ...]:
    return (child.value - SECURITY / math.sqrt(max(1, child.visits)), child.visits, -child.move)
