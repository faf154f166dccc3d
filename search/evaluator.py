"""Evaluators of one's own: a network's value and policy for a batch of positions, from a file.

An evaluator file is ordinary Python that defines one subclass of `Evaluator`. Like a game file
(games/own.py) it is run when it is loaded, its text travels along with the search, and nothing beside it
does: libraries, and weights that it reads from a file, must be where the workers are.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from games import own
from games.errors import InvalidInput
from games.game import Game
from games.spec import Spec, is_path, options_of, parse_spec

FIELD = "evaluator"
POLICIES = ("logits", "probabilities")
ACCEPTED = "an evaluator file such as ./net.py, or with options, ./net.py:key=value,key=value"


class Evaluator(ABC):
    """Says what positions are worth and which moves look good; a subclass gives `evaluate`.

    It is made once in each worker process. Options are parameters of ``__init__`` after ``game``, each
    with a default that is a whole number or text.
    """

    policy: str = "logits"
    """What the policies are: ``logits``, or ``probabilities`` (which need not add up to 1)."""

    spec: str = ""
    """The evaluator as it was named, for errors."""

    def __init__(self, game: Game) -> None:
        self.game = game

    @abstractmethod
    def evaluate(self, states: npt.NDArray[Any]) -> tuple[Any, Any]:
        """(values, policies) of B unfinished positions, no two of them the same array.

        ``states`` [B, state length] is the game's array for each. Values [B] in [-1, 1], from the
        viewpoint of the player to move: 1 if it is certain that he wins. Policies [B, M], with a number
        for each move code, M larger than any legal one's; only those of legal moves are looked at.
        Anything that NumPy makes an array of will do. B is 1 or more, and differs from call to call.

        The answer should depend on the states alone: then the same search gives the same result again.
        """

    def movers(self, states: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """[B] who moves: 0 for the first player, 1 for the second."""
        return np.array([int(self.game.calls.current_player(state)) for state in states], dtype=np.int64)

    def legal(self, states: npt.NDArray[Any], num_moves: int) -> npt.NDArray[np.bool_]:
        """[B, num_moves] which moves are legal, by their codes."""
        mask = np.zeros((len(states), num_moves), dtype=np.bool_)
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        for row, state in zip(mask, states, strict=True):
            row[moves[: self.game.calls.legal_moves(state, moves)]] = True
        return mask

    def planes(self, states: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """[B, 2, rows, columns] the pieces of the player to move, and then the other's: `Game.owners`."""
        owners = self.game.owners(states)
        own = self.movers(states)[:, None, None] + 1
        return np.stack([owners == own, owners == 3 - own], axis=1).astype(np.float32)


def evaluator_spec(text: str) -> Spec:
    """Read the spec of an evaluator; raises InvalidInput (field ``evaluator``)."""
    spec = parse_spec(text, FIELD, paths=True)
    if not is_path(spec.name):
        raise InvalidInput(FIELD, text, ACCEPTED)
    return spec


def source_of_evaluator(text: str) -> str:
    """The text of the file that the spec names; raises InvalidInput (field ``evaluator``)."""
    return own.read_source(evaluator_spec(text).name, FIELD)


@lru_cache(maxsize=2)
def load_evaluator(text: str, source: str, game: Game) -> Evaluator:
    """The evaluator that the spec names, made of this source; one for each process.

    Raises InvalidInput (field ``evaluator``) for a file that fails, or that defines no evaluator.
    """
    spec = evaluator_spec(text)
    kind = _class_in(own.module_of(spec.name, source, FIELD), spec.name)
    options = options_of(kind.__init__, spec, FIELD)
    try:
        made = kind(game, **options)
    except InvalidInput:
        raise
    except Exception as error:
        reason = own.reason_of(error, spec.name)
        raise InvalidInput(FIELD, text, f"an evaluator that can be made ({reason})") from None
    if not isinstance(made.policy, str) or made.policy not in POLICIES:
        raise InvalidInput(FIELD, text, f"policy = {' or '.join(POLICIES)}, not {made.policy!r}")
    made.spec = text
    return made


def reason_of(error: Exception, evaluator: Evaluator) -> str:
    """What went wrong in an evaluator, in one line, with the line of its file."""
    return own.reason_of(error, evaluator_spec(evaluator.spec).name)


def _class_in(module: Any, path: str) -> type[Evaluator]:
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Evaluator) and value.__module__ == module.__name__
    ]
    # A class that others in the file derive from is not the evaluator.
    last = [
        each for each in found if not any(other is not each and issubclass(other, each) for other in found)
    ]
    if len(last) != 1:
        names = ", ".join(each.__name__ for each in last) or "none"
        accepted = f"a file with one subclass of search.evaluator.Evaluator (found: {names})"
        raise InvalidInput(FIELD, path, accepted)
    if inspect.isabstract(last[0]) or not callable(last[0].evaluate):
        raise InvalidInput(FIELD, path, f"class {last[0].__name__} to define evaluate(self, states)")
    return last[0]
