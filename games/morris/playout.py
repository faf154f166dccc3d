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


_SELECT = _select_table()
"""[byte, n] the n-th set bit."""
_COUNT = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


@njit
def select(mask: Int, n: Int) -> int:
    """The n-th set bit of a mask of 24 bits; n counts from 0 and is below the number of set bits."""
    byte, base = mask & 255, 0
    if n >= _COUNT[byte]:
        n -= _COUNT[byte]
        byte, base = mask >> 8 & 255, 8
        if n >= _COUNT[byte]:
            n -= _COUNT[byte]
            byte, base = mask >> 16 & 255, 16
    return base + _SELECT[byte, n & 7]  # type: ignore[no-any-return]


@njit
def _clockwise(x: Int) -> int:
    """The stones one point further on their rings."""
    return (x << 1 & 0xFEFEFE) | (x >> 7 & 0x010101)  # type: ignore[return-value]


@njit
def _counterclockwise(x: Int) -> int:
    return (x >> 1 & 0x7F7F7F) | (x << 7 & 0x808080)  # type: ignore[return-value]


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
            other ^= np.int64(1) << select(free, below(stream, popcount(free)))
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
                to = select(empty, below(stream, popcount(empty)))
                hand -= 1
            elif hand == 0 and fly == AT_THREE and popcount(own) == 3:
                num_empty = popcount(empty)
                draw = below(stream, 3 * num_empty)
                own ^= np.int64(1) << select(own, draw // num_empty)
                to = select(empty, draw % num_empty)
            else:
                a, b = _clockwise(own) & empty, _counterclockwise(own) & empty
                c, d = (own & spokes) << 8 & empty, (own & spokes) >> 8 & empty
                num_a, num_c = popcount(a), popcount(c)
                num_ab = num_a + popcount(b)
                num_slides = num_ab + num_c + popcount(d)
                total = num_slides + (popcount(empty) if hand > 0 else 0)
                if total == 0:
                    result = 2 * player - 1
                    break
                draw = below(stream, total)
                if draw >= num_slides:
                    to = select(empty, draw - num_slides)
                    hand -= 1
                elif draw < num_ab:
                    if draw < num_a:
                        to = select(a, draw)
                        own ^= _counterclockwise(np.int64(1) << to)
                    else:
                        to = select(b, draw - num_a)
                        own ^= _clockwise(np.int64(1) << to)
                elif draw < num_ab + num_c:
                    to = select(c, draw - num_ab)
                    own ^= np.int64(1) << to >> 8
                else:
                    to = select(d, draw - num_ab - num_c)
                    own ^= np.int64(1) << to << 8
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
