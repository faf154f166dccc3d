"""Exhaustive solving: the value of every position that can be reached, by retrograde analysis.

Works for any game whose rules have `pack` and `unpack`. Positions are known by their numbers and
taken as if nothing came before them. So play may go round in circles; play that never ends counts as a
draw. That is also what a rule makes of it that calls repeated positions drawn: who can win never needs a
position twice, and who can hold a draw holds it until one comes again.

Positions get their places in order of discovery. Each takes 16 to 32 bytes of memory in the index, about 20
more while it is solved, of which 5 are kept, and each move of each position 8 bytes while they are solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import FIRST, Game
from games.jit import njit
from games.rng import mix
from games.rules import Moves, State
from games.specialise import cached_njit, specialise
from games.unbound import current_player, is_terminal, legal_moves, pack, play, returns, unpack

Keys = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint32]
"""Places in the order of discovery."""

BLOCK = 1 << 20
"""About how many successors are listed at a time."""
_OPEN = 2
"""Stands for the value of a position that is not known (yet)."""
_ONE = np.uint64(1)


@dataclass(frozen=True)
class Outcome:
    """What a move leads to under best play."""

    move: int
    value: int
    """The first player's: 1 he wins, 0 draw, -1 the second player wins."""
    plies: int | None
    """From after the move to the end, if the winner hurries and the loser delays; None: a draw."""


class Solution:
    """The values of all positions that can be reached from ``start``; made by `solve`."""

    def __init__(
        self,
        game: Game,
        start: State,
        index: _Index,
        num_finished: int,
        values: npt.NDArray[np.int8],
        plies: npt.NDArray[np.int32],
    ) -> None:
        self.game = game
        self.start = start
        self.num_positions = index.num_keys
        self.num_finished = num_finished
        self._index = index
        self._values = values
        self._plies = plies

    def count(self, value: int) -> int:
        """How many positions, finished or not, have this value (the first player's: 1, 0 or -1)."""
        return int(np.count_nonzero(self._values == value))

    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1.

        Raises InvalidInput (field ``position``) for a position that was not reached.
        """
        return int(self._values[self.place_of(state)])

    def plies_of(self, state: State) -> int | None:
        """The plies to the end if the winner hurries and the loser delays; None in a draw."""
        place = self.place_of(state)
        return None if self._values[place] == 0 else int(self._plies[place])

    def place_of(self, state: State) -> int:
        """The position's place in the order of discovery, from 0: another name for it.

        Raises InvalidInput (field ``position``) for a position that was not reached.
        """
        place = self._index.find(state)
        if place is None:
            text = self.game.format_position(state)
            start = self.game.format_position(self.start)
            raise InvalidInput("position", text, f"a position that can be reached from {start}")
        return place

    def outcomes(self, state: State) -> list[Outcome]:
        """What each legal move leads to, in ascending order of moves; none if the game is over."""
        outcomes = []
        for move in self.game.legal_moves(state):
            child = state.copy()
            self.game.calls.play(child, move)
            outcomes.append(Outcome(move, self.value_of(child), self.plies_of(child)))
        return outcomes

    def best_moves(self, state: State) -> list[int]:
        """The moves that keep the value of the position, in ascending order."""
        value = self.value_of(state)
        return [outcome.move for outcome in self.outcomes(state) if outcome.value == value]

    def states(self) -> Iterator[State]:
        """All positions in order of discovery, each in a new array, as if nothing came before it."""
        for key in self._index.keys[: self.num_positions]:
            state = self.start.copy()
            self._index.write_position(key, state)
            yield state


def solve(
    game: Game,
    start: State,
    max_positions: int = 100_000_000,
    report: Callable[[int, int], None] | None = None,
) -> Solution:
    """Value every position that can be reached from ``start``; a return counts by its sign.

    ``report`` is called now and then with the positions whose moves are known and those that are found.
    Raises InvalidInput for a game without ``pack`` and ``unpack`` (field ``game``), and when there
    are more positions than ``max_positions`` (field ``max_positions``).
    """
    if game.rules.pack is None or game.rules.unpack is None:
        raise InvalidInput("game", game.spec, "a game whose positions can be packed into numbers")
    index = _Index(game)
    graph = _explore(game, start, index, max_positions, report)
    offsets = np.zeros(index.num_keys + 1, dtype=np.int64)
    for edges in graph.edges:
        count_sources(edges, offsets)
    np.cumsum(offsets, out=offsets)
    sources = np.empty(offsets[-1], dtype=np.uint32)
    # From the last block to the first, each forgotten once its edges are turned round.
    last = index.num_keys
    while graph.edges:
        edges = graph.edges.pop()
        last = fill_sources(edges, graph.num_moves, last, offsets, sources)
    num_finished = int(np.count_nonzero(graph.num_moves == 0))
    plies = np.zeros(index.num_keys, dtype=np.int32)
    propagate(graph.values, graph.movers, graph.num_moves, plies, offsets, sources)
    graph.values[graph.values == _OPEN] = 0
    return Solution(game, start.copy(), index, num_finished, graph.values, plies)


@dataclass
class _Graph:
    """All positions and their moves; P positions, E moves in all."""

    values: npt.NDArray[np.int8]
    """[P] the sign of the first player's return if the game is over, otherwise _OPEN."""
    movers: npt.NDArray[np.uint8]
    """[P] who moves."""
    num_moves: npt.NDArray[np.uint16]
    """[P] 0 if the game is over."""
    edges: list[Places]
    """[E] in blocks: where the moves lead, in order of the positions, whole positions in each block."""


class _Index:
    """The numbers of positions in order of discovery, and a hash table to find them by."""

    def __init__(self, game: Game) -> None:
        kernels = specialise([number_of, write_position, list_successors], game)
        self.number_of = cast(Callable[[State], int], kernels["number_of"])
        self.write_position = cast(Callable[[np.uint64, State], None], kernels["write_position"])
        self.list_successors = cast(Callable[..., int], kernels["list_successors"])
        self.num_keys = 0
        self.keys = np.zeros(1 << 10, dtype=np.uint64)
        self.table = np.zeros(1 << 11, dtype=np.uint32)

    def find(self, state: State) -> int | None:
        """The position's place, or None."""
        place = look_up(self.keys, self.table, np.uint64(self.number_of(state)))
        return None if place < 0 else int(place)

    def add(self, new: Keys, places: Places) -> None:
        """Write the place of each number into ``places``; numbers not seen before get the next ones."""
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
) -> _Graph:
    """Breadth first from ``start``: a block of positions at a time, until none brings a new one."""
    size = max(1, BLOCK // game.max_moves)
    successors = np.empty(size * game.max_moves, dtype=np.uint64)
    places = np.empty(size * game.max_moves, dtype=np.uint32)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    state, child = start.copy(), start.copy()
    blocks, edges = [], []
    index.add(np.array([index.number_of(start)], dtype=np.uint64), places[:1])
    done = 0
    while done < index.num_keys:
        if index.num_keys > max_positions:
            raise InvalidInput("max_positions", max_positions, "as many as can be reached: there are more")
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
    return _Graph(all_values, all_movers, all_num_moves, edges)


def number_of(state: State) -> int:
    """Generic: the number of a position."""
    return pack(state)  # type: ignore[return-value]


def write_position(key: np.uint64, state: State) -> None:
    """Generic: the position with this number; ``state`` is modified in place."""
    unpack(key, state)


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
    """Generic: write what each move of each position leads to, one after the other; returns how many.

    ``values``, ``movers`` and ``num_moves`` get what `_Graph` says of them, for each of ``keys``.
    ``state`` and ``child`` hold positions of the game and are scratch, as is ``moves``.
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
    """Where in the table the key is, or would be: linear probing. An entry is a place + 1; 0 is empty."""
    mask = np.uint64(len(table) - 1)
    slot = mix(key) & mask
    while table[slot] != 0 and keys[table[slot] - np.uint32(1)] != key:
        slot = (slot + _ONE) & mask
    return slot


@cached_njit
def look_up(keys: Keys, table: Places, key: np.uint64) -> int:
    """The place of a key, or -1."""
    return np.int64(table[_slot_of(keys, table, key)]) - 1  # type: ignore[return-value]


@cached_njit
def fill_table(keys: Keys, num_keys: int, table: Places) -> None:
    """Enter the first ``num_keys`` keys, all different, into an empty table, modified in place."""
    for i in range(num_keys):
        table[_slot_of(keys, table, keys[i])] = i + 1


@cached_njit
def add_keys(new: Keys, places: Places, keys: Keys, num_keys: int, table: Places) -> int:
    """Write the place of each new key; returns how many keys there are then.

    ``keys`` (which has room) and ``table`` (twice as long, a power of two) are modified in place.
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
    """Count at each place the edges that lead there; ``offsets`` is modified in place."""
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
    """Turn the edges of the positions before place ``end`` round; returns the first of these positions.

    ``offsets`` holds for each place the end of its part of ``sources``, and finally its beginning;
    both are modified in place.
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
    """From the positions that are lost and won, back to all that they decide.

    The positions from which a move leads to place p are sources[offsets[p] : offsets[p + 1]].
    A player wins with one move to a position that he wins; he loses when all moves are lost, which
    ``num_moves`` is counted down for. Positions are taken in order of their plies to the end. Modified in
    place: ``values``, ``plies`` (0 at first) and ``num_moves``.
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
