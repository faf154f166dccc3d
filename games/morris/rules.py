"""The compiled rules of the mill games: one set of functions for every board and option.

A state is ``int64[HISTORY + n]``, where n is 0 without a repetition rule, else the cap of turns plus 1:

=========  ==========================================================================
options    board (an index into LAYOUTS), cap of turns, who may fly, whether a mill wins at
           once, whether stones may move while others are in hand, the repetition rule, whether
           a full board is a draw
position   player to move, whether a stone is to be removed, number of turns, whether the game is
           over, the first player's return, both players' stones (masks by bit), stones in hand
HISTORY    the positions since the last placement or removal, each as one number (`key_of`)
=========  ==========================================================================

The code of a placement or a removal is the code of its point (0 to 23), that of a move from a to b is
24 + 24 a + b, as in OpenSpiel. A removal is a separate ply of the player who closed the mill. A turn is a
placement or a move.

A point has two numbers. Its *code* counts row by row from the top, as in moves and in OpenSpiel.
Its *bit* counts ring by ring from the outermost, within a ring clockwise from the top left
corner, so that a step along a ring or a spoke is one rotation or shift for all stones at once. The
centre has the highest bit, on boards that have one.

The board of seven men's morris is that of six with a cross in the inner square: a centre joined to the
middles of that square's sides. Sources describe this board, but not its mills. Any three neighbouring points
of a line are a mill on the other boards, so each of the two lines of five points has three: 14 mills in
all, as in two other programs (GAMESMAN of Berkeley, and Farin's Morris).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from games.bits import popcount
from games.jit import Int, njit
from games.rules import Moves

MAX_POINTS = 24
MAX_MILLS = 20
MILLS_A_POINT = 6


@dataclass(frozen=True)
class Layout:
    """A board: the coordinates of its points, its mills and its edges. Points are given as bits."""

    size: int
    """Number of columns and of rows of the drawn grid."""
    cells: tuple[tuple[int, int], ...]
    """(column, row) of each bit; row 0 is the bottom one."""
    mills: tuple[tuple[int, int, int], ...]
    edges: tuple[tuple[int, int], ...]
    codes: tuple[int, ...] = field(init=False)
    """Code of the point by bit."""

    def __post_init__(self) -> None:
        order = sorted(range(len(self.cells)), key=lambda bit: (-self.cells[bit][1], self.cells[bit][0]))
        object.__setattr__(self, "codes", tuple(order.index(bit) for bit in range(len(self.cells))))


def _layout(rings: int, *, spoke_mills: bool, corners: bool, centre: str = "", lines: int = 8) -> Layout:
    """``corners``: whether spokes join corners too; ``centre``: which points are joined to the middle one.

    With 8 ``lines`` diagonals through the centre are mills, with 6 they are not.
    """
    middle = rings
    ring = [(-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0)]
    cells = [(middle + (rings - r) * x, middle + (rings - r) * y) for r in range(rings) for x, y in ring]
    sides = [(8 * r + s, 8 * r + s + 1, 8 * r + (s + 2) % 8) for r in range(rings) for s in (0, 2, 4, 6)]
    mills = list(sides)
    edges = [(8 * r + s, 8 * r + (s + 1) % 8) for r in range(rings) for s in range(8)]
    for s in range(8):
        if s % 2 == 1 or corners:
            edges += [(8 * r + s, 8 * r + 8 + s) for r in range(rings - 1)]
            if spoke_mills:
                mills.append((s, 8 + s, 16 + s if rings == 3 else 16))
    if centre:
        inner, last = 8 * (rings - 1), 8 * rings
        cells.append((middle, middle))
        edges += [(inner + s, last) for s in range(8) if s % 2 == 1 or centre == "all"]
        mills += [(inner + s, last, inner + s + 4) for s in range(4) if s % 2 == 1 or lines == 8]
    return Layout(2 * rings + 1, tuple(cells), tuple(mills), tuple(edges))


THREE, THREE_TAPATAN, THREE_6, THREE_6_TAPATAN, SIX, NINE, TWELVE, SEVEN = range(8)
LAYOUTS = (
    _layout(1, spoke_mills=False, corners=False, centre="sides"),
    _layout(1, spoke_mills=False, corners=False, centre="all"),
    _layout(1, spoke_mills=False, corners=False, centre="sides", lines=6),
    _layout(1, spoke_mills=False, corners=False, centre="all", lines=6),
    _layout(2, spoke_mills=False, corners=False),
    _layout(3, spoke_mills=True, corners=False),
    _layout(3, spoke_mills=True, corners=True),
    _layout(2, spoke_mills=True, corners=False, centre="sides", lines=6),
)


def _mask(bits: tuple[int, ...]) -> int:
    return sum(1 << bit for bit in bits)


def _tables() -> tuple[npt.NDArray[np.int64], ...]:
    points = np.zeros(len(LAYOUTS), dtype=np.int64)
    neighbours = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    mills = np.full((len(LAYOUTS), MAX_MILLS), -1, dtype=np.int64)
    mills_of = np.full((len(LAYOUTS), MAX_POINTS, MILLS_A_POINT), -1, dtype=np.int64)
    codes = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    bits = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    for board, layout in enumerate(LAYOUTS):
        points[board] = len(layout.cells)
        for a, b in layout.edges:
            neighbours[board, a] |= 1 << b
            neighbours[board, b] |= 1 << a
        for number, mill in enumerate(layout.mills):
            mills[board, number] = _mask(mill)
        for bit, code in enumerate(layout.codes):
            own = [_mask(mill) for mill in layout.mills if bit in mill]
            mills_of[board, bit, : len(own)] = own
            codes[board, bit], bits[board, code] = code, bit
    return points, neighbours, mills, mills_of, codes, bits


POINTS, NEIGHBOURS, MILLS, MILLS_OF, CODE_OF, BIT_OF = _tables()
"""Tables indexed by board first. POINTS: number of points. NEIGHBOURS [bit]: mask of adjacent points.
MILLS: masks of all mills. MILLS_OF [bit]: masks of the mills through a point. Both lists of mills are padded
with -1, which no set of stones contains. CODE_OF [bit] and BIT_OF [code]: conversion of point numbers."""

BOARD, CAP, FLY, MILL_WINS, MOVES_EARLY, REPETITION, FULL_DRAWS = range(7)
MOVER, REMOVING, TURNS, OVER, RESULT = range(7, 12)
STONES, HANDS, SEEN = 12, 14, 16
HISTORY = 17
NEVER, AT_THREE, ALWAYS = range(3)
NO_REPETITION, ON_FIRST, ON_THIRD = 0, 1, 2
MOVE = 24
"""The lowest code of a move from point to point."""

State = npt.NDArray[np.int64]


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND; a player who has closed a mill is to move again, to remove a stone."""
    return int(state[MOVER])


@njit
def flies(state: State, player: Int) -> bool:
    """Whether the player may move a stone to any empty point."""
    if state[FLY] == ALWAYS:
        return True
    return bool(
        state[FLY] == AT_THREE and state[HANDS + player] == 0 and popcount(state[STONES + player]) == 3
    )


@njit
def in_mills(board: Int, stones: Int) -> int:
    """The stones of the mask that stand in a mill."""
    found: Int = 0
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if stones & mill == mill:
            found |= mill
    return found  # type: ignore[return-value]


@njit
def removable(state: State) -> int:
    """The mask of the other player's stones that may be removed: those in no mill, else all."""
    stones = state[STONES + 1 - state[MOVER]]
    free = stones & ~in_mills(state[BOARD], stones)
    return free if free != 0 else stones  # type: ignore[no-any-return]


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write placements or removals, then moves, in ascending order of their bits; returns how many."""
    board, player = state[BOARD], state[MOVER]
    own, empty = state[STONES + player], _empty(state)
    count = 0
    if state[REMOVING] != 0:
        places = removable(state)
    elif state[HANDS + player] > 0:
        places = empty
    else:
        places = 0
    for bit in range(POINTS[board]):
        if places >> bit & 1 != 0:
            moves[count] = CODE_OF[board, bit]
            count += 1
    if state[REMOVING] != 0 or (state[HANDS + player] > 0 and state[MOVES_EARLY] == 0):
        return count
    anywhere = flies(state, player)
    for bit in range(POINTS[board]):
        if own >> bit & 1 != 0:
            targets = empty if anywhere else empty & NEIGHBOURS[board, bit]
            for to in range(POINTS[board]):
                if targets >> to & 1 != 0:
                    moves[count] = MOVE + 24 * CODE_OF[board, bit] + CODE_OF[board, to]
                    count += 1
    return count


@njit
def _empty(state: State) -> int:
    points = np.int64(1) << POINTS[state[BOARD]]
    return (points - 1) & ~(state[STONES] | state[STONES + 1])  # type: ignore[no-any-return]


@njit
def play(state: State, move: int) -> None:
    """Place, move or remove; ``state`` is modified in place."""
    board, player = state[BOARD], state[MOVER]
    if state[REMOVING] != 0:
        state[STONES + 1 - player] ^= np.int64(1) << BIT_OF[board, move]
        state[REMOVING] = 0
        state[SEEN] = 0
        _end_turn(state)
        return
    if move < MOVE:
        to = BIT_OF[board, move]
        state[HANDS + player] -= 1
        state[SEEN] = 0
    else:
        to = BIT_OF[board, (move - MOVE) % 24]
        state[STONES + player] ^= np.int64(1) << BIT_OF[board, (move - MOVE) // 24]
    state[STONES + player] |= np.int64(1) << to
    state[TURNS] += 1
    if closes_mill(board, state[STONES + player], to):
        if state[MILL_WINS] != 0:
            state[MOVER] = 1 - player
            state[OVER], state[RESULT] = 1, 1 - 2 * player
            return
        if state[STONES + 1 - player] != 0:
            state[REMOVING] = 1
            return
    _end_turn(state)


@njit
def closes_mill(board: Int, stones: Int, bit: Int) -> bool:
    """Whether the stone at ``bit`` stands in a mill."""
    closed = False
    # Only the centre of seven men's morris has more than 4 mills, and each turn of a playout comes here.
    for number in range(MILLS_OF.shape[2] if board == SEVEN else 4):
        mill = MILLS_OF[board, bit, number]
        closed |= stones & mill == mill
    return closed


@njit
def _end_turn(state: State) -> None:
    """Pass the turn to the other player and find out whether the game is over."""
    state[MOVER] = 1 - state[MOVER]
    settle(state)
    if state[OVER] != 0:
        return
    if state[TURNS] >= state[CAP]:
        state[OVER] = 1
    elif state[REPETITION] != NO_REPETITION:
        _note_position(state)


@njit
def settle(state: State) -> None:
    """End the game if the position, without its history, ends it; ``state`` is modified in place."""
    player = state[MOVER]
    own = state[STONES + player]
    lost = False
    if state[REMOVING] != 0:
        return
    if state[MILL_WINS] != 0:
        lost = in_mills(state[BOARD], state[STONES + 1 - player]) != 0
    elif popcount(own) + state[HANDS + player] < 3:
        lost = True
    if not lost and state[FULL_DRAWS] != 0 and _empty(state) == 0:
        state[OVER] = 1
        return
    if lost or not _can_move(state):
        state[OVER], state[RESULT] = 1, 2 * player - 1


@njit
def _can_move(state: State) -> bool:
    player, empty = state[MOVER], _empty(state)
    if empty == 0:
        return False
    if state[HANDS + player] > 0 or flies(state, player):
        return True
    own, reached = state[STONES + player], np.int64(0)
    for bit in range(POINTS[state[BOARD]]):
        reached |= NEIGHBOURS[state[BOARD], bit] * (own >> bit & 1)
    return bool(reached & empty != 0)


@njit
def key_of(state: State) -> int:
    """The position as one number of 58 bits: stones, who moves, hands, whether a stone is to be removed."""
    return int(
        state[STONES]
        | state[STONES + 1] << 24
        | state[MOVER] << 48
        | state[HANDS] << 49
        | state[HANDS + 1] << 53
        | state[REMOVING] << 57
    )


@njit
def _note_position(state: State) -> None:
    """Add the position to the history; end the game as a draw if the repetition rule applies."""
    key, seen, before = key_of(state), state[SEEN], 0
    for i in range(seen):
        before += state[HISTORY + i] == key
    if before >= state[REPETITION]:
        state[OVER] = 1
        return
    state[HISTORY + seen] = key
    state[SEEN] = seen + 1


@njit
def is_terminal(state: State) -> bool:
    """Whether the game is over."""
    return bool(state[OVER] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 for a win, -1.0 for a loss, 0.0 for a draw."""
    return float(state[RESULT])


@njit
def pack(state: State) -> np.uint64:
    """The position as one number, without turns and history (see `Rules.pack`)."""
    return np.uint64(key_of(state))


@njit
def unpack(number: np.uint64, state: State) -> None:
    """Write the position with this packed number into ``state``, with no turns and no history."""
    key = np.int64(number)
    points = np.int64(0xFFFFFF)
    state[STONES], state[STONES + 1] = key & points, key >> 24 & points
    state[MOVER], state[REMOVING] = key >> 48 & 1, key >> 57 & 1
    state[HANDS], state[HANDS + 1] = key >> 49 & 15, key >> 53 & 15
    state[TURNS], state[OVER], state[RESULT], state[SEEN] = 0, 0, 0, 0
    settle(state)
