"""Connect Four as games/OWN_GAME.md prints it, compiled and as a simulator that waits; spoilt versions."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "games" / "OWN_GAME.md"


def connect_four() -> str:
    """The text of the file that games/OWN_GAME.md builds."""
    return _codes()[0]


def waiting_connect_four() -> str:
    """The text of its simulator that waits."""
    return _codes()[1]


def _codes() -> list[str]:
    first, second = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [first, second]


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
