"""Needs: the units that a row of a table requires (games of a match, or units of a count), and their worker.

A unit depends only on its need and its number: a lost unit is run again with an equal result, unless budgets
are in seconds. An exception in a unit becomes part of its result, and makes only its own row fail.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import dataclass
from typing import Any

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.table import Row
from cluster.matches.game import GameJob, MatchContext, MatchWorker
from cluster.matches.launch import MatchRequest, open_match
from cluster.matches.record import GameRecord
from games.errors import InvalidInput


@dataclass(frozen=True)
class MatchNeed:
    """A number of games of a match."""

    context: MatchContext
    units: int

    @property
    def key(self) -> str:
        """A unique name of the match, independent of the number of games."""
        context = self.context
        return _key(
            context.game.partition(":")[0],
            (context.game, *context.players, context.seed, context.opening_plies),
        )


@dataclass(frozen=True)
class CountNeed:
    """A number of units of a count; each depends only on the arguments and its number."""

    name: str
    arguments: str
    """Arguments as JSON, including the seed."""
    units: int

    @property
    def key(self) -> str:
        """A unique name of the count, independent of the number of units."""
        return _key(self.name, (self.name, self.arguments))


Need = MatchNeed | CountNeed


def need_of(row: Row, seed: int) -> Need:
    """The need of a row. Raises InvalidInput, for example if its game or a player cannot be created."""
    details = dict(row.details)
    num_games = details.pop("games", 1)
    if row.measure in COUNTS or row.measure in SAMPLES:
        arguments = json.dumps({**details, "seed": seed}, sort_keys=True, default=str)
        return CountNeed(row.measure, arguments, num_games if row.measure in SAMPLES else 1)
    for name in ("game", "a"):
        if name not in details:
            raise InvalidInput("table", row.name, f"a row with {name}")
    a, b = details["a"], details.get("b", details["a"])
    request = MatchRequest(details["game"], a, b, num_games, seed, details.get("opening_plies", 0))
    context, _ = open_match(request)
    return MatchNeed(context, num_games)


@dataclass(frozen=True)
class UnitDone:
    """The result of a unit: a game record, found values, or an error."""

    index: int
    """Number of the game in its match, or of the sample."""
    record: GameRecord | None = None
    found: dict[str, Any] | None = None
    error: str = ""
    cpu_s: float = 0.0
    duration_s: float = 0.0


class UnitWorker:
    """Runs units of one need, one after the other, in one process."""

    def __init__(self) -> None:
        self._match = MatchWorker()

    def prepare(self, context: Need) -> None:
        """Does nothing: players are created with their first game."""

    def run(self, context: Need, job: int) -> UnitDone:
        """Run the unit with this number."""
        started, cpu = time.perf_counter(), time.thread_time()
        record, found, error = None, None, ""
        try:
            if isinstance(context, MatchNeed):
                record = self._match.run(context.context, GameJob(job)).record
            else:
                found = _count(context, job)
        except InvalidInput as wrong:
            error = f"{wrong.field} {wrong.value!r} is not accepted; expected {wrong.accepted}"
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        spent_s, cpu_s = time.perf_counter() - started, time.thread_time() - cpu
        return UnitDone(job, record, found, error, cpu_s, spent_s)


def _count(need: CountNeed, number: int) -> dict[str, Any]:
    """Run one unit of a count."""
    arguments = json.loads(need.arguments)
    found = SAMPLES[need.name](arguments, number) if need.name in SAMPLES else COUNTS[need.name](arguments)
    return dict(found)


def _key(word: str, identity: tuple[object, ...]) -> str:
    digest = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()
    return f"{re.sub('[^a-z0-9]+', '-', word.lower()).strip('-')}-{digest[:16]}"
