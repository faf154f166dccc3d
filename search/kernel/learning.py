"""Playouts that learn: in problems of one player, how good each move was in each position so far.

In a playout the player takes the move that has come to most in this position, now and then a random one, and
afterwards each position of the playout hears what followed: Q-learning with whole returns (Watkins 1989),
backwards from the end. What a playout comes to is worth what it is worth: only its moves are learnt. So far
rewards, which random moves hardly ever meet, lead the way once they have been found.

Positions are told apart by `Rules.pack`. What was learnt belongs to a job and is forgotten after it, so the
result of a job depends on the job alone. In a plan with one lane it belongs to an episode
(`search.worker.Worker.goes_on`).
"""

from __future__ import annotations

import numpy as np

from games.compile.rule_stubs import (
    CHANCES,
    DISCOUNT,
    REWARDS,
    chance,
    current_player,
    is_terminal,
    legal_moves,
    pack,
    play,
    returns,
)
from games.jit import Int, inner_njit
from games.rng import GOLDEN, Stream, below, mix, uniform
from games.rules import CHANCE
from search.kernel.params import SearchParams
from search.kernel.playouts import PLAYOUTS, PLIES
from search.kernel.workspace import Workspace

CELLS = 1 << 16
"""Values that can be learnt, each of a position and a move; those of equal hash are one."""
RANDOM_SHARE, TRIES = 0.2, 2000.0
"""A move is random with probability RANDOM_SHARE * TRIES / (TRIES + n) if the best one was learnt n times."""
SLOWING = 20.0
"""A value moves by SLOWING / (SLOWING + n) of the way at its n-th lesson, from 0: half after so many."""
LENGTH = 1
"""Place of the number of moves in `Workspace.best`."""
NO_CELL = -1


def forget(work: Workspace) -> None:
    """Forget all that was learnt; the workspace is modified in place."""
    if len(work.learnt) > 1:
        work.learnt[:] = 0.0
        work.lessons[:] = 0


@inner_njit
def cell_of(key: np.uint64, move: Int) -> int:
    """The place of what is learnt of a move in the position with this key."""
    mixed = mix(key * GOLDEN + np.uint64(move) + np.uint64(1))
    return np.int64(mixed & np.uint64(CELLS - 1))  # type: ignore[return-value]


def learning_rollout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `search.kernel.stubs.leaf_playout` whose moves are learnt; its moves are left in work.line.

    It is cut after params.playout_plies moves; what follows is then worth nothing.
    """
    state = work.state
    plies = 0
    before = returns(state) if REWARDS else 0.0
    while plies < params.playout_plies and not is_terminal(state):
        work.cells[plies] = NO_CELL
        if CHANCES and current_player(state) == CHANCE:
            move = np.int64(chance(state, work.moves, stream))
        else:
            count = legal_moves(state, work.moves)
            key = np.uint64(pack(state))
            start = np.int64(below(stream, count))
            move = np.int64(work.moves[start])
            best = work.learnt[cell_of(key, move)]
            for k in range(1, count):
                other = np.int64(work.moves[(start + k) % count])
                value = work.learnt[cell_of(key, other)]
                if value > best:
                    best, move = value, other
            # What the position promises, if the best move is made there.
            work.promised[plies] = best
            chosen = move
            known = work.lessons[cell_of(key, move)]
            if uniform(stream) * (TRIES + known) < RANDOM_SHARE * TRIES:
                move = np.int64(work.moves[below(stream, count)])
            work.greedy[plies] = move == chosen
            work.cells[plies] = cell_of(key, move)
        work.line[plies] = move
        play(state, move)
        gain = 0.0
        if REWARDS or is_terminal(state):
            after = returns(state)
            gain = after - before
            before = after
        work.gains[plies] = gain
        plies += 1
    total = 0.0
    lesson = 0.0
    for ply in range(plies - 1, -1, -1):
        cell = np.int64(work.cells[ply])
        if cell == NO_CELL:
            total += work.gains[ply]
            lesson += work.gains[ply]
            continue
        total = work.gains[ply] + DISCOUNT * total
        lesson = work.gains[ply] + DISCOUNT * lesson
        work.lessons[cell] += 1
        rate = SLOWING / (SLOWING - 1.0 + work.lessons[cell])
        if work.lessons[cell] == 1:
            work.learnt[cell] = lesson
        else:
            work.learnt[cell] += rate * (lesson - work.learnt[cell])
        if not work.greedy[ply]:
            # What a random move came to says nothing of the moves before it.
            lesson = work.promised[ply]
    work.best[LENGTH] = plies
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    return total
