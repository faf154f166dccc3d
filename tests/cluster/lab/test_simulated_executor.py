"""Searches under the virtual clock: the answer is the real one, and times are what the costs say."""

from __future__ import annotations

from dataclasses import asdict, replace
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from cluster.lab.predict.costs import Costs
from cluster.lab.predict.launch import Prediction, tables
from cluster.lab.predict.prediction import (
    NullWorker,
    open_null,
    predict,
    saturation,
)
from cluster.lab.predict.simulated_executor import SimulatedExecutor
from cluster.runtime.session import session_on
from games.errors import InvalidInput
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.worker import Worker
from tests.search.common import digest_of_search

FREE = Costs(
    simulation_s=1e-6,
    crowded_simulation_s=1e-6,
    job_spread=0.0,
    make_s=0.0,
    absorb_s=0.0,
)
"""Workers of a million simulations a second, and a coordinator that costs nothing."""


def run(
    request: SearchRequest,
    workers: int,
    costs: Costs,
    null: bool = True,
    cores: int | None = None,
) -> tuple[SearchResult, SimulatedExecutor]:
    search = open_null(request) if null else open_search(request)
    worker = NullWorker() if null else Worker()
    executor = SimulatedExecutor(workers, costs, worker, shared_cores=cores, seed=5)
    return session_on(executor, search, workers, executor.clock).run(), executor


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_the_answer_is_the_real_one(strategy: str) -> None:
    request = SearchRequest(game="tictactoe", strategy=strategy, lanes=5, simulations=6000)
    costs = replace(FREE, crowded_simulation_s=2e-5, job_spread=0.8, latency_s=0.001, send_s=0.0001)
    result, _ = run(request, 3, costs, null=False)
    assert result.digest == digest_of_search(game="tictactoe", strategy=strategy, lanes=5, simulations=6000)


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
@pytest.mark.parametrize("workers", [1, 4, 16])
def test_without_costs_workers_are_all_that_counts(strategy: str, workers: int) -> None:
    request = SearchRequest(
        game="tictactoe", strategy=strategy, lanes=16, simulations=16_000_000, batch=1024, playouts_per_leaf=8
    )
    result, executor = run(request, workers, FREE)
    assert result.simulations == 16_000_000
    assert result.elapsed_s == pytest.approx(16.0 / workers, rel=0.02)
    assert executor.coordinator_s == 0.0
    assert sum(worker.busy_s for worker in executor.workers) == pytest.approx(16.0)


def test_more_workers_than_lanes_have_nothing_to_do() -> None:
    request = SearchRequest(game="tictactoe", strategy="root", lanes=4, simulations=8_000_000)
    four, _ = run(request, 4, FREE)
    nine, _ = run(request, 9, FREE)
    assert nine.elapsed_s == pytest.approx(four.elapsed_s, rel=0.01)


def test_a_round_waits_for_its_last_lane_and_for_the_coordinator() -> None:
    request = SearchRequest(game="tictactoe", strategy="tree", lanes=4, rounds=10, simulations=4_000_000)
    costs = replace(FREE, latency_s=0.01, absorb_s=0.001, round_s=0.02, publish_s=0.03, send_s=0.002)
    costs = replace(costs, plan_s=0.005)
    result, executor = run(request, 4, costs)
    # Ten rounds of 100,000 simulations; each is planned, sent and comes back, is merged (the last one alone
    # is waited for, if the others came before), and but for the first and the last a snapshot is taken.
    per_round = 0.005 + 0.1 + 0.01 + 4 * 0.001 + 4 * 0.002
    assert result.elapsed_s == pytest.approx(10 * per_round + 9 * 0.02 + 10 * 0.03, rel=0.02)
    assert executor.coordinator_s == pytest.approx(40 * 0.003 + 10 * 0.005 + 9 * 0.02 + 10 * 0.03)


@pytest.mark.parametrize("lanes", [2, 4, 12])
def test_what_else_a_call_runs_does_not_count_as_sending(lanes: int) -> None:
    # Two workers have one, two or six jobs of a round in a call, or in two; a call travels for 10 ms.
    executor = SimulatedExecutor(2, replace(FREE, latency_s=0.01), NullWorker(), seed=5)
    request = SearchRequest("tictactoe", strategy="tree", lanes=lanes, rounds=10, simulations=1_200_000)
    session = session_on(executor, open_null(request), 2, executor.clock)
    session.run()
    assert session.coordinator.counters.round_costs.send_s == pytest.approx(9 * 0.01)


def test_a_coordinator_that_is_always_busy_is_the_limit() -> None:
    request = SearchRequest(game="tictactoe", strategy="root", lanes=64, simulations=64_000_000)
    costs = replace(FREE, absorb_s=0.02)
    result, executor = run(request, 64, costs)
    jobs = sum(worker.jobs_done for worker in executor.workers)
    # It has nothing to do before the first jobs are done.
    assert executor.coordinator_s == pytest.approx(jobs * 0.02)
    assert result.elapsed_s == pytest.approx(jobs * 0.02 + 0.5, rel=0.01)


def test_on_a_machine_without_a_free_core_the_coordinator_robs_the_workers() -> None:
    request = SearchRequest(game="tictactoe", strategy="root", lanes=2, simulations=8_000_000)
    costs = replace(FREE, absorb_s=0.01, cores=2)
    (apart, _), (spare, _), (shared, executor) = (run(request, 2, costs, cores=n) for n in (None, 3, 2))
    assert apart.elapsed_s == pytest.approx(spare.elapsed_s, rel=1e-5)
    # Half of what the coordinator takes is one worker's loss at a time.
    assert shared.elapsed_s == pytest.approx(apart.elapsed_s + executor.coordinator_s / 2, rel=0.02)


def test_the_same_seed_predicts_the_same() -> None:
    request = SearchRequest(game="tictactoe", strategy="tree", lanes=16, simulations=20_000_000)
    costs = replace(FREE, job_spread=0.3, latency_s=0.002)
    times = {run(request, 16, costs)[0].elapsed_s for _ in range(2)}
    assert len(times) == 1
    assert run(request, 16, FREE)[0].elapsed_s < times.pop()


@pytest.mark.slow
def test_saturation_is_found() -> None:
    request = SearchRequest(game="tictactoe", strategy="tree", lanes=256, rounds=16, simulations=128_000_000)
    costs = replace(FREE, absorb_s=0.001, send_s=0.001, latency_s=0.002)
    rows = [*predict(request, costs, [1, 16, 256], report=lambda line: None)]
    assert [row.workers for row in rows] == [1, 16, 256]
    assert rows[0].efficiency > 0.95 > rows[2].efficiency
    assert saturation(rows) == 256
    assert saturation(rows[:2]) is None


def test_speedups_have_one_base_which_is_the_rate_of_one_worker_alone() -> None:
    request = SearchRequest(game="tictactoe", strategy="root", lanes=64, simulations=64_000_000)
    # On two cores, a simulation takes twice as long while both are at work.
    costs = replace(FREE, crowded_simulation_s=2e-6, cores=2)
    rows = [*predict(request, costs, [2, 64, 1], report=lambda line: None)]
    alone = rows[2]
    assert (alone.speedup, alone.efficiency) == (1.0, 1.0)
    for row in rows:
        speedup = row.simulations_per_s / alone.simulations_per_s
        assert row.speedup == pytest.approx(speedup, rel=1e-3)
        assert row.efficiency == pytest.approx(speedup / row.workers, abs=1e-3)
        assert row.of_ceiling == pytest.approx(1.0, abs=0.01)
    assert rows[0].speedup == pytest.approx(1.0, abs=0.01)
    # A base that is not asked for is the same.
    assert next(predict(request, costs, [64], report=lambda line: None)).speedup == rows[1].speedup


def test_the_table_of_a_prediction_names_its_base_and_the_work_of_each_row() -> None:
    costs = {"root": FREE, "tree": replace(FREE, absorb_s=0.001)}
    small = SearchRequest(game="tictactoe", strategy="root", lanes=4, simulations=1_000_000)
    rows = [
        *predict(small, costs["root"], [1], report=lambda line: None),
        *predict(replace(small, strategy="tree", simulations=2_000_000), costs["tree"], [1], report=str),
    ]
    text = _printed(tables(Prediction(costs, rows)))
    assert "speedup: against one worker of the same strategy" in text
    assert "1,000,000" in text and "2,000,000" in text


def _printed(shown: list[Table]) -> str:
    console = Console(file=StringIO(), width=200)
    for table in shown:
        console.print(table)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def test_costs_are_read_as_they_were_written() -> None:
    whole = asdict(FREE)
    assert Costs.from_json(whole) == FREE
    no_link = whole | {"link_bytes_per_s": 0.0}
    for field, wrong in (("send_s", whole | {"send_s": -1.0}), ("costs", {"a": 1}), ("link", no_link)):
        with pytest.raises(InvalidInput, match=field):
            Costs.from_json(wrong)
