"""The compiled rules of Othello: one set of functions for every size of the board.

A state is ``uint64[LENGTH]``: the bitboards of the first (black) and of the second player (white), the player
to move, the cells on which that player may place a disc, the status (MOVE, PASS or END), and the bitboard
of the whole board.

The bit of a cell is row * 8 + column for every size, row 0 on top. Cells outside of a smaller board hold no
disc, and moves onto them are masked out. A move code is the number of the cell's bit; PASS_MOVE is a pass.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, count, place_of, random_bit
from games.jit import njit
from games.rng import Stream, next_uint64
from games.rules import Moves

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
_S32 = np.uint64(32)


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
            disc = random_bit(legal, next_uint64(stream) >> _S32)
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
