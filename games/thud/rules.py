"""The compiled rules of Thud: legal moves, playing a move, and the end of a game.

A random and a greedy move are found without a list of all. A random move is drawn by rejection: proposals are
drawn uniformly from a fixed set that contains every legal move exactly once, until one is legal. So all legal
moves are equally likely.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import LOW_32, S32, Stream, below, next_uint64
from games.rules import FIRST, Moves
from games.thud.board import (
    AGREEMENT,
    ALL_FORCED,
    ALL_OR_NONE,
    AROUND,
    BOARD,
    BY_AGREEMENT,
    BY_CAP,
    BY_PLIES,
    CAPTURE,
    DWARF,
    DWARFS,
    EMPTY,
    END,
    FIRST_TROLL,
    LINE_OF,
    LINES,
    MOVER,
    NO_CAPTURE,
    NUM_VARIANTS,
    ONE_OR_NONE,
    OVER,
    PLIES,
    SHOVE_CAPTURES,
    SINCE,
    SIZE,
    STEPS,
    TROLL,
    TROLL_WORTH,
    TROLLS,
    TURNS,
    State,
    decode,
    encode,
    is_shut_in,
    near,
    shift,
    take,
)

FULL_SCORE = 32.0

PROPOSALS = 46
"""Proposed target cells of a dwarf: 14 in its row, 14 in its column, 9 in each of its diagonals."""
_KIND = np.array([0] * 14 + [1] * 14 + [2] * 9 + [3] * 9, dtype=np.int32)
_OFFSET = np.array([*range(14), *range(14), *range(9), *range(9)], dtype=np.int32)


def _places() -> npt.NDArray[np.int32]:
    """By (cell, kind of line): the line, the cell's bit in it (<< 8), and the line's first bit (<< 16), which
    is 1 for all rows and columns, because they are proposed in full."""
    first = [1] * 32 + [SIZE] * 64
    places = np.zeros(4 * 256, dtype=np.int32)
    for line, bit in LINE_OF.values():
        first[line] = min(first[line], bit)
    for (cell, kind), (line, bit) in LINE_OF.items():
        places[4 * cell + kind] = line | bit << 8 | first[line] << 16
    return places


_PLACES = _places()


@njit
def alike_behind(state: State, cell: int, step: int) -> int:
    """Length of the unbroken line of pieces of one kind that ends, in direction ``step``, on ``cell``."""
    is_troll = state[BOARD + cell] >= FIRST_TROLL
    count = 0
    while state[BOARD + cell] > EMPTY and (state[BOARD + cell] >= FIRST_TROLL) == is_troll:
        count += 1
        cell -= step
    return count


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the codes of all legal moves, piece by piece; returns how many."""
    count = 0
    if state[MOVER] == FIRST:
        for i in range(state[DWARFS]):
            count = _list_dwarf(state, state[DWARF + i], moves, count)
    else:
        for i in range(state[TROLLS]):
            count = _list_troll(state, state[TROLL + i], moves, count)
    return count


@njit
def _list_dwarf(state: State, source: int, moves: Moves, count: int) -> int:
    for direction in range(8):
        step = AROUND[direction]
        target = source + step
        distance = 1
        while state[BOARD + target] == EMPTY:
            moves[count] = encode(source, target, direction & 3, 0)
            count += 1
            target += step
            distance += 1
        if state[BOARD + target] >= FIRST_TROLL and alike_behind(state, source, step) >= distance:
            moves[count] = encode(source, target, direction & 3, 0)
            count += 1
    return count


@njit
def _list_troll(state: State, source: int, moves: Moves, count: int) -> int:
    for direction in range(8):
        step = AROUND[direction]
        longest = alike_behind(state, source, step)
        target = source + step
        distance = 1
        while distance <= longest and state[BOARD + target] == EMPTY:
            code = encode(source, target, direction & 3, 0)
            for variant in range(NUM_VARIANTS):
                if variant_is_legal(state, target, distance > 1, variant):
                    moves[count] = code + variant
                    count += 1
            target += step
            distance += 1
    return count


@njit
def variant_is_legal(state: State, target: int, is_shove: bool, variant: Int) -> bool:
    """Whether the variant is legal for a troll that lands on ``target``."""
    rule = state[CAPTURE]
    must_take = is_shove and bool(state[SHOVE_CAPTURES] != 0)
    if rule == ALL_FORCED:
        return bool(variant == 1 and (not must_take or near(state, target) != 0))
    if variant == 0:
        return not must_take
    if rule == ALL_OR_NONE:
        return bool(variant == 1 and near(state, target) != 0)
    piece = state[BOARD + target + AROUND[(variant - 1) & 7]]
    return bool(EMPTY < piece < FIRST_TROLL)


@njit
def kind_between(source: int, target: int) -> int:
    """The kind of line (0 to 3, see `board.line_of`) that contains both cells."""
    rows, columns = (target >> 4) - (source >> 4), (target & 15) - (source & 15)
    if rows == 0:
        return 0
    if columns == 0:
        return 1
    return 2 if rows == columns else 3


@njit
def draw(state: State, stream: Stream) -> tuple[int, int, int]:
    """Source, target and variant of a uniformly random legal move; there must be one."""
    if state[MOVER] == FIRST:
        source, target = _draw_dwarf(state, stream)
        return source, target, 0
    return _draw_troll(state, stream)


@njit
def _draw_dwarf(state: State, stream: Stream) -> tuple[int, int]:
    """A random move of a dwarf; proposals are (dwarf, one of 46 cells in line with it)."""
    count = np.uint64(state[DWARFS])
    while True:
        bits = next_uint64(stream)
        source = state[DWARF + np.int64(((bits >> S32) * count) >> S32)]
        slot = ((bits & LOW_32) * np.uint64(PROPOSALS)) >> S32
        kind = np.int64(_KIND[slot])
        place = np.int64(_PLACES[4 * (np.int64(source) & 255) + (kind & 3)])
        own = (place >> 8) & 15
        bit = (place >> 16) + np.int64(_OFFSET[slot])
        # The dwarf's own cell is not proposed, so bits beyond it are shifted by one.
        beyond = np.int64(bit >= own)
        bit += beyond
        path = (1 << (max(bit, own) + beyond)) - (1 << (min(bit, own) + beyond))
        blocked = np.int64(state[LINES + (place & 127)]) & path
        if blocked == 0:
            return source, source + STEPS[kind] * (bit - own)
        if blocked == 1 << bit:
            target = source + STEPS[kind] * (bit - own)
            if state[BOARD + (target & 511)] >= FIRST_TROLL:
                step = STEPS[kind] if bit > own else -STEPS[kind]
                if alike_behind(state, source, step) >= abs(bit - own):
                    return source, target


@njit
def _draw_troll(state: State, stream: Stream) -> tuple[int, int, int]:
    """A random move of a troll; proposals are (troll, direction or another troll, variant).

    A direction stands for a step to the neighbouring cell. Another troll stands for a shove in the direction
    away from that troll, which is the last one that pushes.
    """
    count = state[TROLLS]
    rule = state[CAPTURE]
    num_variants = 1 if rule == ALL_FORCED else 2 if rule == ALL_OR_NONE else NUM_VARIANTS
    num_slots = np.uint64((8 + count) * num_variants)
    while True:
        bits = next_uint64(stream)
        source = state[TROLL + np.int64(((bits >> S32) * np.uint64(count)) >> S32)]
        number = np.int64(((bits & LOW_32) * num_slots) >> S32)
        slot, variant = number, np.int64(1)
        if num_variants > 1:
            slot = number // num_variants
            variant = number - slot * num_variants
        if slot < 8:
            target = source + AROUND[slot & 7]
        else:
            target = shoved_to(state, source, state[TROLL + ((slot - 8) & 7)])
        if state[BOARD + (target & 511)] == EMPTY and variant_is_legal(
            state, target, bool(slot >= 8), variant
        ):
            return source, target, int(variant)


@njit
def shoved_to(state: State, source: int, last: int) -> int:
    """The target of the troll on ``source`` if the trolls from ``last`` on shove it; ``source`` if they
    cannot."""
    rows, columns = (source >> 4) - (last >> 4), (source & 15) - (last & 15)
    distance = max(abs(rows), abs(columns))
    if distance == 0 or (rows != 0 and columns != 0 and abs(rows) != abs(columns)):
        return source
    step = (source - last) // distance
    if alike_behind(state, source, step) <= distance:
        return source
    target = source
    for _ in range(distance + 1):
        target += step
        if state[BOARD + target] != EMPTY:
            return source
    return target


@njit
def priority(state: State, move: int) -> float:
    """The points that the move captures: 4 for a troll, 1 for each dwarf."""
    _, target, variant = decode(move)
    if state[MOVER] == FIRST:
        return float(TROLL_WORTH * (state[BOARD + target] >= FIRST_TROLL))
    if variant == 0:
        return 0.0
    if state[CAPTURE] == ONE_OR_NONE:
        return 1.0
    return float(dwarfs_beside(state, target))


@njit
def dwarfs_beside(state: State, cell: int) -> int:
    """The number of dwarfs on neighbouring cells."""
    if near(state, cell) == 0:
        return 0
    count = 0
    for direction in range(8):
        piece = state[BOARD + ((cell + AROUND[direction]) & 511)]
        count += EMPTY < piece < FIRST_TROLL
    return count


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random move among those that capture most points.

    ``moves`` is scratch; ``stream`` is modified in place.
    """
    count = _hurls(state, moves) if state[MOVER] == FIRST else _best_raids(state, moves)
    if count > 0:
        return int(moves[below(stream, count)])
    source, target, variant = draw(state, stream)
    return encode(source, target, kind_between(source, target), variant)


@njit
def _hurls(state: State, moves: Moves) -> int:
    """Write the dwarfs' moves that take a troll, searching from each troll outwards; returns how many."""
    count = 0
    for i in range(state[TROLLS]):
        target = state[TROLL + i]
        for direction in range(8):
            step = AROUND[direction]
            source = target + step
            distance = 1
            while state[BOARD + (source & 511)] == EMPTY:
                source += step
                distance += 1
            piece = state[BOARD + (source & 511)]
            # A dwarf is thrown at most as far as the line of dwarfs behind it is long.
            if EMPTY < piece < FIRST_TROLL and (
                distance == 1 or alike_behind(state, source, -step) >= distance
            ):
                moves[count] = encode(source, target, direction & 3, 0)
                count += 1
    return count


@njit
def _best_raids(state: State, moves: Moves) -> int:
    """Write the trolls' moves that take the largest number of dwarfs, if it is not 0; returns how many."""
    num_legal, count, most = legal_moves(state, moves), 0, 1.0
    for i in range(num_legal):
        move = int(np.int64(moves[i]))
        taken = priority(state, move)
        if taken > most:
            count, most = 0, taken
        if taken == most:
            moves[count] = move
            count += 1
    return count


@njit
def current_player(state: State) -> int:
    """FIRST for the dwarfs, SECOND for the trolls."""
    return int(state[MOVER])


@njit
def play(state: State, move: int) -> None:
    """Play a legal move; ``state`` is modified in place."""
    source, target, variant = decode(move)
    _move(state, source, target, variant)


@njit
def is_terminal(state: State) -> bool:
    """Whether the game is over."""
    return bool(state[OVER] != 0)


@njit
def margin(state: State) -> int:
    """The dwarfs' score minus the trolls' score: 1 for each dwarf left, 4 for each troll left."""
    return int(state[DWARFS] - TROLL_WORTH * state[TROLLS])


@njit
def returns(state: State) -> float:
    """The dwarfs' margin divided by the full score of 32, in [-1, 1]."""
    return margin(state) / FULL_SCORE


@njit
def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """The code of a uniformly random legal move, drawn without a list of moves."""
    source, target, variant = draw(state, stream)
    return encode(source, target, kind_between(source, target), variant)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end of the game; returns the plies."""
    plies = 0
    while state[OVER] == 0:
        source, target, variant = draw(state, stream)
        _move(state, source, target, variant)
        plies += 1
    return plies


@njit
def _move(state: State, source: int, target: int, variant: int) -> None:
    """Move the piece, remove what it takes, and set whether the game is over."""
    mover = state[MOVER] & 1
    taken = 0
    if mover == FIRST:
        if state[BOARD + (target & 255)] != EMPTY:
            take(state, target)
            taken = 1
        shift(state, source, target)
    else:
        shift(state, source, target)
        if variant != 0:
            taken = _take_dwarfs(state, target, variant)
    other = 1 - mover
    state[SINCE + other] += state[BY_PLIES]
    state[SINCE + mover] = 0 if taken != 0 else state[SINCE + mover] + 1
    state[PLIES] += 1
    state[MOVER] = other
    state[OVER] = is_over(state)


@njit
def _take_dwarfs(state: State, cell: int, variant: int) -> int:
    """Remove the neighbouring dwarfs that the variant names; returns how many."""
    if near(state, cell) == 0:
        return 0
    taken = 0
    rule = state[CAPTURE]
    for direction in range(8):
        beside = cell + AROUND[direction]
        if rule != ONE_OR_NONE or variant == 1 + direction:
            piece = state[BOARD + (beside & 511)]
            if EMPTY < piece < FIRST_TROLL:
                take(state, beside)
                taken += 1
    return taken


@njit
def is_over(state: State) -> bool:
    """Whether the game ends before the next move.

    Every game ends when a player has no pieces, when the trolls cannot move, or after TURNS plies. Dwarfs
    can always move: some dwarf is beside an empty cell, or beside a troll, which it may take.
    """
    if state[DWARFS] == 0 or state[TROLLS] == 0 or state[PLIES] >= state[TURNS]:
        return True
    if state[END] == BY_AGREEMENT:
        ahead = margin(state)
        limit = state[AGREEMENT]
        if (ahead > 0 or state[SINCE] >= limit) and (ahead < 0 or state[SINCE + 1] >= limit):
            return True
    elif state[END] == BY_CAP and min(state[SINCE], state[SINCE + 1]) >= state[NO_CAPTURE]:
        return True
    if state[MOVER] == FIRST:
        return False
    i = 0
    while i < state[TROLLS] and is_shut_in(state, state[TROLL + i]):
        i += 1
    return bool(i == state[TROLLS])
