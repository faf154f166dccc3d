"""Exhaustive solving: the value of every position that can be reached, by retrograde analysis.

Works for any game whose rules have `pack` and `unpack`. A position is identified by its packed number,
without the moves that led to it. So play may run in cycles, and play that never ends counts as a
draw. A rule that declares repeated positions drawn gives the same values: a player who can win never has
to repeat a position, and a player who can hold a draw holds it until a position is repeated.

While solving, positions are indexed in the order of discovery; the code calls this index a place. Memory: 13
bytes for each position of the solution; while solving 35 to 50 bytes more, and 8 for each move of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import current_player, is_terminal, legal_moves, pack, play, returns, unpack
from games.compile.specialise import cached_njit, specialise
from games.errors import InvalidInput
from games.game import FIRST, Game, Judge
from games.jit import njit
from games.rng import mix
from games.rules import Moves, State

Keys = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint32]
"""An array of places: indices of positions in the order of discovery."""

BLOCK = 1 << 20
"""Approximate number of successors that are listed in one step."""
_OPEN = 2
"""Marks a position whose value is not known (yet)."""
_ONE = np.uint64(1)


@dataclass(eq=False)
class Solution(Judge):
    """The values of all positions that can be reached from ``start``; made by `solve`."""

    game: Game
    start: State
    keys: Keys
    """uint64[P]: the packed positions in ascending order."""
    values: npt.NDArray[np.int8]
    """int8[P]: the first player's value of each: 1, 0 or -1."""
    plies: npt.NDArray[np.int32] | None = None
    """int32[P]: plies to the end of each; None where only values are known."""
    num_finished: int = 0

    @property
    def num_positions(self) -> int:
        """The number of positions, those of finished games included."""
        return len(self.keys)

    def count(self, value: int) -> int:
        """The number of positions, finished or not, with this value for the first player (1, 0 or -1)."""
        return int(np.count_nonzero(self.values == value))

    @cached_property
    def number_of(self) -> Callable[[State], np.uint64]:
        """The packed number of a position."""
        pack = self.game.calls.pack
        assert pack is not None
        return pack

    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1.

        Raises InvalidInput (field ``position``) for a position that cannot be reached from the start.
        """
        return int(self.values[self._place_of(state)])

    def plies_of(self, state: State) -> int | None:
        """Plies to the end if the winner plays for a short game, the loser for a long one; None: a draw."""
        place = self._place_of(state)
        return None if self.plies is None or self.values[place] == 0 else int(self.plies[place])

    def best_moves(self, state: State) -> list[int]:
        """The optimal moves (those that keep the value of the position), in ascending order."""
        value = self.value_of(state)
        return [outcome.move for outcome in self.outcomes(state) if outcome.value == value]

    def _place_of(self, state: State) -> int:
        key = np.uint64(self.number_of(state))
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            text = self.game.format_position(state)
            start = self.game.format_position(self.start)
            raise InvalidInput("position", text, f"a position that can be reached from {start}")
        return place


def solve(
    game: Game,
    start: State,
    max_positions: int = 100_000_000,
    report: Callable[[int, int], None] | None = None,
) -> Solution:
    """Compute the value of every position that can be reached from ``start``. Of a return its sign counts.

    ``report(expanded, found)`` is called from time to time with two numbers: positions whose moves have
    been listed, and positions found.
    Raises InvalidInput for a game with chance, with rewards, with another number of players than two, or
    without ``pack`` and ``unpack`` (field ``game``), and when there are more positions than
    ``max_positions`` (field ``max_positions``).
    """
    if not game.is_two_player or game.has_chance:
        raise InvalidInput("game", game.spec, "a game of two players without rewards and without chance")
    if game.rules.pack is None or game.rules.unpack is None:
        raise InvalidInput("game", game.spec, "a game whose rules have pack and unpack")
    index = _Index(game)
    values, movers, num_moves, blocks = _explore(game, start, index, max_positions, report)
    offsets = np.zeros(index.num_keys + 1, dtype=np.int64)
    for edges in blocks:
        count_sources(edges, offsets)
    np.cumsum(offsets, out=offsets)
    sources = np.empty(offsets[-1], dtype=np.uint32)
    # From the last block to the first; each is released once its edges have been reversed.
    last = index.num_keys
    while blocks:
        last = fill_sources(blocks.pop(), num_moves, last, offsets, sources)
    num_finished = int(np.count_nonzero(num_moves == 0))
    plies = np.zeros(index.num_keys, dtype=np.int32)
    propagate(values, movers, num_moves, plies, offsets, sources)
    values[values == _OPEN] = 0
    keys = index.keys[: index.num_keys]
    order = np.argsort(keys)
    return Solution(game, start.copy(), keys[order], values[order], plies[order], num_finished)


class _Index:
    """The packed positions in the order of discovery, and a hash table from packed position to place."""

    def __init__(self, game: Game) -> None:
        kernels = specialise([list_successors], game)
        self.list_successors = cast(Callable[..., int], kernels["list_successors"])
        self.num_keys = 0
        self.keys = np.zeros(1 << 10, dtype=np.uint64)
        self.table = np.zeros(1 << 11, dtype=np.uint32)

    def add(self, new: Keys, places: Places) -> None:
        """Write the place of each packed position into ``places``; new positions get the next free places."""
        size = len(self.keys)
        while self.num_keys + len(new) > size:
            size *= 2
        if size > len(self.keys):
            keys = np.zeros(size, dtype=np.uint64)
            keys[: self.num_keys] = self.keys[: self.num_keys]
            self.keys, self.table = keys, np.zeros(2 * size, dtype=np.uint32)
            fill_table(self.keys, self.num_keys, self.table)
        self.num_keys = add_keys(new, places, self.keys, self.num_keys, self.table)


def _explore(
    game: Game,
    start: State,
    index: _Index,
    max_positions: int,
    report: Callable[[int, int], None] | None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.uint8], npt.NDArray[np.uint16], list[Places]]:
    """List all positions breadth first from ``start``, a block of positions at a time, until none is new.

    Returns what `list_successors` says of each of the P positions (values, movers, numbers of moves), and
    uint32[E], split into blocks: the place that each move leads to, in the order of the positions. All moves
    of a position are in one block.
    """
    size = max(1, BLOCK // game.max_moves)
    successors = np.empty(size * game.max_moves, dtype=np.uint64)
    places = np.empty(size * game.max_moves, dtype=np.uint32)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    state, child = start.copy(), start.copy()
    blocks, edges = [], []
    assert game.calls.pack is not None
    index.add(np.array([game.calls.pack(start)], dtype=np.uint64), places[:1])
    done = 0
    while done < index.num_keys:
        if index.num_keys > max_positions:
            raise InvalidInput("max_positions", max_positions, "the number of reachable positions or more")
        keys = index.keys[done : min(done + size, index.num_keys)]
        values = np.empty(len(keys), dtype=np.int8)
        movers = np.empty(len(keys), dtype=np.uint8)
        num_moves = np.empty(len(keys), dtype=np.uint16)
        total = index.list_successors(keys, state, child, moves, successors, values, movers, num_moves)
        index.add(successors[:total], places[:total])
        blocks.append((values, movers, num_moves))
        edges.append(places[:total].copy())
        done += len(keys)
        if report is not None:
            report(done, index.num_keys)
    all_values, all_movers, all_num_moves = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    return all_values, all_movers, all_num_moves, edges


def list_successors(
    keys: Keys,
    state: State,
    child: State,
    moves: Moves,
    successors: Keys,
    values: npt.NDArray[np.int8],
    movers: npt.NDArray[np.uint8],
    num_moves: npt.NDArray[np.uint16],
) -> int:
    """Generic: write the packed successors of each position of ``keys``, in order; returns their number.

    Also fills for each position ``values`` (the sign of the first player's return if the game is over,
    otherwise _OPEN), ``movers`` and ``num_moves`` (how many are legal, 0 if the game is over).
    ``state``, ``child`` (positions of the game) and ``moves`` are scratch.
    """
    total = 0
    for i in range(len(keys)):
        unpack(keys[i], state)
        movers[i] = FIRST
        num_moves[i] = 0
        if is_terminal(state):
            result = returns(state)
            values[i] = 1 if result > 0.0 else -1 if result < 0.0 else 0
            continue
        values[i] = _OPEN
        movers[i] = current_player(state)
        count = legal_moves(state, moves)
        num_moves[i] = count
        for m in range(count):
            for k in range(len(state)):
                child[k] = state[k]
            play(child, np.int64(moves[m]))
            successors[total] = pack(child)
            total += 1
    return total


@njit
def _slot_of(keys: Keys, table: Places, key: np.uint64) -> np.uint64:
    """The slot of the table where the key is or belongs (linear probing). A slot holds place + 1, or 0."""
    mask = np.uint64(len(table) - 1)
    slot = mix(key) & mask
    while table[slot] != 0 and keys[table[slot] - np.uint32(1)] != key:
        slot = (slot + _ONE) & mask
    return slot


@cached_njit
def fill_table(keys: Keys, num_keys: int, table: Places) -> None:
    """Insert the first ``num_keys`` keys, all different, into an empty ``table``, modified in place."""
    for i in range(num_keys):
        table[_slot_of(keys, table, keys[i])] = i + 1


@cached_njit
def add_keys(new: Keys, places: Places, keys: Keys, num_keys: int, table: Places) -> int:
    """Write the place of each key of ``new`` into ``places``; returns the number of known keys afterwards.

    ``keys`` (with free space at its end) and ``table`` (at least twice as long, a power of two) are
    modified in place: unknown keys are appended and inserted.
    """
    for i in range(len(new)):
        slot = _slot_of(keys, table, new[i])
        if table[slot] == 0:
            keys[num_keys] = new[i]
            num_keys += 1
            table[slot] = num_keys
        places[i] = table[slot] - np.uint32(1)
    return num_keys


@cached_njit
def count_sources(edges: Places, offsets: npt.NDArray[np.int64]) -> None:
    """Add to ``offsets``, modified in place, the number of edges that lead to each place."""
    for i in range(len(edges)):
        offsets[edges[i]] += 1


@cached_njit
def fill_sources(
    edges: Places,
    num_moves: npt.NDArray[np.uint16],
    end: int,
    offsets: npt.NDArray[np.int64],
    sources: Places,
) -> int:
    """Reverse one block of edges, whose positions end before place ``end``; returns the block's first place.

    ``offsets`` holds for each place the end of its section of ``sources``, and after all blocks its
    beginning; both arrays are modified in place.
    """
    i = len(edges)
    while i > 0 or (end > 0 and num_moves[end - 1] == 0):
        end -= 1
        for _ in range(num_moves[end]):
            i -= 1
            offsets[edges[i]] -= 1
            sources[offsets[edges[i]]] = end
    return end


@cached_njit
def propagate(
    values: npt.NDArray[np.int8],
    movers: npt.NDArray[np.uint8],
    num_moves: npt.NDArray[np.uint16],
    plies: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    sources: Places,
) -> None:
    """Retrograde analysis: propagate wins and losses from finished positions to their predecessors.

    The predecessors of place p are sources[offsets[p] : offsets[p + 1]]. A position is won if one move
    leads to a position won for the player to move; it is lost if all moves lose: ``num_moves`` is counted
    down to find that. Positions are processed in order of their plies to the end. Modified in place:
    ``values``, ``plies`` (0 at first) and ``num_moves``.
    """
    queue = np.empty(len(values), dtype=np.uint32)
    tail = 0
    for place in range(len(values)):
        if values[place] == 1 or values[place] == -1:
            queue[tail] = place
            tail += 1
    head = 0
    while head < tail:
        place = int(queue[head])
        head += 1
        for i in range(offsets[place], offsets[place + 1]):
            source = sources[i]
            if values[source] != _OPEN:
                continue
            if values[place] != 1 - 2 * np.int64(movers[source]):
                num_moves[source] -= 1
                if num_moves[source] != 0:
                    continue
            values[source] = values[place]
            plies[source] = plies[place] + 1
            queue[tail] = source
            tail += 1
