"""Tic-tac-toe: three in a row on a board of 3x3; X moves first, and a full board is a draw.

A state is ``int64[3]``: masks of nine bits of the first and of the second player's cells, and the number of
plies. The bit of a cell and its move code are both row * 3 + column; row 0 is the bottom row.

A position's text is its rows from the top, divided by '/', then the player to move: ``x../.o./... x``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from games.bits import popcount
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Moves, Rules, State
from games.grid import GridGame, Owners, alternating, num_more, parse_grid, with_numbers
from games.jit import njit
from games.rng import Stream, next_uint64

SIZE = 3
NUM_CELLS = 9
PLIES = 2

_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421)
WON = np.array([any(mask & line == line for line in _LINES) for mask in range(512)], dtype=np.int64)
"""int64[512]: by mask of a player's cells, 1 with three in a row, else 0."""
# By mask of taken cells: the free cells in ascending order, four bits each.
_FREE = np.array(
    [
        sum(
            cell << 4 * k for k, cell in enumerate(cell for cell in range(NUM_CELLS) if not taken >> cell & 1)
        )
        for taken in range(512)
    ],
    dtype=np.uint64,
)

# Sets of plies as bits; and by the lowest bit of such a set the number of plies up to it (no bit: 9).
_FIRST_PLIES, _SECOND_PLIES = 0b101010101, 0b010101010
_LENGTHS = np.full(1 << NUM_CELLS, NUM_CELLS, dtype=np.int64)
_LENGTHS[[1 << ply for ply in range(NUM_CELLS)]] = range(1, NUM_CELLS + 1)

_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_NIBBLE = np.uint64(15)
_NINE = np.uint64(NUM_CELLS)
_MASK = np.uint64((1 << NUM_CELLS) - 1)
_S60 = np.uint64(60)
_FRACTION = np.uint64((1 << 60) - 1)

_POSITION = re.compile(r"[xo.]{3}/[xo.]{3}/[xo.]{3} [xo]")


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND, by the number of plies."""
    return int(state[PLIES] & 1)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the free cells in ascending order; returns how many."""
    taken = state[0] | state[1]
    count = 0
    for cell in range(NUM_CELLS):
        if (taken >> cell) & 1 == 0:
            moves[count] = cell
            count += 1
    return count


@njit
def play(state: State, move: int) -> None:
    """Take a cell; ``state`` is modified in place."""
    state[state[PLIES] & 1] |= 1 << move
    state[PLIES] += 1


@njit
def is_terminal(state: State) -> bool:
    """Whether a player has three in a row or the board is full."""
    return bool(state[PLIES] == NUM_CELLS or WON[state[0]] != 0 or WON[state[1]] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has three in a row, -1.0 if the second, else 0.0."""
    return float(WON[state[0]] - WON[state[1]])


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Afterwards the masks show only the winner.

    One draw of 64 bits, taken as a fraction, serves all plies: a choice is the integer part of fraction *
    choices, and the fractional part is left for the next choice. The board is always filled, and the first
    ply that made three in a row is looked up at the end: leaving the loop early would cost a branch
    misprediction in every game.
    """
    if is_terminal(state):
        return 0
    start = state[PLIES]
    mover = start & 1
    mine, theirs = np.uint64(state[mover]), np.uint64(state[1 - mover])
    free = _FREE[mine | theirs]
    fraction = next_uint64(stream) >> _FOUR
    wins = 0
    for ply in range(start, NUM_CELLS):
        fraction *= np.uint64(NUM_CELLS - ply)
        place = (fraction >> _S60) << _TWO
        fraction &= _FRACTION
        mine |= _ONE << ((free >> place) & _NIBBLE)
        lower = (_ONE << place) - _ONE
        free = (free & lower) | ((free >> _FOUR) & ~lower)
        wins |= WON[mine] << ply
        mine, theirs = theirs, mine
    first_win = wins & -wins
    state[FIRST] = _LINES[0] * ((first_win & _FIRST_PLIES) != 0)
    state[SECOND] = _LINES[0] * ((first_win & _SECOND_PLIES) != 0)
    state[PLIES] = NUM_CELLS
    return int(_LENGTHS[first_win] - start)


@njit
def pack(state: State) -> np.uint64:
    """The position as one number: the first player's mask above the nine bits of the second player's."""
    return np.uint64(state[FIRST]) << _NINE | np.uint64(state[SECOND])


@njit
def unpack(key: np.uint64, state: State) -> None:
    """Write the position with this packed number into ``state``, modified in place."""
    state[FIRST], state[SECOND] = key >> _NINE, key & _MASK
    state[PLIES] = popcount(state[FIRST] | state[SECOND])


class TicTacToe(GridGame):
    """Tic-tac-toe; it has no options."""

    name = "tictactoe"
    player_names = ("x", "o")
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout, pack=pack, unpack=unpack)
    rows = columns = SIZE
    places = np.arange(NUM_CELLS).reshape(SIZE, SIZE)
    max_moves = NUM_CELLS
    max_plies = NUM_CELLS
    nominal_simulations_per_s = 4e6
    exploration = 1.0

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The empty cells."""
        return "an empty cell from a1 to c3 of a game that is not over"

    def format_position(self, state: State) -> str:
        """Rows from the top divided by '/', a space, and the player to move, such as ``x../.o./... x``."""
        return re.sub("[1-9]", lambda empty: "." * int(empty[0]), super().format_position(state))

    def parse_position(self, text: str) -> State:
        if _POSITION.fullmatch(text) is None:
            raise InvalidInput(
                "position", text, "rows of x, o and . from the top and the player to move: x../.o./... x"
            )
        owners, mover = parse_grid(with_numbers(text), SIZE, SIZE, self.signs)
        if num_more(owners) != mover:
            raise InvalidInput("position", text, alternating("xo"))
        state = self.state_of(owners, mover)
        if WON[state[mover]]:
            raise InvalidInput("position", text, "no three in a row of the player to move")
        return state

    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these marks."""
        first, second = self.bitboards(owners)
        return np.array([first, second, (first | second).bit_count()], dtype=np.int64)
