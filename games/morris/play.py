"""How the mill games are played without a search: random playouts, and how players of a thesis see them.

Playouts are on bitboards, limited by the cap of turns, without the repetition rule. Uniformly random games
repeat positions often: if the first repetition ended a game, two of three playouts of nine men's morris would
be draws.

`counts` counts stones on the board and in hand, and with smaller weights closed mills, mills that one stone
would close, and possible moves. The rating of moves: first those that close a mill, then those that block
one, then all others, as a thesis on nine men's morris rates them; and, which it does not, removals that break
up an open mill of the other player before other removals. Searches have games/morris/worth.py instead.

The looks are the scores of moves of that thesis's simple players: generic functions of (state, move), to be
bound by `games.compile.specialise`. A higher score is better; ties are broken at random.
"""

from __future__ import annotations

import numpy as np

from games.bits import place_of_rank, popcount, sums_of
from games.jit import Int, njit
from games.morris.rules import (
    AT_THREE,
    BIT_OF,
    BOARD,
    CAP,
    FLY,
    FULL_DRAWS,
    HANDS,
    MILLS,
    MILLS_OF,
    MOVE,
    MOVER,
    MOVES_EARLY,
    NEIGHBOURS,
    OVER,
    POINTS,
    REMOVING,
    REPETITION,
    RESULT,
    SEVEN,
    SIX,
    STONES,
    TURNS,
    TWELVE,
    State,
    closes_mill,
    flies,
    in_mills,
    legal_moves,
    play,
)
from games.rng import Stream, below
from games.rules import Moves

CLOSES, BLOCKS, NEEDED = 2.0, 1.0, 1.0
"""Ratings of moves that close a mill, that block one, and of removals of a needed stone; others have 0."""

STONE, MILL, OPEN_MILL, MOBILITY = 32, 6, 3, 1
FULL = 1024.0
"""An upper bound of the evaluation's sum: 12 stones, at most 20 mills of either kind, 48 moves."""

_FIRST_OF_ALL, _NEXT, _THEN = 10_000.0, 1_000.0, 10.0
_CHANCES = np.array([0, 1, 4, 6], dtype=np.int64)
"""Score of a mill without stones of the other player, by its number of own stones."""


@njit
def byte_sums(mask: Int) -> int:
    """`games.bits.sums_of` a mask of 63 bits."""
    return np.int64(sums_of(np.uint64(mask)))  # type: ignore[return-value]


@njit
def select(mask: Int, sums: Int, n: Int) -> int:
    """The n-th set bit, counted from 0, of a mask of 63 bits with these `byte_sums`; it must exist."""
    return np.int64(place_of_rank(np.uint64(mask), np.uint64(sums), np.uint64(n)))  # type: ignore[return-value]


@njit
def _pick(mask: Int, n: Int) -> int:
    return select(mask, byte_sums(mask), n)


@njit
def _clockwise(x: Int) -> int:
    """The stones moved one point clockwise on their rings."""
    return (x << 1 & 0xFEFEFE) | (x >> 7 & 0x010101)  # type: ignore[return-value]


@njit
def _counterclockwise(x: Int) -> int:
    return (x >> 1 & 0x7F7F7F) | (x << 7 & 0x808080)  # type: ignore[return-value]


@njit
def _with_third_ring(x: Int) -> int:
    """A mask of points of seven men's morris, whose centre becomes the four middles of a third ring.

    Then a step to or from the centre is one along a spoke. No corner of that ring is ever empty.
    """
    return x & 0xFFFF | (x >> 16 & 1) * 0xAA0000  # type: ignore[return-value]


def _starts() -> np.ndarray:
    starts = np.zeros(128, dtype=np.int64)
    for to in range(24):
        ring = to & ~7
        starts[to] = 1 << (ring | ((to - 1) & 7))
        starts[32 + to] = 1 << (ring | ((to + 1) & 7))
        starts[64 + to] = 1 << to >> 8
        starts[96 + to] = 1 << to << 8
    return starts


_START = _starts()
"""int64[128]: mask of the stone that moves, by its target bit plus 0 for a clockwise step, 32 for a
counterclockwise one, 64 for one inwards along a spoke, 96 for one outwards."""


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only OVER and RESULT are valid then."""
    if state[OVER] != 0:
        return 0
    if state[BOARD] < SIX:
        state[REPETITION] = 0
        plies = 0
        while state[OVER] == 0:
            play(state, int(moves[below(stream, legal_moves(state, moves))]))
            plies += 1
        return plies
    return _on_rings(state, stream)


@njit
def _on_rings(state: State, stream: Stream) -> int:
    """`playout` for boards of two or three rings."""
    board, fly, cap = state[BOARD], state[FLY], state[CAP]
    full = (np.int64(1) << POINTS[board]) - 1
    spokes = full if board == TWELVE else np.int64(0xAAAAAA)
    own: Int = state[STONES + state[MOVER]]
    other: Int = state[STONES + 1 - state[MOVER]]
    hand, other_hand = state[HANDS + state[MOVER]], state[HANDS + 1 - state[MOVER]]
    early = state[MOVES_EARLY] != 0
    player, turns, removing = state[MOVER], state[TURNS], state[REMOVING] != 0
    plies = np.int64(0)
    result: Int = 0
    while True:
        if removing:
            other = _remove(board, other, stream)
            plies += 1
            removing = False
            if popcount(other) + other_hand < 3:
                result = 1 - 2 * player
                break
        else:
            to, left = _turn(board, own, full & ~(own | other), spokes, hand, early, fly, stream)
            if to < 0:
                result = 2 * player - 1
                break
            hand -= left == 0
            own = (own ^ left) | np.int64(1) << to
            turns += 1
            plies += 1
            if closes_mill(board, own, to) and other != 0:
                removing = True
                continue
        if state[FULL_DRAWS] != 0 and own | other == full:
            break
        own, other = other, own
        hand, other_hand = other_hand, hand
        player = 1 - player
        if turns >= cap:
            # A player who cannot move loses at the cap too.
            result = _last_word(board, own, full & ~(own | other), hand, spokes, fly, player)
            break
    state[OVER] = 1
    state[RESULT] = result
    return int(plies)


@njit
def _remove(board: Int, stones: Int, stream: Stream) -> int:
    """The stones without a random one that may be removed: one in no mill, if there is one."""
    free = stones & ~in_mills(board, stones)
    free = free if free != 0 else stones
    return stones ^ np.int64(1) << _pick(free, below(stream, popcount(free)))  # type: ignore[return-value]


@njit
def _turn(
    board: Int, own: Int, empty: Int, spokes: Int, hand: Int, early: bool, fly: Int, stream: Stream
) -> tuple[int, int]:
    """Draw a placement or a move: (its target bit, mask of the stone that moves or 0 for a placement).

    The target is -1 if there is no move.
    """
    nothing = np.int64(0)
    if hand > 0 and not early:
        if empty == 0:
            return np.int64(-1), nothing  # type: ignore[return-value]
        return _pick(empty, below(stream, popcount(empty))), nothing  # type: ignore[return-value]
    if hand == 0 and fly == AT_THREE and popcount(own) == 3:
        num_empty = popcount(empty)
        draw = below(stream, 3 * num_empty)
        piece = np.int64(draw >= num_empty) + np.int64(draw >= 2 * num_empty)
        return _pick(empty, draw - piece * num_empty), np.int64(1) << _pick(own, piece)  # type: ignore[return-value]
    if board == SEVEN:
        own, empty = _with_third_ring(own), _with_third_ring(empty)
    a, b = _clockwise(own) & empty, _counterclockwise(own) & empty
    c, d = (own & spokes) << 8 & empty, (own & spokes) >> 8 & empty
    on_ring, on_spoke = a | b << 32, c | d << 32
    ring_sums, spoke_sums = byte_sums(on_ring), byte_sums(on_spoke)
    num_ring = popcount(on_ring)
    num_slides = num_ring + popcount(on_spoke)
    total = num_slides + (popcount(empty) if hand > 0 else 0)
    if total == 0:
        return np.int64(-1), nothing  # type: ignore[return-value]
    draw = below(stream, total)
    if draw >= num_slides:
        return _pick(empty, draw - num_slides), nothing  # type: ignore[return-value]
    # Selected without a branch, from sums that do not depend on the draw.
    spoke = -np.int64(draw >= num_ring)
    mask = on_ring ^ ((on_ring ^ on_spoke) & spoke)
    sums = ring_sums ^ ((ring_sums ^ spoke_sums) & spoke)
    place = select(mask, sums, draw - (num_ring & spoke))
    to, start = place & 31, _START[place + (64 & spoke)]
    return (min(to, 16), min(start, 1 << 16)) if board == SEVEN else (to, start)


@njit
def _last_word(board: Int, own: Int, empty: Int, hand: Int, spokes: Int, fly: Int, player: Int) -> int:
    """The first player's return at the cap: a loss for a player who cannot move, else a draw."""
    if hand > 0 or (fly == AT_THREE and popcount(own) == 3):
        return 0 if empty != 0 else 2 * player - 1  # type: ignore[return-value]
    if board == SEVEN:
        own, empty = _with_third_ring(own), _with_third_ring(empty)
    reached = _clockwise(own) | _counterclockwise(own) | (own & spokes) << 8 | (own & spokes) >> 8
    return 0 if reached & empty != 0 else 2 * player - 1  # type: ignore[return-value]


@njit
def counts(state: State) -> float:
    """The first player's sum minus the second player's sum, divided by `FULL`: a value in (-1, 1)."""
    return float(_worth(state, 0) - _worth(state, 1)) / FULL


@njit
def _worth(state: State, player: Int) -> int:
    """The weighted sum of a player's stones, mills and possible moves."""
    board = state[BOARD]
    own, other = state[STONES + player], state[STONES + 1 - player]
    total = STONE * (popcount(own) + state[HANDS + player])
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill > 0 and other & mill == 0:
            stones = popcount(own & mill)
            if stones == 3:
                total += MILL
            elif stones == 2:
                total += OPEN_MILL
    free = ~(own | other)
    for bit in range(POINTS[board]):
        if own >> bit & 1 != 0:
            total += MOBILITY * popcount(free & NEIGHBOURS[board, bit])
    return total  # type: ignore[no-any-return]


@njit
def rating(state: State, move: int) -> float:
    """How a thesis rates a move: `CLOSES`, `BLOCKS` or 0; of a removal: `NEEDED` or 0."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    if state[REMOVING] != 0:
        return NEEDED * is_needed(board, other, own, BIT_OF[board, move])
    to, after = landing(state, move)
    if closes_mill(board, after, to):
        return CLOSES
    return BLOCKS * threatens(state, 1 - player, to)


@njit
def landing(state: State, move: Int) -> tuple[int, int]:
    """(bit where a placement or move puts a stone, mask of the mover's stones afterwards)."""
    board, own = state[BOARD], state[STONES + state[MOVER]]
    if move < MOVE:
        to = BIT_OF[board, move]
    else:
        to = BIT_OF[board, (move - MOVE) % 24]
        own ^= 1 << BIT_OF[board, (move - MOVE) // 24]
    return to, own | (1 << to)


@njit
def threatens(state: State, player: Int, bit: Int) -> bool:
    """Whether ``player`` could close a mill on the empty point ``bit`` if it were that player's turn.

    With stones in hand, a stone is placed on the point. Otherwise a stone that is not part of the mill must
    be able to move there.
    """
    board, own = state[BOARD], state[STONES + player]
    can_place = bool(state[HANDS + player] > 0)
    anywhere = flies(state, player)
    for number in range(MILLS_OF.shape[2]):
        mill = MILLS_OF[board, bit, number]
        if mill > 0 and own & mill == mill & ~(1 << bit):
            others = own & ~mill
            if can_place or (others if anywhere else others & NEIGHBOURS[board, bit]) != 0:
                return True
    return False


@njit
def is_needed(board: Int, stones: Int, enemies: Int, bit: Int) -> bool:
    """Whether the stone at ``bit`` is one of two stones in a mill whose third point is empty."""
    for number in range(MILLS_OF.shape[2]):
        mill = MILLS_OF[board, bit, number]
        if mill > 0 and enemies & mill == 0 and popcount(stones & mill) == 2:
            return True
    return False


@njit
def _chances(board: Int, own: Int, other: Int) -> int:
    """The sum of the scores of all mills for the player with the stones ``own``."""
    total = np.int64(0)
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill > 0 and other & mill == 0:
            total += _CHANCES[popcount(own & mill)]
    return total  # type: ignore[return-value]


@njit
def _gains(state: State, move: Int) -> tuple[int, int]:
    """What a move adds to the mover's sum of scores of mills, and takes from the other player's."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    gain = _chances(board, after, other) - _chances(board, own, other)
    return gain, _chances(board, other, own) - _chances(board, other, after)


def look_of_own_mills(state: State, move: int) -> float:
    """Score of a player who closes mills if possible, else builds them, and ignores the other's mills."""
    if state[REMOVING] != 0:
        return 0.0
    look = _FIRST_OF_ALL if rating(state, move) == CLOSES else 0.0
    gain, _ = _gains(state, move)
    return look + float(gain)


def look_of_blocker(state: State, move: int) -> float:
    """Score of a player who blocks a mill that the other could close, else closes one, else hinders mills.

    Of stones to remove, it prefers one that the other player needs for an open mill.
    """
    look = rating(state, move)
    if state[REMOVING] != 0:
        return look
    to, _ = landing(state, move)
    if threatens(state, 1 - state[MOVER], to):
        look = _FIRST_OF_ALL
    elif look == CLOSES:
        look = _NEXT
    else:
        look = 0.0
    gain, loss = _gains(state, move)
    return look + _THEN * float(loss) + float(gain)
