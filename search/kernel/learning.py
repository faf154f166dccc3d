"""Playouts that learn: in problems of one player, which move is best in each position as far as is known.

In a playout the player takes a move that was never tried, if there is one, else the best by what simulations
have met so far (search/kernel/experience.py), of equal ones the less tried, and now and then a random one. So
far rewards, which random moves hardly ever meet, lead the way once they have been found.

What was met tells the tree too what a move is worth: its sample is not the sum of the rewards that came, but
what the move is believed to be worth after them, if the best moves follow. A simulation that explores does
not lessen the value of the moves before it (as in MaxUCT, Keller and Helmert 2013). At the end of a job the
visits that it made of the root's moves count as what it then believes (`look_back`).

What was met belongs to a job and is forgotten after it, so the result of a job depends on the job alone. In a
plan with one lane it belongs to an episode (`search.worker.Worker.goes_on`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    CHANCES,
    DISCOUNT,
    REWARDS,
    chance,
    current_player,
    is_terminal,
    legal_moves,
    play,
    returns,
)
from games.jit import Int, inner_njit
from games.rng import Stream, below, uniform
from games.rules import CHANCE, State
from search.kernel.experience import (
    END,
    UNKNOWN,
    entry_of_move,
    learn,
    place_of,
    settle_all,
    settle_now_and_then,
)
from search.kernel.params import SearchParams
from search.kernel.playouts import PLAYOUTS, PLIES
from search.kernel.rewards import CHANCE_CODE, LENGTH
from search.kernel.workspace import Experience, Workspace
from search.tree.arena import ROOT, Tree, num_children
from search.tree.merge import Statistics

RANDOM_SHARE, TRIES = 0.2, 2000.0
"""A move is random with probability RANDOM_SHARE * TRIES / (TRIES + n) if the best one was tried n times."""


@inner_njit
def promising(met: Experience, cell: Int, stream: Stream) -> int:
    """The entry of the move to try in the position in this cell, where the player moves."""
    first, size = np.int64(met.first[cell]), np.int64(met.size[cell])
    start = np.int64(below(stream, int(size)))
    best = first + start
    for k in range(size):
        entry = first + (start + k) % size
        if met.tried[entry] == 0:
            return entry  # type: ignore[return-value]
        better = met.value[entry] > met.value[best]
        if better or (met.value[entry] == met.value[best] and met.tried[entry] < met.tried[best]):
            best = entry
    if uniform(stream) * (TRIES + met.tried[best]) < RANDOM_SHARE * TRIES:
        return first + np.int64(below(stream, int(size)))  # type: ignore[return-value]
    return best  # type: ignore[return-value]


def learning_rollout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """Generic: `search.kernel.stubs.leaf_playout` whose moves are learnt; its moves are left in work.line,
    and the cell of its first position in work.cells[0].

    It is cut after params.playout_plies moves; what follows is then worth what is known of it.
    """
    state, met = work.state, work.experience
    plies = 0
    before = returns(state) if REWARDS else 0.0
    while plies < params.playout_plies and not is_terminal(state):
        cell = np.int64(place_of(state, work))
        chances = CHANCES and current_player(state) == CHANCE
        work.cells[plies], work.chosen[plies] = cell, not chances
        if chances:
            move = np.int64(chance(state, work.moves, stream))
            if cell != UNKNOWN:
                work.entries[plies] = met.first[cell]
        elif cell == UNKNOWN:
            move = np.int64(work.moves[below(stream, legal_moves(state, work.moves))])
        else:
            work.entries[plies] = promising(met, cell, stream)
            move = np.int64(met.move[work.entries[plies]])
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
    follows = END if is_terminal(state) else np.int64(place_of(state, work))
    work.cells[plies] = follows
    if follows >= 0:
        total = met.worth[follows]
    for ply in range(plies - 1, -1, -1):
        future = (DISCOUNT if work.chosen[ply] else 1.0) * total
        cell = np.int64(work.cells[ply])
        if cell != UNKNOWN:
            note(met, cell, work.entries[ply], work.gains[ply], future, follows)
        total = work.gains[ply] + future
        follows = cell
    settle_now_and_then(met)
    work.best[LENGTH] = plies
    work.tally[PLAYOUTS] += 1
    work.tally[PLIES] += plies
    return total


def note(met: Experience, cell: Int, entry: Int, gain: float, future: float, follows: Int) -> None:
    """Generic: `search.kernel.experience.learn`; where the next position is UNKNOWN, the ``future`` that came
    stands for it."""
    if follows == UNKNOWN:
        learn(met, cell, entry, gain + future, END)
    else:
        learn(met, cell, entry, gain, follows)


def note_score_and_place(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """Generic: `search.kernel.stubs.note_score` where moves are learnt."""
    work.scores[depth] = returns(state) if REWARDS else 0.0
    work.places[depth] = place_of(state, work)


def back_up_learnt(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> float:
    """Generic: `search.kernel.stubs.back_up` where moves are learnt; returns what the simulation came to."""
    met = work.experience
    follows = np.int64(work.cells[0])
    worth = met.worth[follows] if follows >= 0 else value
    sample = worth
    for d in range(depth, 0, -1):
        node = np.uint64(work.nodes[d])
        factor = 1.0 if work.movers[d - 1] == CHANCE_CODE else DISCOUNT
        reward = work.scores[d] - work.scores[d - 1]
        sample = reward + factor * worth
        worth = sample
        cell = np.int64(work.places[d - 1])
        if cell != UNKNOWN:
            entry = entry_of_move(met, cell, np.int64(tree.move[node]))
            note(met, cell, entry, reward, factor * value, follows)
            if met.tried[entry] > 0:
                if work.movers[d - 1] != CHANCE_CODE:
                    sample = met.value[entry]
                worth = met.worth[cell]
        value = reward + factor * value
        follows = cell
        tree.visits[node] += 1
        tree.total_value[node] += sample
    tree.visits[ROOT] += 1
    tree.total_value[ROOT] += sample
    return value


def look_back(tree: Tree, before: Statistics, first_children: npt.NDArray[np.int32], work: Workspace) -> None:
    """Generic: settle all values, and let the visits of the root's children since ``before`` count as these.

    ``before``: the statistics from which the job went on, whose rows have their children at
    ``first_children``. Tree and workspace are modified in place.
    """
    settle_all(work.experience)
    cell = np.int64(work.places[0])
    if cell == UNKNOWN:
        return
    known = np.int64(before.num_children[0])
    for slot in range(num_children(tree, ROOT)):
        child = np.int64(tree.children[ROOT]) + slot
        visits, total = np.int64(tree.visits[child]), 0.0
        if slot < known:
            row = np.int64(first_children[0]) + slot
            visits, total = visits - np.int64(before.visits[row]), float(before.total_value[row])
        entry = np.int64(entry_of_move(work.experience, cell, np.int64(tree.move[child])))
        if visits > 0 and work.experience.tried[entry] > 0:
            tree.total_value[child] = total + visits * work.experience.value[entry]
