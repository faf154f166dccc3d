"""The units of work that experiments are cut into, and what runs one: a game, or a part of a count.

A unit is a function of the plan and its own numbers: a lost one is run again, and is the same, as far as
budgets are not in seconds. One that raises says so in its result, so that it takes down its own row only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cluster.experiments.counts import COUNTS, SAMPLES
from cluster.experiments.need import CountNeed, MatchNeed, Need
from cluster.matches.game import Cancelled, GameJob, MakePlayer, MatchWorker
from cluster.matches.record import GameRecord
from games.errors import InvalidInput
from search.players import player_of

KEPT_MATCHES = 4
"""Matches that a worker keeps players of; units come in the order of their matches, nearly."""


@dataclass(frozen=True)
class Plan:
    """What the units of one run are about; what workers are sent first."""

    needs: tuple[Need, ...]


@dataclass(frozen=True)
class Unit:
    """One piece of work."""

    index: int
    """In the run."""
    need: int
    """In the plan."""
    number: int
    """A game's number in its match, or the number of a sample."""
    simulations: int = 1


@dataclass(frozen=True)
class UnitDone:
    """What came of a unit: a record, something found, or an error."""

    index: int
    need: int
    number: int
    record: GameRecord | None = None
    found: dict[str, Any] | None = None
    error: str = ""
    cpu_s: float = 0.0
    duration_s: float = 0.0
    simulations: int = 0
    """None are counted, so that an executor never takes units to be alike and bundles them: one may be
    a thousand times as long as another."""


class UnitWorker:
    """Runs units, one after the other, in one process."""

    def __init__(
        self, make_player: MakePlayer = player_of, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._make_player = make_player
        self._cancelled = cancelled
        self._matches: dict[str, MatchWorker] = {}

    def prepare(self, context: Plan) -> None:
        """Nothing: players are made when their first game comes."""

    def run(self, context: Plan, job: Unit) -> UnitDone:
        """Run one; raises Cancelled only."""
        need = context.needs[job.need]
        started, cpu = time.perf_counter(), time.thread_time()
        record, found, error = None, None, ""
        try:
            if isinstance(need, MatchNeed):
                record = self._match(need).run(need.context, GameJob(job.number)).record
            else:
                found = find(need, job.number)
        except Cancelled:
            raise
        except InvalidInput as wrong:
            error = f"{wrong.field} {wrong.value!r} is not accepted; expected {wrong.accepted}"
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        return UnitDone(
            job.index,
            job.need,
            job.number,
            record,
            found,
            error,
            time.thread_time() - cpu,
            time.perf_counter() - started,
        )

    def _match(self, need: MatchNeed) -> MatchWorker:
        key = need.key
        if key not in self._matches:
            while len(self._matches) >= KEPT_MATCHES:
                del self._matches[next(iter(self._matches))]
            self._matches[key] = MatchWorker(self._make_player, self._cancelled)
        return self._matches[key]


def find(need: CountNeed, number: int) -> dict[str, Any]:
    """One unit of a count."""
    arguments = json.loads(need.arguments)
    if need.name in SAMPLES:
        return dict(SAMPLES[need.name](arguments, number))
    return dict(COUNTS[need.name](arguments))
