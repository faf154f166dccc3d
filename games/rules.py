"""The rules of a game as kernels call them: compiled functions over a small array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

State = npt.NDArray[Any]
Moves = npt.NDArray[np.uint16]

FIRST, SECOND = 0, 1
"""The players. Returns and tree values are always the first player's."""


class Rules(NamedTuple):
    """What kernels call. All functions are ``@njit``, or all are plain Python (then kernels run uncompiled).

    A state is a 1-D array of the game's own dtype and fixed length that holds all there is
    to know. A move is a whole number in [0, 65535). Nothing is allocated in these functions.
    """

    current_player: Callable[[State], int]
    """Who moves: FIRST or SECOND. A player may act twice in a row."""
    legal_moves: Callable[[State, Moves], int]
    """Write the legal moves into ``moves`` (uint16, at least Game.max_moves long) and return how
    many; none twice; at least one unless the state is terminal. The state is not changed."""
    play: Callable[[State, int], None]
    """Play a legal move; the state is modified in place."""
    is_terminal: Callable[[State], bool]
    """Whether the game is over."""
    returns: Callable[[State], float]
    """The first player's return of a finished game, in [-1, 1]; the second player's is its negative."""
    playout: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for speed: (state, moves scratch, random stream) -> plies played. Plays uniformly
    random legal moves to the end of the game, state and stream modified in place. Afterwards only
    is_terminal and returns need hold of the state. Without it kernels use random_move and play."""
    random_move: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for games that can draw a move without listing all: (state, moves scratch, random
    stream) -> a uniformly random legal move. The state is as before when it returns."""
    evaluate: Callable[[State], float] | None = None
    """Optional: what an unfinished position is worth to the first player, in [-1, 1], for playouts
    that are cut short. Without it such a playout counts 0."""
    priority: Callable[[State, int], float] | None = None
    """Optional: how good a legal move looks to whoever makes it, before any search; higher is better, and
    only comparisons within one position count. The state is as before when it returns. For the order
    of moves, candidates, and greedy play. Without it all moves look alike."""
    greedy_move: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for speed: (state, moves scratch, random stream) -> one of the legal moves with the
    highest priority, each as likely. The state is as before when it returns."""
    determinize: Callable[[State, State, npt.NDArray[np.uint64]], None] | None = None
    """Games with hidden information: (view, state, random stream). Write into ``state`` a whole
    position drawn from all that fit the ``view``, an array that Game.observation made (of whatever
    length). In a whole position legal_moves lists what is legal there; so a player's moves,
    but also what the rules answer, may differ from one draw to the next."""
    pack: Callable[[State], np.uint64] | None = None
    """Optional, for games small enough to be solved (games/solving.py): the position as one number.
    Two positions have the same one if and only if they are alike but for the past: turns that
    were counted and positions that must not repeat are left out."""
    unpack: Callable[[np.uint64, State], None] | None = None
    """Optional, with ``pack``: (number, state). Write the position that has this number, as it is if
    nothing came before it, into ``state``, which holds some position of the same game."""


class Evaluator(NamedTuple):
    """One of a game's ways to say what a position is worth; see `Game.evaluators`."""

    rule: Callable[[State], float]
    """As `Rules.evaluate`."""
    finished: bool = False
    """Whether it has a value of its own for finished games, which is then taken instead of their return."""


class HasRules(Protocol):
    """A name and rules: all that it takes to make kernels of a game."""

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> Rules: ...
