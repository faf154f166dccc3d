"""Measure tables, one after the other; what cannot be run says why, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cluster.experiments.laboratory import Laboratory
from cluster.experiments.measures import measure
from cluster.experiments.table import Row, load
from cluster.experiments.verdict import TableResult, Verdict
from games.errors import InvalidInput


def run_tables(
    names: Iterable[str], scale: str, laboratory: Laboratory, announce: Callable[[str], None]
) -> Iterator[TableResult]:
    """Each table as it is done. ``announce`` is told what begins. Raises Interrupted, MatchFailed."""
    for name in names:
        table, verdicts = load(name), []
        rows = table.rows_at[scale]
        for number, row in enumerate(rows, start=1):
            announce(f"{name}, {row.name} ({number} of {len(rows)})")
            verdicts.append(_verdict(row, laboratory))
        yield TableResult(table, scale, tuple(verdicts))


def _verdict(row: Row, laboratory: Laboratory) -> Verdict:
    if "not_run" in row.details:
        return Verdict(row, failure=str(row.details["not_run"]))
    try:
        return Verdict(row, measure(row, laboratory))
    except InvalidInput as error:
        if error.field == "out":
            raise
        return Verdict(row, failure=f"{error.field} {error.value} is not accepted: expected {error.accepted}")
