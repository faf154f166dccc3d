"""Grundy's game: split one pile into two unequal piles; a player who cannot move loses.

A state is ``int8[2 + pile]``: the player to move, the number of legal moves, and the number of piles of each
size from 1. Splitting either of two equal piles gives one position, so it counts as one move. A move code
is size * 64 + smaller part; its text is ``7-3+4``: a pile of 7 becomes 3 and 4.

A position's text is its piles, the largest first, and the player to move: ``7+4+4+1 first``. The sum of the
piles is the option ``pile``: the size of the single pile at the start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from games.errors import InvalidInput
from games.game import Board, Cell, Game, Moves, Rules, State
from games.jit import njit, source_of
from games.rng import Stream, below

MIN_PILE, MAX_PILE = 3, 99
COLUMNS = 10
"""Piles in a row of the drawn board."""

MOVER, NUM_MOVES, PILES = 0, 1, 1
"""Indices into a state; the number of piles of a size is at PILES + size."""

_MOVERS = ("first", "second")
_POSITION = re.compile(r"[1-9][0-9]?(?:\+[1-9][0-9]?)* (?:first|second)")


def _count_partitions() -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """uint64[n, k]: the number of partitions of n into parts of at most k."""
    counts = np.zeros((MAX_PILE + 1, MAX_PILE + 1), dtype=np.uint64)
    counts[0] = 1
    for n in range(1, MAX_PILE + 1):
        for k in range(1, MAX_PILE + 1):
            counts[n, k] = counts[n, k - 1] + (counts[n - k, k] if k <= n else 0)
    return counts


_PARTITIONS = _count_partitions()
_ONE = np.uint64(1)


@njit
def current_player(state: State) -> int:
    """The player to move: FIRST or SECOND."""
    return int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the splits in ascending order; returns how many."""
    count = 0
    for size in range(3, len(state) - PILES):
        if state[PILES + size] != 0:
            for part in range(1, (size + 1) >> 1):
                moves[count] = size * 64 + part
                count += 1
    return count


@njit
def play(state: State, move: int) -> None:
    """Split a pile; ``state`` is modified in place."""
    size, part = int(move) >> 6, int(move) & 63
    state[PILES + size] -= 1
    if state[PILES + size] == 0:
        state[NUM_MOVES] -= (size - 1) >> 1
    _add_pile(state, part)
    _add_pile(state, size - part)
    state[MOVER] ^= 1


@njit
def _add_pile(state: State, size: int) -> None:
    if state[PILES + size] == 0:
        state[NUM_MOVES] += (size - 1) >> 1
    state[PILES + size] += 1


@njit
def is_terminal(state: State) -> bool:
    """Whether no pile is left that can be split."""
    return bool(state[NUM_MOVES] == 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the second player cannot move, -1.0 if the first cannot."""
    return float(2 * state[MOVER] - 1)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies.

    Afterwards only `is_terminal` and the player to move are valid in ``state``. Every pile of three or more
    is split before the end, and its splits are equally likely whatever happens to other piles. So the order
    of the splits does not change the distribution of their number, and piles are played out one after the
    other; the smaller parts wait in ``moves``. A pile of 3 always takes one more ply, a pile of 4 two.
    """
    waiting = 0
    plies = 0
    for size in range(3, len(state) - PILES):
        for _ in range(state[PILES + size]):
            if size > 4:
                moves[waiting] = size
                waiting += 1
            else:
                plies += size - 2
    while waiting != 0:
        waiting -= 1
        size = int(moves[waiting])
        while size > 4:
            part = below(stream, (size - 1) >> 1) + 1
            size -= part
            plies += 1
            if part > 4:
                moves[waiting] = part
                waiting += 1
            elif part > 2:
                plies += part - 2
        plies += size - 2
    state[MOVER] ^= plies & 1
    state[NUM_MOVES] = 0
    return plies


@njit
def pack(state: State) -> np.uint64:
    """Twice the rank of the piles among the partitions of their sum, plus the player to move.

    Partitions are ordered by their largest part, then by the second largest, and so on.
    """
    left = len(state) - 2
    rank = np.uint64(0)
    for size in range(len(state) - 2, 1, -1):
        for _ in range(state[PILES + size]):
            rank += _PARTITIONS[left, size - 1]
            left -= size
    return rank + rank + np.uint64(state[MOVER])


@njit
def unpack(key: np.uint64, state: State) -> None:
    """Write the position with this packed number into ``state``, modified in place."""
    rank = key >> _ONE
    left = len(state) - 2
    state[MOVER] = key & _ONE
    state[NUM_MOVES] = 0
    for size in range(len(state) - 2, 1, -1):
        state[PILES + size] = 0
        while size <= left and rank >= _PARTITIONS[left, size - 1]:
            rank -= _PARTITIONS[left, size - 1]
            left -= size
            _add_pile(state, size)
    state[PILES + 1] = left


class Grundy(Game):
    """Grundy's game from a given pile; piles of any size share one set of compiled rules."""

    name = "grundy"
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout, pack=pack, unpack=unpack)
    exploration = 0.5

    def __init__(self, pile: Annotated[int, range(MIN_PILE, MAX_PILE + 1)] = 20) -> None:
        """``pile``: the size of the pile at the start."""
        self.pile = pile
        self.max_moves = (pile - 1) // 2
        self.max_plies = pile - 2
        self.nominal_simulations_per_s = 6e7 / pile

    def initial_state(self) -> State:
        """One pile, ``int8[2 + pile]``."""
        return self._state_of([self.pile], 0)

    def format_move(self, state: State, move: int) -> str:
        """The split, such as ``7-3+4``."""
        size, part = divmod(move, 64)
        return f"{size}-{part}+{size - part}"

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """How a split is written."""
        return "a pile and its two unequal parts, the smaller one first, such as 7-3+4"

    def format_position(self, state: State) -> str:
        """The piles, the largest first, and the player to move, such as ``7+4+4+1 first``."""
        return f"{'+'.join(map(str, _piles_of(state)))} {_MOVERS[int(state[MOVER])]}"

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`, with the piles in any order.

        Raises InvalidInput (field ``position``).
        """
        if _POSITION.fullmatch(text) is None:
            raise InvalidInput("position", text, "piles and the player to move, such as 7+4+4+1 first")
        numbers, mover = text.split(" ")
        piles = [int(number) for number in numbers.split("+")]
        if sum(piles) != self.pile:
            raise InvalidInput("position", text, f"piles that add up to {self.pile}, not {sum(piles)}")
        return self._state_of(piles, _MOVERS.index(mover))

    def board(self, state: State, last_move: int | None = None) -> Board:
        """A cell for each pile, the largest first, COLUMNS in a row; the parts of the last split are marked.

        The label of a row is the number of piles before it.
        """
        parts = [] if last_move is None else [last_move % 64, last_move // 64 - last_move % 64]
        cells = []
        for size in _piles_of(state):
            cells.append(Cell(str(size), last=size in parts))
            if cells[-1].last:
                parts.remove(size)
        columns = min(COLUMNS, len(cells))
        cells += [Cell("")] * (-len(cells) % columns)
        starts = range(0, len(cells), columns)
        labels = [str(column + 1) for column in range(columns)]
        return Board([cells[start : start + columns] for start in starts], [str(s) for s in starts], labels)

    def _state_of(self, piles: list[int], mover: int) -> State:
        state = np.zeros(2 + self.pile, dtype=np.int8)
        state[MOVER] = mover
        for size in piles:
            source_of(_add_pile)(state, size)
        return state


def _piles_of(state: State) -> list[int]:
    """The sizes of all piles, the largest first."""
    sizes = range(len(state) - 2, 0, -1)
    return [size for size in sizes for _ in range(int(state[PILES + size]))]
