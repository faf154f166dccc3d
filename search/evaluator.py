"""Evaluators defined by users in files: values and policies of batches of positions, such as by a network.

An evaluator file is ordinary Python that defines one subclass of `Evaluator`. As for a game file
(games/user_games.py), loading it runs its code, and its text is sent to the workers with the search. Only the
text is sent: libraries and weight files that it uses must exist on the workers' machines.

Coroutines of evaluators run in one event loop for each process, for the life of the process: what an
evaluator keeps between calls, such as connections, belongs to one loop. The loop has a thread of its own, so
that a search may be called from a thread whose event loop is running.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from games import user_games as own
from games.errors import InvalidInput, foreign
from games.game import Game
from games.spec import Spec, is_path, options_of, parse_spec

FIELD = "evaluator"
POLICIES = ("logits", "probabilities")
EXTERNAL = "external"
"""The spec of an evaluator outside of the search: its caller evaluates the leaves (search/ask_tell)."""
LOOKED_AT = 8
"""Number of positions in which `Evaluator.planes` looks for cells with pieces."""
ACCEPTED = "an evaluator file such as ./net.py, or with options, ./net.py:key=value,key=value"


class Evaluator(ABC):
    """Evaluates positions: their values and a policy over moves. A subclass defines `evaluate`.

    One instance is made in each worker process. The options are the parameters of ``__init__`` after
    ``game``; each needs a default, which is an integer or text.
    """

    policy: str = "logits"
    """The kind of policies: ``logits``, or ``probabilities`` (which need not sum to 1)."""

    concurrency: int = 32
    """``async def evaluate`` only: the most positions that a search awaits at once in a worker process, at
    least those of one call. No more jobs are in flight than the request has lanes."""

    version: str | int = ""
    """What answers depend on beside the file's text and options, such as a hash of weights that ``__init__``
    has read: a store of evaluations has answers of each version."""

    spec: str = ""
    """The evaluator's spec, for error messages."""

    device: str = ""
    """What evaluates, such as ``cpu`` or the name of a GPU, for reports; empty: it does not say."""

    def __init__(self, game: Game) -> None:
        self.game = game

    @abstractmethod
    def evaluate(self, states: npt.NDArray[Any]) -> tuple[Any, Any] | Awaitable[tuple[Any, Any]]:
        """Evaluate B different unfinished positions; returns (values, policies).

        It may be ``async def``, for evaluators that wait for something else, such as a model server or a
        language model. Then it runs in an event loop that is the same for all calls in a process. It can
        await all B positions at once (``asyncio.gather``), and it is called again while earlier calls are
        awaited, as long as all their positions are no more than ``concurrency``. A call has the positions of
        one job, never of several: which jobs wait at the same moment is chance, and B and its order must not
        be. An evaluator whose answers do not depend on them may join the positions of its calls itself.

        ``states`` [B, state length] holds the game's state arrays. values [B], in [-1, 1], are from the
        viewpoint of the player to move (1: a certain win). policies [B, M] has an entry for each move code,
        with M larger than every legal move code; entries of illegal moves are ignored. Both may be anything
        that NumPy converts to an array. B is at least 1 and varies between calls.

        The result should depend only on ``states``, so that searches are reproducible.
        """

    def movers(self, states: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """int64[B]: the player to move, 0 for the first player and 1 for the second."""
        return np.array([int(self.game.calls.current_player(state)) for state in states], dtype=np.int64)

    def legal(self, states: npt.NDArray[Any], num_moves: int) -> npt.NDArray[np.bool_]:
        """bool[B, num_moves]: whether each move code is legal."""
        mask = np.zeros((len(states), num_moves), dtype=np.bool_)
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        for row, state in zip(mask, states, strict=True):
            row[moves[: self.game.calls.legal_moves(state, moves)]] = True
        return mask

    def planes(self, states: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """float32[B, 2, rows, columns]: the pieces of the player to move, then those of the other player.

        From `Game.owners`. Raises InvalidInput (game) for a game whose positions are not such cells.
        """
        if not self._has_cells:
            accepted = "a game with pieces of two players on cells, for planes; states have all of a position"
            raise InvalidInput("game", self.game.spec, accepted)
        owners = self.game.owners(states)
        own = self.movers(states)[:, None, None] + 1
        return np.stack([owners == own, owners == 3 - own], axis=1).astype(np.float32)

    @cached_property
    def _has_cells(self) -> bool:
        """Whether the game's first positions have equally many cells in rows, and pieces on them."""
        state, shapes, owned = self.game.initial_state(), set(), False
        for _ in range(LOOKED_AT):
            try:
                owners = self.game.owners(state[None])
            except ValueError:
                # Rows of different lengths.
                return False
            shapes.add(owners.shape)
            owned = owned or bool(np.isin(owners, (1, 2)).any())
            legal = self.game.legal_moves(state)
            if not legal:
                break
            self.game.calls.play(state, legal[0])
        return owned and len(shapes) == 1


def evaluator_spec(text: str) -> Spec:
    """Parse the spec of an evaluator, which may be EXTERNAL; raises InvalidInput (field ``evaluator``)."""
    spec = parse_spec(text, FIELD, paths=True)
    if not is_path(spec.name) and text != EXTERNAL:
        raise InvalidInput(FIELD, text, ACCEPTED)
    return spec


def source_of_evaluator(text: str) -> str:
    """The text of the file that the spec names; raises InvalidInput (field ``evaluator``)."""
    if text == EXTERNAL:
        raise InvalidInput(FIELD, text, ACCEPTED)
    return own.read_source(evaluator_spec(text).name, FIELD)


def found_anywhere(text: str) -> str:
    """The spec with the absolute path of its file: workers are in another folder.

    An absolute path with a colon cannot be written in a spec: then the spec is returned as given.
    """
    spec = evaluator_spec(text)
    path = own.whole_path(spec.name)
    return text if ":" in path else str(Spec(path, spec.options))


@lru_cache(maxsize=2)
def load_evaluator(text: str, source: str, game: Game) -> Evaluator:
    """The evaluator of a spec, made from the text ``source`` of its file; one instance for each process.

    Raises InvalidInput (field ``evaluator``) for a file that fails, or that defines no evaluator.
    """
    spec = evaluator_spec(text)
    kind = _class_in(own.module_of(spec.name, source, FIELD), spec.name)
    options = options_of(kind.__init__, spec, FIELD)
    with own.refusing(FIELD, text, "an evaluator that can be made", spec.name):
        made = foreign(kind, game, **options)
    if not isinstance(made.policy, str) or made.policy not in POLICIES:
        raise InvalidInput(FIELD, text, f"policy = {' or '.join(POLICIES)}, not {made.policy!r}")
    if isinstance(made.concurrency, bool) or not isinstance(made.concurrency, int) or made.concurrency < 1:
        accepted = f"concurrency of at least 1 position, not {made.concurrency!r}"
        raise InvalidInput(FIELD, text, accepted)
    made.spec = text
    return made


def reason_of(error: BaseException, evaluator: Evaluator) -> str:
    """An error of an evaluator as one line of text, with the number of the line of its file."""
    return own.reason_of(error, evaluator_spec(evaluator.spec).name)


def _class_in(module: Any, path: str) -> type[Evaluator]:
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Evaluator) and value.__module__ == module.__name__
    ]
    # A base class of other classes in the file is not the evaluator.
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


T = TypeVar("T")
_LOCK = threading.Lock()
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop by the id of the process: a forked process has no thread for its parent's loop."""


def wait_for(awaitable: Awaitable[T]) -> T:
    """Await in the loop of this process and return the outcome; raises what the awaitable raises.

    If the waiting is interrupted (Ctrl-C), the awaitable is cancelled.
    """
    future = start(awaitable)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def start(awaitable: Awaitable[T]) -> Future[T]:
    """Begin to await in the loop of this process; the future gets the outcome. Cancelling the future cancels
    the awaitable."""
    return asyncio.run_coroutine_threadsafe(_outcome(awaitable), _loop())


class Places:
    """A limited number of places for coroutines of the loop, which get them in order of arrival."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._free = asyncio.Semaphore(number)
        self._first = asyncio.Lock()
        """Held by the only one that waits for places to be free; the others wait for the lock."""

    @asynccontextmanager
    async def held(self, wanted: int) -> AsyncIterator[None]:
        """Hold ``wanted`` places, or all of them if there are fewer, while the context is open."""
        async with AsyncExitStack() as places:
            async with self._first:
                for _ in range(min(wanted, self.number)):
                    await places.enter_async_context(self._free)
            yield


async def _outcome(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        found = _LOOPS.get(os.getpid())
        if found is None:
            found = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(found,), name="evaluator loop", daemon=True).start()
        return found


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for good: SystemExit of one coroutine ends ``run_forever``, and the others wait."""
    while True:
        with suppress(BaseException):
            loop.run_forever()
