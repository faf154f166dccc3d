"""The rules of a game for kernels: compiled functions over a small array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

State = npt.NDArray[Any]
Moves = npt.NDArray[np.uint16]

FIRST, SECOND = 0, 1
"""The players of a game of two. Its returns and tree values are always from the first player's viewpoint."""
CHANCE = -1
"""The answer of ``current_player`` where not a player moves but chance: see ``Rules.chance``."""
KEPT = 16_384
"""Length of the memory of `Rules.decisive_moves`."""
MAX_MOVES = 4_095
"""Upper bound of the number of legal moves of a position."""
MAX_MOVE_CODE = 65_534
"""The largest move code."""


class Rules(NamedTuple):
    """The functions that kernels call. Either all are ``@njit``, or all are plain Python; then kernels run
    uncompiled.

    A state is a 1-D array, of dtype and length fixed by the game, that describes a position completely. A
    move is an integer in [0, 65535). These functions must not allocate memory.
    """

    current_player: Callable[[State], int]
    """(state) -> the player to move, from 0 (FIRST, SECOND), or CHANCE. A player may move twice in a row."""
    legal_moves: Callable[[State, Moves], int]
    """(state, moves) -> number of legal moves, which are written into ``moves`` (uint16, at least
    Game.max_moves long). All are different, and there is at least one unless the state is terminal. The
    state is not changed."""
    play: Callable[[State, int], None]
    """(state, move): play a legal move; the state is modified in place."""
    is_terminal: Callable[[State], bool]
    """(state) -> whether the game is over."""
    returns: Callable[[State], float]
    """(state) -> the first player's return of a finished game, in [-1, 1]. The second player's return is its
    negative. With `Game.rewards`: the sum of the first player's rewards up to this position, finished or not,
    in any range; the reward of a move is the difference of two positions."""
    playout: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for speed: (state, moves, stream) -> plies played. Plays uniformly random legal moves to the
    end of the game. ``state`` and ``stream`` are modified in place, ``moves`` is scratch. Afterwards only
    is_terminal and returns must be valid for the state. Default: random_move and play are called."""
    random_move: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for games that can draw a move without listing all: (state, moves, stream) -> a uniformly
    random legal move. ``stream`` is modified in place, ``moves`` is scratch, and the state is unchanged
    afterwards. Default: a random element of legal_moves."""
    evaluate: Callable[[State], float] | None = None
    """Optional: (state) -> estimated value of an unfinished position for the first player, in [-1, 1]; with
    `Game.rewards` the rewards that are still to come, in any range. Used for playouts that reach their limit
    of plies. Default: 0."""
    priority: Callable[[State, int], float] | None = None
    """Optional: (state, move) -> heuristic score of a legal move for the player who makes it; higher is
    better, and only comparisons within one position matter. The state is unchanged afterwards. Used for
    the order of moves, for candidates, and for greedy play. Default: all moves are equal."""
    priorities: Callable[[State, npt.NDArray[np.float64]], None] | None = None
    """Optional, for speed, in games whose move codes are below Game.max_moves: (state, scores). Write the
    ``priority`` of each legal move into ``scores[move]``; other places may be written too."""
    greedy_move: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for speed: (state, moves, stream) -> a uniformly random move among the legal moves with the
    highest priority. ``stream`` is modified in place, ``moves`` is scratch, and the state is unchanged
    afterwards. Default: computed from legal_moves and priority."""
    determinize: Callable[[State, State, npt.NDArray[np.uint64]], None] | None = None
    """For games with hidden information: (view, state, stream). Write into ``state`` a complete position
    drawn at random from all positions that fit ``view``, an array made by Game.observation. legal_moves
    lists what is legal in that complete position, so legal moves and the rules' answers may differ
    between two draws."""
    pack: Callable[[State], np.uint64] | None = None
    """Optional, for games small enough to be solved (games/analysis/solving.py), and for playouts that learn:
    (state) -> the position as one number. Two positions have equal numbers if and only if they differ at
    most in their history, such as counts of turns or lists of earlier positions. For playouts that learn, a
    number of steps left may be rounded."""
    unpack: Callable[[np.uint64, State], None] | None = None
    """Optional, with ``pack``: (number, state). Write the position with this number and an empty history
    into ``state``, which must hold any valid position of the game."""
    chance: Callable[[State, Moves, npt.NDArray[np.uint64]], int] | None = None
    """For games in which chance moves: (state, moves, stream) -> an outcome, drawn with its probability from
    the legal moves of a position in which current_player is CHANCE. ``play`` plays it like a move. The tree
    has a node for each outcome. ``stream`` is modified in place, ``moves`` is scratch, the state is
    unchanged afterwards."""
    score: Callable[[State, int], float] | None = None
    """For games with three or more players: (state, player) -> that player's return, or sum of rewards, as
    ``returns`` gives it for the first, in any range. Default: returns, and its negative for SECOND."""
    rollout: Callable[[State, Moves, npt.NDArray[np.uint64], Moves], tuple[float, int]] | None = None
    """Optional, for problems of one player: (state, moves, stream, line) -> (return, plies). Plays to the end
    like ``playout``, writes the moves into ``line`` (uint16[max_plies]), and returns the sum of the rewards
    from here on, each discounted by its distance (`Game.discount`). Default: random_move and play are
    called."""
    cut_rollout: Callable[[State, Moves, npt.NDArray[np.uint64], Moves, int], tuple[float, int]] | None = None
    """Optional, for problems of one player in plain Python: (state, moves, stream, line, plies) -> (return,
    plies played). ``rollout`` that ends after at most ``plies`` plies. Of the state afterwards only its moves
    are valid. Default: random_move and play are called, and positions on the way are kept."""

    decisive_moves: Callable[[State, Moves, Moves, npt.NDArray[np.uint64]], int] | None = None
    """Optional, for games of two players: (state, moves, scratch, kept) -> how many legal moves matter in an
    unfinished game, which are written into ``moves``: all but some that lose by force; -1 if ``moves[0]``
    wins by force; 0 if nothing is known and all matter. It must be right: what it says is proven.
    ``scratch`` is uint16[Game.max_moves]. ``kept``, uint64[KEPT], has zeros or what calls for other positions
    left there; no answer may depend on it. The state is unchanged afterwards. For searches that are
    ``decisive``; without it they know moves that win at once."""

    @classmethod
    def of(cls, functions: Mapping[str, Any], **others: Any) -> Rules:
        """The rules among the ``functions`` of a module, by the names of these fields, and ``others``."""
        return cls(**{name: functions[name] for name in cls._fields if name in functions} | others)


class StaticEvaluator(NamedTuple):
    """A static evaluation of positions; see `Game.evaluators`."""

    rule: Callable[[State], float]
    """(state) -> value of a position for the first player, as `Rules.evaluate`."""
    finished: bool = False
    """Whether finished games are evaluated by ``rule`` too, instead of by their return."""


class HasRules(Protocol):
    """An object with a name and rules, which is all that is needed to compile kernels."""

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> Rules: ...
