"""Breakthrough: pieces go forward, straight or diagonally, and take diagonally; one on the last row wins.

A move's text is the cells of its start and its end, such as ``a2a3``; ``a2-a3`` and ``a2xb3`` are read too.
``a1`` is the lower left cell, and white, who begins, moves up.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``w`` and
``b`` are pieces and a number stands for that many adjacent empty cells. The start is
``bbbbbbbb/bbbbbbbb/8/8/8/8/wwwwwwww/wwwwwwww w``.

A state is ``uint64[LENGTH]``: the bitboards of the first (white) and of the second player (black), the player
to move, who has won (NOBODY, or 1 + the player), and constants of the size: the number of columns, all
cells but those of the left and of the right column, and the goals of the first and of the second player.

The bit of a cell is row * columns + column, row 0 at the bottom. The first player moves up. A move code is
(bit of the start * 6 + direction) * 2 + whether a piece is taken. Directions are up left, up, up right, down
left, down, down right. These are OpenSpiel's codes, whose row 0 is on top.
"""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, bit_of_rank, count, place_of
from games.board import format_cell
from games.errors import InvalidInput, refuse_if_any
from games.game import FIRST, GAME_OVER, SECOND, Moves, Rules
from games.grid import GridGame, Owners, parse_grid
from games.jit import Int, njit
from games.rng import S32, Stream, next_uint64

MIN_SIDE = 4
MAX_SIDE = 16
MAX_CELLS = 64
SIDES = range(MIN_SIDE, MAX_SIDE + 1)
ROWS_OF_TWO = 6
"""With fewer rows each player begins with one row of pieces, as in OpenSpiel; otherwise with two."""

MOVER, WINNER, COLUMNS, NOT_LEFT, NOT_RIGHT, GOALS = 2, 3, 4, 5, 6, 7
LENGTH = 9
"""Indices into a state, after the bitboards of the players FIRST and SECOND, and its length. The goal of the
second player follows on that of the first."""
NOBODY = np.uint64(0)

State = npt.NDArray[np.uint64]

_MOVE = re.compile(r"([a-z][0-9]{1,2})[-x]?([a-z][0-9]{1,2})")


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND."""
    return int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the moves by direction and, within one, by start; returns how many."""
    mover, columns = np.int64(state[MOVER]), np.int64(state[COLUMNS])
    mine, theirs = state[mover], state[1 - mover]
    left, ahead, right = targets(state, mine, theirs, mover)
    number = _write(moves, 0, left, theirs, 3 * mover, _step(mover, columns, -1))
    number = _write(moves, number, ahead, theirs, 3 * mover + 1, _step(mover, columns, 0))
    return _write(moves, number, right, theirs, 3 * mover + 2, _step(mover, columns, 1))


@njit
def _step(mover: Int, columns: Int, aside: Int) -> Int:
    """What a move adds to the number of the bit."""
    return columns * (1 - 2 * mover) + aside


@njit
def _write(moves: Moves, number: int, ends: np.uint64, theirs: np.uint64, direction: Int, step: Int) -> int:
    """Write the moves of one direction, which end on the cells ``ends``, after ``number`` others."""
    while ends != ZERO:
        rest = ends & (ends - ONE)
        end = ends ^ rest
        ends = rest
        taking = 1 if end & theirs != ZERO else 0
        moves[number] = (6 * (place_of(end) - step) + direction) * 2 + taking
        number += 1
    return number


@njit
def targets(
    state: State, mine: np.uint64, theirs: np.uint64, mover: Int
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The cells to which a piece of the mover can go to the left, straight ahead, and to the right."""
    columns = state[COLUMNS]
    from_right, from_left = mine & state[NOT_LEFT], mine & state[NOT_RIGHT]
    if mover == 0:
        left, ahead, right = from_right << (columns - ONE), mine << columns, from_left << (columns + ONE)
    else:
        left, ahead, right = from_right >> (columns + ONE), mine >> columns, from_left >> (columns - ONE)
    return left & ~mine, ahead & ~(mine | theirs), right & ~mine


@njit
def play(state: State, move: int) -> None:
    """Move a piece, and take what stands on its new cell; ``state`` is modified in place."""
    mover = np.int64(state[MOVER])
    start, direction = move // 12, (move >> 1) % 6
    end = ONE << np.uint64(start + _step(mover, np.int64(state[COLUMNS]), direction % 3 - 1))
    state[mover] ^= end | (ONE << np.uint64(start))
    state[1 - mover] &= ~end
    state[MOVER] ^= ONE
    if end & state[GOALS + mover] != ZERO or state[1 - mover] == ZERO:
        state[WINNER] = np.uint64(1 + mover)


@njit
def is_terminal(state: State) -> bool:
    """Whether a piece has reached the last row, or a player has no piece left."""
    return bool(state[WINNER] != NOBODY)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has won, -1.0 if the second has."""
    return float(3 - 2 * np.int64(state[WINNER])) if state[WINNER] != NOBODY else 0.0


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only WINNER is valid then."""
    if state[WINNER] != NOBODY:
        return 0
    mover = np.int64(state[MOVER])
    first, second, columns = state[0], state[1], state[COLUMNS]
    to_first, to_second = state[GOALS], state[GOALS + 1]
    before, behind = columns - ONE, columns + ONE
    plies = 0
    while True:
        if mover == 0:
            left, ahead, right = targets(state, first, second, 0)
            end, direction = _draw(left, ahead, right, stream)
            first ^= end | (end >> (before if direction == 0 else columns if direction == 1 else behind))
            second &= ~end
            plies += 1
            if end & to_first != ZERO or second == ZERO:
                state[WINNER] = np.uint64(1)
                return plies
        mover = np.int64(0)
        left, ahead, right = targets(state, second, first, 1)
        end, direction = _draw(left, ahead, right, stream)
        second ^= end | (end << (behind if direction == 0 else columns if direction == 1 else before))
        first &= ~end
        plies += 1
        if end & to_second != ZERO or first == ZERO:
            state[WINNER] = np.uint64(2)
            return plies


@njit
def _draw(left: np.uint64, ahead: np.uint64, right: np.uint64, stream: Stream) -> tuple[np.uint64, int]:
    """A random one of the cells of three masks, and the number of its mask; a cell may be in several."""
    num_left, num_ahead = count(left), count(ahead)
    rank = ((next_uint64(stream) >> S32) * (num_left + num_ahead + count(right))) >> S32
    mask, direction = left, 0
    if rank >= num_left:
        rank -= num_left
        mask, direction = ahead, 1
        if rank >= num_ahead:
            rank -= num_ahead
            mask, direction = right, 2
    return bit_of_rank(mask, rank), direction


class Breakthrough(GridGame):
    """Breakthrough on a board of a given size; all sizes share one set of compiled rules."""

    name = "breakthrough"
    player_names = ("white", "black")
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout)
    signs = "wb"
    # From matches of 200 games with 1,000 simulations a move: 0.1, 0.2, 0.7 and 1 score 29, 42, 43 and 36 %
    # against 0.35.
    exploration = 0.35
    opening_plies = 4

    def __init__(self, rows: Annotated[int, SIDES] = 8, columns: Annotated[int, SIDES] = 8) -> None:
        """``rows`` and ``columns``: the size of the board, at most 64 cells; raises InvalidInput if it is
        larger. Each player's pieces fill the two rows at their edge, with fewer than six rows only one."""
        if rows * columns > MAX_CELLS:
            accepted = f"from {MIN_SIDE} to {MAX_CELLS // rows} with rows={rows}"
            raise InvalidInput("game option columns", columns, accepted)
        self.rows, self.columns = rows, columns
        self._home = 2 if rows >= ROWS_OF_TWO else 1
        """Rows of pieces of each player at the start."""
        self.max_moves = 3 * self._home * columns
        # Each ply takes one piece one row on.
        self.max_plies = 2 * columns * sum(rows - 1 - row for row in range(self._home))
        self.nominal_simulations_per_s = 5e5 * 64 / (rows * columns)
        self.places = np.arange(rows * columns).reshape(rows, columns)

    def start(self) -> Owners:
        """Rows of pieces at both edges."""
        home, between = self._home, self.rows - 2 * self._home
        owners: list[int | None] = [SECOND] * home + [None] * between + [FIRST] * home
        return [[owner] * self.columns for owner in owners]

    def format_move(self, state: State, move: int) -> str:
        """The cells of start and end, such as ``a2a3``."""
        return "".join(format_cell(*cell) for cell in self._cells(move))

    def parse_move(self, state: State, text: str) -> int:
        """The legal move that the text names; raises InvalidInput (field ``moves``)."""
        moves = {self.format_move(state, move): move for move in self.legal_moves(state)}
        found = _MOVE.fullmatch(text)
        if found and found[1] + found[2] in moves:
            return moves[found[1] + found[2]]
        if not moves:
            raise InvalidInput("moves", text, GAME_OVER)
        ends = [name[len(found[1]) :] for name in moves if found and name.startswith(found[1])]
        shown = (
            f"from {found[1]} to {' or '.join(ends)}" if found and ends else f"such as {next(iter(moves))}"
        )
        mover = self.player_names[int(state[MOVER])]
        raise InvalidInput("moves", text, f"a move of a piece of {mover}, {shown}")

    def parse_position(self, text: str) -> State:
        owners, mover = parse_grid(text, self.rows, self.columns, self.signs)
        state = self.state_of(owners, mover)
        most = self._home * self.columns
        pieces = [int(state[player]).bit_count() for player in (FIRST, SECOND)]
        there = [int(state[player] & state[GOALS + player]).bit_count() for player in (FIRST, SECOND)]
        faults = (
            (max(pieces) > most, f"at most {most} pieces of each player"),
            (
                there[mover] or there[1 - mover] > 1 or not state[1 - mover],
                "at most one piece on its last row, or none left, by the last move of the other player",
            ),
        )
        refuse_if_any("position", text, faults)
        if there[1 - mover] or not state[mover]:
            state[WINNER] = 2 - mover
        return state

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column) of the drawn board, row 0 on top, where the move ends."""
        row, column = self._cells(move)[1]
        return self.rows - 1 - row, column

    def _cells(self, move: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The (row, column), row 0 at the bottom, of a move's start and of its end."""
        row, column = divmod(move // 12, self.columns)
        side, aside = divmod(move // 2 % 6, 3)
        return (row, column), (row + 1 - 2 * side, column + aside - 1)

    def state_of(self, owners: Owners, mover: int) -> State:
        """The unfinished state with these pieces."""
        first_row = (1 << self.columns) - 1
        left = sum(1 << row * self.columns for row in range(self.rows))
        board = (1 << self.rows * self.columns) - 1
        edges = [board ^ left, board ^ left << self.columns - 1]
        goals = [first_row << (self.rows - 1) * self.columns, first_row]
        pieces = self.bitboards(owners)
        return np.array([*pieces, mover, 0, self.columns, *edges, *goals], dtype=np.uint64)
