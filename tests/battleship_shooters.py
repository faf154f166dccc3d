"""Honest shooters at a hidden fleet: how many shots each needs to sink it.

    python -m tests.battleship_shooters --games 2000 --samples 1000
    python -m tests.battleship_shooters --shooters greedy ahead --games 500

The standard fleet, placed uniformly, touching allowed, sunk ships announced. All shooters meet the
same fleets, so the difference from the shooter before is printed too, over pairs of games. ``hunt``,
``parity`` and ``density`` are also told a sunk ship's cells; ``greedy`` and ``ahead`` see what a search
sees, Game.observation.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

import games
from games.battleship import Battleship, rules
from games.battleship.placements import placements_of
from games.game import State
from games.jit import njit
from games.rng import Stream, new_stream
from games.specialise import cached_njit, specialise
from games.unbound import determinize

AREA, SIZE, SHIPS, TOTAL = 100, 10, 5, 17
UNTRIED, MISS, AFLOAT, SUNK = 0, 1, 2, 3
"""What a shooter knows of a cell; AFLOAT: hit, and its ship is not known to be sunk."""

Cells = npt.NDArray[np.int64]
Fleets = npt.NDArray[np.int8]
GAME = games.load("battleship:task=solo,announce_sunk=yes")


def seen_by(state: State) -> tuple[Cells, set[int]]:
    """Each cell as UNTRIED, MISS, AFLOAT or SUNK, all cells of sunk ships known; and the ships afloat."""
    values = state[rules.CELLS :]
    ship = (values >> 4) - 1
    sunk = int(state[rules.BLOCK + rules.SUNK_SET])
    afloat = {k for k in range(SHIPS) if not sunk >> k & 1}
    known = np.minimum(values & 15, AFLOAT).astype(np.int64)
    known[(known == AFLOAT) & ~np.isin(ship, list(afloat))] = SUNK
    return known, afloat


def neighbours(cell: int) -> Iterable[int]:
    row, column = divmod(cell, SIZE)
    for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
        if 0 <= r < SIZE and 0 <= c < SIZE:
            yield r * SIZE + c


def shoot_at_random(state: State, draw: random.Random, stream: Stream) -> int:
    known, _ = seen_by(state)
    return int(draw.choice(np.flatnonzero(known == UNTRIED)))


def hunt(state: State, draw: random.Random, parity: int) -> int:
    """A neighbour of a hit of a ship afloat; else a random cell, every ``parity``-th one of each line."""
    known, _ = seen_by(state)
    near = [
        n for cell in np.flatnonzero(known == AFLOAT) for n in neighbours(int(cell)) if known[n] == UNTRIED
    ]
    if near:
        return draw.choice(near)
    left = [int(cell) for cell in np.flatnonzero(known == UNTRIED)]
    return draw.choice([cell for cell in left if sum(divmod(cell, SIZE)) % parity == 0] or left)


def hunt_and_target(state: State, draw: random.Random, stream: Stream) -> int:
    return hunt(state, draw, 1)


def hunt_with_parity(state: State, draw: random.Random, stream: Stream) -> int:
    return hunt(state, draw, 2)


PLACEMENTS = placements_of(SIZE, (5, 4, 3, 3, 2), "any")
LENGTHS = np.repeat([5, 4, 3, 3, 2], np.diff(PLACEMENTS.starts))
SHIP_OF = np.repeat(np.arange(SHIPS), np.diff(PLACEMENTS.starts))
COVERS = np.zeros((len(LENGTHS), AREA), dtype=np.int64)
for _place, (_first, _step) in enumerate(zip(PLACEMENTS.first, PLACEMENTS.step, strict=True)):
    COVERS[_place, _first : _first + LENGTHS[_place] * _step : _step] = 1


def density(state: State, draw: random.Random, stream: Stream) -> int:
    """The cell that most placements of single ships afloat cover, those on hits weighing far more."""
    known, afloat = seen_by(state)
    fits = np.isin(SHIP_OF, list(afloat)) & (COVERS @ ((known == MISS) | (known == SUNK)) == 0)
    hits = COVERS @ (known == AFLOAT)
    weights = fits * np.where(hits < LENGTHS, 100.0**hits, 0.0)
    counts = np.where(known == UNTRIED, weights @ COVERS, -1.0)
    return int(draw.choice(np.flatnonzero(counts == counts.max())))


def draw_fleets(view: State, state: State, stream: Stream, fleets: Fleets, counts: Cells) -> None:
    """Generic: fill ``fleets``, int8[n, AREA], with ships (from 1), and count those on untried cells."""
    for n in range(len(fleets)):
        determinize(view, state, stream)
        for cell in range(AREA):
            value = state[rules.CELLS + cell]
            fleets[n, cell] = value >> 4
            counts[cell] += value >= 16 and value & 15 == 0


def sampled(state: State, stream: Stream, number: int) -> tuple[Fleets, Cells]:
    fleets, counts = np.zeros((number, AREA), dtype=np.int8), np.zeros(AREA, dtype=np.int64)
    run = specialise([draw_fleets], GAME)["draw_fleets"]
    run(GAME.observation(state, games.FIRST), state.copy(), stream, fleets, counts)
    return fleets, counts


def greedy(samples: int) -> Callable[[State, random.Random, Stream], int]:
    """The cell that most of the drawn fleets cover."""

    def shoot(state: State, draw: random.Random, stream: Stream) -> int:
        _, counts = sampled(state, stream, samples)
        return int(counts.argmax())

    return shoot


def ahead(samples: int, width: int) -> Callable[[State, random.Random, Stream], int]:
    """Of the ``width`` cells that most drawn fleets cover, the one after which a greedy shooter who
    knows that the fleet is one of those drawn needs the fewest shots in the mean."""

    def shoot(state: State, draw: random.Random, stream: Stream) -> int:
        fleets, counts = sampled(state, stream, samples)
        best = np.argsort(-counts, kind="stable")[:width]
        best = best[counts[best] > 0]
        if len(best) == 1 or counts[best[0]] == samples:
            return int(best[0])
        untried = (state[rules.CELLS :] & 15) == 0
        costs = [mean_misses(fleets, untried, int(cell)) for cell in best]
        return int(best[int(np.argmin(costs))])

    return shoot


@njit
def answer(fleet: npt.NDArray[np.int8], untried: npt.NDArray[np.bool_], cell: int) -> int:
    """0: miss, 1: hit, 1 + k: sunk ship k (from 1); the cell itself is untried."""
    ship = fleet[cell]
    if ship == 0:
        return 0
    for other in range(AREA):
        if other != cell and fleet[other] == ship and untried[other]:
            return 1
    return int(1 + ship)


@cached_njit
def mean_misses(fleets: Fleets, untried: npt.NDArray[np.bool_], first: int) -> float:
    """The mean number of misses from here on of a shooter who shoots at ``first`` and then greedily.

    He knows that each of ``fleets`` is as likely; depth first over the answers, lists of fleets are
    kept as ranges of one array that is sorted in place.
    """
    number = len(fleets)
    order, spare = np.arange(number), np.zeros(number, dtype=np.int64)
    told = np.zeros(number, dtype=np.int64)
    depth = 0
    start, end = np.zeros(AREA * 8, dtype=np.int64), np.zeros(AREA * 8, dtype=np.int64)
    free = np.zeros((AREA * 8, AREA), dtype=np.bool_)
    end[0], free[0] = number, untried
    misses, shot = 0, first
    while depth >= 0:
        low, high = start[depth], end[depth]
        left = free[depth].copy()
        depth -= 1
        if shot < 0:
            counts = np.zeros(AREA, dtype=np.int64)
            for n in range(low, high):
                fleet = fleets[order[n]]
                for cell in range(AREA):
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
        for value in range(SHIPS + 2):
            begin = at
            for n in range(low, high):
                if told[n] == value:
                    spare[at] = order[n]
                    at += 1
            # One fleet alone is hit without a miss.
            if at - begin > 1:
                depth += 1
                start[depth], end[depth] = begin, at
                free[depth] = left
        for n in range(low, high):
            order[n] = spare[n]
        shot = -1
    return misses / number


def shots_needed(shooter: Callable[[State, random.Random, Stream], int], seed: int) -> int:
    """One game: the fleet and the shooter's draws depend on the seed alone."""
    assert isinstance(GAME, Battleship)
    state, draw, stream = GAME.initial_state(), random.Random(seed), new_stream(seed, 1)
    GAME.calls.determinize(GAME.observation(state, games.FIRST), state, new_stream(seed, 2))
    while not GAME.calls.is_terminal(state):
        GAME.calls.play(state, shooter(state, draw, stream))
        GAME.calls.play(state, GAME.legal_moves(state)[0])
    return int(state[rules.BLOCK + rules.SHOTS])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["random", "hunt", "parity", "density", "greedy", "ahead"]
    parser.add_argument("--shooters", nargs="+", choices=names, default=names[:-1])
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1000, help="fleets drawn for each shot")
    parser.add_argument("--width", type=int, default=6, help="cells that `ahead` compares")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shooters = {
        "random": shoot_at_random,
        "hunt": hunt_and_target,
        "parity": hunt_with_parity,
        "density": density,
        "greedy": greedy(given.samples),
        "ahead": ahead(given.samples, given.width),
    }
    before: npt.NDArray[np.int64] | None = None
    for name in given.shooters:
        began = time.perf_counter()
        shots = np.array([shots_needed(shooters[name], given.seed + n) for n in range(given.games)])
        elapsed_s = time.perf_counter() - began
        line = f"{name:8} {_mean(shots)} shots, median {np.median(shots):.0f}, worst {shots.max()}"
        if before is not None:
            line += f"; less than the one before by {_mean(before - shots)}"
        print(f"{line}  ({given.games} games, {elapsed_s:.0f} s)", flush=True)
        before = shots


def _mean(values: npt.NDArray[np.int64]) -> str:
    return f"{values.mean():.2f} +- {values.std(ddof=1) / math.sqrt(len(values)):.2f}"


if __name__ == "__main__":
    sys.exit(main())
