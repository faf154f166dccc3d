"""Random play of the mill games on bitboards: up to the cap of turns, without the repetition rule.

Uniformly random games repeat positions often: with the rule of the first repetition two nine
men's morris games of three would be draws. So playouts end by the cap alone.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit
from games.morris.boards import POINTS, SIX, TWELVE
from games.morris.rules import (
    AT_THREE,
    BOARD,
    CAP,
    FLY,
    FULL_DRAWS,
    HANDS,
    MOVER,
    MOVES_EARLY,
    OVER,
    REMOVING,
    REPETITION,
    RESULT,
    STONES,
    TURNS,
    State,
    closes_mill,
    in_mills,
    legal_moves,
    play,
    popcount,
)
from games.rng import Stream, below
from games.rules import Moves


def _select_table() -> np.ndarray:
    table = np.zeros((256, 8), dtype=np.int64)
    for byte in range(256):
        bits = [bit for bit in range(8) if byte >> bit & 1]
        table[byte, : len(bits)] = bits
    return table


_SELECT = _select_table().ravel()
"""[8 * byte + n] the n-th set bit."""
_1, _2, _3, _4, _8 = (np.uint64(n) for n in (1, 2, 3, 4, 8))
_BYTE = np.uint64(0xFF)
_M1, _M2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_M4, _LOW, _HIGH = (np.uint64(0x0101010101010101 * n) for n in (0x0F, 0x01, 0x80))


@njit
def byte_sums(mask: Int) -> int:
    """How many bits of a mask of 63 are set up to the end of each byte, a byte for each."""
    x = np.uint64(mask)
    x = x - ((x >> _1) & _M1)
    x = (x & _M2) + ((x >> _2) & _M2)
    return np.int64(((x + (x >> _4)) & _M4) * _LOW)  # type: ignore[return-value]


@njit
def select(mask: Int, sums: Int, n: Int) -> int:
    """The n-th set bit of a mask of 63 bits with these byte sums; n counts from 0, and there is such a bit.

    No branch depends on chance here (Vigna, "Broadword implementation of rank/select queries", 2008):
    the bytes that end before it are those whose sums are at most n, and all are compared at once.
    """
    ends, rank = np.uint64(sums), np.uint64(n)
    base = np.uint64(popcount((((rank * _LOW) | _HIGH) - ends) & _HIGH)) << _3
    rank -= ((ends << _8) >> base) & _BYTE
    return np.int64(base) + _SELECT[(((np.uint64(mask) >> base) & _BYTE) << _3) + rank]  # type: ignore[no-any-return]


@njit
def _pick(mask: Int, n: Int) -> int:
    return select(mask, byte_sums(mask), n)


@njit
def _clockwise(x: Int) -> int:
    """The stones one point further on their rings."""
    return (x << 1 & 0xFEFEFE) | (x >> 7 & 0x010101)  # type: ignore[return-value]


@njit
def _counterclockwise(x: Int) -> int:
    return (x >> 1 & 0x7F7F7F) | (x << 7 & 0x808080)  # type: ignore[return-value]


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
"""[place] the stone that moves, as a mask; place: where it goes, plus 32 if counterclockwise, 64 if inwards
along a spoke, 96 if outwards."""


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Uniformly random play to the end; returns the plies. Only OVER and RESULT hold afterwards."""
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
    """The boards of two or three rings."""
    board, fly, cap = state[BOARD], state[FLY], state[CAP]
    full = (np.int64(1) << POINTS[board]) - 1
    spokes = full if board == TWELVE else full & 0xAAAAAA
    own: Int = state[STONES + state[MOVER]]
    other: Int = state[STONES + 1 - state[MOVER]]
    hand, other_hand = state[HANDS + state[MOVER]], state[HANDS + 1 - state[MOVER]]
    early = state[MOVES_EARLY] != 0
    player, turns, removing = state[MOVER], state[TURNS], state[REMOVING] != 0
    plies = np.int64(0)
    result: Int = 0
    while True:
        if removing:
            free = other & ~in_mills(board, other)
            free = free if free != 0 else other
            other ^= np.int64(1) << _pick(free, below(stream, popcount(free)))
            plies += 1
            removing = False
            if popcount(other) + other_hand < 3:
                result = 1 - 2 * player
                break
        else:
            empty = full & ~(own | other)
            if hand > 0 and not early:
                if empty == 0:
                    result = 2 * player - 1
                    break
                to = _pick(empty, below(stream, popcount(empty)))
                hand -= 1
            elif hand == 0 and fly == AT_THREE and popcount(own) == 3:
                num_empty = popcount(empty)
                draw = below(stream, 3 * num_empty)
                piece = np.int64(draw >= num_empty) + np.int64(draw >= 2 * num_empty)
                own ^= np.int64(1) << _pick(own, piece)
                to = _pick(empty, draw - piece * num_empty)
            else:
                a, b = _clockwise(own) & empty, _counterclockwise(own) & empty
                c, d = (own & spokes) << 8 & empty, (own & spokes) >> 8 & empty
                on_ring, on_spoke = a | b << 32, c | d << 32
                ring_sums, spoke_sums = byte_sums(on_ring), byte_sums(on_spoke)
                num_ring = popcount(on_ring)
                num_slides = num_ring + popcount(on_spoke)
                total = num_slides + (popcount(empty) if hand > 0 else 0)
                if total == 0:
                    result = 2 * player - 1
                    break
                draw = below(stream, total)
                if draw >= num_slides:
                    to = _pick(empty, draw - num_slides)
                    hand -= 1
                else:
                    # Chosen without a branch, from sums that are there before the draw.
                    spoke = -np.int64(draw >= num_ring)
                    mask = on_ring ^ ((on_ring ^ on_spoke) & spoke)
                    sums = ring_sums ^ ((ring_sums ^ spoke_sums) & spoke)
                    place = select(mask, sums, draw - (num_ring & spoke))
                    to = place & 31
                    own ^= _START[place + (64 & spoke)]
            own |= np.int64(1) << to
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
            # A player who cannot move has lost all the same.
            result = _last_word(own, full & ~(own | other), hand, spokes, fly, player)
            break
    state[OVER] = 1
    state[RESULT] = result
    return int(plies)


@njit
def _last_word(own: Int, empty: Int, hand: Int, spokes: Int, fly: Int, player: Int) -> int:
    """The first player's return at the cap: a loss for a player who cannot move, else a draw."""
    reached = _clockwise(own) | _counterclockwise(own) | (own & spokes) << 8 | (own & spokes) >> 8
    if hand > 0 or (fly == AT_THREE and popcount(own) == 3):
        reached = empty
    return 0 if reached & empty != 0 else 2 * player - 1  # type: ignore[return-value]
