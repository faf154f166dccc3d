"""Hex: who connects the two edges of one's colour wins; a full board has one winner, so there are no draws.

Black moves first and connects the upper with the lower edge, white the left with the right one. With
``swap=yes``, the default, white may answer the first move by ``swap``: black's stone is taken away, and
white has one on its mirror image (row and column exchanged). Tournaments, servers and the Computer Olympiad
play with this rule, because a first move in the middle wins without it; ``swap=no`` is the game of most
programs that compare searches.

A move's text is its cell, such as ``f6``, or ``swap``. ``a1`` is the upper left cell; letters are columns. A
move's code is row * size + column, row 0 on top; the number of cells is the code of the swap. These are
OpenSpiel's codes and rules.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``b`` and
``w`` are stones and a number stands for that many adjacent empty cells. After b1 and swap on a 3x3 board:
``3/w2/3 b``.

A state is ``int32[CELLS + 2 * area]``, area = size * size. The indices before CELLS are those of every size:

==========  =======================================================================
header      size, area, whether the second player may swap; plies, length of the cell
            list, whether the game is over, the first player's return
STONES      for each player and line, the mask of the player's stones
REACHED     for each player and line, the mask of the stones that are connected to the
            player's first edge
CELLS       the cell list: the empty cells in any order, packed as row * 32 + column
CELLS+area  for each move code, its index in the cell list; -1 if it is not listed
==========  =======================================================================

The first player's lines are rows (bit = column), the second's are columns (bit = row), so each player
connects the first line with the last one. The neighbours of a cell are the same either way: its two
neighbours in the line, the cells with the same and the next bit in the line before, and those with the same
and the previous bit in the line after. Before the first line there is one of which every cell counts as
reached, after the last one an empty one.

Each stone becomes reached once at most, so whether a stone connects the edges costs little more than a look
at its six neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from games.board import format_cell
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Moves, Rules
from games.grid import GridGame, Owners, alternating, cells_with, num_more, parse_grid
from games.jit import Int, njit, source_of
from games.rng import LOW_32, S32, Stream, below, mix

SWAP_MOVE = "swap"
MIN_SIZE = 2
MAX_SIZE = 19

SIZE, AREA, SWAP, PLIES, LISTED, OVER, RESULT = 0, 1, 2, 3, 4, 5, 6
PLAYER = MAX_SIZE + 2
"""Masks of one player: those of the lines, and one more at either end."""
STONES = 8
REACHED = STONES + 2 * PLAYER
CELLS = REACHED + 2 * PLAYER

State = npt.NDArray[np.int32]


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND, by the number of plies."""
    return int(state[PLIES] & 1)


@njit
def may_swap(state: State) -> bool:
    """Whether the player to move may swap."""
    return bool(state[PLIES] == 1 and state[SWAP] != 0)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Copy the listed cells into ``moves`` as move codes, and add the swap; returns how many."""
    size, count = state[SIZE], state[LISTED]
    for i in range(count):
        cell = state[CELLS + i]
        moves[i] = (cell >> 5) * size + (cell & 31)
    if may_swap(state):
        moves[count] = state[AREA]
        count += 1
    return int(count)


@njit
def play(state: State, move: int) -> None:
    """Place the mover's stone, or swap; ``state`` is modified in place."""
    player = state[PLIES] & 1
    if move == state[AREA]:
        move = _take_back(state)
    cell = take(state, state[CELLS + state[AREA] + move])
    state[PLIES] += 1
    if add_stone(state, player, cell):
        state[OVER] = 1
        state[RESULT] = 1 - 2 * player


@njit
def is_terminal(state: State) -> bool:
    """Whether a player's edges are connected."""
    return bool(state[OVER] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player's edges are connected, else -1.0."""
    return float(state[RESULT])


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only OVER and RESULT are valid then."""
    if state[OVER] != 0:
        return 0
    start = state[PLIES]
    if may_swap(state):
        place = below(stream, state[LISTED] + 1)
        size = state[SIZE]
        cell = state[CELLS + place]
        play(state, state[AREA] if place == state[LISTED] else (cell >> 5) * size + (cell & 31))
        if state[OVER] != 0:
            return 1
    counter, increment = stream[0], stream[1]
    left, plies, player = state[LISTED], state[PLIES], state[PLIES] & 1
    state[OVER] = 1
    while True:
        counter += increment
        bits = mix(counter)
        if add_stone(state, player, _draw(state, bits >> S32, left)):
            state[RESULT] = 1 - 2 * player
            stream[0] = counter
            return int(plies + 1 - start)
        if add_stone(state, 1 - player, _draw(state, bits & LOW_32, left - 1)):
            state[RESULT] = 2 * player - 1
            stream[0] = counter
            return int(plies + 2 - start)
        left -= 2
        plies += 2


@njit
def _draw(state: State, fraction: np.uint64, left: Int) -> Int:
    """One of the first ``left`` listed cells, chosen by 32 random bits; the last of them takes its place."""
    place = np.int64((fraction * np.uint64(left)) >> S32)
    cell = state[CELLS + place]
    state[CELLS + place] = state[CELLS + left - 1]
    return cell  # type: ignore[no-any-return]


@njit
def take(state: State, place: Int) -> Int:
    """Take the cell with index ``place`` out of the cell list of ``state``; returns the cell."""
    size, wheres = state[SIZE], CELLS + state[AREA]
    cell = state[CELLS + place]
    last = state[LISTED] - 1
    moved = state[CELLS + last]
    state[CELLS + place] = moved
    state[wheres + (moved >> 5) * size + (moved & 31)] = place
    state[wheres + (cell >> 5) * size + (cell & 31)] = -1
    state[LISTED] = last
    return cell  # type: ignore[no-any-return]


@njit
def _take_back(state: State) -> int:
    """Take away the first player's only stone, ``state`` modified in place; the code of its mirror image."""
    size = state[SIZE]
    row, column = 0, 0
    while state[STONES + 1 + row] == 0:
        row += 1
    while (state[STONES + 1 + row] >> column) & 1 == 0:
        column += 1
    state[STONES + 1 + row] = 0
    state[REACHED + 1 + row] = 0
    state[CELLS + state[LISTED]] = row * 32 + column
    state[CELLS + state[AREA] + row * size + column] = state[LISTED]
    state[LISTED] += 1
    return int(column * size + row)


@njit
def add_stone(state: State, player: Int, cell: Int) -> bool:
    """Put a stone on an empty cell of ``state``; returns whether it connects its player's edges."""
    line, place = (cell >> 5, cell & 31) if player == 0 else (cell & 31, cell >> 5)
    own = STONES + player * PLAYER + 1 + line
    reached = own + (REACHED - STONES)
    bit = 1 << place
    state[own] |= bit
    before, aside, after = bit | (bit << 1), (bit >> 1) | (bit << 1), bit | (bit >> 1)
    if (state[reached - 1] & before) | (state[reached] & aside) | (state[reached + 1] & after) == 0:
        return False
    state[reached] |= bit
    more = state[own - 1] & ~state[reached - 1] & before
    more |= state[own] & ~state[reached] & aside
    more |= state[own + 1] & ~state[reached + 1] & after
    if more != 0:
        _spread(state, own - line, line)
    return bool(state[reached - line + state[SIZE] - 1] != 0)


@njit
def _spread(state: State, own: Int, line: Int) -> None:
    """Mark as reached what is connected to reached stones, after one more in ``line``.

    ``own`` is the index of the mask of the player's stones in the first line. ``state`` is modified in place.
    """
    reached, end = own + (REACHED - STONES), state[SIZE] - 1
    low, high = max(line - 1, 0), min(line + 1, end)
    changed = True
    while changed:
        changed = False
        for each in range(low, high + 1):
            before, here, after = state[reached + each - 1], state[reached + each], state[reached + each + 1]
            waiting = state[own + each] & ~here
            new = (before | (before >> 1) | (here << 1) | (here >> 1) | after | (after << 1)) & waiting
            if new != 0:
                changed = True
                while new != 0:
                    here |= new
                    waiting &= ~new
                    new = ((new << 1) | (new >> 1)) & waiting
                state[reached + each] = here
                low, high = min(low, max(each - 1, 0)), max(high, min(each + 1, end))


class Hex(GridGame):
    """Hex with given options; all sizes and options share one set of compiled rules."""

    name = "hex"
    player_names = ("black", "white")
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout)
    signs = "bw"
    top_first = slanted = True
    # From matches: with 1,000 simulations a move (200 games) 0.1, 0.2, 0.7 and 1 score 69, 63, 24 and 17 %
    # against 0.35, but with 5,000 (60 games) 0.2 scores 30 %, and 0.1 is worse than 0.2.
    exploration = 0.35

    def __init__(
        self,
        size: Annotated[int, range(MIN_SIZE, MAX_SIZE + 1)] = 11,
        swap: Annotated[str, ("yes", "no")] = "yes",
    ) -> None:
        """``size``: cells a side. ``swap``: whether white may swap the first stone, ``yes`` or ``no``."""
        self.size, self.swap = size, swap
        self.rows = self.columns = size
        self.max_moves = size * size
        self.max_plies = size * size + (swap == "yes")
        self.nominal_simulations_per_s = 6e5 * 121 / size**2

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``f6``, or ``swap``."""
        return SWAP_MOVE if move == self.size**2 else format_cell(*divmod(move, self.size))

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The cells of the board, and the swap if it is legal."""
        corner = format_cell(self.size - 1, self.size - 1)
        return f"an empty cell from a1 to {corner}{', or swap' * (SWAP_MOVE in moves)}"

    def parse_position(self, text: str) -> State:
        owners, mover = parse_grid(text, self.size, self.size, self.signs)
        more = num_more(owners)
        # A swap leaves white one stone ahead of what its plies alone would give.
        swapped = more - mover == -1 and self.swap == "yes" and cells_with(owners, SECOND)
        if more != mover and not swapped:
            accepted = alternating(self.signs) + "; after a swap one b less" * (self.swap == "yes")
            raise InvalidInput("position", text, accepted)
        state = self.state_of(owners, mover)
        if state[OVER]:
            winner = FIRST if state[RESULT] > 0 else SECOND
            if winner == mover or not self.can_be_last(owners, cells_with(owners, winner)):
                raise InvalidInput("position", text, "no connected edges except by the last move")
        return state

    def marked(self, state: State, move: int) -> tuple[int, int] | None:
        """The cell of the stone; after a swap that of white's stone."""
        return cells_with(self.owners_of(state), SECOND)[0] if move == self.size**2 else self.cells_of(move)

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the masks."""
        places = np.arange(self.size, dtype=states.dtype)
        begin = STONES + 1
        first = states[:, begin : begin + self.size, None] >> places & 1
        begin += PLAYER
        second = (states[:, begin : begin + self.size, None] >> places & 1).transpose(0, 2, 1)
        signs: npt.NDArray[np.int8] = (first + 2 * second)[:, ::-1].astype(np.int8)
        return signs

    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these stones; empty cells are listed in order."""
        size, area = self.size, self.size**2
        state = np.zeros(CELLS + 2 * area, dtype=np.int32)
        state[SIZE], state[AREA], state[SWAP] = size, area, self.swap == "yes"
        for player in (FIRST, SECOND):
            state[REACHED + player * PLAYER] = -1
        state[CELLS + area :] = -1
        for row, column in np.ndindex(size, size):
            owner = owners[row][column]
            if owner is None:
                state[CELLS + state[LISTED]] = row * 32 + column
                state[CELLS + area + row * size + column] = state[LISTED]
                state[LISTED] += 1
            elif source_of(add_stone)(state, owner, row * 32 + column):
                state[OVER], state[RESULT] = 1, 1 - 2 * owner
        stones = area - int(state[LISTED])
        # A swap is a ply that adds no stone.
        state[PLIES] = stones + ((stones ^ mover) & 1)
        return state
