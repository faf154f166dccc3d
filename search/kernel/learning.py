"""Playouts that learn: in problems of one player, which move is best in each position as far as is known.

In a playout the player takes a move that was never tried, if there is one, else the best by what simulations
have found so far, of equal ones the less tried, and now and then a random one. In this way distant rewards,
which random moves hardly ever reach, lead the way once they have been found.

The tree uses the table too: the backup adds the current estimate of a move's value, not the rewards of this
simulation. A simulation that explores does not lessen the value of the moves before it (as in MaxUCT, Keller
and Helmert 2013). At the end of a job the visits that it made of the root's moves count as what it then
believes (`look_back`).

The table has counts, from which values follow as they do where the problem is given (the adaptive real-time
dynamic programming of Barto, Bradtke and Singh 1995): a move is worth the mean of reward plus what the next
position is worth, over all that came of it; a position is worth its best move, or where chance moves the mean
of what came. Values are settled backwards along each simulation, and now and then in all positions. Positions
are told apart by `Rules.pack`. When there is no room for more of them, or for more outcomes, others stay
UNKNOWN, and new outcomes are not counted: a move may stay untried here.

A table belongs to a job and is forgotten after it, so the result of a job depends on the job alone. In a plan
with one lane it belongs to an episode (`search.worker.Worker.goes_on`).
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
    pack,
    play,
    returns,
)
from games.jit import Int, inner_njit
from games.rng import GOLDEN, Stream, below, mix, uniform
from games.rules import CHANCE, State
from search.kernel.params import CHANCE_CODE, SearchParams
from search.kernel.workspace import Experience, Workspace
from search.tree.arena import ROOT, Tree, num_children
from search.tree.merge import Statistics

CELLS = 1 << 16
"""Cells of the table: at most three quarters of them hold a position."""
MOST_POSITIONS = CELLS // 4 * 3
MOST_MOVES = 1 << 18
MOST_OUTCOMES = 1 << 19
PROBES = 32
"""Cells in which a position may lie, one after the other."""
END, UNKNOWN = -1, -2
"""In place of a cell: END, nothing follows; UNKNOWN, the position has no cell."""
NONE = -1
POSITIONS, MOVES, OUTCOMES, LESSONS = range(4)
"""Places in `Experience.counts`."""
LESSONS_OF_A_ROUND = 4
"""All positions are settled when there were so many lessons (calls of `learn`) for each of them."""
MOST_ROUNDS, SETTLED = 200, 1e-5
"""At the end of a job all positions are settled MOST_ROUNDS times, or until none changes by more than SETTLED
times the greatest worth."""
RANDOM_SHARE, TRIES = 0.2, 2000.0
"""A move is random with probability RANDOM_SHARE * TRIES / (TRIES + n) if the best one was tried n times."""


def new_experience(learns: bool) -> Experience:
    """An empty table; of length 1 if playouts do not learn."""
    cells, moves, outcomes = (CELLS, MOST_MOVES, MOST_OUTCOMES) if learns else (1, 1, 1)
    return Experience(
        taken=np.zeros(cells, dtype=np.bool_),
        keys=np.zeros(cells, dtype=np.uint64),
        worth=np.zeros(cells),
        first=np.zeros(cells, dtype=np.int32),
        size=np.zeros(cells, dtype=np.int32),
        order=np.zeros(cells, dtype=np.int32),
        move=np.zeros(moves, dtype=np.int32),
        value=np.zeros(moves),
        tried=np.zeros(moves, dtype=np.int64),
        outcome=np.zeros(moves, dtype=np.int32),
        after=np.zeros(outcomes, dtype=np.int32),
        times=np.zeros(outcomes, dtype=np.int64),
        gains=np.zeros(outcomes),
        link=np.zeros(outcomes, dtype=np.int32),
        counts=np.zeros(4, dtype=np.int64),
    )


def forget(work: Workspace) -> None:
    """Forget all that was met; the workspace is modified in place."""
    work.experience.taken[:] = False
    work.experience.counts[:] = 0


def place_of(state: State, work: Workspace) -> int:
    """Generic: the cell of an unfinished position, which is given one if there is room, else UNKNOWN.

    work.moves is scratch.
    """
    met = work.experience
    key = np.uint64(pack(state))
    cell = np.int64(mix(key * GOLDEN + np.uint64(1)) & np.uint64(CELLS - 1))
    probes = 0
    while met.taken[cell]:
        if met.keys[cell] == key:
            return cell  # type: ignore[return-value]
        probes += 1
        if probes == PROBES:
            return UNKNOWN
        cell = (cell + 1) & (CELLS - 1)
    chances = CHANCES and current_player(state) == CHANCE
    count = 1 if chances else legal_moves(state, work.moves)
    first = met.counts[MOVES]
    is_full = met.counts[POSITIONS] == MOST_POSITIONS or first + count > MOST_MOVES
    if is_full or met.counts[OUTCOMES] == MOST_OUTCOMES:
        return UNKNOWN
    met.taken[cell], met.keys[cell], met.worth[cell] = True, key, 0.0
    met.first[cell], met.size[cell] = first, 0 if chances else count
    for k in range(count):
        met.move[first + k] = NONE if chances else np.int64(work.moves[k])
        met.value[first + k] = 0.0
        met.tried[first + k] = 0
        met.outcome[first + k] = NONE
    met.order[met.counts[POSITIONS]] = cell
    met.counts[POSITIONS] += 1
    met.counts[MOVES] += count
    return cell  # type: ignore[return-value]


@inner_njit
def entry_of_move(met: Experience, cell: Int, move: Int) -> int:
    """Where the table keeps a move of the position in this cell; that of chance if chance moves there."""
    first = np.int64(met.first[cell])
    for entry in range(first, first + np.int64(met.size[cell])):
        if met.move[entry] == move:
            return entry
    return first  # type: ignore[return-value]


def settle(met: Experience, cell: Int) -> float:
    """Generic: work out again the worth of a position and of its moves, modified in place; returns by how
    much the position's worth has changed."""
    first = np.int64(met.first[cell])
    size = np.int64(met.size[cell])
    factor = 1.0 if size == 0 else DISCOUNT
    entries = 1 if size == 0 else size
    worth = 0.0
    found = False
    for entry in range(first, first + entries):
        if met.tried[entry] == 0:
            continue
        total = 0.0
        outcome = np.int64(met.outcome[entry])
        while outcome != NONE:
            total += met.gains[outcome]
            after = np.int64(met.after[outcome])
            if after != END:
                total += met.times[outcome] * factor * met.worth[after]
            outcome = np.int64(met.link[outcome])
        met.value[entry] = total / met.tried[entry]
        if not found or met.value[entry] > worth:
            worth, found = met.value[entry], True
    change = abs(worth - met.worth[cell])
    met.worth[cell] = worth
    return float(change)


def settle_all(met: Experience, most_rounds: Int) -> None:
    """Generic: settle all positions, the latest first, until they hardly change any more, at most
    ``most_rounds`` times; modified in place."""
    for _ in range(most_rounds):
        change = most = 0.0
        for k in range(np.int64(met.counts[POSITIONS]) - 1, -1, -1):
            change = max(change, settle(met, met.order[k]))
            most = max(most, abs(met.worth[met.order[k]]))
        if change <= SETTLED * most:
            return


def learn(met: Experience, cell: Int, entry: Int, gain: float, future: float, after: Int) -> None:
    """Generic: note that the move ``entry`` of the position in ``cell`` brought the reward ``gain`` and led
    to the cell ``after``, or END; modified in place.

    Where ``after`` is UNKNOWN, ``future``, the rewards that came, stands for the worth of what follows.
    """
    if after == UNKNOWN:
        gain, after = gain + future, END
    outcome = np.int64(met.outcome[entry])
    while outcome != NONE and met.after[outcome] != after:
        outcome = np.int64(met.link[outcome])
    if outcome == NONE:
        outcome = np.int64(met.counts[OUTCOMES])
        if outcome == MOST_OUTCOMES:
            return
        met.counts[OUTCOMES] += 1
        met.after[outcome], met.times[outcome], met.gains[outcome] = after, 0, 0.0
        met.link[outcome] = met.outcome[entry]
        met.outcome[entry] = outcome
    met.times[outcome] += 1
    met.gains[outcome] += gain
    met.tried[entry] += 1
    settle(met, cell)
    met.counts[LESSONS] += 1


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


def learning_rollout(params: SearchParams, work: Workspace, stream: Stream) -> tuple[float, int]:
    """Generic: the value of a playout whose moves are learnt, and its plies; its moves are left in work.line,
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
            learn(met, cell, work.entries[ply], work.gains[ply], future, follows)
        total = work.gains[ply] + future
        follows = cell
    if met.counts[LESSONS] >= LESSONS_OF_A_ROUND * met.counts[POSITIONS]:
        met.counts[LESSONS] = 0
        settle_all(met, 1)
    return total, plies


def back_up_learnt(tree: Tree, work: Workspace, depth: Int, value: float) -> tuple[float, float]:
    """Generic: back up below the root where moves are learnt; returns what the simulation came to, and the
    sample of the root."""
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
            learn(met, cell, entry, reward, factor * value, follows)
            if met.tried[entry] > 0:
                if work.movers[d - 1] != CHANCE_CODE:
                    sample = met.value[entry]
                worth = met.worth[cell]
        value = reward + factor * value
        follows = cell
        tree.visits[node] += 1
        tree.total_value[node] += sample
    return value, sample


def look_back(tree: Tree, before: Statistics, first_children: npt.NDArray[np.int32], work: Workspace) -> None:
    """Generic: settle all values; visits of the root's children since ``before`` then count with these
    values.

    ``before``: the statistics from which the job went on, whose rows have their children at
    ``first_children``. Tree and workspace are modified in place.
    """
    settle_all(work.experience, MOST_ROUNDS)
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
