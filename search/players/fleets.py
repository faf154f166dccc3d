"""Random fleets that fit the answers seen in Battleship, and the misses of a shooter who knows them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.battleship import rules
from games.compile.rule_stubs import determinize
from games.compile.specialise import cached_njit, specialise
from games.game import Game, State
from games.jit import Int, njit
from games.rng import Stream

View = State
Cells = npt.NDArray[np.int64]
Fleets = npt.NDArray[np.int8]


def draw_fleets(view: View, state: State, stream: Stream, side: int, fleets: Fleets, counts: Cells) -> None:
    """Generic: fill ``fleets``, int8[n, area], with n random fleets that ``side`` may be shooting at.

    An entry is the number of the ship on the cell, from 1; 0 is no ship. Adds to ``counts``, [area], the
    number of fleets that cover each untried cell.
    """
    area = state[rules.AREA]
    for n in range(len(fleets)):
        determinize(view, state, stream)
        for cell in range(area):
            value = state[rules.CELLS + side * area + cell]
            fleets[n, cell] = value >> 4
            counts[cell] += value >= 16 and value & 15 == 0


def sampled(game: Game, view: View, side: int, stream: Stream, number: int) -> tuple[Fleets, Cells]:
    """``number`` random fleets that fit the view, and how many of them cover each untried cell."""
    state = game.initial_state()
    area = int(state[rules.AREA])
    fleets, counts = np.zeros((number, area), dtype=np.int8), np.zeros(area, dtype=np.int64)
    specialise([draw_fleets], game)["draw_fleets"](view, state, stream, side, fleets, counts)
    return fleets, counts


@njit
def answer(fleet: npt.NDArray[np.int8], untried: npt.NDArray[np.bool_], cell: Int) -> int:
    """The answer to a shot at an untried cell. 0: miss, 1: hit, 1 + k: ship k (from 1) is sunk."""
    ship = fleet[cell]
    if ship == 0:
        return 0
    for other in range(len(fleet)):
        if other != cell and fleet[other] == ship and untried[other]:
            return 1
    return int(1 + ship)


@cached_njit
def mean_misses(fleets: Fleets, untried: npt.NDArray[np.bool_], first: int) -> float:
    """The mean number of further misses of a shooter who shoots at ``first`` and then greedily.

    The shooter knows that all ``fleets`` are equally likely and is told which ships are sunk. Computed depth
    first over the answers; the fleets that fit are a range of one array that is partitioned in place.
    """
    number, area = fleets.shape
    order, spare = np.arange(number), np.zeros(number, dtype=np.int64)
    told = np.zeros(number, dtype=np.int64)
    depth = 0
    start, end = np.zeros(area * 8, dtype=np.int64), np.zeros(area * 8, dtype=np.int64)
    free = np.zeros((area * 8, area), dtype=np.bool_)
    end[0], free[0] = number, untried
    misses = 0
    shot: Int = first
    while depth >= 0:
        low, high = start[depth], end[depth]
        left = free[depth].copy()
        depth -= 1
        if shot < 0:
            counts = np.zeros(area, dtype=np.int64)
            for n in range(low, high):
                fleet = fleets[order[n]]
                for cell in range(area):
                    counts[cell] += fleet[cell] != 0 and left[cell]
            shot = counts.argmax()
            if counts[shot] == 0:
                shot = -1
                continue
        for n in range(low, high):
            told[n] = answer(fleets[order[n]], left, shot)
            misses += told[n] == 0
        left[shot] = False
        at = low
        for value in range(rules.MAX_SHIPS + 2):
            begin = at
            for n in range(low, high):
                if told[n] == value:
                    spare[at] = order[n]
                    at += 1
            # If only one fleet is left, there are no more misses.
            if at - begin > 1:
                depth += 1
                start[depth], end[depth] = begin, at
                free[depth] = left
        for n in range(low, high):
            order[n] = spare[n]
        shot = -1
    return float(misses / number)
