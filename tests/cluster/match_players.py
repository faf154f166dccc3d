"""Players for tests of matches, by names of their own; importable on workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from games.game import Game
from search.players import Choice, Observation, Player, player_of


class First(Player):
    """The first legal move, and thinks that all is well."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        return Choice(seen.legal[0], value=0.25, simulations=10, nodes=3, thought="the first one")


class Illegal(Player):
    def choose(self, seen: Observation, seed: int) -> Choice:
        return Choice(65_000)


class Raises(Player):
    def choose(self, seen: Observation, seed: int) -> Choice:
        raise ZeroDivisionError("on purpose")


class Peeks(Player):
    """Keeps what it was shown."""

    def __init__(self, spec: str, omniscient: bool = False) -> None:
        super().__init__(spec)
        self.omniscient = omniscient
        self.seen: list[tuple[Observation, int]] = []

    def choose(self, seen: Observation, seed: int) -> Choice:
        self.seen.append((seen, seed))
        return Choice(seen.legal[seed % len(seen.legal)])


class Slow(Player):
    """A few milliseconds for each move."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        time.sleep(0.003)
        return Choice(seen.legal[seed % len(seen.legal)])


class Mortal(Player):
    """Takes its process down, once for each of the files in the folder that its spec names."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        for file in Path(self.spec.removeprefix("mortal ")).iterdir():
            try:
                file.unlink()
            except FileNotFoundError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return Choice(seen.legal[seed % len(seen.legal)])


KINDS: dict[str, type[Player]] = {
    "first": First,
    "illegal": Illegal,
    "raises": Raises,
    "slow": Slow,
    "mortal": Mortal,
}


def make(spec: str, game: Game) -> Player:
    """These players, and all others."""
    kind = KINDS.get(spec.split(" ")[0])
    return player_of(spec, game) if kind is None else kind(spec)
