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

The priority of a shot is the weighted number of placements of single ships that cover the cell. A placement
counts if its ship is not announced as sunk and it covers no miss and no cell of a sunk ship. Its weight is
HIT_WEIGHT to the number of hits that it covers. Whether ships touch or cross each other is ignored. Which
hits belong to a sunk ship is read from the position; in a simulation, from the fleets drawn.
"""

from __future__ import annotations

import math

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

HIT_WEIGHT = 100.0
REACH = 5
"""How many cells a ship can extend on either side of one of its cells: the longest ship has six."""

WEIGHTS = np.array([HIT_WEIGHT ** bin(mask).count("1") for mask in range(1 << (2 * REACH + 1))])
"""float64[2048]: by mask of hits, HIT_WEIGHT to the number of its bits."""

MISSES_A_FIND = 0.3
"""Mean number of misses between the first and the last hit on a ship."""
LONGEST = 6
"""Cells of the longest ship that a fleet may have."""
COUNT_BITS = 9
"""Bits for a number of placements, which is at most two for each of 144 cells."""
COUNT = (1 << COUNT_BITS) - 1
LINE_BITS = 12
LINE = (1 << LINE_BITS) - 1
"""Mask of all cells of a row."""
_ALIKE = sum(1 << (LINE_BITS * k) for k in range(LONGEST - 1))
_KEPT = (1 << (LINE_BITS * (LONGEST - 2))) - 1
_ONES = np.array([bin(mask).count("1") for mask in range(LINE + 1)], dtype=np.int64)

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


@njit
def priority(state: State, move: int) -> float:
    """The density of the shot's cell, a whole number; 0.0 for every answer."""
    if state[PENDING] != 0:
        return 0.0
    row, column = move // state[SIZE], move % state[SIZE]
    return _along(state, move, 1, column) + _along(state, move, int(state[SIZE]), row)


@njit
def _along(state: State, cell: int, step: int, place: int) -> float:
    """The weight of the placements that cover the cell in one line; ``place`` is its index in the line."""
    block, cells = block_of(state[SHOOTER]), CELLS + state[SHOOTER] * state[AREA]
    # Bit REACH is the cell itself.
    low, high = REACH, REACH
    hits = 0
    while low > 0 and REACH - low < place:
        status = _status(state, block, cells, cell - (REACH - low + 1) * step)
        if status == MISSED:
            break
        low -= 1
        hits |= (status == HIT_FIRST) << low
    while high < 2 * REACH and high - REACH < state[SIZE] - 1 - place:
        status = _status(state, block, cells, cell + (high - REACH + 1) * step)
        if status == MISSED:
            break
        high += 1
        hits |= (status == HIT_FIRST) << high
    total = 0.0
    for ship in range(state[NUM_SHIPS]):
        if (state[block + SUNK_SET] >> ship) & 1 == 0:
            length = state[LENGTHS + ship]
            for start in range(max(low, REACH - length + 1), min(REACH, high - length + 1) + 1):
                total += WEIGHTS[hits & (((1 << length) - 1) << start)]
    return total


@njit
def _status(state: State, block: int, cells: int, cell: int) -> int:
    """0 for an untried cell, HIT_FIRST for a hit on a ship afloat, MISSED where no ship afloat can be."""
    value = state[cells + cell]
    status = value & 15
    if status < HIT_FIRST:
        return int(status)
    if state[ANNOUNCE] != 0 and state[block + NUM_SUNK] > 0 and _is_sunk(state, block, value >> 4, cell):
        return MISSED
    return HIT_FIRST


@njit
def _is_sunk(state: State, block: int, ship: int, cell: int) -> bool:
    """Whether a hit belongs to a sunk ship. While the fleets are not dealt, only the hits that sank a ship
    are known to, or all hits if the sunk ships account for every hit."""
    if state[DEALT] != 0:
        return bool((state[block + SUNK_SET] >> (ship - 1)) & 1 != 0)
    left = state[block + HITS]
    found = False
    for number in range(state[block + NUM_SUNK]):
        left -= state[LENGTHS + state[block + SUNK_SHIP + number]]
        found |= state[block + SUNK_CELL + number] == cell
    return bool(found or left == 0)


@njit
def evaluate(state: State) -> float:
    """The estimated return for the first player, in [-1, 1], between skilled shooters.

    Solo: the return after `shots_to_come` more shots. Race: the difference of both players'
    `shots_to_come` divided by their sum, positive if the second player needs more.
    """
    own = shots_to_come(state, 0)
    if state[SIDES] == 2:
        other = shots_to_come(state, 1)
        return (other - own) / (other + own)
    pending = 1.0 if state[PENDING] != 0 else 0.0
    return worth(state, float(state[BLOCK + SHOTS]) - pending + own)


@njit
def shots_to_come(state: State, side: int) -> float:
    """Estimate of the shots until ``side`` has sunk all ships, including a shot that awaits its answer.

    The sum of the hits that are left, MISSES_A_FIND misses for every ship that is hit and not sunk, and the
    misses until the last of the other ships is found. The model: these ships are found independently, each
    after a number of misses that is uniform on [0, sqrt(untried cells * lines / 2) / length], where
    lines is the number of the ship's placements on untried cells only (nearly two per cell on an empty
    board). Measured on all positions of 4,000 games of a shooter by density, the mean error is 0.2 shots.
    """
    block = block_of(side)
    room = lines_of(state, CELLS + side * state[AREA])
    untried = float(room & COUNT)
    found = 0
    # The maximum of k independent times has mean (integral of 1 - the product of their distribution
    # functions). Shorter ships take longer, so the integral has a piece for each length.
    longest, before, share = 0.0, 0.0, 0.0
    hidden, product = 0, 1.0
    for length in range(1, LONGEST + 1):
        alike = 0
        for ship in range(state[NUM_SHIPS]):
            if state[LENGTHS + ship] == length:
                left = state[block + LEFT + ship]
                alike += left == length
                found += 0 < left < length
        if alike == 0:
            continue
        lines = float((room >> (COUNT_BITS * (length - 1))) & COUNT)
        if length == 1:
            lines *= 2.0
        search = math.sqrt(0.5 * untried * lines) / float(length)
        if hidden == 0:
            longest = search
        else:
            share += _piece(before, search, product, hidden)
        for _ in range(alike):
            product *= search
        hidden += alike
        before = search
    if hidden > 0:
        share += _piece(before, 0.0, product, hidden)
    misses = longest - share + MISSES_A_FIND * float(found)
    return min(untried, float(state[TOTAL] - state[block + HITS]) + misses)


@njit
def _piece(high: float, low: float, product: float, number: int) -> float:
    """The integral of x ** number / product from low to high."""
    power_high, power_low = high, low
    for _ in range(number):
        power_high *= high
        power_low *= low
    if product == 0.0:
        return 0.0
    return (power_high - power_low) / (product * float(number + 1))


@njit
def lines_of(state: State, cells: int) -> int:
    """The number of placements on untried cells only for each ship length, packed with COUNT_BITS bits each.

    Length 1 is in the lowest bits and counts each cell once. ``cells`` is the index of the side's first
    cell in the state.
    """
    size = state[SIZE]
    total = 0
    # For each length: the columns where a vertical placement shorter by one cell ends in the row above.
    above = 0
    for row in range(size):
        line = 0
        first = cells + row * size
        for column in range(size):
            line |= ((state[first + column] & 15) == 0) << column
        down = above & (line * _ALIKE)
        above = line | ((down & _KEPT) << LINE_BITS)
        total += _ONES[line]
        across = line
        shift = 0
        for length in range(2, LONGEST + 1):
            across &= line >> (length - 1)
            number = _ONES[across] + _ONES[(down >> shift) & LINE]
            shift += LINE_BITS
            total += number << (COUNT_BITS * (length - 1))
    return total
