"""Simulators that wait: more workers than cores, what calls cost them, and what is predicted of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cluster.executors.choose import make_executor
from cluster.lab.predict import calibration
from cluster.lab.predict.calibration import crowd_request, measure_costs, together, waits
from cluster.lab.predict.prediction import check
from cluster.lab.predict.steps import Ran, cpu_seconds
from cluster.lab.throughput.ceiling import Ceiling
from search.request import SearchRequest
from tests.cluster.lab.test_simulated_executor import FREE, run
from tests.cluster.searches import compiled_only, search_on
from tests.games.own_game import write_waiting

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from cluster.ray_backend.executor import RayExecutor

WAIT_S = 0.03
WORKERS = 6
WAITING = replace(FREE, simulation_s=0.01, crowded_simulation_s=0.01, job_cpu_share=0.1, cores=2)


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
def test_costs_know_that_a_simulator_waits(
    tmp_path: Path, executor: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To 40 per cent, and not to 10, as people want to have it.
    monkeypatch.setattr(calibration, "REPEATS", 1)
    monkeypatch.setattr(calibration, "CROWD_S", 1.0)
    request = request_of(tmp_path, 360)
    costs = measure_costs(request, ["leaf"], executor, lambda line: None)["leaf"]
    assert waits(costs)
    assert WAIT_S < costs.simulation_s < 5 * WAIT_S
    assert 0 < costs.worker_call_cpu_s < WAIT_S
    errors = []
    while not errors or (abs(errors[-1]) > 0.4 and len(errors) < 5):
        # What else the machine does may have changed since costs were measured.
        (row,) = check(request, costs, [WORKERS], executor, 1, lambda line: None)
        errors.append(row.error)
    assert abs(errors[-1]) <= 0.4, errors


def test_what_workers_that_wait_use_together_is_what_the_cores_have() -> None:
    costs = replace(WAITING, worker_call_cpu_s=0.0005)
    request = SearchRequest(
        game="tictactoe", strategy="leaf", lanes=64, simulations=6400, batch=1, playouts_per_leaf=1
    )
    rates = {}
    for workers in (1, 4, 32):
        result, _ = run(request, workers, costs, cores=2)
        rates[workers] = result.simulations / result.elapsed_s
    assert rates[1] == pytest.approx(100, rel=0.02)
    assert rates[4] == pytest.approx(400, rel=0.02)
    # Each takes 1 ms of CPU, and its share of a call, of the 2 s that there are in a second.
    assert rates[32] > 0.98 * 2 / 0.0015
    assert rates[32] <= 1.000001 * 2 / 0.001


def test_what_is_dearer_for_many_is_measured_and_reckoned_with() -> None:
    costs = replace(
        WAITING,
        make_s=0.0001,
        absorb_s=0.0001,
        send_s=0.0002,
        receive_s=0.0001,
        call_job_s=0.00005,
        worker_call_cpu_s=0.0007,
    )
    # Of 1,000 jobs in 400 calls: 1.2 ms each, 1 ms a call, 0.05 ms for each of 600 further jobs.
    ran = Ran(
        elapsed_s=1.5,
        thread_s=0.4,
        process_s=0.5,
        busy_s=1.0,
        worker_cpu_s=1.5 * 1.63 - 0.5,
        jobs=1000,
        calls=400,
    )
    assert together(costs, ran) == pytest.approx(1.5)
    assert together(costs, replace(ran, worker_cpu_s=0.0)) == 1.0
    request = SearchRequest(game="tictactoe", strategy="leaf", lanes=8, simulations=100)
    crowd = crowd_request(request, costs, 32)
    assert (crowd.lanes, crowd.batch) == (128, 1)
    # Three seconds of two cores, at 1.7 ms each.
    assert crowd.simulations == pytest.approx(3 * 2 / 0.0017, rel=0.01)


def test_cpu_time_is_that_of_the_processes_named() -> None:
    assert 0 < cpu_seconds([os.getpid()]) <= sum(os.times()[:2]) + 0.1
    assert cpu_seconds([]) == 0.0
