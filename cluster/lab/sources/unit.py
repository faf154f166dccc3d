"""Units of work of experiments (a game, or a part of a count), and the worker that runs them.

A unit depends only on its need and its number: a lost unit is run again with an equal result, unless budgets
are in seconds. An exception in a unit becomes part of its result, and makes only its own row fail.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from cluster.lab.sources.counts import COUNTS, SAMPLES
from cluster.lab.sources.need import CountNeed, MatchNeed, Need
from cluster.matches.game import GameJob, MatchWorker
from cluster.matches.record import GameRecord
from games.errors import InvalidInput


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
                found = find(context, job)
        except InvalidInput as wrong:
            error = f"{wrong.field} {wrong.value!r} is not accepted; expected {wrong.accepted}"
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        spent_s, cpu_s = time.perf_counter() - started, time.thread_time() - cpu
        return UnitDone(job, record, found, error, cpu_s, spent_s)


def find(need: CountNeed, number: int) -> dict[str, Any]:
    """Run one unit of a count."""
    arguments = json.loads(need.arguments)
    if need.name in SAMPLES:
        return dict(SAMPLES[need.name](arguments, number))
    return dict(COUNTS[need.name](arguments))
