"""Playouts: what the position of a leaf turns out to be worth, and the policies of players in them."""

from __future__ import annotations

import numpy as np

from games.compile.rule_stubs import (
    CHANCES,
    DISCOUNT,
    REWARDS,
    chance,
    current_player,
    cut_rollout,
    evaluate,
    greedy_move,
    is_terminal,
    legal_moves,
    play,
    playout,
    random_move,
    returns,
    rollout,
)
from games.jit import Int, inner_njit
from games.rng import Stream, below
from games.rules import CHANCE, State
from search.features import DECISIVE, DEEPEST, FIRST_MINIMAX, GREEDY, MINIMAX, RANDOM
from search.kernel.learning import learning_rollout
from search.kernel.params import CUTS, LEARNT, SCORED, STEERED, STEPWISE, THINKS, SearchParams
from search.kernel.workspace import LENGTH, PLAYOUTS, PLIES, Workspace
from search.minimax.alphabeta import Limits, advance, begin


def leaf_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: the first player's return of a playout from work.state, an unfinished position; with rewards,
    their discounted sum (search/kernel/backup.py).

    Moves are uniformly random, unless playouts are STEERED or LEARNT. Where playouts are STEPWISE, STEERED or
    LEARNT and nodes SCORED, the moves are left in work.line. Workspace and stream are modified in place.
    """
    if LEARNT:
        value, plies = learning_rollout(params, work, stream)
    elif CUTS and params.first_policy == RANDOM:
        value, plies = cut_rollout(work.state, work.moves, stream, work.line, params.playout_plies)
    elif STEERED:
        value, plies = steered_playout(params, work, stream)
    elif STEPWISE:
        value, plies = rollout(work.state, work.moves, stream, work.line)
    else:
        before = returns(work.state) if REWARDS else 0.0
        plies = playout(work.state, work.moves, stream)
        value = returns(work.state) - before
        count(work, plies)
        return value
    if SCORED:
        work.best[LENGTH] = plies
    count(work, plies)
    return value


@inner_njit
def count(work: Workspace, plies: Int) -> None:
    """Count one more playout, of so many plies."""
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies


def steered_playout(params: SearchParams, work: Workspace, stream: Stream) -> tuple[float, int]:
    """Generic: the value of a game from work.state in which each player has a policy, and its plies.

    The game is cut after params.playout_plies plies; what follows is then worth what `evaluate` says. All the
    rules hold, those on repetition too, which a game's own `playout` may leave out.
    """
    state = work.state
    plies = 0
    total, weight = 0.0, 1.0
    before = returns(state) if REWARDS else 0.0
    while plies < params.playout_plies and not is_terminal(state):
        factor = DISCOUNT
        if CHANCES and current_player(state) == CHANCE:
            move = np.int64(chance(state, work.moves, stream))
            factor = 1.0
        else:
            move = np.int64(steered_move(params, work, stream))
        if SCORED:
            work.line[plies] = move
        play(state, move)
        plies += 1
        if SCORED and (REWARDS or is_terminal(state)):
            after = returns(state)
            total += weight * (after - before)
            before = after
        weight *= factor
    if not is_terminal(state):
        return total + weight * evaluate(state), plies
    return (total if SCORED else returns(state)), plies


def steered_move(params: SearchParams, work: Workspace, stream: Stream) -> int:
    """Generic: the move of the player to move in work.state by that player's policy in playouts."""
    state = work.state
    policy = params.first_policy if current_player(state) == 0 else params.second_policy
    if THINKS and policy >= MINIMAX:
        depth = 1 + (policy - MINIMAX) % DEEPEST
        return minimax_move(depth, policy >= FIRST_MINIMAX, work, stream)
    if policy == GREEDY:
        return greedy_move(state, work.moves, stream)
    if policy == DECISIVE:
        move = winning_move(state, work, legal_moves(state, work.moves))
        if move >= 0:
            return move
    return random_move(state, work.moves, stream)


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


def minimax_move(depth: int, first: bool, work: Workspace, stream: Stream) -> int:
    """Generic: a best move of work.state by minimax of that depth; of several the first, or each as likely.

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
            if found == 1 if first else below(stream, found) == 0:
                chosen = np.int64(frames.moves[0, i])
    return chosen  # type: ignore[return-value]
