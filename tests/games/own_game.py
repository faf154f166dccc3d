"""What pages print: Connect Four, compiled, as a simulator that waits, and spoilt; the game of dice."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGES = Path(__file__).parents[2] / "games"
ROUNDS, ROLLS = 3, 3


def connect_four() -> str:
    """The text of the file that games/OWN_GAME.md builds."""
    return _codes("OWN_GAME.md")[0]


def waiting_connect_four() -> str:
    """The text of its simulator that waits."""
    return _codes("OWN_GAME.md")[1]


def _codes(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)


def write(folder: Path, name: str = "connect4.py", **changes: str) -> str:
    """Write the file, with each ``old`` text of ``changes`` (by name, see SPOILT) replaced; its path."""
    text = connect_four()
    for name_of_change in changes:
        old, new = SPOILT[name_of_change]
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)
    return str(folder / name)


def write_waiting(folder: Path) -> str:
    """Write the simulator that waits; its path."""
    (folder / "slow.py").write_text(waiting_connect_four())
    return str(folder / "slow.py")


def write_dice(folder: Path) -> str:
    """Write the game of dice that games/PROBLEMS.md prints; its path."""
    (folder / "dice.py").write_text(_codes("PROBLEMS.md")[0])
    return str(folder / "dice.py")


@cache
def worth_of_roll(rolls: int) -> float:
    """The expected points of a round with so many rolls left, by dynamic programming."""
    again = worth_of_roll(rolls - 1) if rolls > 1 else 0.0
    return sum(max(face, again) for face in range(1, 7)) / 6


def optimum() -> float:
    """The best possible mean of a game of dice."""
    return ROUNDS * worth_of_roll(ROLLS)


SPOILT = {
    "bounds": ("while 0 <= r < 6 and", "while 0 <= r and"),
    "text": ('"abcdefg"[move]', '"abcdeef"[move]'),
    "blank": ('"abcdefg"[move]', '"column " + str(move)'),
    "unknown": ("state[35 + column] == 0", "state[35 + column] == unknown"),
    "type": ("        count += state[35 + column] == 0\n", "        count += 'a'\n"),
    "dictionary": (
        "        count += state[35 + column] == 0\n",
        "        count += {True: 1, False: 0}[bool(state[35 + column] == 0)]\n",
    ),
    "uncompiled": ("@njit\ndef returns", "def returns"),
    "board": ("cells[::-1]", "cells[::-1][0]"),
}
