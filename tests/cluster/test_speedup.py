"""`banyan speedup`: a real small run, its figures held against each other, and the files it writes."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.measuring.ceiling import Ceiling
from cluster.measuring.losses import GCS, PARTS, WORKERS
from cluster.measuring.speedup import Row, default_simulations, measure_speedup
from cluster.measuring.speedup_report import write_rows
from search.request import SearchRequest

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="real workers run compiled kernels"
)

REQUEST = SearchRequest(game="tictactoe", simulations=300_000, seed=3, memory_mb=256)
STRATEGIES = ("root", "tree", "leaf")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    lines: list[str] = []
    rows = measure_speedup(REQUEST, STRATEGIES, (1, 2), repeats=2, report=lines.append)
    assert sum("of the ceiling" in line for line in lines) == 2 * 3 * 2
    return rows


def test_there_is_a_row_for_each_strategy_and_number_of_workers(rows: list[Row]) -> None:
    assert [(row.strategy, row.workers) for row in rows] == [(s, n) for s in STRATEGIES for n in (1, 2)]


def test_figures_follow_from_each_other(rows: list[Row]) -> None:
    one = {row.strategy: row for row in rows if row.workers == 1}
    for row in rows:
        assert row.spread[0] <= row.simulations_per_s <= row.spread[1]
        assert row.of_ceiling_spread[0] <= row.of_ceiling <= row.of_ceiling_spread[1]
        assert row.speedup == pytest.approx(
            row.simulations_per_s / one[row.strategy].simulations_per_s, abs=1e-3
        )
        assert row.efficiency == pytest.approx(row.speedup / row.workers, abs=1e-3)
        assert row.repeats == 2
        assert row.simulations == 300_000
        # The same jobs without Ray, coordinator and merging cannot be slower than half as fast.
        assert row.ceiling_simulations_per_s > row.simulations_per_s / 2


def test_the_time_of_all_cores_is_accounted_for(rows: list[Row]) -> None:
    for row in rows:
        assert tuple(row.spent) == PARTS
        # Ticks of 10 ms are counted for each of some ten processes, and a run takes half a second here.
        assert sum(row.spent.values()) == pytest.approx(1.0, abs=0.25)
        assert row.spent[WORKERS] > row.spent[GCS]


def test_the_number_of_workers_does_not_change_the_digest(rows: list[Row]) -> None:
    for strategy in STRATEGIES:
        assert len({row.digest for row in rows if row.strategy == strategy}) == 1
    assert len({row.digest for row in rows}) == 3


def test_rows_are_written_as_json_csv_and_a_picture(rows: list[Row], tmp_path: Path) -> None:
    paths = write_rows(rows, tmp_path / "new" / "folder")
    written = json.loads(paths[0].read_text())
    wanted = {
        "game", "strategy", "lanes", "workers", "simulations", "simulations_per_s", "speedup", "efficiency",
        "ceiling_simulations_per_s", "of_ceiling", "digest", "repeats", "spread",
    }  # fmt: skip
    assert len(written) == len(rows)
    assert wanted <= set(written[0])
    with paths[1].open() as file:
        table = list(csv.DictReader(file))
    assert [line["digest"] for line in table] == [row.digest for row in rows]
    assert paths[2].read_bytes().startswith(b"\x89PNG")


def test_a_ceiling_runs_all_that_it_is_asked_to_and_leaves_no_process() -> None:
    request = replace(REQUEST, strategy="tree", simulations=50_000)
    ceiling = Ceiling(request, 2)
    processes = list(ceiling.processes)
    assert ceiling.measure(1) > 0
    assert ceiling.measure(2) > 0
    ceiling.close()
    assert not any(process.is_alive() for process in processes)


def test_default_work_is_a_round_number_of_some_seconds() -> None:
    assert default_simulations(4e6) == 60_000_000
    assert default_simulations(812_345.0) == 12_000_000
    assert default_simulations(0.01) == 1
