"""Value tables: the exact values of all positions of a solved game, in files that are mapped into memory.

A table is made once, by solving the game, and is then ready in milliseconds: nothing is read until a position
is looked up. It lies in the user's cache, in a folder whose name contains a hash of the game's rules, so that
a change of the rules makes a new table.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from games.analysis.solving import Solution, list_successors, solve
from games.compile.specialise import fingerprint, specialise
from games.errors import InvalidInput
from games.game import Game, Judge
from games.user_games import cache_base

MOST_POSITIONS = 60_000_000
"""The most positions of a table: about 5 GB of memory while it is made, and 540 MB of disk."""
KEPT_FROM = 1_000_000
"""Tables of fewer positions are made anew each time, which takes seconds."""
FORMAT = 1


def save(table: Solution, folder: Path) -> None:
    """Write the table into a new folder, which appears complete or not at all. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        np.save(part / "keys.npy", table.keys)
        np.save(part / "values.npy", table.values)
        # What is there is not sound, or as good, where another process was faster.
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def load(game: Game, folder: Path) -> Solution | None:
    """The table of the game in this folder, mapped into memory; None if there is no sound table."""
    try:
        keys = np.load(folder / "keys.npy", mmap_mode="r")
        values = np.load(folder / "values.npy", mmap_mode="r")
    except (OSError, ValueError):
        return None
    if keys.dtype != np.uint64 or values.dtype != np.int8 or keys.shape != values.shape or not len(keys):
        return None
    return Solution(game, game.canonical(game.initial_state()), keys, values)


def table_of(game: Game, report: Callable[[int, int], None] | None = None) -> Solution:
    """The game's table: from the user's cache, or made and kept there.

    ``report`` is called as `games.analysis.solving.solve` does while a table is made. Raises InvalidInput
    (field ``game``) for a game whose positions cannot be counted or are more than MOST_POSITIONS.
    """
    folder = folder_of(game)
    table = load(game, folder)
    if table is not None:
        return table
    try:
        table = solve(game, game.canonical(game.initial_state()), MOST_POSITIONS, report)
    except InvalidInput as error:
        if error.field != "max_positions":
            raise
        accepted = f"a game of at most {MOST_POSITIONS:,} positions"
        raise InvalidInput("game", game.spec, accepted) from None
    if table.num_positions >= KEPT_FROM:
        save(table, folder)
    return table


def folder_of(game: Game) -> Path:
    """Where the game's table is kept: ``tables`` of BANYAN_CACHE_DIR or the user's cache."""
    rules = fingerprint(specialise([list_successors], game)["list_successors"])
    start = game.format_position(game.initial_state())
    name = hashlib.sha256(f"{FORMAT} {game.spec} {start} {rules}".encode()).hexdigest()[:16]
    return cache_base() / "tables" / f"{game.name}-{name}"


def judge_of(game: Game, report: Callable[[int, int], None] | None = None) -> Judge:
    """The exact judge of a game: its own solver, or a table of all its positions.

    ``report`` is called as `games.analysis.solving.solve` does, if a table must be made. Raises InvalidInput
    (field ``judge``) for a game that has neither.
    """
    judge = game.exact_solver()
    if judge is not None:
        return judge
    if game.rules.pack is None or game.rules.unpack is None:
        accepted = (
            f"games (no exact judge of {game.spec} is known): connect_four, tictactoe, grundy, "
            "morris:variant=three, five or six, or a game of your own with pack and unpack have one"
        )
        raise InvalidInput("judge", "exact", accepted)
    return table_of(game, report)
