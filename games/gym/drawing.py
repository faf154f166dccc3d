"""What an environment draws as text, as a board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from games.game import Board, Cell
from games.gym.environment import ANSI

_COLOUR = re.compile(r"\x1b\[([\d;]*)m|(.)")
"""A code of colours, or a character."""


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
    """Whether an environment with numbered states draws them as text; leaves it anywhere."""
    try:
        return env.render_mode == ANSI and bool(text_of_state(env, int(env.reset(seed=0)[0])))
    except Exception:
        # It may need a package to draw with.
        return False


def text_of_state(env: Any, state: int) -> str:
    """What an environment with numbered states, such as those of toy_text, draws in one, without the action
    that was taken last; it stays there."""
    env.unwrapped.s = state
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
