"""Violations of the game contract, and calls of a game's functions that turn exceptions into violations."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from games.contract import time_limit
from games.contract.time_limit import DidNotEnd
from games.game import Game, State
from games.jit import source_of
from games.rng import new_stream
from games.rules import Rules


@dataclass(frozen=True)
class Finding:
    """A violation of the contract."""

    rule: str
    """The function or attribute that is at fault."""
    text: str
    """What is wrong, and at which ply it was found first."""
    after: str = ""
    """The moves that lead to the position, in the game's notation; empty at the start of the game."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}" + (f", after moves {self.after}" if self.after else "")


class Stop(Exception):
    """A violation after which no further check is possible."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


Found = tuple[str, Finding]
"""A pair (kind, finding). For each rule, only the first finding of a kind is reported."""


def deal(game: Game, seed: int, rules: Rules | None = None) -> State:
    """The start position; with hidden information, a random complete position that fits it.

    ``rules``: the rules to call instead of the compiled ones: the game's rules as plain Python.
    """
    start = ask(game, "initial_state", game.initial_state)
    if not game.hidden_information:
        return start  # type: ignore[no-any-return]
    asked = ask if rules is None else ask_plain
    rules = rules or game.calls
    state = game.initial_state()
    mover = asked(game, "current_player", rules.current_player, start)
    view = ask(game, "observation", game.observation, start, int(mover))
    assert rules.determinize is not None
    with np.errstate(over="ignore"):
        asked(game, "determinize", rules.determinize, view, state, new_stream(seed))
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


def ask(game: Game, rule: str, function: Callable[..., Any], *arguments: Any, ply: int | None = None) -> Any:
    """Call ``function``; an exception becomes Stop, with the line of the game's file that raised it.

    MemoryError is raised again.
    """
    where = "" if ply is None else f" at ply {ply}"
    try:
        return function(*arguments)
    except MemoryError:
        # A lack of memory, or a memory limit of the caller, is not a violation of the contract.
        raise
    except Exception as error:
        raise Stop(Finding(rule, f"raised {said(error)}{where}{line_of(error, game)}")) from error
    except DidNotEnd as error:
        text = f"did not end within {error.seconds:g} s{where}{line_of(error, game)}"
        raise Stop(Finding(rule, text)) from error


def ask_plain(
    game: Game, rule: str, function: Callable[..., Any], *arguments: Any, ply: int | None = None
) -> Any:
    """Call a rule in plain Python as `ask` does, within the current time limit if there is one."""
    limit = time_limit.current()
    if limit is None:
        return ask(game, rule, function, *arguments, ply=ply)
    return ask(game, rule, limit.call, function, *arguments, ply=ply)


def said(error: BaseException) -> str:
    """An exception as one line of text: its type and message."""
    return " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())


def line_of(error: BaseException, game: Game) -> str:
    """The innermost line of the game's file in the traceback, as `` (line 12)``; empty if there is none."""
    frames = _frames(error, game)
    return f" (line {frames[-1].lineno})" if frames else ""


def blamed(error: BaseException, game: Game) -> Finding | None:
    """A finding for the function of the game's file that raised the exception; None if none did."""
    frames = _frames(error, game)
    return Finding(frames[0].name, f"raised {said(error)} (line {frames[-1].lineno})") if frames else None


def _frames(error: BaseException, game: Game) -> list[traceback.FrameSummary]:
    """The traceback's frames in the game's file, outermost first; compiled code has the innermost only."""
    frames = traceback.extract_tb(error.__traceback__)
    name = Path(game.source).name if game.source else None
    return [frame for frame in frames if Path(frame.filename).name == name]
