"""The folder in which a match is stored.

``match.json`` identifies the match. Each finished game is appended to ``games.txt``, which is sorted when the
match ends. A game is stored completely or not at all, so an interrupted match can be resumed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO, Any

from cluster.matches.game import MatchContext
from cluster.matches.record import GameRecord, read_records, write_file
from cluster.system.kept_folder import KeptFolder
from games.errors import InvalidInput

IDENTITY, GAMES = "match.json", "games.txt"


class MatchFolder(KeptFolder):
    """The folder of one match. It must be closed."""

    def __init__(self, path: Path, context: MatchContext) -> None:
        """Creates the folder if needed. Raises OSError, or InvalidInput (field ``out``) if it holds another
        match."""
        self.games = path / GAMES
        if self.games.exists() and not (path / IDENTITY).exists():
            raise InvalidInput("out", str(path), f"a folder with {IDENTITY}, or without {GAMES}")
        super().__init__(path, IDENTITY, _identity(context), "match")
        text = self.games.read_text(encoding="utf-8") if self.games.exists() else ""
        self.played = read_records(text, "out")
        """The games that were stored when the folder was opened."""
        seats = context.seats
        torn = seats > 2 and any(len(record.scores or ()) != seats for record in self.played)
        if torn or any(record.pair is None or record.leg is None for record in self.played):
            raise InvalidInput("out", str(path), "a folder that only matches have written to")
        # Removes a game that a killed process has written only in part.
        write_file(self.games, self.played)
        self._file: IO[str] = self.games.open("a", encoding="utf-8")

    def keep(self, record: GameRecord) -> None:
        """Store a game."""
        self._file.write(str(record))
        self._file.flush()

    def close(self) -> None:
        """Sort the games and release the lock of the folder."""
        self._file.close()
        records = read_records(self.games.read_text(encoding="utf-8"), "out")
        write_file(self.games, sorted(records, key=lambda record: (record.pair or 0, record.leg or 0)))
        super().close()


def _identity(context: MatchContext) -> dict[str, Any]:
    """The values that determine the games of the match, without their number."""
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
