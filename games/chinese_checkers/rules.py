"""The compiled rules of Chinese checkers: one set of functions for all numbers of players.

A turn is a step to a neighbouring cell, or a series of hops, each over a piece of any player onto the empty
cell behind it. Each hop is a move of its own, and the series ends by PASS, or when no cell is left to hop to;
no cell is visited twice in a turn. Who has all pieces in the opposite triangle at the end of a turn wins.
After a given number of turns of all players together the game is a draw.

A state is ``int16[LENGTH]``:

========  ==================================================================================
header    number of players, player to move, turns so far, turns after which the game ends,
          1 + the winner or 0, the number of cells in VISITED or 0 if no hop was made this turn
GOAL      by player (six), CELLS times the number of the triangle to be filled
LEFT      by player, steps that the pieces have to go in all, 0 when the triangle is full
BOARD     by cell, the number of the piece on it (10 * player + 0 to 9) or EMPTY; then OUTSIDE
PIECES    by number of the piece, its cell
VISITED   the cells of the hops of this turn, the first and the present one included
========  ==================================================================================

The code of a step or a hop is 6 * cell + direction, as in OpenSpiel.

Cells are numbered row by row from the top, as in OpenSpiel. In the grid of slanted rows that is drawn
(`games.board.Board`), a cell's column is counted along its row from the left edge of the grid, and each row
begins half a cell further to the right than the row above.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import Stream, below
from games.rules import Moves

WIDTHS = (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1)
"""Cells of each row from the top."""
SIDE = len(WIDTHS)
"""Rows, and columns of the grid in which they are drawn."""
CELLS = sum(WIDTHS)
DIRECTIONS = 6
WALL = CELLS
"""The number of a cell outside of the star."""

PLACES = tuple(
    (row, column)
    for row, width in enumerate(WIDTHS)
    for column in range((25 - width - row) // 2, (25 + width - row) // 2)
)
"""By cell: its row and column in the grid, from the top and from the left."""
CELL_AT = {place: cell for cell, place in enumerate(PLACES)}

_STEPS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
"""By direction, what it adds to row and column: up left, up right, left, right, down left, down right."""


def _ends(length: int) -> list[int]:
    """By cell and direction, the cell so many steps away, or WALL."""
    return [
        CELL_AT.get((row + length * down, column + length * right), WALL)
        for row, column in PLACES
        for down, right in _STEPS
    ]


def _distances(point: int) -> list[int]:
    """By cell, the number of steps to the cell ``point``."""
    found = {point: 0}
    for cell in (queue := [point]):
        for end in _ends(1)[DIRECTIONS * cell : DIRECTIONS * (cell + 1)]:
            if end != WALL and end not in found:
                found[end] = found[cell] + 1
                queue.append(end)
    return [found[cell] for cell in range(CELLS)]


NEAR = np.array(_ends(1), dtype=np.int16)
"""int16[6 * CELLS]: by cell and direction the neighbour, or WALL."""
FAR = np.array(_ends(2), dtype=np.int16)
"""int16[6 * CELLS]: by cell and direction the cell where a hop ends, or WALL."""
POINTS = (0, 22, 110, 120, 98, 10)
"""The outermost cells of the six triangles, clockwise from the top."""
DISTANCE = np.array([_distances(point) for point in POINTS], dtype=np.int16).ravel()
"""int16[6 * CELLS]: by triangle and cell the steps to the triangle's outermost cell."""
TRIANGLES = tuple(
    tuple(cell for cell in range(CELLS) if DISTANCE[CELLS * triangle + cell] <= 3) for triangle in range(6)
)
"""The ten cells of each triangle, clockwise from the top."""
HOMES = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
"""By number of players, the triangle where each begins; the goal is the opposite one."""
MOST_HOPS = max(
    sum(row % 2 == down and column % 2 == right for row, column in PLACES)
    for down in range(2)
    for right in range(2)
)
"""Upper bound of the cells that a piece can be on in one turn of hops, each of which goes two cells on."""

PLAYERS, MOVER, TURNS, LIMIT, WINNER, HOPS = range(6)
GOAL = 6
LEFT = GOAL + 6
BOARD = LEFT + 6
PIECES = BOARD + CELLS + 1
VISITED = PIECES + 60
LENGTH = VISITED + MOST_HOPS
"""Indices into a state, and its length."""
EMPTY, OUTSIDE = -1, -2
EACH = 10
"""Pieces of a player."""
PASS = DIRECTIONS * CELLS
"""The code of the move that ends a series of hops, or a turn without any other move."""
BEHIND, PASSING = 1.0 / 64.0, 0.5
"""In `priority`: the worth of a step that a piece is away from its goal, and of PASS."""
TRIES = 100
"""Draws of a piece and a direction before all moves are listed."""
STEPS_OF_E = 8.0
"""How many steps behind make a player's chance to win e times smaller.

Fitted to the winners of 20,000 greedy games from positions of games with a quarter of random moves: 7.5 for
two players, 8.5 for three, 11.5 for six."""

State = npt.NDArray[np.int16]


@njit
def current_player(state: State) -> int:
    """The player to move, from 0."""
    return int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the moves by piece and direction; in a series of hops those of its piece, and PASS. Returns how
    many."""
    number = 0
    if state[HOPS] > 0:
        cell = np.int64(state[VISITED + np.int64(state[HOPS]) - 1])
        for move in range(DIRECTIONS * cell, DIRECTIONS * (cell + 1)):
            if may_hop_on(state, move):
                moves[number] = move
                number += 1
        moves[number] = PASS
        return number + 1
    first = PIECES + EACH * np.int64(state[MOVER])
    for piece in range(first, first + EACH):
        cell = np.int64(state[piece])
        for move in range(DIRECTIONS * cell, DIRECTIONS * (cell + 1)):
            if end_of(state, move) >= 0:
                moves[number] = move
                number += 1
    if number == 0:
        moves[0] = PASS
        return 1
    return number


@njit
def end_of(state: State, move: Int) -> int:
    """Where a step or a hop ends, or -1 if there is neither."""
    near = np.int64(NEAR[move])
    found = state[BOARD + near]
    if found == EMPTY:
        return near  # type: ignore[return-value]
    far = np.int64(FAR[move])
    return far if found >= 0 and state[BOARD + far] == EMPTY else -1  # type: ignore[return-value]


@njit
def may_hop_on(state: State, move: Int) -> bool:
    """Whether a series of hops can go on with this hop."""
    far = np.int64(FAR[move])
    free = state[BOARD + np.int64(NEAR[move])] >= 0 and state[BOARD + far] == EMPTY
    place = VISITED + np.int64(state[HOPS]) - 1
    while free and place >= VISITED:
        free = state[place] != far
        place -= 1
    return bool(free)


@njit
def play(state: State, move: Int) -> None:
    """Move a piece, or end the turn; ``state`` is modified in place."""
    if move == PASS:
        end_turn(state)
        return
    start, end = np.int64(move) // DIRECTIONS, np.int64(NEAR[move])
    mover, hops = np.int64(state[MOVER]), np.int64(state[HOPS])
    step = state[BOARD + end] == EMPTY
    if not step:
        end = np.int64(FAR[move])
    piece = state[BOARD + start]
    state[BOARD + start] = EMPTY
    state[BOARD + end] = piece
    state[PIECES + np.int64(piece)] = end
    goal = np.int64(state[GOAL + mover])
    state[LEFT + mover] += DISTANCE[goal + end] - DISTANCE[goal + start]
    if step:
        end_turn(state)
        return
    if hops == 0:
        state[VISITED] = start
        hops = np.int64(1)
    state[VISITED + hops] = end
    state[HOPS] = hops + 1
    for on in range(DIRECTIONS * end, DIRECTIONS * (end + 1)):
        if may_hop_on(state, on):
            return
    end_turn(state)


@njit
def end_turn(state: State) -> None:
    """Let the next player move, or the game end; ``state`` is modified in place."""
    mover = np.int64(state[MOVER])
    state[HOPS] = 0
    state[TURNS] += 1
    if state[LEFT + mover] == 0:
        state[WINNER] = 1 + mover
    state[MOVER] = 0 if mover + 1 == state[PLAYERS] else mover + 1


@njit
def is_terminal(state: State) -> bool:
    """Whether a player has won, or all turns are played."""
    return bool(state[WINNER] > 0 or state[TURNS] >= state[LIMIT])


@njit
def score(state: State, player: Int) -> float:
    """What a game is worth to a player: the number of players less 1 for the winner, -1 for the others, 0 for
    a draw, as in OpenSpiel.

    Of an unfinished position, on the same scale, an estimate by the steps that the players' pieces have left.
    """
    players = np.int64(state[PLAYERS])
    if state[WINNER] > 0:
        return float(players - 1) if state[WINNER] == 1 + player else -1.0
    if state[TURNS] >= state[LIMIT]:
        return 0.0
    own = np.float64(state[LEFT + np.int64(player)])
    total = 0.0
    for other in range(players):
        total += math.exp((own - np.float64(state[LEFT + other])) / STEPS_OF_E)
    return float(players) / total - 1.0


@njit
def returns(state: State) -> float:
    """The first player's `score`."""
    return score(state, 0)


@njit
def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move: pieces and directions are drawn until there is a move."""
    if state[HOPS] == 0:
        first = PIECES + EACH * np.int64(state[MOVER])
        for _ in range(TRIES):
            drawn = np.int64(below(stream, EACH * DIRECTIONS))
            move = DIRECTIONS * np.int64(state[first + drawn // DIRECTIONS]) + drawn % DIRECTIONS
            if end_of(state, move) >= 0:
                return move  # type: ignore[return-value]
    return int(moves[below(stream, legal_moves(state, moves))])


@njit
def priority(state: State, move: Int) -> float:
    """The steps by which a move brings its piece closer to the goal, and a little for pieces far behind.

    A series of hops goes on where a hop gains something, and otherwise ends.
    """
    if move == PASS:
        return PASSING
    goal = np.int64(state[GOAL + np.int64(state[MOVER])])
    before = np.int64(DISTANCE[goal + np.int64(move) // DIRECTIONS])
    return float(before - np.int64(DISTANCE[goal + end_of(state, move)])) + BEHIND * float(before)


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random one of the legal moves with the highest priority."""
    if state[HOPS] > 0:
        first = VISITED + np.int64(state[HOPS]) - 1
        last, best, count = first, PASSING, 1
        moves[0] = PASS
    else:
        first = PIECES + EACH * np.int64(state[MOVER])
        last, best, count = first + EACH - 1, -math.inf, 0
    goal = np.int64(state[GOAL + np.int64(state[MOVER])])
    for place in range(first, last + 1):
        cell = np.int64(state[place])
        before = np.int64(DISTANCE[goal + cell])
        for move in range(DIRECTIONS * cell, DIRECTIONS * (cell + 1)):
            end = end_of(state, move)
            if end < 0:
                continue
            value = float(before - np.int64(DISTANCE[goal + end])) + BEHIND * float(before)
            if value < best or (state[HOPS] > 0 and not may_hop_on(state, move)):
                continue
            if value > best:
                best, count = value, 0
            moves[count] = move
            count += 1
    if count == 0:
        return PASS
    return int(moves[below(stream, count)])
