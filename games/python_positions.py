"""From a state of a game in plain Python to its position object: a cache of recently used positions.

A state holds the moves played so far; `games.python_game.PythonGame` says where. A position that is not in
the cache is built again from the nearest predecessor that is.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from games.errors import InvalidInput
from games.rules import State

CACHED_POSITIONS = 4096
"""Size of the cache of position objects of a game."""
REAL, SEED, EPISODE, SEEDED_HEAD = 1, 2, 4, 5
"""Places in the state of a seeded game, and where its moves begin."""
SIMULATED = "~"
"""Stands in a text before the seed of a simulation."""


class PositionCache:
    """The position objects of a game's states. Several searches may use them in threads of one process."""

    def __init__(self, game: Any) -> None:
        """``game``: a `games.python_game.PythonGame`."""
        self.head = SEEDED_HEAD if game.seeded else 1
        """Where the moves of a state begin."""
        self._new_position: Callable[..., Any] = game.new_position
        self._seeded: bool = game.seeded
        self._open_loop: bool = game.open_loop
        self._closed_loop: bool = game.closed_loop
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._last = _Last()

    def of(self, state: State) -> Any:
        """The position object of a state, from the cache if possible; it must not be changed."""
        key = state[1 : self.head + state[0]].tobytes()
        last = self._last
        if key == last.key:
            return last.position
        if self.is_simulated(state):
            return self._open_position(state, key)
        position = self._closed_position(state)
        last.key, last.position = key, position
        return position

    def own(self, state: State, position: Any) -> Any:
        """An object that may be changed, for ``position``, the position object of the state: a copy of it, or
        in a simulation of an open loop itself, since nobody comes back to it."""
        if self.is_simulated(state):
            self._last.clear()
            return position
        return copy_of(position)

    def keep(self, state: State, position: Any) -> None:
        """Keep ``position`` in the cache as the position object of the state."""
        self._kept[self._key(state)] = position
        if len(self._kept) > CACHED_POSITIONS:
            self._kept.popitem(last=False)

    def keep_as_last(self, state: State, position: Any) -> None:
        """Keep ``position`` as that of the state until another one is asked for in this thread."""
        self._last.key, self._last.position = state[1 : self.head + state[0]].tobytes(), position

    def forget_last(self) -> None:
        """Forget the position that was asked for last in this thread, so that the cache is asked anew."""
        self._last.clear()

    def moves_of(self, state: State) -> State:
        """int32[moves played]: the moves of a state, and what was seen between them; a view."""
        return state[self.head : self.head + state[0]]

    def is_to_see(self, state: State) -> bool:
        """Whether the last move was played and what came of it is not seen yet."""
        return self._closed_loop and state[0] % 2 == 1

    def is_simulated(self, state: State) -> bool:
        """Whether the state is one of a simulation of an open loop, with a seed of its own."""
        return self._open_loop and bool(state[SEED] or state[SEED + 1])

    def _actions_of(self, state: State) -> State:
        """The moves that are played in the position object."""
        return self.moves_of(state)[:: 2 if self._closed_loop else 1]

    def _key(self, state: State) -> bytes:
        """Tells positions apart: the episode and the moves."""
        moves = self._actions_of(state).tobytes()
        return state[EPISODE : EPISODE + 1].tobytes() + moves if self._seeded else moves

    def _closed_position(self, state: State) -> Any:
        """The position of a state from the cache, or from its nearest predecessor there."""
        key = self._key(state)
        found = self._kept.get(key)
        if found is not None:
            # Several searches may run in one process, and one drop what another has just found.
            with suppress(KeyError):
                self._kept.move_to_end(key)
            return found
        known, nearest = 0, None
        walk = state.copy()
        for length in range(int(state[0]) - 1, -1, -1):
            walk[0] = length
            nearest = self._kept.get(self._key(walk))
            if nearest is not None:
                known = len(self._actions_of(walk))
                break
        made = self._start(state) if nearest is None else copy_of(nearest)
        for move in self._actions_of(state)[known:]:
            made.play(int(move))
        self.keep(state, made)
        return made

    def _start(self, state: State) -> Any:
        return self._new_position(int(state[EPISODE])) if self._seeded else self._new_position()

    def _open_position(self, state: State, key: bytes) -> Any:
        """The position of a simulation: the real one, reseeded, and the moves since.

        The last one is played on: simulations hardly ever come back to an earlier position.
        """
        last, moves, played = self._last, self.moves_of(state), int(state[REAL])
        held, position = last.key, last.position
        reached = (len(held) - (self.head - 1) * state.itemsize) // state.itemsize
        # Not valid until all moves are played: one of them may raise.
        last.clear()
        if key.startswith(held) and reached >= played:
            played = reached
        else:
            before = state.copy()
            before[0], before[SEED : SEED + 2] = played, 0
            position = copy_of(self._closed_position(before))
            position.reseed(seed_of(state))
        for place in range(played, len(moves)):
            if not self._closed_loop or place % 2 == 0:
                position.play(int(moves[place]))
        last.key, last.position = key, position
        return position


class _Last(threading.local):
    """The position that was asked for last in this thread: several searches may run in one process.

    Kernels ask several rules for the same position, and for the result of a playout.
    """

    key = b"none"
    """The state without its first number and without the places of moves to come."""
    position: Any = None

    def clear(self) -> None:
        """Forget it. No key of a state begins with such a text."""
        self.key, self.position = b"none", None


def seed_of(state: State) -> int:
    """The seed of a simulation; 0 in a position of the episode itself."""
    return int(state[SEED]) << 31 | int(state[SEED + 1])


def set_seed(state: State, text: str) -> None:
    """Begin a simulation with the seed that the text gives; raises InvalidInput."""
    digits = text.removeprefix(SIMULATED)
    seed = int(digits) if digits.isascii() and digits.isdecimal() else 0
    if not seed % 2**31 or seed >= 2**62:
        raise InvalidInput("moves", text, f"{SIMULATED} and the seed of a simulation")
    state[SEED], state[SEED + 1] = divmod(seed, 2**31)


def copy_of(position: Any) -> Any:
    """A copy of a position object, by its method ``copy()`` if it has one, else by copy.deepcopy."""
    own = getattr(position, "copy", None)
    return own() if own else copy.deepcopy(position)
