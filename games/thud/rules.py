"""The compiled rules of Thud: playing a move, and the end of a game."""

from __future__ import annotations

from games.jit import njit
from games.rng import Stream
from games.rules import FIRST, Moves
from games.thud.board import (
    AGREEMENT,
    AROUND,
    BOARD,
    BY_AGREEMENT,
    BY_CAP,
    BY_PLIES,
    CAPTURE,
    DWARFS,
    EMPTY,
    END,
    FIRST_TROLL,
    MOVER,
    NO_CAPTURE,
    ONE_OR_NONE,
    OVER,
    PLIES,
    SINCE,
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
    take_dwarf,
    take_troll,
)
from games.thud.moves import draw, kind_between

FULL_SCORE = 32.0


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
            take_troll(state, target)
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
                take_dwarf(state, beside)
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
    return state[MOVER] != FIRST and _trolls_are_stuck(state)


@njit
def _trolls_are_stuck(state: State) -> bool:
    i = 0
    while i < state[TROLLS] and is_shut_in(state, state[TROLL + i]):
        i += 1
    return bool(i == state[TROLLS])
