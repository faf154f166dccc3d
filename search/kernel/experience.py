"""What simulations have met: positions, the moves tried there, and how often which position came of them.

A table of counts, from which values follow as they do in a problem that is known (the adaptive real-time
dynamic programming of Barto, Bradtke and Singh 1995): a move is worth the mean of reward plus what the next
position is worth, over all that came of it; a position is worth its best move, or where chance moves the mean
of what came. Values are settled backwards along each simulation, and now and then in all positions.

Positions are told apart by `Rules.pack`. When there is no room for more of them, or for more outcomes,
others stay UNKNOWN, and new outcomes are not counted: a move may stay untried here.
"""

from __future__ import annotations

import numpy as np

from games.compile.rule_stubs import CHANCES, DISCOUNT, current_player, legal_moves, pack
from games.jit import Int, inner_njit
from games.rng import GOLDEN, mix
from games.rules import CHANCE, State
from search.kernel.workspace import Experience, Workspace

CELLS = 1 << 16
"""The most positions are three quarters of these."""
MOST_POSITIONS = CELLS // 4 * 3
MOST_MOVES = 1 << 18
MOST_OUTCOMES = 1 << 19
PROBES = 32
"""Cells in which a position may lie, one after the other."""
END, UNKNOWN = -1, -2
"""In place of a position: nothing follows; it has no cell."""
NONE = -1
POSITIONS, MOVES, OUTCOMES, LESSONS = range(4)
"""Places in `Experience.counts`."""
LESSONS_OF_A_ROUND = 4
"""All positions are settled after so many lessons for each of them."""
MOST_ROUNDS, SETTLED = 200, 1e-5
"""At the end of a job all positions are settled so often, or until none changes by more than this share of
the greatest worth."""


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
    """Generic: work out again what the moves of a position, and it, are worth, modified in place; returns by
    how much the position's worth has changed."""
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


def learn(met: Experience, cell: Int, entry: Int, gain: float, after: Int) -> None:
    """Generic: a move of a position brought ``gain`` and led to the cell ``after``, or END; in place."""
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


def settle_now_and_then(met: Experience) -> None:
    """Generic: if there have been enough lessons since, settle all positions, the latest first; in place."""
    if met.counts[LESSONS] >= LESSONS_OF_A_ROUND * met.counts[POSITIONS]:
        met.counts[LESSONS] = 0
        for k in range(np.int64(met.counts[POSITIONS]) - 1, -1, -1):
            settle(met, met.order[k])


def settle_all(met: Experience) -> None:
    """Generic: settle all positions until they hardly change any more; modified in place."""
    for _ in range(MOST_ROUNDS):
        change = most = 0.0
        for k in range(np.int64(met.counts[POSITIONS]) - 1, -1, -1):
            change = max(change, settle(met, met.order[k]))
            most = max(most, abs(met.worth[met.order[k]]))
        if change <= SETTLED * most:
            return
