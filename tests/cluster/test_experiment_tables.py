"""What the tables of experiments say in their files; and the accuracy of a thesis' player, worked out."""

from __future__ import annotations

import pytest

from cluster.lab.sources.counts_battleship import distribution_of_misses, sampling_accuracy
from cluster.lab.sources.need import need_of
from cluster.lab.sources.table import SCALES, load, names


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("source", ["000", "001", "003", "004", "claims"])
def test_every_row_names_games_and_players_that_there_are(source: str, scale: str) -> None:
    tables = [load(name) for name in names() if name.startswith(source)]
    assert tables
    for table in tables:
        for row in table.rows_at[scale]:
            assert need_of(row, 0).units > 0


def test_every_row_says_whether_it_is_as_printed() -> None:
    """As printed, or with one sentence about what deviates, or a row of ours: one of the three."""
    silent = [
        f"{name}: {row.name}"
        for name in names()
        if name[:3] in ("000", "003", "004") or name in ("002/1", "002/2", "002/branching")
        for row in load(name).rows_at["quick"]
        if row.as_printed + bool(row.deviates) + row.ours != 1
    ]
    assert "\n".join(silent) == ""


@pytest.mark.parametrize(
    ("depth", "steps", "mean", "of_mean_shots", "worst"),
    [
        (1, 50, 90.05, 89.26, 65.4),
        (1, 80, 95.39, 95.04, 77.3),
        (2, 50, 96.44, 96.18, 81.0),
        (2, 80, 98.68, 98.59, 89.5),
        (3, 50, 98.37, 98.26, 85.0),
        (3, 80, 99.51, 99.48, 94.4),
    ],
)
def test_the_accuracy_of_the_printed_program_is_as_computed_elsewhere(
    depth: int, steps: int, mean: float, of_mean_shots: float, worst: float
) -> None:
    found = sampling_accuracy({"depth": depth, "steps": steps})
    assert found["mean"] == pytest.approx(mean, abs=0.006)
    assert 1700 / found["shots"] == pytest.approx(of_mean_shots, abs=0.006)
    assert found["worst"] == pytest.approx(worst, abs=0.06)


def test_shooting_at_cells_again_costs_what_a_geometric_waiting_time_does() -> None:
    """Of one step, one cell: 100 / k shots for each hit while k cells are afloat."""
    found = sampling_accuracy({"depth": 1, "steps": 1, "tries_again": True})
    assert found["shots"] == pytest.approx(sum(100 / afloat for afloat in range(1, 18)), rel=1e-6)
    assert sum(distribution_of_misses(1, 1, True).values()) == pytest.approx(1)
    assert sum(distribution_of_misses(2, 50, False).values()) == pytest.approx(1)
