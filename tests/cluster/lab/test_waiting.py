"""Simulators that wait: more workers than cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cluster.lab.predict.calibration import measure_costs
from cluster.lab.throughput.ceiling import Ceiling
from cluster.workers.choose import make_executor
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.searches import compiled_only, search_on
from tests.games.own_game import write_waiting

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

WAIT_S = 0.03
WORKERS = 6


@pytest.fixture(scope="module")
def executor() -> Iterator[RayExecutor]:
    executor = cast("RayExecutor", make_executor("ray", WORKERS))
    yield executor
    executor.close()


def request_of(folder: Path, simulations: int) -> SearchRequest:
    game = f"{write_waiting(folder)}:wait_ms={WAIT_S * 1000:.0f}"
    return SearchRequest(game=game, strategy="leaf", lanes=24, simulations=simulations)


@compiled_only
def test_workers_that_wait_are_all_busy_however_few_cores_there_are(
    tmp_path: Path, executor: RayExecutor
) -> None:
    request = request_of(tmp_path, 360)
    for workers in (1, WORKERS):
        executor.use(workers)
        before_s = sum(worker.busy_s for worker in executor.workers)
        asked = replace(request, simulations=60) if workers == 1 else request
        result, _ = search_on(executor, asked)
        busy_s = sum(worker.busy_s for worker in executor.workers) - before_s
        assert result.simulations / result.elapsed_s < workers / WAIT_S
        assert busy_s > 0.6 * workers * result.elapsed_s


@compiled_only
def test_jobs_recorded_on_workers_are_those_of_one_thread(tmp_path: Path, executor: RayExecutor) -> None:
    request = request_of(tmp_path, 120)
    executor.use(WORKERS)
    for recorded_on in (executor, None):
        ceiling = Ceiling(request, 2, recorded_on)
        try:
            assert 0.1 * 2 / WAIT_S < ceiling.measure(2) < 1.1 * 2 / WAIT_S
        finally:
            ceiling.close()


@compiled_only
def test_what_waits_is_measured_and_not_predicted(tmp_path: Path, executor: RayExecutor) -> None:
    with pytest.raises(InvalidInput, match="banyan speedup measures"):
        measure_costs(request_of(tmp_path, 360), ["leaf"], executor, lambda line: None)
