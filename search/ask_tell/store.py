"""A store of evaluations: answers to positions in an SQLite file, so that later searches need not ask again.

Only the coordinator of a search opens the file. Several processes of one machine may use it at once (WAL). An
answer is in the file before it is in the tree. Of two answers to a position, the first that came stays, and
is used by all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import weakref
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import Game
from games.spec import Spec
from search.ask_tell.leaf import Answer, aligned
from search.evaluator import evaluator_spec, load_evaluator
from search.job import Context

MOST = 1_000_000
"""The most answers in a file: the oldest are removed. One has about 150 bytes, and 4 for each legal move."""
APPLICATION, FORMAT = 0x42614576, 1
"""What SQLite keeps in the file's header: whose file it is, and the version of its tables."""
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS source (
    id BLOB PRIMARY KEY,
    evaluator TEXT NOT NULL,
    version TEXT NOT NULL,
    game TEXT NOT NULL,
    temperature REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS answer (
    number INTEGER PRIMARY KEY,
    source BLOB NOT NULL,
    position BLOB NOT NULL,
    value REAL NOT NULL CHECK (value BETWEEN -1 AND 1),
    priors BLOB NOT NULL CHECK (typeof(priors) = 'blob'),
    UNIQUE (source, position)
);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
COMMIT;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
"""
_REMOVE = "DELETE FROM answer WHERE number <= (SELECT max(number) FROM answer) - ?"
_CONTENTS = """
SELECT evaluator, version, game, temperature, count(*) AS answers, sum(length(priors) + 150) AS bytes
FROM answer JOIN source ON source.id = source GROUP BY source ORDER BY min(number)
"""


class EvaluationStore:
    """The file, as one search uses it. Its methods need a lock of their caller."""

    def __init__(self, path: str | PathLike[str], most: int = MOST) -> None:
        """Opens the file, or makes it. Raises InvalidInput (``evaluations``)."""
        self.path, self._most, self._warned = Path(path), most, False
        try:
            if self.path.exists() and not self.path.is_file():
                raise sqlite3.Error("no ordinary file")
            # Another process that writes is waited for.
            self._db = sqlite3.connect(
                path, timeout=10.0, isolation_level="IMMEDIATE", check_same_thread=False
            )
            self.close = weakref.finalize(self, self._db.close)
            self._db.row_factory = sqlite3.Row
            asked = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
            *found, tables = (self._db.execute(each).fetchone()[0] for each in asked)
            if tables and found != [APPLICATION, FORMAT]:
                raise sqlite3.Error("of another program, or of another version of Banyan")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            getattr(self, "close", bool)()
            accepted = f"a store of evaluations that can be written, or no file yet ({error})"
            raise InvalidInput("evaluations", str(path), accepted) from None

    def use(self, context: Context, game: Game) -> None:
        """From now on keep the answers of this search's evaluator to positions of its game.

        Raises InvalidInput (``evaluator``, ``evaluator_version``).
        """
        text, source = context.request.evaluator or "", context.evaluator_source
        versions = [context.request.evaluator_version or ""]
        if source is not None:
            versions.append(str(load_evaluator(text, source, game).version))
        elif not versions[0]:
            accepted = "a name and version of what evaluates, for a store of evaluations"
            raise InvalidInput("evaluator_version", context.request.evaluator_version, accepted)
        spec = evaluator_spec(text)
        # Not where the file lies.
        name = str(Spec(spec.name.rpartition("/")[2], dict(sorted(spec.options.items()))))
        shown = (
            name,
            " ".join(filter(None, versions)),
            context.game,
            float(context.request.policy_temperature),
        )
        identity = json.dumps([shown, versions, source, context.game_source])
        self._source = hashlib.sha256(identity.encode()).digest()[:16], *shown

    def get(self, key: bytes, legal: npt.NDArray[np.uint16]) -> Answer | None:
        """The answer to the position with this key, its priors in the order of the legal moves."""
        with suppress(sqlite3.Error):
            select = "SELECT value, priors FROM answer WHERE source = ? AND position = ?"
            found = self._db.execute(select, (self._source[0], key)).fetchone()
            if found is not None and len(found[1]) == 4 * len(legal):
                return aligned(Answer(found[0], np.frombuffer(found[1], "<f4")), np.sort(legal), legal)
        return None

    def keep(self, key: bytes, legal: npt.NDArray[np.uint16], answer: Answer) -> Answer:
        """Keep an answer, whose priors are in the order of the legal moves; returns the one that `get`
        returns from now on: another search may have been quicker."""
        value, priors = aligned(answer, legal, np.sort(legal))
        row = self._source[0], key, value, priors.tobytes()
        try:
            with self._db:
                self._db.execute("INSERT OR IGNORE INTO source VALUES (?, ?, ?, ?, ?)", self._source)
                self._db.execute("INSERT OR IGNORE INTO answer VALUES (NULL, ?, ?, ?, ?)", row)
                self._db.execute(_REMOVE, (self._most,))
        except sqlite3.Error as error:
            if not self._warned:
                logging.getLogger("banyan").warning("%s: the search goes on without it: %s", self.path, error)
            self._warned = True
        return self.get(key, legal) or answer

    def contents(self) -> list[dict[str, Any]]:
        """For each evaluator and game, how many answers there are, and about how many bytes."""
        return [dict(row) for row in self._db.execute(_CONTENTS)]
