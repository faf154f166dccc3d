"""Violations of the game contract, and calls of a game's functions that turn exceptions into violations.

A call of plain Python may have a time limit. It is stopped between two byte code instructions; compiled code
and blocking system calls are not interrupted, so the limit takes effect once they return.
"""

from __future__ import annotations

import ctypes
import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.errors import NumbaError

from games.errors import foreign, said
from games.game import Game, State
from games.jit import source_of
from games.rng import new_stream
from games.rules import KEPT, Rules
from games.user_games import frames_of

T = TypeVar("T")
_current: ContextVar[TimeLimit | None] = ContextVar("time_limit", default=None)


class Finding(Exception):
    """A violation of the contract, after which nothing else is checked."""

    def __init__(self, rule: str, text: str, after: str = "") -> None:
        """``rule``: the function or attribute that is at fault. ``text``: what is wrong, and at which ply.
        ``after``: the moves that lead to the position, in the game's notation; empty at the start."""
        super().__init__(rule, text, after)
        self.rule, self.text, self.after = rule, text, after

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}" + (f", after moves {self.after}" if self.after else "")


class DidNotEnd(KeyboardInterrupt):
    """Interrupts a call that takes too long; ``except Exception`` in the called code does not catch it."""

    seconds = 0.0
    """The limit that was exceeded."""


class TimeLimit:
    """Context manager within which every `call` in this thread may take ``seconds`` seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._since_s: float | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._caller = threading.get_ident()

    def __enter__(self) -> TimeLimit:
        self._token = _current.set(self)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watcher.join()
        _current.reset(self._token)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function and return its answer; raises DidNotEnd if it takes too long."""
        try:
            self._since_s = time.monotonic()
            try:
                return function(*arguments)
            finally:
                with self._lock:
                    self._since_s = None
        except DidNotEnd as error:
            # The exception may arrive just as the function returns, before _since_s is reset.
            self._since_s = None
            error.seconds = self.seconds
            raise

    def _watch(self) -> None:
        # Repeated, because the called code may catch every exception.
        while not self._over.wait(min(0.1, self.seconds / 4)):
            with self._lock:
                if self._since_s is not None and time.monotonic() - self._since_s > self.seconds:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._caller), ctypes.py_object(DidNotEnd)
                    )


def deal(game: Game, seed: int, rules: Rules | None = None) -> State:
    """The start position; with hidden information, a random complete position that fits it.

    ``rules``: the rules to call instead of the compiled ones: the game's rules as plain Python.
    """
    start = ask(game, "initial_state", game.initial_state)
    if not game.hidden_information:
        return start  # type: ignore[no-any-return]
    call = ask if rules is None else ask_plain
    rules = rules or game.calls
    state = game.initial_state()
    mover = call(game, "current_player", rules.current_player, start)
    view = ask(game, "observation", game.observation, start, int(mover))
    assert rules.determinize is not None
    with np.errstate(over="ignore"):
        call(game, "determinize", rules.determinize, view, state, new_stream(seed))
    return state


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as plain Python, together with all compiled functions that it calls."""
    source = source_of(function)
    if not isinstance(source, FunctionType):
        return source
    names = source.__code__.co_names
    used = {name: source.__globals__[name] for name in names if name in source.__globals__}
    twins = {name: plain(value) for name, value in used.items() if hasattr(value, "py_func")}
    return FunctionType(
        source.__code__, {**source.__globals__, **twins}, source.__name__, source.__defaults__
    )


def plain_rules(rules: Rules) -> Rules:
    """The rules as plain Python, together with all compiled functions that they call."""
    return Rules(*(None if rule is None else plain(rule) for rule in rules))  # type: ignore[arg-type]


def compile_rules(game: Game) -> None:
    """Compile each rule separately, so that an error can name the rule."""
    state, moves, line = game.initial_state(), np.zeros(game.max_moves, np.uint16), np.zeros(1, np.uint16)
    stream = new_stream(0)
    arguments: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(("play", "priority", "score"), (state, 0)),
        **dict.fromkeys(("playout", "random_move", "greedy_move", "chance"), (state, moves, stream)),
        "legal_moves": (state, moves),
        "determinize": (state, state, stream),
        "rollout": (state, moves, stream, line),
        "unpack": (np.uint64(0), state),
        "priorities": (state, np.zeros(game.max_moves)),
        "decisive_moves": (state, moves, moves, np.zeros(KEPT, np.uint64)),
    }
    for name, rule in game.rules._asdict().items():
        if rule is None:
            continue
        try:
            rule.compile(tuple(numba.typeof(value) for value in arguments.get(name, (state,))))
        except NumbaError as error:
            raise Finding(name, f"does not compile: {_of_numba(error, rule)}") from None


def _of_numba(error: NumbaError, rule: Any) -> str:
    """The part of Numba's message that is about the author's code: the reason and the line."""
    message = str(error)
    made = "zeros|empty|ones|full|array|arange|zeros_like|empty_like|ones_like"
    # The two forms of "this code allocates memory" (see games/jit.py).
    if "NRT required" in message or re.search(rf"built-in function ({made})>", message):
        file = Path(rule.py_func.__code__.co_filename).name
        found = re.findall(rf"{re.escape(file)} \((\d+)\)", message)
        line = f" (line {found[-1]} of {file})" if found else ""
        return f"creates an array, a list or text; rules must not allocate, only use their arguments{line}"
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    skipped = ("Failed in", "During:", "Traceback", "There are", "- Of which", "Overload", "In function")
    reason = next((line for line in lines if not line.startswith(skipped)), lines[0])
    place = next((line for line in reversed(lines) if line.startswith("File ")), "")
    name, _, rest = place.removeprefix("File ").partition('", line ')
    return f"{reason} (line {rest.partition(':')[0]} of {Path(name.strip(chr(34))).name})" if rest else reason


def ask(game: Game, rule: str, function: Callable[..., Any], *arguments: Any, ply: int | None = None) -> Any:
    """Call ``function``; an exception becomes a Finding, with the line of the game's file that raised it.

    MemoryError is raised again.
    """
    where = "" if ply is None else f" at ply {ply}"
    try:
        return foreign(function, *arguments)
    except MemoryError:
        # A lack of memory, or a memory limit of the caller, is not a violation of the contract.
        raise
    except Exception as error:
        raise Finding(rule, f"raised {said(error)}{where}{line_of(error, game)}") from error
    except DidNotEnd as error:
        text = f"did not end within {error.seconds:g} s{where}{line_of(error, game)}"
        raise Finding(rule, text) from error


def ask_plain(
    game: Game, rule: str, function: Callable[..., Any], *arguments: Any, ply: int | None = None
) -> Any:
    """Call a rule in plain Python as `ask` does, within the current time limit if there is one."""
    limit = _current.get()
    if limit is None:
        return ask(game, rule, function, *arguments, ply=ply)
    return ask(game, rule, limit.call, function, *arguments, ply=ply)


def line_of(error: BaseException, game: Game) -> str:
    """The innermost line of the game's file in the traceback, as `` (line 12)``; empty if there is none."""
    frames = frames_of(error, game.source or "?")
    return f" (line {frames[-1].lineno})" if frames else ""


def blamed(error: BaseException, game: Game) -> Finding | None:
    """A finding for the function of the game's file that raised the exception; None if none did."""
    frames = frames_of(error, game.source or "?")
    return Finding(frames[0].name, f"raised {said(error)} (line {frames[-1].lineno})") if frames else None
