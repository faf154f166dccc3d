"""Tic-tac-toe: three in a row on a board of 3x3; X moves first, and a full board is a draw.

A state is ``int64[3]``: masks of nine bits of the first and of the second player's cells, and the number of
plies. The bit of a cell and its move code are both row * 3 + column; row 0 is the bottom row.

A position's text is its rows from the top, divided by '/', then the player to move: ``x../.o./... x``.
"""

from __future__ import annotations

import re

import numpy as np

from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Game, Moves, Rules, State
from games.jit import njit, source_of
from games.notation import format_cell, parse_cell
from games.rng import Stream, next_uint64
from games.spec import Options, Spec

SIZE = 3
NUM_CELLS = 9
PLIES = 2

_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421)
_WON = np.array([any(mask & line == line for line in _LINES) for mask in range(512)], dtype=np.int64)
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
    return bool(state[PLIES] == NUM_CELLS or _WON[state[0]] != 0 or _WON[state[1]] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has three in a row, -1.0 if the second, else 0.0."""
    return float(_WON[state[0]] - _WON[state[1]])


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
        wins |= _WON[mine] << ply
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
    state[PLIES] = 0
    for cell in range(NUM_CELLS):
        state[PLIES] += ((state[FIRST] | state[SECOND]) >> cell) & 1


class TicTacToe(Game):
    """Tic-tac-toe; it has no options."""

    name = "tictactoe"
    player_names = ("x", "o")
    max_moves = NUM_CELLS
    max_plies = NUM_CELLS
    nominal_simulations_per_s = 4e6
    exploration = 1.0

    def __init__(self) -> None:
        self.options: dict[str, str | int] = {}
        self.rules = Rules(
            current_player, legal_moves, play, is_terminal, returns, playout, pack=pack, unpack=unpack
        )

    @classmethod
    def from_spec(cls, spec: Spec) -> TicTacToe:
        """The game; raises InvalidInput if the spec has an option."""
        Options(spec, "game").close()
        return cls()

    def initial_state(self) -> State:
        """An empty board, ``int64[3]``."""
        return np.zeros(3, dtype=np.int64)

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``b2``."""
        return format_cell(*divmod(move, SIZE))

    def parse_move(self, state: State, text: str) -> int:
        """The free cell that the text names; raises InvalidInput (field ``moves``)."""
        cell = parse_cell(text, SIZE, SIZE)
        if cell is None or _is_taken(state, cell) or source_of(is_terminal)(state):
            raise InvalidInput("moves", text, "an empty cell from a1 to c3 of a game that is not over")
        return cell[0] * SIZE + cell[1]

    def format_position(self, state: State) -> str:
        """Rows from the top divided by '/', a space, and the player to move, such as ``x../.o./... x``."""
        rows = ["".join(_SIGNS[owner] for owner in row) for row in _owners(state)]
        return f"{'/'.join(rows)} {'xo'[int(state[PLIES]) & 1]}"

    def parse_position(self, text: str) -> State:
        """The state that `format_position` wrote; raises InvalidInput (field ``position``)."""
        if _POSITION.fullmatch(text) is None:
            raise InvalidInput(
                "position", text, "rows of x, o and . from the top and the player to move: x../.o./... x"
            )
        board, mover = text.split(" ")
        signs = "".join(reversed(board.split("/")))
        state = self.initial_state()
        for player, sign in ((FIRST, "x"), (SECOND, "o")):
            state[player] = sum(1 << cell for cell in range(NUM_CELLS) if signs[cell] == sign)
        ahead = signs.count("x") - signs.count("o")
        if ahead != (0 if mover == "x" else 1):
            raise InvalidInput("position", text, "as many x as o when x moves, one x more when o moves")
        if _WON[state[FIRST if mover == "x" else SECOND]]:
            raise InvalidInput("position", text, "no three in a row of the player to move")
        state[PLIES] = signs.count("x") + signs.count("o")
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as 3x3 cells."""
        last = None if last_move is None else self.cells_of(last_move)
        return Board.of_owners(_owners(state), _TEXTS, last)

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column) of the drawn board, row 0 on top."""
        row, column = divmod(move, SIZE)
        return SIZE - 1 - row, column


_SIGNS: dict[int | None, str] = {FIRST: "x", SECOND: "o", None: "."}
_TEXTS: dict[int | None, str] = {FIRST: "X", SECOND: "O", None: "."}


def _is_taken(state: State, cell: tuple[int, int]) -> bool:
    """Whether a (row, column), row 0 at the bottom, holds a mark."""
    return bool(int(state[FIRST] | state[SECOND]) >> (cell[0] * SIZE + cell[1]) & 1)


def _owners(state: State) -> list[list[int | None]]:
    """The owner of each cell (None: free), rows from the top."""
    first, second = int(state[FIRST]), int(state[SECOND])

    def owner(cell: int) -> int | None:
        return FIRST if first >> cell & 1 else SECOND if second >> cell & 1 else None

    return [[owner(row * SIZE + column) for column in range(SIZE)] for row in reversed(range(SIZE))]
