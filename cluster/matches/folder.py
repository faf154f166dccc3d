"""The folder of a match: what is played in it, and every game that is.

``match.json`` says which match it is. ``games.txt`` gets each game as it ends, and is put in order when
the match ends. So a match that was broken off goes on where it was: a game is there whole, or not at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from pathlib import Path
from typing import IO, Any

from cluster.matches.game import GamePlayed, MatchContext
from cluster.matches.record import GameRecord, read_records, write_file
from games.errors import InvalidInput

IDENTITY, GAMES = "match.json", "games.txt"


class MatchFolder:
    """A folder that games of one match are kept in; close it when done."""

    def __init__(self, path: Path, context: MatchContext) -> None:
        """Makes it if there is none. Raises InvalidInput (out) if it has another match, OSError."""
        path.mkdir(parents=True, exist_ok=True)
        self.games = path / GAMES
        self._check(path, _identity(context))
        self._lock = self._locked(path)
        text = self.games.read_text(encoding="utf-8") if self.games.exists() else ""
        self.played = read_records(text, "out")
        """Games that were there at the beginning."""
        if any(record.pair is None or record.leg is None for record in self.played):
            raise InvalidInput("out", str(path), "a folder that only matches have written to")
        # What a process that died has left unfinished is in nobody's way.
        write_file(self.games, self.played)
        self._file: IO[str] = self.games.open("a", encoding="utf-8")

    def add(self, played: GamePlayed) -> None:
        """Keep a game that a session has played."""
        self.keep(played.record)

    def keep(self, record: GameRecord) -> None:
        """Keep a game."""
        self._file.write(str(record))
        self._file.flush()

    def close(self) -> None:
        """Put the games in order, and let others write to the folder."""
        self._file.close()
        records = read_records(self.games.read_text(encoding="utf-8"), "out")
        write_file(self.games, sorted(records, key=lambda record: (record.pair or 0, record.leg or 0)))
        self._lock.close()

    @staticmethod
    def _locked(path: Path) -> IO[str]:
        """A lock that goes with the process, so that no two matches write to one folder."""
        file = (path / IDENTITY).open("a", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InvalidInput("out", str(path), "a folder that no other match is writing to") from None
        return file

    @staticmethod
    def _check(path: Path, identity: dict[str, Any]) -> None:
        file = path / IDENTITY
        if not file.exists():
            if (path / GAMES).exists():
                raise InvalidInput("out", str(path), f"a folder with {IDENTITY}, or without {GAMES}")
            file.write_text(json.dumps(identity, indent=1) + "\n", encoding="utf-8")
            return
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            there = {}
        for name, value in identity.items():
            if there.get(name) != value:
                has = json.dumps(there.get(name))
                raise InvalidInput("out", str(path), f"a folder for this match (in there {name} is {has})")


def _identity(context: MatchContext) -> dict[str, Any]:
    """All that says which games are played; not how many."""
    source = context.game_source
    return {
        "game": context.game,
        "source": None if source is None else hashlib.sha256(source.encode()).hexdigest(),
        "a": context.players[0],
        "b": context.players[1],
        "seed": context.seed,
        "opening_plies": context.opening_plies,
        "openings": [" ".join(moves) for moves in context.openings],
    }
