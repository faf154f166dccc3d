"""The exact solver of connect four: who wins under best play, from any position.

It answers two questions about the player to move: whether that player can win, and whether that player can at
least draw. Each is an alpha-beta search with a null window over bitboards (games/connect_four/rules.py).
What keeps it small:

- A player who can win at once does; other players only try moves after which the other side cannot win
  at once, and a threat to win must be met (Pascal Pons, "Solving Connect 4", 2015, parts 4 and 9).
- A player who would not have four in a row with all free cells cannot win.
- If the free cells of every column are even in number, the other side can answer each stone in its column
  and so get every second cell (the rule "claimeven": Victor Allis, "A knowledge-based approach of connect
  four", 1988). Without a four in the cells that are left, the player to move cannot win.
- Moves that leave the most winning cells are tried first, then those nearest to the centre.
- A table keeps what is known of positions. It is exact: an entry holds all bits of its position.

On a board of 6x7, positions of random games with 12 to 30 stones take 5 ms on average, those with 12 stones
30 ms, those with eight 0.6 s. Positions with fewer take much longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.bits import popcount
from games.compile.specialise import cached_njit
from games.connect_four.rules import HEIGHT, STONES, has_four
from games.errors import InvalidInput
from games.game import FIRST, Game, Judge
from games.jit import njit
from games.rng import GOLDEN
from games.rules import State

TABLE_BITS = 22
"""The table has 2**22 entries of 8 bytes, 32 MiB. A larger one is slower where few positions are searched."""

DRAW, WIN = 0, 1
"""The questions: whether the player to move can at least draw, and whether that player can win."""
NO, YES, OPEN = 0, 1, -1
"""Their answers; OPEN: only a search can tell."""
_SAYS_YES, _SAYS_NO = (0b1010, 0b1000), (0b0001, 0b0101)
"""By question, the facts that answer it. The answer to a question is the fact 1 << (2 * question + answer);
who can win can draw as well."""

PROBED_FREE = 18
"""Free cells above which the table is asked about all moves before the first one is searched."""

QUICK_FREE = 30
"""Most free cells of positions whose values take milliseconds: 12 stones or more on a board of 6x7."""

Frames = npt.NDArray[np.int64]
"""By number of free cells, the position of the current line that has so many; its columns:"""
MINE, TAKEN, MOVES, NUM_MOVES, NEXT, FIRST_MOVE = 0, 1, 2, 3, 4, 5
"""Stones of the player to move; stones of both; moves that are to be searched, as bits; how many; how many of
them have been; and from here on their order, each move as 16 * score + 15 - rank of its column."""

Table = npt.NDArray[np.uint64]
"""By slot a position and, in the lowest four bits, the facts that are known of it; 0 if there is none."""

_FOUR = np.uint64(4)
_FACTS = np.uint64(15)
_REST_BITS = np.uint64(64 - TABLE_BITS)
_REST = np.uint64((1 << (64 - TABLE_BITS)) - 1)


class Geometry(NamedTuple):
    """The size of the board, as masks of bits."""

    height: int
    """Bits of a column: rows + 1."""
    bottom: int
    """The cells of the bottom row."""
    board: int
    """All cells."""
    odd: int
    """The uppermost cell of each column and every second one below."""
    columns: npt.NDArray[np.int64]
    """int64[columns]: the cells of each column. The place is the rank of a column: the centre comes first."""


@njit
def winning_cells(stones: int, taken: int, geometry: Geometry) -> int:
    """The free cells, reachable or not, that would complete four in a row with one player's stones."""
    found = (stones << 1) & (stones << 2) & (stones << 3)
    for step in range(geometry.height - 1, geometry.height + 2):
        two = (stones << step) & (stones << 2 * step)
        found |= two & ((stones << 3 * step) | (stones >> step))
        two = (stones >> step) & (stones >> 2 * step)
        found |= two & ((stones >> 3 * step) | (stones << step))
    return found & geometry.board & ~taken


@njit
def _static_answer(mine: int, taken: int, moves: int, question: int, geometry: Geometry) -> int:
    """What follows from the stones and free cells alone: YES, NO or OPEN. ``moves`` lose nothing at once."""
    height, board, theirs = geometry.height, geometry.board, taken ^ mine
    if question == WIN and not has_four(board & ~theirs, height):
        return NO
    if question == DRAW and not has_four(board & ~mine, height):
        return YES
    # Columns with an odd number of free cells. A player whose stone makes all of them even can follow, too.
    uneven = (taken + geometry.bottom) & geometry.odd
    if uneven & (uneven - 1) != 0 or uneven & ~moves != 0:
        return OPEN
    taken |= uneven
    leader = mine if uneven == 0 else theirs
    followed = geometry.odd & ~taken
    if has_four(leader | (board & ~taken & ~followed), height):
        return OPEN
    follower_wins = has_four((taken ^ leader) | followed, height)
    if uneven == 0:
        return NO if question == WIN or follower_wins else OPEN
    return YES if question == DRAW or follower_wins else OPEN


@njit
def _slot_of(table: Table, mine: int, taken: int) -> tuple[int, np.uint64]:
    """The slot of a position, and its entry without facts.

    Products with an odd number differ from position to position: their upper bits are the slot, the lower
    ones are stored.
    """
    product = np.uint64(mine + taken) * GOLDEN
    return np.int64(product >> _REST_BITS), (product & _REST) << _FOUR  # type: ignore[return-value]


@njit
def _facts_of(table: Table, mine: int, taken: int) -> int:
    """The facts that the table has of a position."""
    slot, entry = _slot_of(table, mine, taken)
    if table[slot] & ~_FACTS != entry:
        return 0
    return np.int64(table[slot] & _FACTS)  # type: ignore[return-value]


@njit
def _remember(table: Table, mine: int, taken: int, fact: int) -> None:
    """Add a fact of a position to ``table``, modified in place; the latest position keeps a slot."""
    slot, entry = _slot_of(table, mine, taken)
    facts = _facts_of(table, mine, taken)
    table[slot] = entry | np.uint64(facts | fact)


@njit
def _begin(
    mine: int, taken: int, question: int, free: int, geometry: Geometry, frames: Frames, table: Table
) -> int:
    """Answer the question without a search, or else list the moves in ``frames[free]`` and return OPEN.

    The player to move must not be able to win at once. ``frames`` is modified in place.
    """
    theirs = taken ^ mine
    moves = (taken + geometry.bottom) & geometry.board
    losing = winning_cells(theirs, taken, geometry)
    forced = moves & losing
    if forced != 0:
        if forced & (forced - 1) != 0:
            return NO
        moves = forced
    moves &= ~(losing >> 1)
    if moves == 0:
        return NO
    if free <= 2:
        return NO if question == WIN else YES
    answer = _static_answer(mine, taken, moves, question, geometry)
    if answer != OPEN:
        return answer
    facts = _facts_of(table, mine, taken)
    if facts & _SAYS_YES[question]:
        return YES
    if facts & _SAYS_NO[question]:
        return NO
    if free > PROBED_FREE:
        for column in geometry.columns:
            stone = moves & column
            if stone != 0 and _facts_of(table, theirs, taken | stone) & _SAYS_NO[1 - question]:
                return YES
    frame = frames[free]
    frame[MINE], frame[TAKEN], frame[MOVES], frame[NEXT] = mine, taken, moves, 0
    _sort_moves(mine, taken, moves, geometry, frame)
    return OPEN


@njit
def _sort_moves(mine: int, taken: int, moves: int, geometry: Geometry, frame: npt.NDArray[np.int64]) -> None:
    """Write number and order of the moves into ``frame``, modified in place."""
    end = FIRST_MOVE
    for rank in range(len(geometry.columns)):
        stone = moves & geometry.columns[rank]
        if stone != 0:
            score = popcount(winning_cells(mine | stone, taken | stone, geometry))
            place = end
            while place > FIRST_MOVE and frame[place - 1] < 16 * score + 15 - rank:
                frame[place] = frame[place - 1]
                place -= 1
            frame[place] = 16 * score + 15 - rank
            end += 1
    frame[NUM_MOVES] = end - FIRST_MOVE


@njit
def _can(
    mine: int, taken: int, question: int, free: int, geometry: Geometry, frames: Frames, table: Table
) -> bool:
    """The answer to the question for a player to move who cannot win at once, by search.

    ``frames`` and ``table`` are modified in place. The player to move can if after some move the other one
    cannot: cannot win if the question is DRAW, cannot draw if it is WIN.
    """
    root = free
    while True:
        answer = _begin(mine, taken, question, free, geometry, frames, table)
        while answer != OPEN:
            if free == root:
                return answer == YES
            free += 1
            question = 1 - question
            frame = frames[free]
            if answer == NO or frame[NEXT] == frame[NUM_MOVES]:
                answer = 1 - answer
                _remember(table, frame[MINE], frame[TAKEN], 1 << (2 * question + answer))
            else:
                answer = OPEN
        frame = frames[free]
        rank = 15 - (frame[FIRST_MOVE + frame[NEXT]] & 15)
        frame[NEXT] += 1
        mine, taken = frame[TAKEN] ^ frame[MINE], frame[TAKEN] | (frame[MOVES] & geometry.columns[rank])
        free -= 1
        question = 1 - question


@cached_njit
def value_for_mover(
    mine: int, theirs: int, free: int, geometry: Geometry, frames: Frames, table: Table
) -> int:
    """The value for the player to move, 1, 0 or -1, of an unfinished position with ``free`` free cells.

    ``frames`` (int64[cells + 1, FIRST_MOVE + columns], scratch) and ``table`` (uint64[2**TABLE_BITS]) are
    modified in place.
    """
    taken = mine | theirs
    if winning_cells(mine, taken, geometry) & (taken + geometry.bottom) != 0:
        return 1
    if _can(mine, taken, WIN, free, geometry, frames, table):
        return 1
    return 0 if _can(mine, taken, DRAW, free, geometry, frames, table) else -1


class Solver(Judge):
    """Exact values of all positions of connect four on one size of the board; see `games.game.Judge`.

    It keeps what it found for later calls, in 32 MiB. Values never depend on earlier calls, times do. For one
    thread at a time.
    """

    def __init__(self, game: Game) -> None:
        """``game``: connect four of any size."""
        rows, columns = game.rows, game.columns
        self.game = game
        height = rows + 1
        ranked = sorted(range(columns), key=lambda column: (abs(2 * column - columns + 1), column))
        cells = [((1 << rows) - 1) << column * height for column in ranked]
        uppers = sum(1 << row for row in range(rows - 1, -1, -2))
        self._geometry = Geometry(
            height,
            sum(1 << column * height for column in ranked),
            sum(cells),
            sum(uppers << column * height for column in ranked),
            np.array(cells, dtype=np.int64),
        )
        self._frames = np.zeros((rows * columns + 1, FIRST_MOVE + columns), dtype=np.int64)
        self._table = np.zeros(1 << TABLE_BITS, dtype=np.uint64)

    def can_judge(self, state: State) -> bool:
        """Whether at most `QUICK_FREE` cells are free: solving takes milliseconds on average."""
        return self.game.max_plies - int(state[STONES]) <= QUICK_FREE

    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1.

        Raises InvalidInput (field ``position``) for a board of another size.
        """
        game = self.game
        if len(state) != len(game.initial_state()) or state[HEIGHT] != self._geometry.height:
            raise InvalidInput("position", str(state.tolist()), f"a position of {game.spec}")
        if game.calls.is_terminal(state):
            return int(game.calls.returns(state))
        mover, free = int(state[STONES]) & 1, game.max_plies - int(state[STONES])
        mine, theirs = int(state[mover]), int(state[1 - mover])
        with np.errstate(over="ignore"):
            value = int(value_for_mover(mine, theirs, free, self._geometry, self._frames, self._table))
        return value if mover == FIRST else -value
