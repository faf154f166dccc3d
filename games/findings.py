"""What is found wrong with a game, and how its functions are asked so that a failure says where."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from games.game import Game, State
from games.jit import source_of
from games.rng import new_stream
from games.rules import Rules


@dataclass(frozen=True)
class Finding:
    """Something that a game does wrong."""

    rule: str
    """The function or attribute that is at fault."""
    text: str
    """What is wrong, and where it shows first."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Stop(Exception):
    """Something is so wrong that nothing more can be looked at."""


Found = tuple[str, Finding]
"""The kind of a finding, and the finding: each kind is told once for each rule."""


def deal(game: Game, seed: int) -> State:
    """The start position; in a game with hidden information one that was dealt."""
    start = game.initial_state()
    if not game.hidden_information:
        return start
    state = game.initial_state()
    determinize = game.calls.determinize
    assert determinize is not None
    with np.errstate(over="ignore"):
        determinize(game.observation(start, int(game.calls.current_player(start))), state, new_stream(seed))
    return state


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without any compiled code, all the way down."""
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
    """The rules without any compiled code."""
    return Rules(*(None if rule is None else plain(rule) for rule in rules))  # type: ignore[arg-type]


def ask(game: Game, rule: str, function: Callable[..., Any], *arguments: Any, ply: int | None = None) -> Any:
    """Call it; an exception stops the check, with the line of the game's file that raised it."""
    try:
        return function(*arguments)
    except Exception as error:
        where = "" if ply is None else f" at ply {ply}"
        own = [
            f"line {frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if game.source and Path(frame.filename).name == Path(game.source).name
        ]
        line = f" ({own[-1]})" if own else ""
        raise Stop(Finding(rule, f"raised {type(error).__name__}: {error}{where}{line}")) from None
