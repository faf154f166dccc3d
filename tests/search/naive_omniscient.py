"""The players of the thesis on Battleship as it prints them: lists and recursion, calls counted."""

from __future__ import annotations

import math

Positions = list[int]


def minimax(
    mine: Positions, theirs: Positions, own: Positions, others: Positions, depth: int, is_ai: bool, area: int
) -> tuple[float, int | None, int]:
    """Score, cell, calls; ``own`` and ``others`` are the cells tried."""
    if depth == 0:
        return 0, None, 1
    best, cell, calls = (-math.inf if is_ai else math.inf), None, 1
    for pos in range(area):
        if pos in (own if is_ai else others):
            continue
        if is_ai:
            value, _, more = minimax(theirs, mine, [*own, pos], others, depth - 1, False, area)
            score = (pos in theirs) - value
            if score > best:
                best, cell = score, pos
        else:
            value, _, more = minimax(mine, theirs, own, [*others, pos], depth - 1, True, area)
            score = -(pos in mine) + value
            if score < best:
                best, cell = score, pos
        calls += more
    return best, cell, calls


def alpha_beta(
    mine: Positions, theirs: Positions, own: Positions, others: Positions, depth: int, is_ai: bool, area: int
) -> tuple[float, int | None, int]:
    """Score, cell, calls."""
    best, cell, calls = -math.inf, None, 1
    for pos in range(area):
        if pos in (own if is_ai else others):
            continue
        score: float = pos in theirs
        if score < best:
            continue
        enemy = 0.0
        if depth > 1:
            value, _, more = alpha_beta(theirs, mine, own, others, depth - 1, not is_ai, area)
            calls += more
            enemy = max(enemy, value)
        score -= enemy
        if score > best:
            best, cell = score, pos
    return best, cell, calls
