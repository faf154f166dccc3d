"""Priority of moves of Thud by captured points, and the greedy move, found without listing all moves."""

from __future__ import annotations

from games.jit import njit
from games.rng import Stream, below
from games.rules import FIRST, Moves
from games.thud.board import (
    AROUND,
    BOARD,
    CAPTURE,
    EMPTY,
    FIRST_TROLL,
    MOVER,
    ONE_OR_NONE,
    TROLL,
    TROLLS,
    State,
    near,
)
from games.thud.codes import decode, encode
from games.thud.moves import draw, dwarfs_behind, kind_between, trolls_behind
from games.thud.rules import TROLL_WORTH


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
                distance == 1 or dwarfs_behind(state, source, -step) >= distance
            ):
                moves[count] = encode(source, target, direction & 3, 0)
                count += 1
    return count


@njit
def _best_raids(state: State, moves: Moves) -> int:
    """Write the trolls' moves that take the largest number of dwarfs, if it is not 0; returns how many."""
    count, most = 0, 1
    one = state[CAPTURE] == ONE_OR_NONE
    for i in range(state[TROLLS]):
        source = state[TROLL + i]
        for direction in range(8):
            step = AROUND[direction]
            target = source + step
            if state[BOARD + (target & 511)] != EMPTY:
                continue
            distance, longest = 1, 0
            while state[BOARD + (target & 511)] == EMPTY:
                taken = dwarfs_beside(state, target)
                if taken >= most:
                    if taken > most and not one:
                        count, most = 0, taken
                    count = _add_raid(state, source, target, direction, one, moves, count)
                if longest == 0:
                    longest = trolls_behind(state, source, step)
                distance += 1
                if distance > longest:
                    break
                target += step
    return count


@njit
def _add_raid(
    state: State, source: int, target: int, direction: int, one: bool, moves: Moves, count: int
) -> int:
    """Write the captures of a troll that lands on ``target``; returns the new number of moves."""
    code = encode(source, target, direction & 3, 0)
    if not one:
        moves[count] = code + 1
        return count + 1
    for beside in range(8):
        piece = state[BOARD + ((target + AROUND[beside]) & 511)]
        if EMPTY < piece < FIRST_TROLL:
            moves[count] = code + 1 + beside
            count += 1
    return count
