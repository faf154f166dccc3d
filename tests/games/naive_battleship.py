"""Battleship from the rules as people tell them: fleets are sets of cells, answers come from playing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

Fleet = tuple[frozenset[int], ...]
REACH = {"any": (), "no_side": ((0, 1), (1, 0)), "no_contact": ((0, 1), (1, 0), (1, 1), (1, -1))}


def ships(size: int, length: int) -> list[frozenset[int]]:
    """All placements of a ship on an empty board."""
    across = [(r, c, 0, 1) for r in range(size) for c in range(size - length + 1)]
    upright = [(r, c, 1, 0) for r in range(size - length + 1) for c in range(size)]
    lines = [
        frozenset((r + i * down) * size + c + i * right for i in range(length))
        for r, c, down, right in across + upright
    ]
    return list(dict.fromkeys(lines))


def may_lie(size: int, touch: str, ship: frozenset[int], others: Sequence[frozenset[int]]) -> bool:
    """Whether the ship neither overlaps nor, where that is forbidden, touches another."""
    taken = frozenset().union(*others)
    if ship & taken:
        return False
    for cell in ship:
        row, column = divmod(cell, size)
        for down, right in REACH[touch]:
            for r, c in ((row + down, column + right), (row - down, column - right)):
                if 0 <= r < size and 0 <= c < size and r * size + c in taken:
                    return False
    return True


def fleets(size: int, lengths: Sequence[int], touch: str) -> Iterator[tuple[Fleet, Fraction]]:
    """All fleets, and the chance of each when ship after ship takes one of its free placements at random.

    The chances add up to less than 1 if there are ways to get stuck.
    """

    def place(done: Fleet, chance: Fraction) -> Iterator[tuple[Fleet, Fraction]]:
        if len(done) == len(lengths):
            yield done, chance
            return
        free = [ship for ship in ships(size, lengths[len(done)]) if may_lie(size, touch, ship, done)]
        for ship in free:
            yield from place((*done, ship), chance / len(free))

    yield from place((), Fraction(1))


def answers(fleet: Fleet, shots: Sequence[int], announce: bool) -> list[str]:
    """The answers to shots in order; ``sunk k`` names the ship by its number."""
    hits: set[int] = set()
    told = []
    for shot in shots:
        struck = [k for k, ship in enumerate(fleet) if shot in ship]
        if not struck:
            told.append("miss")
            continue
        hits.add(shot)
        told.append(f"sunk {struck[0]}" if announce and fleet[struck[0]] <= hits else "hit")
    return told
