"""Games of an installed package, sound and unsound: the service takes their code for that of others."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from games import PythonGame

POINTS = "[banyan.games]\n" + "".join(
    f"{name} = foreign_games:{name.capitalize()}\n"
    for name in ("nim", "busy", "crash", "hang", "spin", "hungry", "exits", "raises", "drips", "trap")
)


def install(folder: Path) -> dict[str, str]:
    """Install this file as a package below a folder; an environment in which it is found."""
    (folder / "foreign_games.py").write_text(Path(__file__).read_text())
    about = folder / "foreign_games-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-games\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}


class Stones:
    """A heap of stones: who takes the last one wins."""

    def __init__(self, stones: int) -> None:
        self.left, self.player = stones, 0

    def current_player(self) -> int:
        return self.player

    def legal_moves(self) -> Sequence[int]:
        return range(1, min(3, self.left) + 1)

    def play(self, move: int) -> None:
        self.left -= move
        self.player = 1 - self.player

    def is_terminal(self) -> bool:
        return self.left == 0

    def returns(self) -> float:
        return -1.0 if self.player == 0 else 1.0


class Nim(PythonGame):
    """A game that keeps to the contract."""

    max_moves = 4
    max_plies = 30

    def __init__(self, stones: int = 9) -> None:
        super().__init__()
        self.options = {"stones": stones}

    def new_position(self) -> Stones:
        self.begun()
        return Stones(int(self.options["stones"]))

    def begun(self) -> None:
        """What goes wrong in others."""


class Busy(Nim):
    """A game that takes more than a second of CPU to load."""

    def __init__(self) -> None:
        super().__init__()
        until_s = time.process_time() + 1.2
        while time.process_time() < until_s:
            pass


class Crash(Nim):
    """Ends its process, when two stones are left."""

    def new_position(self) -> Stones:
        class Crashing(Stones):
            def play(self, move: int) -> None:
                super().play(move)
                if self.left <= 4:
                    os.kill(os.getpid(), signal.SIGSEGV)

        return Crashing(9)


class Hang(Nim):
    """Waits for ever."""

    def begun(self) -> None:
        time.sleep(1000)


class Spin(Nim):
    """Computes for ever, with a child that does too."""

    def begun(self) -> None:
        if os.fork() == 0:
            time.sleep(1000)
        while True:
            pass


class Hungry(Nim):
    """Asks for all memory that there is, piece by piece."""

    def begun(self) -> None:
        self.eaten = []
        while True:
            self.eaten.append(np.ones(2**24))


class Exits(Nim):
    """Leaves."""

    def begun(self) -> None:
        os._exit(3)


class Raises(Nim):
    """Says what is wrong."""

    def begun(self) -> None:
        raise RuntimeError("the board is\nmissing")


class Drips(Nim):
    """Writes a byte again and again to every open file, and ends neither a line nor itself."""

    def begun(self) -> None:
        while not time.sleep(0.05):
            for file in range(3, 30):
                with suppress(OSError):
                    os.write(file, b" ")


class Trap(Nim):
    """Ends the process of a server, and no other: no trial finds that."""

    def begun(self) -> None:
        if "cluster.service.server" in sys.modules:
            os.kill(os.getpid(), signal.SIGSEGV)
