"""The game of dice as games/PROBLEMS.md prints it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "games" / "PROBLEMS.md"
ROUNDS, ROLLS = 3, 3


def dice() -> str:
    """The text of the file that games/PROBLEMS.md prints."""
    text, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(text)


def write(folder: Path) -> str:
    """Write the file; its path."""
    (folder / "dice.py").write_text(dice())
    return str(folder / "dice.py")


@cache
def worth_of_roll(rolls: int) -> float:
    """The expected points of a round with so many rolls left, by dynamic programming."""
    again = worth_of_roll(rolls - 1) if rolls > 1 else 0.0
    return sum(max(face, again) for face in range(1, 7)) / 6


def optimum() -> float:
    """The best possible mean of a game."""
    return ROUNDS * worth_of_roll(ROLLS)
