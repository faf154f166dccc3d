"""Problems beyond two players and a return at the end: rewards of single moves, one player, three and more.

A node's total value is the sum of Q samples of the move that leads to it: the reward of that move, plus the
discount times what followed. Backing up goes from the leaf to the root,

    G = r + discount * G,    total_value[node] += G,

and the root gets what the first move got. With one player or two, G is the first player's. With three or more
each player maximises an own score (max^n, Luckhardt and Irani 1986): the total value of a node is that of the
player who moves at its parent, who alone compares it, and there is no discount. So merging stays a sum, and
trees keep their form. Where chance moves, nothing is compared, and nothing discounted.

Rewards are differences of scores (`Rules.returns`, `Rules.score`), which a descent notes on its way.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    DISCOUNT,
    HIDDEN,
    PLAYERS,
    REWARDS,
    chance,
    current_player,
    cut_rollout,
    determinize,
    evaluate,
    is_terminal,
    play,
    playout,
    random_move,
    returns,
    rollout,
    score,
)
from games.jit import Int, inner_njit
from games.rng import Stream
from games.rules import CHANCE, State
from search.features import RANDOM
from search.kernel.params import SearchParams
from search.kernel.playouts import PLAYOUTS, PLIES
from search.kernel.stubs import LEAF, leaf_playout, select_move, steered_move
from search.kernel.workspace import Leaves, Workspace
from search.tree.arena import NO_BLOCK, ROOT, Tree, add_child, num_children

CHANCE_CODE = 255
"""CHANCE among the movers of a path."""
VALUE, LENGTH = 0, 1
"""Places in `Workspace.best`."""


# What one or two players, or three and more, do not have in common.


def note_score_of_first(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """Generic: `search.kernel.stubs.note_score` for one player or two."""
    work.scores[depth] = returns(state) if REWARDS else 0.0


def note_score_of_mover(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """Generic: `search.kernel.stubs.note_score` for three or more players."""
    work.scores[depth] = score(state, max(np.int64(player), np.int64(0))) if REWARDS else 0.0


def score_at_end(state: State, player: Int) -> float:
    """Generic: a player's score where a simulation ends; none, without rewards, where its playout was cut."""
    return score(state, player) if REWARDS or is_terminal(state) else 0.0


def value_of_leaf_scored(
    tree: Tree, params: SearchParams, depth: Int, work: Workspace, stream: Stream
) -> float:
    """Generic: the discounted rewards that follow one visit to the leaf, whose position is in work.state.

    With three or more players 0, and work.ends holds each player's score at the end.
    """
    work.best[LENGTH] = 0.0
    # Where playouts learn, they say which position this is; a finished one has no cell.
    work.cells[0] = -1
    value = 0.0
    if is_terminal(work.state):
        work.scores[depth] = returns(work.state)
    else:
        work.scores[depth] = returns(work.state) if REWARDS else 0.0
        value = leaf_playout(params, work, stream)
    if PLAYERS > 2:
        for player in range(PLAYERS):
            work.ends[player] = score_at_end(work.state, player)
    return value


@inner_njit
def keep_line(work: Workspace, depth: Int, value: float) -> None:
    """Note that the best line of the job, whose first moves are there, goes on with that of the playout."""
    plies = np.int64(work.best[LENGTH])
    work.best[VALUE] = value
    for k in range(plies):
        work.best_line[1 + depth + k] = work.line[k]
    work.best_line[0] = depth + plies


def back_up_scored(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> float:
    """Generic: `search.kernel.stubs.back_up` for one player or two; returns what the root got."""
    for d in range(depth, 0, -1):
        node = np.uint64(work.nodes[d])
        factor = 1.0 if work.movers[d - 1] == CHANCE_CODE else DISCOUNT
        value = (work.scores[d] - work.scores[d - 1]) + factor * value
        tree.visits[node] += 1
        tree.total_value[node] += value
    tree.visits[ROOT] += 1
    tree.total_value[ROOT] += value
    return value


def back_up_line(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> None:
    """Generic: `back_up_scored`, and the line is kept if none of this job was better."""
    found = back_up_scored(tree, params, work, depth, value)
    if found > work.best[VALUE]:
        for d in range(depth):
            work.best_line[1 + d] = tree.move[work.nodes[d + 1]]
        keep_line(work, depth, found)


def back_up_many(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> None:
    """Generic: `search.kernel.stubs.back_up` for three or more players."""
    for d in range(depth, 0, -1):
        node = np.uint64(work.nodes[d])
        player = 0 if work.movers[d - 1] == CHANCE_CODE else np.int64(work.movers[d - 1])
        tree.visits[node] += 1
        tree.total_value[node] += work.ends[player] - work.scores[d - 1]
    tree.visits[ROOT] += 1
    if depth > 0:
        tree.total_value[ROOT] += work.ends[np.int64(work.movers[0])] - work.scores[0]
    for player in range(PLAYERS):
        work.totals[player] += work.ends[player]


# Playouts.


def difference_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `search.kernel.stubs.leaf_playout`: the rewards of a uniformly random game, not discounted."""
    before = returns(work.state) if REWARDS else 0.0
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += playout(work.state, work.moves, stream)
    return returns(work.state) - before


def rollout_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `search.kernel.stubs.leaf_playout`: `Rules.rollout`, whose moves are left in work.line."""
    value, plies = rollout(work.state, work.moves, stream, work.line)
    work.best[LENGTH] = plies
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    return value


def steered_rollout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `search.kernel.stubs.leaf_playout` in which players have a policy; its moves are in work.line.

    It is cut after params.playout_plies moves; what follows is then worth what `evaluate` says.
    """
    state = work.state
    plies = 0
    total = 0.0
    weight = 1.0
    before = returns(state) if REWARDS else 0.0
    while plies < params.playout_plies and not is_terminal(state):
        player = current_player(state)
        move = chance(state, work.moves, stream) if player == CHANCE else steered_move(params, work, stream)
        work.line[plies] = move
        play(state, np.int64(move))
        plies += 1
        if REWARDS or is_terminal(state):
            after = returns(state)
            total += weight * (after - before)
            before = after
        if player != CHANCE:
            weight *= DISCOUNT
    work.best[LENGTH] = plies
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    if not is_terminal(state):
        total += weight * evaluate(state)
    return total


def cut_or_steered_rollout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `steered_rollout`, by `Rules.cut_rollout` where moves are uniformly random."""
    if params.first_policy != RANDOM:
        return steered_rollout(params, work, stream)
    value, plies = cut_rollout(work.state, work.moves, stream, work.line, params.playout_plies)
    work.best[LENGTH] = plies
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    return value


def sample_scored(
    root_state: State, params: SearchParams, values: npt.NDArray[np.float64], stream: Stream, work: Workspace
) -> None:
    """Generic: `search.kernel.playouts.sample_leaves`: what the player who moves at the root comes to."""
    for i in range(len(values)):
        determinize(root_state, work.state, stream)
        player = current_player(work.state)
        before = returns(work.state) if REWARDS else 0.0
        play(work.state, np.int64(random_move(work.state, work.moves, stream)))
        future = 0.0
        after = 0.0
        if is_terminal(work.state):
            after = returns(work.state)
        else:
            after = returns(work.state) if REWARDS else 0.0
            future = leaf_playout(params, work, stream)
        if PLAYERS > 2:
            values[i] = score_at_end(work.state, player)
        else:
            values[i] = (after - before) + DISCOUNT * future


def play_flat_scored(
    root_state: State,
    params: SearchParams,
    moves: npt.NDArray[np.uint16],
    values: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: `search.kernel.flat.play_flat`: the rewards of the move and of what follows, discounted.

    With one player or two they are the first player's, with three or more those of the player who moves.
    """
    for i in range(len(moves)):
        determinize(root_state, work.state, stream)
        player = current_player(work.state)
        before = 0.0
        if REWARDS:
            before = score(work.state, player) if PLAYERS > 2 else returns(work.state)
        play(work.state, np.int64(moves[i]))
        future = 0.0
        after = 0.0
        if is_terminal(work.state):
            after = returns(work.state)
        else:
            after = returns(work.state) if REWARDS else 0.0
            future = leaf_playout(params, work, stream)
        if PLAYERS > 2:
            values[i] = score_at_end(work.state, player) - before
        else:
            values[i] = (after - before) + DISCOUNT * future


# Leaf parallelisation.


@inner_njit
def keep_scores(leaves: Leaves, b: int, depth: Int, work: Workspace) -> None:
    """`search.kernel.stubs.keep_path`: the scores on the way to a leaf, without its own."""
    for d in range(depth):
        leaves.scores[b, d] = work.scores[d]


def evaluate_leaves_scored(
    root_state: State,
    params: SearchParams,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    visits: npt.NDArray[np.int32],
    draws: npt.NDArray[np.uint64],
    sums: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: `search.kernel.loop.evaluate_leaves`; ``sums`` ([B], or [B x players] from three players on).

    Of leaf b it holds the sum of the Q samples of its last move, or from three players on the sums of each
    player's score at the end. The best line of the batch is kept in the workspace.
    """
    for b in range(len(visits)):
        if HIDDEN:
            work.draw[0], work.draw[1] = draws[b, 0], draws[b, 1]
        determinize(root_state, work.leaf_state, work.draw)
        depth = np.int64(depths[b])
        before = returns(work.leaf_state) if REWARDS else 0.0
        came, weight, reward, factor = 0.0, 1.0, 0.0, 1.0
        for d in range(depth):
            chosen = current_player(work.leaf_state) != CHANCE
            play(work.leaf_state, np.int64(moves[b, d]))
            after = 0.0
            if REWARDS or is_terminal(work.leaf_state):
                after = returns(work.leaf_state)
            factor = DISCOUNT if chosen else 1.0
            reward = after - before
            before = after
            came += weight * reward
            weight *= factor
        for player in range(PLAYERS if PLAYERS > 2 else 1):
            sums[b * (PLAYERS if PLAYERS > 2 else 1) + player] = 0.0
        for _ in range(visits[b]):
            for i in range(len(work.state)):
                work.state[i] = work.leaf_state[i]
            work.best[LENGTH] = 0.0
            future = 0.0 if is_terminal(work.state) else leaf_playout(params, work, stream)
            if PLAYERS > 2:
                for player in range(PLAYERS):
                    sums[b * PLAYERS + player] += score_at_end(work.state, player)
                continue
            sums[b] += reward + factor * future
            if came + weight * future > work.best[VALUE]:
                for d in range(depth):
                    work.best_line[1 + d] = moves[b, d]
                keep_line(work, depth, came + weight * future)


def absorb_leaves_scored(
    tree: Tree, params: SearchParams, leaves: Leaves, sums: npt.NDArray[np.float64], work: Workspace
) -> None:
    """Generic: `search.kernel.loop.absorb_leaves`, with ``sums`` as in `evaluate_leaves_scored`."""
    for b in range(len(leaves.depths)):
        depth = np.int64(leaves.depths[b])
        visits = np.int64(leaves.visits[b])
        node: Int = ROOT
        work.nodes[0] = ROOT
        for d in range(depth):
            node = np.int64(tree.children[node]) + np.int64(leaves.slots[b, d])
            work.nodes[d + 1] = node
        value = sums[b] if PLAYERS <= 2 else 0.0
        for d in range(depth, 0, -1):
            node = np.int64(work.nodes[d])
            mover = np.int64(leaves.movers[b, d - 1])
            if PLAYERS > 2:
                player = 0 if mover == CHANCE_CODE else mover
                value = sums[b * PLAYERS + player] - visits * leaves.scores[b, d - 1]
            elif d < depth:
                factor = 1.0 if mover == CHANCE_CODE else DISCOUNT
                value = visits * (leaves.scores[b, d] - leaves.scores[b, d - 1]) + factor * value
            tree.visits[node] += visits
            tree.unobserved[node] -= visits
            tree.total_value[node] += value
        tree.visits[ROOT] += visits
        tree.unobserved[ROOT] -= visits
        tree.total_value[ROOT] += value


# Selection.


def select_or_draw(
    tree: Tree,
    params: SearchParams,
    node: np.uint64,
    depth: np.uint64,
    player: int,
    visits: Int,
    work: Workspace,
    stream: Stream,
) -> int:
    """Generic: `search.kernel.stubs.select_or_expand` where chance may move: then its outcome is drawn.

    An outcome that comes for the first time is a new node, and so the leaf of its simulation.
    """
    if player != CHANCE:
        return select_move(tree, params, node, depth, player, visits, work, stream)
    move = np.int64(chance(work.state, work.moves, stream))
    first = np.int64(tree.children[node])
    count = num_children(tree, node)
    for slot in range(count):
        if tree.move[first + slot] == move:
            return slot
    return LEAF if add_child(tree, node, move) == NO_BLOCK else count


def reset_outlook(work: Workspace) -> None:
    """Forget the best line and the totals of the job before; the workspace is modified in place."""
    work.best[VALUE] = -math.inf
    work.totals[:] = 0.0
