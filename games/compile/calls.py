"""Wrappers to call a game's rules from Python through compiled functions that are cached on disk.

A direct call of a jitted rule from Python compiles it in every process. These wrappers are made
by `games.compile.specialise`, so that later processes load them from the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from games.compile.specialise import specialise
from games.rules import HasRules, Rules


def rule(*arguments: Any) -> Any:
    """Stands for the rule that a wrapper calls."""
    raise NotImplementedError


def call_1(state: Any) -> Any:
    """Call a rule of one argument."""
    return rule(state)


def call_2(state: Any, other: Any) -> Any:
    """Call a rule of two arguments."""
    return rule(state, other)


def call_3(state: Any, other: Any, stream: Any) -> Any:
    """Call a rule of three arguments."""
    return rule(state, other, stream)


def _wrapper(name: str, wrapper: Any) -> Callable[..., Any]:
    """A wrapper of the rule of this name: one of those above, in whose code another global is called."""
    return FunctionType(wrapper.__code__.replace(co_names=(name,)), globals(), name)


_CALLS: tuple[Callable[..., Any], ...] = tuple(
    _wrapper(name, wrapper)
    for wrapper, names in (
        (call_1, ("current_player", "is_terminal", "returns", "evaluate")),
        (call_2, ("legal_moves", "play", "priority", "score")),
        (call_3, ("greedy_move", "determinize", "chance")),
    )
    for name in names
)


def calls_of(game: HasRules) -> Rules:
    """The game's rules for callers in Python; rules that only kernels call are None."""
    return Rules(**specialise(_CALLS, game))
