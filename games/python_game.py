"""Games in plain Python: positions are arbitrary objects, and nothing is compiled.

For simulators that are slow in themselves: an emulator, a library, a game server. The author writes
a class of positions, and `PythonGame` adapts it to the game contract. The state array holds the moves
played so far, so it can be sent and hashed. The position objects stay in a cache of recently used
positions; a position that is not in the cache is built again from the nearest predecessor that is.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import numpy as np

from games.errors import InvalidInput
from games.game import GAME_OVER, Board, Cell, Game, Moves, Rules, State
from games.rng import Stream, below

CACHED_POSITIONS = 4096
"""Size of the cache of position objects of a game."""


class Position(Protocol):
    """The methods of a position object.

    ``copy()`` is optional and replaces copy.deepcopy; ``format_move(move)`` is optional and replaces the
    move's number. ``str(position)`` is the drawn position.
    """

    def current_player(self) -> int:
        """The player to move, 0 or 1; a player may move twice in a row."""

    def legal_moves(self) -> Sequence[int]:
        """The legal moves: distinct integers in [0, 65535), in a fixed order."""

    def play(self, move: int) -> None:
        """Play a legal move, which changes this object."""

    def is_terminal(self) -> bool:
        """Whether the game is over."""

    def returns(self) -> float:
        """The first player's return of a finished game, in [-1, 1]."""


class PythonGame(Game):
    """A game of position objects. A subclass defines `new_position`, ``max_moves`` and ``max_plies``.

    A state is int32[1 + max_plies]: the number of moves played, then the moves.
    """

    nominal_simulations_per_s = 200.0

    def __init__(self) -> None:
        self._positions: OrderedDict[bytes, Any] = OrderedDict()
        self.rules = Rules(
            self._current_player,
            self._legal_moves,
            self._play,
            self._is_terminal,
            self._returns,
            self._playout,
        )

    def new_position(self) -> Position:
        """A new object with the start position."""
        raise NotImplementedError(f"{type(self).__name__} has no new_position")

    def roll_out(self, position: Any, draw: Callable[[int], int]) -> Sequence[int]:
        """Play ``position`` to its end, in place, and return the moves. Default: uniformly random moves.

        Override this for a simulator that plays by itself. ``draw(n)`` gives an integer in [0, n) from the
        search's random stream. It must be the only source of randomness, so that results do not depend on
        the worker.
        """
        played = []
        while not position.is_terminal():
            legal = position.legal_moves()
            played.append(legal[draw(len(legal))])
            position.play(played[-1])
        return played

    def initial_state(self) -> State:
        """The state without any move."""
        return np.zeros(1 + self.max_plies, dtype=np.int32)

    def position(self, state: State) -> Any:
        """The position object of a state, from the cache if possible; it must not be changed."""
        moves = state[1 : 1 + state[0]]
        found = self._positions.get(moves.tobytes())
        if found is not None:
            # Several searches may run in one process, and one drop what another has just found.
            with suppress(KeyError):
                self._positions.move_to_end(moves.tobytes())
            return found
        heads = ((length, moves[:length].tobytes()) for length in range(len(moves) - 1, -1, -1))
        held = ((length, self._positions.get(head)) for length, head in heads)
        known, nearest = next((each for each in held if each[1] is not None), (0, None))
        made = self.new_position() if nearest is None else copy_of(nearest)
        for move in moves[known:]:
            made.play(int(move))
        return self._keep(state, made)

    def format_move(self, state: State, move: int) -> str:
        """The text of the position's ``format_move``, with ``_`` for spaces; without one, the number."""
        position = self.position(state)
        named = getattr(position, "format_move", None)
        return "_".join(str(named(move) if named else move).split())

    def format_position(self, state: State) -> str:
        """The moves played so far, divided by ``/``; ``start`` if there are none."""
        walk = self.initial_state()
        texts = []
        for move in state[1 : 1 + state[0]]:
            texts.append(self.format_move(walk, int(move)))
            self._play(walk, int(move))
        return "/".join(texts) or "start"

    def parse_position(self, text: str) -> State:
        """The state after these moves; raises InvalidInput (field ``position``) at an illegal move."""
        state = self.initial_state()
        for move in [] if text == "start" else text.split("/"):
            try:
                if self.calls.is_terminal(state):
                    raise InvalidInput("moves", move, GAME_OVER)
                self._play(state, self.parse_move(state, move))
            except InvalidInput as error:
                accepted = f"'start', or legal moves divided by '/' (at {move!r}: {error.accepted})"
                raise InvalidInput("position", text, accepted) from None
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The lines of ``str(position)``; if its class does not define it, the moves played so far."""
        position = self.position(state)
        kind: Any = type(position)
        own = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
        lines = (str(position) if own else self.format_position(state)).splitlines() or [""]
        width = max(len(line) for line in lines)
        return Board(
            [[Cell(sign) for sign in line.ljust(width)] for line in lines], [""] * len(lines), [""] * width
        )

    def _keep(self, state: State, position: Any) -> Any:
        self._positions[state[1 : 1 + state[0]].tobytes()] = position
        if len(self._positions) > CACHED_POSITIONS:
            self._positions.popitem(last=False)
        return position

    def _current_player(self, state: State) -> int:
        return int(self.position(state).current_player())

    def _legal_moves(self, state: State, moves: Moves) -> int:
        legal = self.position(state).legal_moves()
        moves[: len(legal)] = legal
        return len(legal)

    def _play(self, state: State, move: int) -> None:
        state[0] += 1
        state[state[0]] = move

    def _is_terminal(self, state: State) -> bool:
        return bool(self.position(state).is_terminal())

    def _returns(self, state: State) -> float:
        return float(self.position(state).returns())

    def _playout(self, state: State, moves: Moves, stream: Stream) -> int:
        """`Rules.playout`: calls `roll_out` with a copy of the position."""
        position = self.position(state)
        if position.is_terminal():
            return 0
        position = copy_of(position)
        played = self.roll_out(position, partial(below, stream))
        for move in played:
            self._play(state, move)
        self._keep(state, position)
        return len(played)


def copy_of(position: Any) -> Any:
    """A copy of a position object, by its method ``copy()`` if it has one, else by copy.deepcopy."""
    own = getattr(position, "copy", None)
    return own() if own else copy.deepcopy(position)
