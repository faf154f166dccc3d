"""What an environment draws as text, as a board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from games.game import Board, Cell
from games.gym.environment import ANSI

_COLOUR = re.compile(r"\x1b\[([\d;]*)m|(.)")
"""A code of colours, or a character."""
_STEPS = 30
"""Steps after which a drawing is compared with that of the same state, set from outside."""


def board_of_lines(lines: Sequence[str]) -> Board:
    """A board with a cell for each character, those with a background of their own marked."""
    rows = [_cells(line) for line in lines]
    width = max(len(row) for row in rows)
    rows = [row + [Cell("")] * (width - len(row)) for row in rows]
    return Board(rows, [""] * len(rows), [""] * width)


def text_of(env: Any) -> str:
    """What the environment draws now, with codes of colours."""
    text = env.render()
    return str(text.getvalue() if hasattr(text, "getvalue") else text)


def draws_states(env: Any) -> bool:
    """Whether `text_of_state` gives what the environment itself draws in a state; leaves it anywhere."""
    try:
        return env.render_mode == ANSI and _agrees(env)
    except Exception:
        # It may need a package to draw with.
        return False


def _agrees(env: Any) -> bool:
    """Whether drawings of random steps are those of the states that they come to."""
    at, _ = env.reset(seed=0)
    env.action_space.seed(0)
    for step in range(_STEPS):
        if getattr(env.unwrapped, "s", None) != at:
            return False
        drawn = _without_action(env)
        env.reset(seed=step)
        if text_of_state(env, int(at)) != drawn:
            return False
        at, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            at, _ = env.reset(seed=step)
    return True


def text_of_state(env: Any, state: int) -> str:
    """What an environment with numbered states, such as those of toy_text, draws in one; it stays there."""
    env.unwrapped.s = state
    return _without_action(env)


def _without_action(env: Any) -> str:
    """The drawing without the action that was taken last."""
    if hasattr(env.unwrapped, "lastaction"):
        env.unwrapped.lastaction = None
    return text_of(env)


def _cells(line: str) -> list[Cell]:
    """The characters of a line; those with a background of their own are marked."""
    cells, marked = [], False
    for code, character in _COLOUR.findall(line):
        if character:
            cells.append(Cell(character, last=marked))
        else:
            marked = any(len(each) == 2 and each[0] == "4" for each in code.split(";"))
    return cells
