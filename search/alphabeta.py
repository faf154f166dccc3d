"""Minimax and alpha-beta to a fixed depth, over any game: generic kernels without recursion.

The rules that they call are the ones of `games.unbound`; `games.specialise` makes functions of one game from
them, and `search.lookahead` is where Python calls these. One frame holds an open position of each ply, so
the search can be left after any number of positions and gone on with later.

All values are the first player's. Who moves in a position, and not its depth, decides whether its value is
the highest or the lowest of its moves': a player may act twice in a row.

Scores are in [-1, 1]. A finished game counts its return, less a share of `HURRY` of it for every ply
from the root; an unfinished one counts its evaluation, less a share of `DOUBT` of it. So a game that
is won is better than any evaluation, a quick win better than a slow one, a late loss better than an
early one; and what is worth more by `DOUBT` comes first, where returns are of many sizes.

Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rules import FIRST, State
from games.unbound import current_player, evaluate, is_terminal, legal_moves, play, priority, returns

MAX_DEPTH = 64
DOUBT = 2.0**-10
HURRY = 2.0**-17
"""64 plies of it are half of `DOUBT`."""

PLY, POSITIONS, LEAVES, CUTS, UNFINISHED = range(5)
"""Places in Frames.counts: the ply to go on with, positions visited (the root among them), those whose
moves were not looked at, those of which some moves were left out, and leaves where the game was not over."""
NO_MOVE = 65_535


class Limits(NamedTuple):
    """What is to be searched, and how."""

    depth: int
    """Plies, 1 to `MAX_DEPTH`."""
    prunes: bool
    """Alpha-beta; else minimax."""
    cuts_equals: bool
    """Whether moves are left out as soon as alpha >= beta; else only when alpha > beta."""
    ordered: bool
    """Whether moves of higher priority come first, and before all the one of the expected line."""
    finds_ties: bool
    """Whether all best moves of the root are found; else only the first of them, in fewer positions."""
    evaluates_finished: bool
    """Whether finished games are evaluated too, and their returns not asked for."""


class Frames(NamedTuple):
    """The open position of each ply, for D plies, M moves and states of length n; overwritten."""

    states: npt.NDArray[np.generic]
    """[D + 1, n]"""
    state: npt.NDArray[np.generic]
    """[n] scratch"""
    moves: npt.NDArray[np.uint16]
    """[D + 1, M] in the order in which they are searched."""
    listed: npt.NDArray[np.uint16]
    """[M] scratch"""
    looks: npt.NDArray[np.float64]
    """[D + 1, M] priorities"""
    num_moves: npt.NDArray[np.int64]
    """[D + 1]"""
    next_move: npt.NDArray[np.int64]
    """[D + 1] how many of the moves have been played."""
    players: npt.NDArray[np.int64]
    """[D + 1] who moves."""
    alphas: npt.NDArray[np.float64]
    """[D + 1] what the first player has for certain..."""
    betas: npt.NDArray[np.float64]
    """[D + 1] ...and what the second player can hold it to."""
    values: npt.NDArray[np.float64]
    """[D + 1] the best value so far."""
    root_values: npt.NDArray[np.float64]
    """[M] of each move of the root, in the order of moves[0]; those that are not best may be bounds."""
    lines: npt.NDArray[np.uint16]
    """[D + 1, D + 1] lines[p, p:] is the best line from ply p, up to NO_MOVE."""
    expected: npt.NDArray[np.uint16]
    """[D + 1] the line that is searched first, up to NO_MOVE."""
    as_expected: npt.NDArray[np.bool_]
    """[D + 1] whether expected led to the open position."""
    counts: npt.NDArray[np.int64]
    """[5] see PLY."""


def begin(root_state: State, limits: Limits, frames: Frames) -> None:
    """Open the root, an unfinished position; ``frames.expected`` is read, all else overwritten."""
    for i in range(len(root_state)):
        frames.state[i] = root_state[i]
    for i in range(len(frames.counts)):
        frames.counts[i] = 0
    frames.counts[POSITIONS] = 1
    frames.alphas[0], frames.betas[0] = -math.inf, math.inf
    frames.as_expected[0] = True
    open_frame(0, limits, frames)


def open_frame(ply: int, limits: Limits, frames: Frames) -> None:
    """List and order the moves of the position in ``frames.state``, which the frame of that ply becomes."""
    state = frames.state
    for i in range(len(state)):
        frames.states[ply, i] = state[i]
    player = current_player(state)
    num_legal = legal_moves(state, frames.listed)
    frames.players[ply] = player
    frames.num_moves[ply], frames.next_move[ply] = num_legal, 0
    frames.values[ply] = -math.inf if player == FIRST else math.inf
    frames.lines[ply, ply] = NO_MOVE
    for i in range(num_legal):
        move = np.int64(frames.listed[i])
        if limits.ordered:
            look = priority(state, move)
            if frames.as_expected[ply] and move == frames.expected[ply]:
                look = math.inf
            _insert(ply, i, move, look, frames)
        else:
            frames.moves[ply, i] = move


def advance(limits: Limits, max_positions: int, frames: Frames) -> bool:
    """Go on for that many positions at most; returns whether the search has come to its end.

    Then frames.values[0] is the root's value, lines[0] the best line, and root_values has the best moves.
    """
    counts, state = frames.counts, frames.state
    ply = counts[PLY]
    for _ in range(max_positions):
        while frames.next_move[ply] == frames.num_moves[ply]:
            if ply == 0:
                return True
            ply -= 1
            _take_back(ply, frames.values[ply + 1], limits, frames)
        for i in range(len(state)):
            state[i] = frames.states[ply, i]
        move = np.int64(frames.moves[ply, frames.next_move[ply]])
        frames.next_move[ply] += 1
        play(state, move)
        counts[POSITIONS] += 1
        depth = ply + 1
        frames.lines[depth, depth] = NO_MOVE
        if is_terminal(state):
            counts[LEAVES] += 1
            if limits.evaluates_finished:
                value = (1.0 - DOUBT) * evaluate(state)
            else:
                value = (1.0 - HURRY * depth) * returns(state)
            _take_back(ply, value, limits, frames)
        elif depth == limits.depth:
            counts[LEAVES] += 1
            counts[UNFINISHED] += 1
            _take_back(ply, (1.0 - DOUBT) * evaluate(state), limits, frames)
        else:
            frames.alphas[depth], frames.betas[depth] = frames.alphas[ply], frames.betas[ply]
            frames.as_expected[depth] = frames.as_expected[ply] and move == frames.expected[ply]
            open_frame(depth, limits, frames)
            ply = depth
        counts[PLY] = ply
    return False


def count_tree(root_state: State, depth: int, max_played: int, frames: Frames) -> int:
    """The positions that minimax of that depth visits, without playing the last ply; -1 for too many.

    ``max_played`` is how many may be played. ``frames`` is overwritten.
    """
    state = frames.state
    for i in range(len(state)):
        state[i] = root_state[i]
        frames.states[0, i] = root_state[i]
    total, played, ply = 1, 0, 0
    frames.num_moves[0], frames.next_move[0] = legal_moves(state, frames.listed), 0
    total += frames.num_moves[0]
    for i in range(frames.num_moves[0]):
        frames.moves[0, i] = frames.listed[i]
    while depth > 1 and ply >= 0:
        if frames.next_move[ply] == frames.num_moves[ply]:
            ply -= 1
            continue
        if played == max_played:
            return -1
        for i in range(len(state)):
            state[i] = frames.states[ply, i]
        play(state, np.int64(frames.moves[ply, frames.next_move[ply]]))
        frames.next_move[ply] += 1
        played += 1
        if is_terminal(state):
            continue
        num_legal = legal_moves(state, frames.listed)
        total += num_legal
        if ply + 2 < depth:
            ply += 1
            frames.num_moves[ply], frames.next_move[ply] = num_legal, 0
            for i in range(len(state)):
                frames.states[ply, i] = state[i]
            for i in range(num_legal):
                frames.moves[ply, i] = frames.listed[i]
    return total  # type: ignore[no-any-return]


@njit
def _insert(ply: Int, place: Int, move: Int, look: float, frames: Frames) -> None:
    """Insertion sort, the highest first, equals as they were listed: few moves look unlike the rest."""
    while place > 0 and frames.looks[ply, place - 1] < look:
        frames.looks[ply, place] = frames.looks[ply, place - 1]
        frames.moves[ply, place] = frames.moves[ply, place - 1]
        place -= 1
    frames.looks[ply, place] = look
    frames.moves[ply, place] = move


@njit
def _take_back(ply: Int, value: float, limits: Limits, frames: Frames) -> None:
    """The last move that was played at that ply is worth ``value``."""
    number = frames.next_move[ply] - 1
    if ply == 0:
        frames.root_values[number] = value
    if frames.players[ply] == FIRST:
        if value > frames.values[ply]:
            _keep(ply, number, value, frames)
            # Moves as good as the best get their exact value if the bound is a hair's breadth below it.
            bound = np.nextafter(value, -math.inf) if ply == 0 and limits.finds_ties else value
            frames.alphas[ply] = max(frames.alphas[ply], bound)
    elif value < frames.values[ply]:
        _keep(ply, number, value, frames)
        bound = np.nextafter(value, math.inf) if ply == 0 and limits.finds_ties else value
        frames.betas[ply] = min(frames.betas[ply], bound)
    if not limits.prunes or frames.next_move[ply] == frames.num_moves[ply]:
        return
    alpha, beta = frames.alphas[ply], frames.betas[ply]
    if alpha > beta or (limits.cuts_equals and alpha == beta):
        frames.next_move[ply] = frames.num_moves[ply]
        frames.counts[CUTS] += 1


@njit
def _keep(ply: Int, number: Int, value: float, frames: Frames) -> None:
    """The best move so far, and the line that it begins."""
    frames.values[ply] = value
    frames.lines[ply, ply] = frames.moves[ply, number]
    place = ply + 1
    while place < frames.lines.shape[1]:
        move = frames.lines[ply + 1, place]
        frames.lines[ply, place] = move
        if move == NO_MOVE:
            return
        place += 1
