"""Searches under the virtual clock: the answer is the real one, times are what the costs say, the books
balance, and each wait is laid at the right door."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console

import games
from cluster.lab.predict import prediction, steps
from cluster.lab.predict.calibration import MOST_JOBS, calibration_request, slope
from cluster.lab.predict.costs import Costs, write_costs
from cluster.lab.predict.launch import Prediction, PredictionPlan, run_prediction, tables
from cluster.lab.predict.prediction import (
    NullWorker,
    Predicted,
    for_request,
    open_null,
    predict,
    saturation,
)
from cluster.lab.predict.simulated_executor import (
    CALLS,
    COORDINATOR,
    MERGING,
    SENDING,
    SNAPSHOTS,
    WAITING,
    WORKING,
    SimulatedExecutor,
)
from cluster.runtime.session import session_on
from games.errors import InvalidInput
from search.job import Portions
from search.plan import FEW_LANES, JOB_S, MIN_ROUNDS
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.strategies import plan_search
from search.strategies.tree import RoundPlanner
from search.worker import Worker
from tests.games.own_game import write_waiting
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
    console = Console(width=200)
    with console.capture() as shown:
        console.print(*tables(Prediction(costs, rows)))
    text = " ".join(shown.get().split())
    assert "speedup: against one worker of the same strategy" in text
    assert "1,000,000" in text and "2,000,000" in text


def test_costs_are_read_as_they_were_written() -> None:
    whole = asdict(FREE)
    assert Costs.from_json(whole) == FREE
    no_link = whole | {"link_bytes_per_s": 0.0}
    for field, wrong in (("send_s", whole | {"send_s": -1.0}), ("costs", {"a": 1}), ("link", no_link)):
        with pytest.raises(InvalidInput, match=field):
            Costs.from_json(wrong)


ROUNDS = SearchRequest(game="tictactoe", strategy="tree", lanes=8, rounds=10, simulations=8_000_000)
"""Jobs of 0.1 s."""


def spent(costs: Costs, request: SearchRequest = ROUNDS) -> Predicted:
    (row,) = predict(request, costs, [8], report=lambda line: None)
    return row


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_shares_add_up_to_one_and_working_is_the_share_of_the_ceiling(strategy: str) -> None:
    costs = replace(
        FREE,
        job_spread=0.1,
        make_s=2e-4,
        absorb_s=3e-3,
        round_s=2e-3,
        turn_s=1e-3,
        send_s=2e-3,
        receive_s=1e-4,
        publish_s=1e-3,
        fetch_s=4e-3,
        worker_call_s=1e-3,
        latency_s=2e-3,
    )
    request = replace(ROUNDS, strategy=strategy, rounds=10 if strategy == "tree" else None, batch=1024)
    row = spent(costs, request)
    assert sum(row.spent[part] for part in (WORKING, CALLS, WAITING)) == pytest.approx(1.0, abs=0.002)
    assert sum(row.spent[part] for part in COORDINATOR) == pytest.approx(row.coordinator_busy, abs=0.002)
    assert row.spent[WORKING] == pytest.approx(row.of_ceiling, rel=0.02)
    assert min(row.spent.values()) >= 0.0


@pytest.mark.parametrize(
    ("change", "part", "share"),
    [
        ({}, WORKING, 1.0),
        ({"send_s": 0.005}, SENDING, 0.04 / 0.14),
        ({"publish_s": 0.05}, SNAPSHOTS, 0.05 / 0.15),
        ({"latency_s": 0.05}, WAITING, 0.05 / 0.15),
        ({"absorb_s": 0.005}, MERGING, 0.04 / 0.14),
    ],
)
def test_who_is_waited_for(change: dict[str, float], part: str, share: float) -> None:
    row = spent(replace(FREE, **change))  # type: ignore[arg-type]
    assert row.spent[part] == pytest.approx(share, rel=0.2)


def test_a_round_waits_for_its_slowest_job() -> None:
    row = spent(replace(FREE, job_spread=0.3))
    assert row.spent[WAITING] > 0.2


def planned(
    folder: Path, request: SearchRequest, workers: list[int], costs: dict[str, Costs]
) -> PredictionPlan:
    write_costs(costs, folder / "costs.json")
    return PredictionPlan(request, [*costs], workers, folder / "costs.json", None)


@pytest.mark.slow
def test_what_is_predicted_without_a_budget_is_short(tmp_path: Path) -> None:
    """A game with few leaves in a job has no more jobs than others."""
    request = SearchRequest(game=f"{write_waiting(tmp_path)}:wait_ms=20", lanes=256)
    costs = {"leaf": replace(FREE, simulation_s=0.02)}
    plan = planned(tmp_path, request, [1, 256], costs)
    found = run_prediction(plan, lambda line: None).rows
    searched = replace(request, strategy="leaf", simulations=found[0].simulations)
    assert plan_search(searched, games.load(request.game)).jobs == 256 * MIN_ROUNDS
    assert [row.simulations for row in found] == [searched.simulations] * 2
    asked = replace(plan, workers=[256], request=replace(request, simulations=10_000))
    assert [row.simulations for row in run_prediction(asked, lambda line: None).rows] == [10_000]


def test_costs_of_the_shortest_jobs_are_measured_with_some_thousands_of_them() -> None:
    """A second of a quick game would be a million."""
    one_leaf = SearchRequest("connect_four", strategy="leaf", simulations=10**6, batch=1, playouts_per_leaf=1)
    small = calibration_request(one_leaf)
    assert small.simulations == MOST_JOBS
    usual = calibration_request(SearchRequest("connect_four", strategy="tree", simulations=10**8))
    assert usual.simulations > 10**6


@pytest.mark.slow
def test_a_search_of_more_rounds_is_predicted_whole(tmp_path: Path) -> None:
    plan = planned(tmp_path, SearchRequest("gomoku", lanes=FEW_LANES), [FEW_LANES], {"tree": FREE})
    (row,) = run_prediction(plan, lambda line: None).rows
    expected = FEW_LANES * MIN_ROUNDS * games.load("gomoku").nominal_simulations_per_s * JOB_S
    assert row.simulations == expected


def test_what_a_plan_costs_in_any_case_is_no_cost_of_each_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are measured with two lanes, and stand for a thousand."""
    now_s, plan = [0.0], RoundPlanner.plan

    def plan_slowly(self: RoundPlanner, sizes: npt.NDArray[np.int64], first: int) -> list[Portions]:
        now_s[0] += 1.0 + 0.1 * len(sizes)
        return plan(self, sizes, first)

    monkeypatch.setattr(RoundPlanner, "plan", plan_slowly)

    def tick() -> float:
        now_s[0] += 1e-4
        return now_s[0]

    monkeypatch.setattr(steps.time, "perf_counter", tick)
    costs, _ = steps.time_steps(
        SearchRequest("tictactoe", strategy="tree", lanes=2, rounds=6, simulations=6_000)
    )
    assert (costs.plan_s, costs.make_s) == (pytest.approx(1.0, rel=0.01), pytest.approx(0.1, rel=0.01))


MESSAGES = replace(
    FREE,
    absorb_s=1e-3,
    increment_rows=16_384.0,
    row_s=5e-8,
    snapshot_bytes=1e6,
    round_s=1e-3,
    round_byte_s=1e-9,
    publish_s=2e-3,
    publish_byte_s=1e-9,
    fetch_s=3e-3,
    fetch_byte_s=2e-9,
)


def test_what_messages_cost_follows_their_size() -> None:
    larger = MESSAGES.with_messages(20_384.0, 3e6)
    assert larger.absorb_s == pytest.approx(1.2e-3)
    assert (larger.round_s, larger.publish_s, larger.fetch_s) == pytest.approx((3e-3, 4e-3, 7e-3))
    assert MESSAGES.with_messages(MESSAGES.increment_rows, MESSAGES.snapshot_bytes) == MESSAGES
    assert min(asdict(MESSAGES.with_messages(0.0, 0.0)).values()) >= 0.0


@pytest.mark.parametrize(
    ("rows", "absorb_s", "row_s"),
    [
        (4_384.0, 4e-4, 5e-8),
        # Chance, where both have sent as much, or nothing.
        (16_384.0, 9e-4, 0.0),
        (16_383.0, 0.0, 0.0),
        (0.0, 2e-3, 0.0),
    ],
)
def test_what_a_row_costs_is_not_taken_from_chance(rows: float, absorb_s: float, row_s: float) -> None:
    less = replace(MESSAGES, increment_rows=rows, absorb_s=absorb_s)
    assert slope(MESSAGES, less, "absorb_s", "increment_rows") == pytest.approx(row_s)
    assert slope(FREE, FREE, "absorb_s", "increment_rows") == 0.0


def test_many_lanes_send_little_each_and_get_large_snapshots() -> None:
    request = SearchRequest(
        game="tictactoe", strategy="tree", lanes=1024, rounds=32, simulations=1024 * 32 * 8_000_000
    )
    costs = for_request(MESSAGES, request)
    assert costs.increment_rows == 2_441
    assert costs.absorb_s == pytest.approx(1e-3 - 13_943 * 5e-8)
    # With counts of 64 bits.
    assert costs.snapshot_bytes == 2**20 * 21
    # A job of few simulations has little to tell.
    small = for_request(MESSAGES, replace(request, simulations=1024 * 32 * 10))
    assert small.increment_rows == 20
    assert small.snapshot_bytes == 65_536 * 17
    assert for_request(FREE, request) == FREE


def test_snapshots_travel_from_machine_to_machine() -> None:
    """Eight workers have it after four hops, a tenth of a second each, in each of ten rounds of 0.1 s."""
    slow = replace(MESSAGES, fetch_s=0.0, fetch_byte_s=0.0, link_bytes_per_s=1.0)
    slow = replace(slow, link_bytes_per_s=for_request(slow, ROUNDS).snapshot_bytes / 0.1)
    fast = replace(slow, link_bytes_per_s=1e15)
    rows = [spent(fast), spent(slow)]
    took = [row.simulations / row.simulations_per_s for row in rows]
    assert rows[1].spent[WAITING] == pytest.approx(4.0 / took[1], rel=0.05)
    assert took[1] - took[0] == pytest.approx(10 * 4 * 0.1, rel=0.02)
    (here,) = predict(ROUNDS, replace(slow, cores=8), [8], report=lambda line: None)
    assert here.simulations / here.simulations_per_s == pytest.approx(took[0], rel=0.05)


def test_the_first_rounds_of_a_tree_stand_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "JOBS", 2_048)
    request = SearchRequest(game="gomoku", strategy="tree", lanes=64, rounds=64, simulations=64 * 64 * 9_000)
    costs = replace(FREE, crowded_simulation_s=1e-6, job_spread=0.05, latency_s=0.001, absorb_s=1e-4)
    (part,) = predict(request, costs, [64], report=str)
    monkeypatch.setattr(prediction, "JOBS", 10**9)
    (whole,) = predict(request, costs, [64], report=str)
    assert part.simulations == whole.simulations == request.simulations
    assert part.simulations_per_s == pytest.approx(whole.simulations_per_s, rel=0.01)
    assert part.simulations_per_s != whole.simulations_per_s
