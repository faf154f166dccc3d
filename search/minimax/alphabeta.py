"""Minimax and alpha-beta search to a fixed depth for any game: generic kernels without recursion.

Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6, 1975.

The kernels call rules of `games.compile.rule_stubs`; `games.compile.specialise` binds them to one game, and
`search.minimax.lookahead` calls the bound functions. A frame holds the open position of each ply, so a
search can be interrupted after any number of positions and continued later.

All values are from the first player's viewpoint. Whether a position takes the maximum or the minimum of its
moves' values is decided by the player to move, not by its depth: a player may move twice in a row.

Scores are in [-1, 1]. The score of a finished game at ply d is return * (1 - d * `HURRY`), that of an
unfinished position evaluation * (1 - `DOUBT`). So a won game is better than any evaluation, an early win is
better than a late one, and a late loss is better than an early one. In games with many different returns, a
return that is higher by more than `DOUBT` is preferred regardless of distance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    current_player,
    evaluate,
    is_terminal,
    legal_moves,
    play,
    priority,
    returns,
)
from games.jit import Int, njit
from games.rules import FIRST, State

MAX_DEPTH = 64
DOUBT = 2.0**-10
HURRY = 2.0**-17
"""Relative reduction of a finished game's score for each ply from the root: 64 plies are half of `DOUBT`."""

PLY, POSITIONS, LEAVES, CUTS, UNFINISHED = range(5)
"""Indices into Frames.counts: current ply, visited positions (including the root), leaves (positions whose
moves are not searched), positions with cuts (some moves are not searched), leaves of unfinished games."""
NO_MOVE = 65_535


class Limits(NamedTuple):
    """Parameters of a search."""

    depth: int
    """Depth in plies, 1 to `MAX_DEPTH`."""
    prunes: bool = True
    """True: alpha-beta; False: minimax."""
    cuts_equals: bool = True
    """Whether a position is cut as soon as alpha >= beta; otherwise only when alpha > beta."""
    ordered: bool = True
    """Whether moves are searched in order of priority, after the move of the expected line."""
    finds_ties: bool = True
    """Whether all best moves of the root are found; otherwise one of them, which visits fewer positions."""
    evaluates_finished: bool = False
    """Whether finished games are evaluated by the evaluator instead of by their return."""


class Frames(NamedTuple):
    """Scratch memory of a search: the open position of each ply, for D plies, M moves, states of length n."""

    states: npt.NDArray[np.generic]
    """[D + 1, n]: the open position of each ply."""
    state: npt.NDArray[np.generic]
    """[n]: scratch for one position."""
    moves: npt.NDArray[np.uint16]
    """[D + 1, M]: the moves of each position in the order of search."""
    listed: npt.NDArray[np.uint16]
    """[M]: scratch for a list of moves."""
    looks: npt.NDArray[np.float64]
    """[D + 1, M]: the priority of each of ``moves``."""
    num_moves: npt.NDArray[np.int64]
    """[D + 1]: the number of moves of each position."""
    next_move: npt.NDArray[np.int64]
    """[D + 1]: the number of moves of each position that have been played."""
    players: npt.NDArray[np.int64]
    """[D + 1]: the player to move."""
    alphas: npt.NDArray[np.float64]
    """[D + 1]: lower bound of the value that the first player can reach (alpha)."""
    betas: npt.NDArray[np.float64]
    """[D + 1]: upper bound to which the second player can limit the value (beta)."""
    values: npt.NDArray[np.float64]
    """[D + 1]: the best value found so far."""
    root_values: npt.NDArray[np.float64]
    """[M]: value of each root move in the order of moves[0]; other moves than the best may have bounds."""
    lines: npt.NDArray[np.uint16]
    """[D + 1, D + 1]: lines[p, p:] is the best line from ply p, ended by NO_MOVE."""
    expected: npt.NDArray[np.uint16]
    """[D + 1]: the line that is searched first, ended by NO_MOVE."""
    as_expected: npt.NDArray[np.bool_]
    """[D + 1]: whether the moves to the open position are those of ``expected``."""
    counts: npt.NDArray[np.int64]
    """[5]: counters, see PLY."""


def begin(root_state: State, limits: Limits, frames: Frames) -> None:
    """Start a search of an unfinished position. ``frames.expected`` is read, other arrays are overwritten."""
    for i in range(len(root_state)):
        frames.state[i] = root_state[i]
    for i in range(len(frames.counts)):
        frames.counts[i] = 0
    frames.counts[POSITIONS] = 1
    frames.alphas[0], frames.betas[0] = -math.inf, math.inf
    frames.as_expected[0] = True
    open_frame(0, limits, frames)


def open_frame(ply: int, limits: Limits, frames: Frames) -> None:
    """Make the position in ``frames.state`` the open position of ``ply``, and list and order its moves."""
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
    """Continue the search for at most ``max_positions`` positions; returns whether it is complete.

    When it is, frames.values[0] is the root's value, lines[0] the best line, and root_values shows the best
    moves.
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


@njit
def _insert(ply: Int, place: Int, move: Int, look: float, frames: Frames) -> None:
    """One step of a stable insertion sort, highest priority first. It is fast because most priorities are
    equal."""
    while place > 0 and frames.looks[ply, place - 1] < look:
        frames.looks[ply, place] = frames.looks[ply, place - 1]
        frames.moves[ply, place] = frames.moves[ply, place - 1]
        place -= 1
    frames.looks[ply, place] = look
    frames.moves[ply, place] = move


@njit
def _take_back(ply: Int, value: float, limits: Limits, frames: Frames) -> None:
    """Record ``value`` as the value of the last move that was played at ``ply``."""
    number = frames.next_move[ply] - 1
    if ply == 0:
        frames.root_values[number] = value
    if frames.players[ply] == FIRST:
        if value > frames.values[ply]:
            _keep(ply, number, value, frames)
            # With a bound one floating-point step below the best value, ties get their exact value.
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
    """Record the best move so far and the best line through it."""
    frames.values[ply] = value
    frames.lines[ply, ply] = frames.moves[ply, number]
    place = ply + 1
    while place < frames.lines.shape[1]:
        move = frames.lines[ply + 1, place]
        frames.lines[ply, place] = move
        if move == NO_MOVE:
            return
        place += 1
