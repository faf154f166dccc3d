"""Othello: discs that enclose others turn them over; black moves first, and most discs win.

A move's text is its cell, such as ``d3``, or ``pass``, which is the only move of a player who cannot turn
over a disc while the other can. ``a1`` is the upper left cell, as in all records of Othello. A move's code is
row * 8 + column, row 0 on top, for every size; 64 is a pass.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``b`` and
``w`` are discs and a number stands for that many adjacent empty cells. The start is
``8/8/8/3wb3/3bw3/8/8/8 b``.

A state is ``uint64[LENGTH]``: the bitboards of the first (black) and of the second player (white), the player
to move, the cells on which that player may place a disc, the status (MOVE, PASS or END), and the bitboard
of the whole board.

The bit of a cell is row * 8 + column for every size, row 0 on top. Cells outside of a smaller board hold no
disc, and moves onto them are masked out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, count, place_of, random_bit
from games.board import format_cell
from games.compile.specialise import cached_njit
from games.game import FIRST, SECOND, Moves, Rules
from games.grid import GridGame, Owners, parse_grid
from games.jit import njit, source_of
from games.rng import S32, Stream, next_uint64

MOVER, LEGAL, STATUS, BOARD = 2, 3, 4, 5
LENGTH = 6
"""Indices into a state, after the bitboards of the players FIRST and SECOND, and its length."""
MOVE, PASS, END = np.uint64(0), np.uint64(1), np.uint64(2)
"""Of a position: the player to move places a disc, has to pass, or the game is over."""
STRIDE = 8
PASS_MOVE = 64

State = npt.NDArray[np.uint64]

_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)
"""All cells but those of the first and the last column: a run of discs that are turned over to the side or
on a diagonal has only such cells."""
_SIDE, _RISING, _DOWN, _FALLING = (np.uint64(step) for step in (1, 7, 8, 9))
_TWO = np.uint64(2)


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND."""
    return int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the cells in ascending order, or the pass; returns how many."""
    if state[STATUS] == PASS:
        moves[0] = PASS_MOVE
        return 1
    left = state[LEGAL]
    number = 0
    while left != ZERO:
        rest = left & (left - ONE)
        moves[number] = place_of(left ^ rest)
        left = rest
        number += 1
    return number


@njit
def play(state: State, move: int) -> None:
    """Place the mover's disc and turn over others, or pass; ``state`` is modified in place."""
    mover = np.int64(state[MOVER])
    if move != PASS_MOVE:
        disc = ONE << np.uint64(move)
        turned = turned_by(disc, state[mover], state[1 - mover])
        state[mover] |= turned | disc
        state[1 - mover] &= ~turned
    state[MOVER] ^= ONE
    settle(state)


@njit
def settle(state: State) -> None:
    """Set LEGAL and STATUS by the discs and the player to move; ``state`` is modified in place."""
    mover = np.int64(state[MOVER])
    mine, theirs = state[mover], state[1 - mover]
    empty = state[BOARD] & ~(mine | theirs)
    state[LEGAL] = placements(mine, theirs) & empty
    state[STATUS] = MOVE
    if state[LEGAL] == ZERO:
        state[STATUS] = END if placements(theirs, mine) & empty == ZERO else PASS


@njit
def is_terminal(state: State) -> bool:
    """Whether neither player can place a disc."""
    return bool(state[STATUS] == END)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 with more discs than the second, -1.0 with fewer, 0.0 with as many."""
    first, second = count(state[0]), count(state[1])
    return float(int(first > second) - int(first < second))


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only STATUS and the discs are valid then."""
    if state[STATUS] == END:
        return 0
    board, mover = state[BOARD], np.int64(state[MOVER])
    mine, theirs, legal = state[mover], state[1 - mover], state[LEGAL]
    plies, passed = 0, 0
    while passed < 2:
        if legal != ZERO:
            disc = random_bit(legal, next_uint64(stream) >> S32)
            turned = turned_by(disc, mine, theirs)
            mine |= turned | disc
            theirs &= ~turned
            # A pass counts only if it was not the end.
            plies += 1 + passed
            passed = 0
        else:
            passed += 1
        mine, theirs = theirs, mine
        mover = 1 - mover
        legal = placements(mine, theirs) & board & ~(mine | theirs)
    state[mover], state[1 - mover] = mine, theirs
    state[STATUS] = END
    return plies


@njit
def placements(mine: np.uint64, theirs: np.uint64) -> np.uint64:
    """The cells at the end of a run of the other's discs beside one of mine; taken ones too."""
    inner = theirs & _INNER
    found = _run_up(mine, inner, _SIDE) << _SIDE
    found |= _run_up(mine, inner, _RISING) << _RISING
    found |= _run_up(mine, theirs, _DOWN) << _DOWN
    found |= _run_up(mine, inner, _FALLING) << _FALLING
    found |= _run_down(mine, inner, _SIDE) >> _SIDE
    found |= _run_down(mine, inner, _RISING) >> _RISING
    found |= _run_down(mine, theirs, _DOWN) >> _DOWN
    found |= _run_down(mine, inner, _FALLING) >> _FALLING
    return found


@njit
def turned_by(disc: np.uint64, mine: np.uint64, theirs: np.uint64) -> np.uint64:
    """The other's discs that a disc of mine turns over: in all directions, runs with one of mine behind."""
    inner = theirs & _INNER
    turned = _closed_up(disc, mine, inner, _SIDE)
    turned |= _closed_up(disc, mine, inner, _RISING)
    turned |= _closed_up(disc, mine, theirs, _DOWN)
    turned |= _closed_up(disc, mine, inner, _FALLING)
    turned |= _closed_down(disc, mine, inner, _SIDE)
    turned |= _closed_down(disc, mine, inner, _RISING)
    turned |= _closed_down(disc, mine, theirs, _DOWN)
    turned |= _closed_down(disc, mine, inner, _FALLING)
    return turned


@njit
def _run_up(start: np.uint64, theirs: np.uint64, step: np.uint64) -> np.uint64:
    """The runs of at most six of the other's discs that follow on ``start`` towards higher bits."""
    run = theirs & (start << step)
    run |= theirs & (run << step)
    pairs, steps = theirs & (theirs << step), step * _TWO
    run |= pairs & (run << steps)
    return run | (pairs & (run << steps))


@njit
def _run_down(start: np.uint64, theirs: np.uint64, step: np.uint64) -> np.uint64:
    """The runs of at most six of the other's discs that follow on ``start`` towards lower bits."""
    run = theirs & (start >> step)
    run |= theirs & (run >> step)
    pairs, steps = theirs & (theirs >> step), step * _TWO
    run |= pairs & (run >> steps)
    return run | (pairs & (run >> steps))


@njit
def _closed_up(disc: np.uint64, mine: np.uint64, theirs: np.uint64, step: np.uint64) -> np.uint64:
    run = _run_up(disc, theirs, step)
    return run if (run << step) & mine != ZERO else ZERO


@njit
def _closed_down(disc: np.uint64, mine: np.uint64, theirs: np.uint64, step: np.uint64) -> np.uint64:
    run = _run_down(disc, theirs, step)
    return run if (run >> step) & mine != ZERO else ZERO


# Called from Python it would be compiled anew in each process.
_settle = cached_njit(source_of(settle))


class Othello(GridGame):
    """Othello on a board of a given size; all sizes share one set of compiled rules."""

    name = "othello"
    player_names = ("black", "white")
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout)
    signs = "bw"
    top_first = True
    # From matches of 200 games with 1,000 simulations a move: 0.1, 0.2, 0.7 and 1 score 23, 40, 46 and 39 %
    # against 0.35.
    exploration = 0.35
    opening_plies = 4

    def __init__(self, size: Annotated[int, (4, 6, 8)] = 8) -> None:
        """``size``: cells a side, 4, 6 or 8."""
        self.size = self.rows = self.columns = size
        self.max_moves = size * size - 4
        # A pass follows on a disc, so there are as many passes as discs at most.
        self.max_plies = 2 * (size * size - 4)
        self.nominal_simulations_per_s = 4e5 * 64 / size**2
        self.places = np.arange(size)[::-1, None] * STRIDE + np.arange(size)

    def start(self) -> Owners:
        """Two discs each in the middle."""
        owners = super().start()
        low, high = self.size // 2 - 1, self.size // 2
        owners[low][high] = owners[high][low] = FIRST
        owners[low][low] = owners[high][high] = SECOND
        return owners

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``d3``, or ``pass``."""
        return "pass" if move == PASS_MOVE else format_cell(*divmod(move, STRIDE))

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The legal cells, or the pass."""
        if moves == ["pass"]:
            return "pass: the player to move cannot turn over a disc"
        return f"a cell that turns over a disc: {', '.join(moves)}"

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`, with any discs; raises InvalidInput (``position``)."""
        return self.state_of(*parse_grid(text, self.size, self.size, self.signs))

    def outcome_text(self, state: State) -> str:
        """The winner and the discs of both, such as ``black wins 40-24``."""
        first, second = (int(state[player]).bit_count() for player in (FIRST, SECOND))
        return f"{super().outcome_text(state)} {first}-{second}"

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top; None for a pass."""
        return None if move == PASS_MOVE else divmod(move, STRIDE)

    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these discs."""
        board = sum(1 << place for place in self.places.ravel().tolist())
        state = np.array([*self.bitboards(owners), mover, 0, 0, board], dtype=np.uint64)
        with np.errstate(over="ignore"):
            _settle(state)
        return state
