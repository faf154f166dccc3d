"""The compiled rules of Battleship: one set of functions for every board, fleet and option.

A ply is a shot or its answer. The code of a shot is its cell, row * size + column, where row 0 is the
bottom row. The code of an answer is area + MISS, area + HIT, or area + SUNK + k (the shot sank ship k).

A state is ``int16[CELLS + sides * area]``; ``sides`` is 2 in a race and 1 in the task solo. Side s holds
the shots of player s at the other player's fleet:

=========  ==============================================================================
header     size, area, sides, whether sunk ships are announced, ships of a fleet, cells of a
           fleet, whether the fleets are dealt, the cell of the shot that awaits its answer
           plus 1 (0: none), whose shot it is or whose turn to shoot
LENGTHS    cells of each ship
BLOCK      for each side: number of shots, of hits, and of ships announced as sunk; these ships as a
           set of bits, their numbers and the shots that sank them in order; for each ship the number
           of its cells that are not hit
CELLS      for each side and cell: ship << 4 | status. ship: 0 is none or unknown, k + 1 is ship k;
           status: 0 untried, 1 miss, 2 + n a hit before which n ships had been announced as sunk
=========  ==============================================================================

In a position whose fleets are not dealt, both fleets are unknown, and every answer is legal that counts of
cells do not rule out; games.battleship.sampling finds out whether a fleet fits. In a dealt position, which
is complete, only the true answer is legal. Of the order of the shots, the state keeps only which
hits came before which announcement, because nothing else gives information about the fleets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit
from games.rng import Stream, below
from games.rules import Moves

MAX_SIZE = 12
MAX_SHIPS = 7

SIZE, AREA, SIDES, ANNOUNCE, NUM_SHIPS, TOTAL, DEALT, PENDING, SHOOTER = range(9)
LENGTHS = 9
BLOCK = LENGTHS + MAX_SHIPS
SHOTS, HITS, NUM_SUNK, SUNK_SET = 0, 1, 2, 3
SUNK_SHIP = 4
SUNK_CELL = SUNK_SHIP + MAX_SHIPS
LEFT = SUNK_CELL + MAX_SHIPS
BLOCK_LENGTH = LEFT + MAX_SHIPS
CELLS = BLOCK + 2 * BLOCK_LENGTH

MISS, HIT, SUNK = 0, 1, 2
"""Codes of answers minus area; SUNK + k announces that ship k is sunk."""
MISSED, HIT_FIRST = 1, 2
"""The status of a cell: a miss; a hit before any announcement."""

State = npt.NDArray[np.int16]


@njit
def block_of(side: int) -> int:
    """Index in the state of the first count of a side."""
    return BLOCK + BLOCK_LENGTH * (side & 1)


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND: the shooter, or for an answer the other player. In the task solo always FIRST."""
    if state[PENDING] != 0 and state[SIDES] == 2:
        return int(1 - state[SHOOTER])
    return int(state[SHOOTER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the untried cells, or the possible answers, in ascending order; returns how many."""
    if state[PENDING] != 0:
        return _answers(state, moves)
    area = state[AREA]
    cells = CELLS + state[SHOOTER] * area
    count = 0
    for cell in range(area):
        moves[count] = cell
        count += (state[cells + cell] & 15) == 0
    return count


@njit
def _answers(state: State, moves: Moves) -> int:
    """Write the true answer of a dealt position, or every answer that counts of cells do not rule out."""
    area = state[AREA]
    if state[DEALT] != 0:
        moves[0] = true_answer(state)
        return 1
    block = block_of(state[SHOOTER])
    # Hits on ships that are not sunk, this shot included, and how many hits leave all of these afloat.
    num_hits = state[block + HITS] + 1
    afloat, loose = 0, num_hits
    for ship in range(state[NUM_SHIPS]):
        if (state[block + SUNK_SET] >> ship) & 1 != 0:
            loose -= state[LENGTHS + ship]
        else:
            afloat += state[LENGTHS + ship] - 1
    count = 0
    if area - state[block + SHOTS] >= state[TOTAL] - state[block + HITS]:
        moves[count] = area + MISS
        count += 1
    if state[ANNOUNCE] == 0 or loose <= afloat:
        moves[count] = area + HIT
        count += 1
    if state[ANNOUNCE] != 0:
        for ship in range(state[NUM_SHIPS]):
            length = state[LENGTHS + ship]
            sunk = (state[block + SUNK_SET] >> ship) & 1 != 0
            if not sunk and loose >= length and loose - length <= afloat - (length - 1):
                moves[count] = area + SUNK + ship
                count += 1
    return count


@njit
def true_answer(state: State) -> int:
    """The answer to the pending shot of a dealt position."""
    side, area = state[SHOOTER], state[AREA]
    ship = state[CELLS + side * area + state[PENDING] - 1] >> 4
    if ship == 0:
        return int(area + MISS)
    if state[ANNOUNCE] != 0 and state[block_of(side) + LEFT + ship - 1] == 1:
        return int(area + SUNK + ship - 1)
    return int(area + HIT)


@njit
def play(state: State, move: int) -> None:
    """Shoot, or answer the shot; ``state`` is modified in place."""
    side, area = state[SHOOTER], state[AREA]
    block = block_of(side)
    if state[PENDING] == 0:
        state[PENDING] = move + 1
        state[block + SHOTS] += 1
        return
    cell = state[PENDING] - 1
    at = CELLS + side * area + cell
    state[PENDING] = 0
    if move == area + MISS:
        state[at] |= MISSED
    else:
        num_sunk = state[block + NUM_SUNK]
        ship = state[at] >> 4
        state[at] |= HIT_FIRST + num_sunk
        state[block + HITS] += 1
        if ship != 0:
            state[block + LEFT + ship - 1] -= 1
        if move >= area + SUNK:
            sunk = move - area - SUNK
            state[block + SUNK_SHIP + num_sunk] = sunk
            state[block + SUNK_CELL + num_sunk] = cell
            state[block + SUNK_SET] |= 1 << sunk
            state[block + NUM_SUNK] = num_sunk + 1
    if state[SIDES] == 2:
        state[SHOOTER] = 1 - side


@njit
def is_terminal(state: State) -> bool:
    """Whether a player has hit all cells of the other's fleet."""
    total = state[TOTAL]
    return bool(
        state[BLOCK + HITS] == total or (state[SIDES] == 2 and state[BLOCK + BLOCK_LENGTH + HITS] == total)
    )


@njit
def returns(state: State) -> float:
    """Race: 1.0 if the first player won, else -1.0. Solo: from 1.0 (no miss) to -1.0 (all cells shot at)."""
    if state[SIDES] == 2:
        return 1.0 if state[BLOCK + HITS] == state[TOTAL] else -1.0
    return worth(state, float(state[BLOCK + SHOTS]))


@njit
def worth(state: State, num_shots: float) -> float:
    """The return of the task solo for a game of ``num_shots`` shots."""
    spare = max(1.0, float(state[AREA] - state[TOTAL]))
    return 1.0 - 2.0 * (num_shots - float(state[TOTAL])) / spare


@njit
def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random untried cell (by rejection), or a uniformly random possible answer."""
    if state[PENDING] != 0:
        return int(moves[below(stream, _answers(state, moves))])
    area = state[AREA]
    cells = CELLS + state[SHOOTER] * area
    while True:
        cell = below(stream, area)
        if state[cells + cell] & 15 == 0:
            return cell


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Uniformly random shots with true answers to the end of the game; returns the plies.

    Each player's shots are a random order of the untried cells, and only the rank of the last cell of the
    fleet in that order matters. So these ranks are drawn, and no shot is played. Afterwards only the
    counts of the winner are valid (solo: of the player).
    """
    if is_terminal(state):
        return 0
    plies = 0
    if state[DEALT] == 0:
        while not is_terminal(state):
            play(state, random_move(state, moves, stream))
            plies += 1
        return plies
    if state[PENDING] != 0:
        play(state, true_answer(state))
        plies = 1
        if is_terminal(state):
            return plies
    side = state[SHOOTER]
    own = _last_place(state, side, stream)
    num_shots = own
    winner = side
    if state[SIDES] == 2:
        other = _last_place(state, 1 - side, stream)
        num_shots = 2 * own - 1
        if other < own:
            num_shots, winner = 2 * other, 1 - side
    else:
        state[BLOCK + SHOTS] += own
    state[block_of(winner) + HITS] = state[TOTAL]
    return int(plies + 2 * num_shots)


@njit
def _last_place(state: State, side: int, stream: Stream) -> int:
    """The rank, from 1, of the last cell of the fleet in a random order of the side's untried cells."""
    block = block_of(side)
    left = state[TOTAL] - state[block + HITS]
    place = int(state[AREA] - state[block + SHOTS])
    while below(stream, place) >= left:
        place -= 1
    return place
