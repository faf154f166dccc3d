"""Battleship players that see only the answers to their shots (`Game.observation`)."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from games.battleship import Battleship, rules
from games.battleship.placements import placements_of
from games.compile.rule_stubs import determinize
from games.compile.specialise import cached_njit, specialise
from games.game import Game, State
from games.jit import Int, njit
from games.rng import Stream, new_stream
from games.spec import Options, Spec
from search.players.player import Choice, Observation, Player, only

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
    """``number`` random fleets that fit the view, int8[number, area], and how many of them cover each untried
    cell, int64[area]."""
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


UNTRIED, MISS, AFLOAT, SUNK = 0, 1, 2, 3
"""Knowledge about a cell. AFLOAT: hit, and not known to belong to a sunk ship."""
HIT_WEIGHT = 100.0
"""Factor of the weight of a placement in `Density` for each hit that it covers."""
SEQUENCE = 7
"""Part of the identity of the random stream for fleets."""


@dataclass(frozen=True)
class KnownBoard:
    """The shooter's knowledge of the board."""

    cells: Cells
    """[area]: UNTRIED, MISS, AFLOAT or SUNK for each cell."""
    afloat: list[int]
    """The numbers, from 0, of the ships that are not announced as sunk."""
    size: int

    def neighbours(self, cell: int) -> Iterable[int]:
        """The up to four neighbours of a cell along rows and columns."""
        row, column = divmod(cell, self.size)
        for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < self.size and 0 <= c < self.size:
                yield r * self.size + c


class Shooter(Player):
    """Base class of players that choose a cell from their knowledge of all cells."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        super().__init__(str(spec))
        self.game = only(spec, game, Battleship)

    def choose(self, seen: Observation, seed: int) -> Choice:
        return Choice(self.shoot(self.known(seen), random.Random(seed)))

    @abstractmethod
    def shoot(self, known: KnownBoard, draw: random.Random) -> int:
        """Choose an untried cell."""

    @cached_property
    def covers(self) -> npt.NDArray[np.int64]:
        """int64[placements, area]: 1 where the placement covers the cell; placements are sorted by ship."""
        placements = placements_of(self.game.size, self.game.lengths, self.game.touch)
        covers = np.zeros((len(placements.first), self.game.size**2), dtype=np.int64)
        for place, (first, step) in enumerate(zip(placements.first, placements.step, strict=True)):
            covers[place, first : first + self.lengths[place] * step : step] = 1
        return covers

    @cached_property
    def ships(self) -> npt.NDArray[np.int64]:
        """int64[placements]: the ship of each placement."""
        starts = placements_of(self.game.size, self.game.lengths, self.game.touch).starts
        return np.repeat(np.arange(len(self.game.lengths)), np.diff(starts))

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """int64[placements]: the number of cells of each placement."""
        return np.array(self.game.lengths)[self.ships]

    def known(self, seen: Observation) -> KnownBoard:
        """The knowledge of all cells. SUNK: a hit that certainly belongs to a ship announced as sunk."""
        view, area = seen.state, self.game.size**2
        side = seen.mover if view[rules.SIDES] == 2 else 0
        status = view[rules.CELLS + side * area : rules.CELLS + (side + 1) * area]
        block = rules.BLOCK + rules.BLOCK_LENGTH * side
        cells = np.minimum(status, AFLOAT).astype(np.int64)
        sunk = [int(view[block + rules.SUNK_SHIP + n]) for n in range(view[block + rules.NUM_SUNK])]
        last = [int(view[block + rules.SUNK_CELL + n]) for n in range(len(sunk))]
        fits = []
        for number, (ship, cell) in enumerate(zip(sunk, last, strict=True)):
            hit_by_then = (status >= rules.HIT_FIRST) & (status <= rules.HIT_FIRST + number)
            of_ship = self.covers[self.ships == ship]
            fits.append(of_ship[(of_ship[:, cell] == 1) & (of_ship @ ~hit_by_then == 0)])
        cells[_certain(fits, area)] = SUNK
        return KnownBoard(cells, [k for k in range(len(self.game.lengths)) if k not in sunk], self.game.size)


def _certain(fits: list[npt.NDArray[np.int64]], area: int) -> npt.NDArray[np.bool_]:
    """bool[area]: cells that certainly belong to a sunk ship; ``fits``: possible placements by sunk ship."""
    before = -1
    certain = np.zeros(area, dtype=np.bool_)
    while before != sum(map(len, fits)):
        before = sum(map(len, fits))
        owned = [each.all(axis=0) for each in fits]
        certain = np.any(owned, axis=0) if owned else certain
        # A cell that certainly belongs to one ship excludes placements of the other ships on it.
        for n, each in enumerate(fits):
            others = np.any(
                [own for k, own in enumerate(owned) if k != n] or [np.zeros(area, np.bool_)], axis=0
            )
            fits[n] = each[each @ others == 0]
    return certain


class Hunt(Shooter):
    """Shoots at a neighbour of a hit on a ship afloat; otherwise at a random cell."""

    every = 1
    """Distance along a line between the cells that are shot at while no ship is found."""

    def shoot(self, known: KnownBoard, draw: random.Random) -> int:
        hits = np.flatnonzero(known.cells == AFLOAT)
        near = [n for cell in hits for n in known.neighbours(int(cell)) if known.cells[n] == UNTRIED]
        if near:
            return draw.choice(near)
        left = [int(cell) for cell in np.flatnonzero(known.cells == UNTRIED)]
        return draw.choice([cell for cell in left if sum(divmod(cell, known.size)) % self.every == 0] or left)


class Parity(Hunt):
    """Like `Hunt`, but shoots at every second cell only while no ship is found."""

    every = 2


class Density(Shooter):
    """Shoots at the cell with the largest weighted number of placements of ships afloat; hits add weight."""

    def shoot(self, known: KnownBoard, draw: random.Random) -> int:
        blocked = (known.cells == MISS) | (known.cells == SUNK)
        fits = np.isin(self.ships, known.afloat) & (self.covers @ blocked == 0)
        hits = self.covers @ (known.cells == AFLOAT)
        weights = fits * np.where(hits < self.lengths, HIT_WEIGHT**hits, 0.0)
        counts = np.where(known.cells == UNTRIED, weights @ self.covers, -1.0)
        return int(draw.choice(np.flatnonzero(counts == counts.max())))


class Posterior(Player):
    """Draws random fleets that fit the answers, and shoots at the cell that most of them cover.

    With ``width`` above 1: of that many best cells, the one with the fewest expected misses for a greedy
    shooter who knows that the fleet is one of those drawn.
    """

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: samples, width."""
        super().__init__(str(spec))
        self.game = only(spec, game, Battleship)
        self.samples = options.whole("samples", 1000, 1, 1_000_000)
        self.width = options.whole("width", 1, 1, 100)

    def choose(self, seen: Observation, seed: int) -> Choice:
        side = seen.mover if self.game.num_sides == 2 else 0
        stream = new_stream(seed, SEQUENCE)
        fleets, counts = sampled(self.game, seen.state, side, stream, self.samples)
        best = np.argsort(-counts, kind="stable")[: self.width]
        best = best[counts[best] > 0]
        move = int(best[0])
        if len(best) > 1 and counts[move] < self.samples:
            area = self.game.size**2
            untried = seen.state[rules.CELLS + side * area : rules.CELLS + (side + 1) * area] == 0
            move = int(best[int(np.argmin([mean_misses(fleets, untried, int(cell)) for cell in best]))])
        share = counts[move] / self.samples
        return Choice(
            move, simulations=self.samples, thought=f"a ship in {100 * share:.0f} % of the fleets drawn"
        )
