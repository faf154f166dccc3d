"""What a leaf's position turns out to be worth: a playout, whole and at random or steered.

`search.engine` binds one of the two as the loop's `leaf_playout`: searches that steer nothing
run the same code as if there were nothing to steer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from games.rng import Stream, below
from games.rules import State
from games.unbound import (
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
from search.alphabeta import Limits, advance, begin
from search.selection import Knobs

if TYPE_CHECKING:
    from search.kernel import Workspace

PLAYOUTS, PLIES = 0, 1
"""The fields of `Workspace.tally`."""

RANDOM, GREEDY, DECISIVE, MINIMAX = 0, 1, 2, 3
"""How a player moves in a playout; the values of Knobs.first_policy and second_policy. DECISIVE: a move
that wins at once, else any (Teytaud and Teytaud 2010). From MINIMAX on: by minimax of depth
policy - MINIMAX + 1, of equally good moves any."""
POLICIES = {
    "random": RANDOM,
    "greedy": GREEDY,
    "decisive": DECISIVE,
    "minimax1": MINIMAX,
    "minimax2": MINIMAX + 1,
}
DEEPEST = 2

THINKS = False
"""Whether any policy is minimax; `search.engine` binds it."""

NO_CUT = 2**31 - 1


def whole_playout(knobs: Knobs, work: Workspace, stream: Stream) -> float:
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


def steered_playout(knobs: Knobs, work: Workspace, stream: Stream) -> float:
    """Generic: the same, with each player's own policy and cut after knobs.playout_plies plies.

    A playout that was cut is worth what `evaluate` says. It keeps to all the rules, those on
    repetition too, which a game's own `playout` may leave out.
    """
    state = work.state
    plies = 0
    while plies < knobs.playout_plies and not is_terminal(state):
        policy = knobs.first_policy if current_player(state) == 0 else knobs.second_policy
        if THINKS and policy >= MINIMAX:
            move = minimax_move(policy - MINIMAX + 1, work, stream)
        elif policy == GREEDY:
            move = greedy_move(state, work.moves, stream)
        elif policy == DECISIVE:
            move = winning_move(state, work, legal_moves(state, work.moves))
            if move < 0:
                move = random_move(state, work.moves, stream)
        else:
            move = random_move(state, work.moves, stream)
        play(state, np.int64(move))
        plies += 1
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    if is_terminal(state):
        return returns(state)
    return evaluate(state)


def minimax_move(depth: int, work: Workspace, stream: Stream) -> int:
    """Generic: a best move of work.state by minimax of that depth, of several any.

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


def leaf_playout(knobs: Knobs, work: Workspace, stream: Stream) -> float:
    """Stands for one of the two above until `search.engine` binds it."""
    raise NotImplementedError("search.engine binds this")


def sample_leaves(
    root_state: State, knobs: Knobs, values: npt.NDArray[np.float64], stream: Stream, work: Workspace
) -> None:
    """Generic: write what random children of the root turn out to be worth, one playout from each.

    ``values`` ([n], the first player's viewpoint), workspace and stream are modified in place.
    """
    for i in range(len(values)):
        determinize(root_state, work.state, stream)
        play(work.state, np.int64(random_move(work.state, work.moves, stream)))
        if is_terminal(work.state):
            values[i] = returns(work.state)
        else:
            values[i] = leaf_playout(knobs, work, stream)
