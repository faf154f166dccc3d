"""The records of analyses in the store: what was asked, how it stands, and the answers in their order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from cluster.service.records import CANCELLED, DONE, FAILED, OVER, QUEUED, RUNNING
from cluster.service.store import Store

KEPT = 100
"""Analyses that are over and are kept, the newest ones."""
DEATHS = 5
"""An analysis fails if this number of servers died while it ran, without an answer between: searches, which
are blamed earlier, have run alone by then."""


@dataclass(frozen=True)
class Analysis:
    """The record of one analysis."""

    number: int
    """Its number in the order of acceptance."""
    id: str
    state: str
    priority: int
    game: str
    positions: int
    fingerprint: str
    """Hash of the body, to distinguish a repeated request from a different one with an equal key."""
    created_s: float
    started_s: float | None
    finished_s: float | None
    error: str | None
    """Why it has failed, in JSON."""
    deaths: int
    answered: int
    """Number of positions with a final answer."""

    @property
    def over(self) -> bool:
        return self.state in OVER


_SELECT = (
    f"SELECT {', '.join(each.name for each in fields(Analysis)[:-1])},"
    " (SELECT coalesce(max(place), 0) FROM answer WHERE analysis = number) FROM analysis"
)


class KeptAnalyses:
    """The analyses of a store. A state changes only from an open one, and only an open one gets answers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, request: str, key: str | None, **columns: Any) -> None:
        """Add a queued analysis with this request, in JSON."""
        columns |= {"state": QUEUED, "request": request, "key": key}
        marks = ", ".join("?" * len(columns))
        self._store.change(
            (f"INSERT INTO analysis ({', '.join(columns)}) VALUES ({marks})", *columns.values())
        )

    def found(self, column: str, value: str) -> Analysis | None:
        """The analysis with this id, or key; None if there is none."""
        rows = self._store.rows(f"{_SELECT} WHERE {column} = ?", value)
        return Analysis(*rows[0]) if rows else None

    def newest(self) -> list[Analysis]:
        """All that are kept, the latest first."""
        return [Analysis(*row) for row in self._store.rows(f"{_SELECT} ORDER BY number DESC")]

    def reopen(self, *, died: bool) -> list[Analysis]:
        """The open analyses, all queued, in their order. ``died``: whether a crash of the server counts
        against those that ran."""
        self._store.change(
            ("UPDATE analysis SET state = ?, deaths = deaths + ? WHERE state = ?", QUEUED, died, RUNNING)
        )
        return [each for each in reversed(self.newest()) if not each.over]

    def asked(self, number: int) -> tuple[str, set[int]]:
        """The request of an analysis, in JSON, and the numbers of the positions that have an answer."""
        ((text,),) = self._store.rows("SELECT request FROM analysis WHERE number = ?", number)
        rows = self._store.rows("SELECT position FROM answer WHERE analysis = ?", number)
        return text, {position for (position,) in rows}

    def begin(self, number: int, now_s: float) -> None:
        """Set a queued analysis to running."""
        change = "UPDATE analysis SET state = ?, started_s = coalesce(started_s, ?)"
        self._store.change((f"{change} WHERE number = ? AND state = ?", RUNNING, now_s, number, QUEUED))

    def answer(self, number: int, first: int, answers: Sequence[tuple[int, str]]) -> None:
        """Add answers, pairs of the number of the position and a line of JSON, from this place on. The same
        ones again change nothing."""
        add = (
            "INSERT OR IGNORE INTO answer SELECT number, ?, ?, ? FROM analysis WHERE number = ? AND state = ?"
        )
        self._store.change(
            ("UPDATE analysis SET deaths = 0 WHERE number = ?", number),
            *((add, first + n, *each, number, RUNNING) for n, each in enumerate(answers)),
        )

    def answers(self, analysis_id: str, after: int, limit: int) -> list[str]:
        """At most so many answers, from the place after ``after`` on."""
        rows = self._store.rows(
            "SELECT line FROM answer WHERE analysis = (SELECT number FROM analysis WHERE id = ?)"
            " AND place > ? ORDER BY place LIMIT ?",
            *(analysis_id, after, limit),
        )
        return [row[0] for row in rows]

    def finish(self, number: int, state: str, now_s: float, error: dict[str, Any] | None = None) -> None:
        """Set an open analysis to a state in which it is over, and forget the oldest ones."""
        told = None if error is None else json.dumps(error)
        over = f"state IN ('{DONE}', '{CANCELLED}', '{FAILED}')"
        old = f"SELECT number FROM analysis WHERE {over} ORDER BY number DESC LIMIT -1 OFFSET {KEPT}"
        change = "UPDATE analysis SET state = ?, finished_s = ?, error = ?"
        self._store.change(
            (f"{change} WHERE number = ? AND NOT {over}", state, now_s, told, number),
            (f"DELETE FROM answer WHERE analysis IN ({old})",),
            (f"DELETE FROM analysis WHERE number IN ({old})",),
        )
