"""Playouts: what the position of a leaf turns out to be worth.

`search.kernel.engine` binds `whole_playout` or `steered_playout` to the name `leaf_playout`, so that a search
that steers nothing pays nothing for it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    CHANCES,
    chance,
    current_player,
    determinize,
    evaluate,
    greedy_move,
    is_terminal,
    legal_moves,
    play,
    playout,
    random_move,
    returns,
)
from games.rng import Stream, below
from games.rules import CHANCE, State
from search.features import DECISIVE, GREEDY, MINIMAX
from search.kernel.params import SearchParams
from search.kernel.stubs import THINKS, leaf_playout, steered_move
from search.kernel.workspace import Workspace
from search.minimax.alphabeta import Limits, advance, begin

PLAYOUTS, PLIES = 0, 1
"""Places in `Workspace.tally`."""


def whole_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: the first player's return of a uniformly random game from work.state, an unfinished position.

    Workspace and stream are modified in place.
    """
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += playout(work.state, work.moves, stream)
    return returns(work.state)


def winning_move(state: State, work: Workspace, num_legal: int) -> int:
    """Generic: the first of the legal moves in work.moves with which its player wins at once, or -1.

    work.frames is scratch.
    """
    after = work.frames.state
    wins = 1.0 - 2.0 * current_player(state)
    for i in range(num_legal):
        move = np.int64(work.moves[i])
        for j in range(len(state)):
            after[j] = state[j]
        play(after, move)
        if is_terminal(after) and returns(after) == wins:
            return move  # type: ignore[return-value]
    return -1


def steered_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: the first player's return of a game from work.state in which each player has a policy.

    It is cut after params.playout_plies plies, and then worth what `evaluate` says. It keeps to all the
    rules, those on repetition too, which a game's own `playout` may leave out. Workspace and stream are
    modified in place.
    """
    state = work.state
    plies = 0
    while plies < params.playout_plies and not is_terminal(state):
        if CHANCES and current_player(state) == CHANCE:
            play(state, np.int64(chance(state, work.moves, stream)))
        else:
            play(state, np.int64(steered_move(params, work, stream)))
        plies += 1
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    if is_terminal(state):
        return returns(state)
    return evaluate(state)


def policy_move(params: SearchParams, work: Workspace, stream: Stream) -> int:
    """Generic: `search.kernel.stubs.steered_move`."""
    state = work.state
    policy = params.first_policy if current_player(state) == 0 else params.second_policy
    if THINKS and policy >= MINIMAX:
        return minimax_move(policy - MINIMAX + 1, work, stream)
    if policy == GREEDY:
        return greedy_move(state, work.moves, stream)
    if policy == DECISIVE:
        move = winning_move(state, work, legal_moves(state, work.moves))
        if move >= 0:
            return move
    return random_move(state, work.moves, stream)


def minimax_move(depth: int, work: Workspace, stream: Stream) -> int:
    """Generic: a best move of work.state by minimax of that depth; of several each is as likely.

    ``stream`` and work.frames are modified in place.
    """
    frames = work.frames
    limits = Limits(depth, True, True, False, True, False)
    begin(work.state, limits, frames)
    while not advance(limits, 1_000_000, frames):
        pass
    found = 0
    chosen = np.int64(frames.moves[0, 0])
    for i in range(frames.num_moves[0]):
        if frames.root_values[i] == frames.values[0]:
            found += 1
            if below(stream, found) == 0:
                chosen = np.int64(frames.moves[0, i])
    return chosen  # type: ignore[return-value]


def sample_leaves(
    root_state: State, params: SearchParams, values: npt.NDArray[np.float64], stream: Stream, work: Workspace
) -> None:
    """Generic: play random moves from the root and one playout after each; write the returns to ``values``.

    ``values`` ([n], the first player's viewpoint), workspace and stream are modified in place.
    """
    for i in range(len(values)):
        determinize(root_state, work.state, stream)
        play(work.state, np.int64(random_move(work.state, work.moves, stream)))
        if is_terminal(work.state):
            values[i] = returns(work.state)
        else:
            values[i] = leaf_playout(params, work, stream)
