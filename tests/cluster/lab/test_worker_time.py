"""Where the time of simulated workers goes: the books balance, and each wait is laid at the right door."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import games
from cluster.lab.predict import prediction, steps
from cluster.lab.predict.calibration import MOST_JOBS, calibration_request, slope
from cluster.lab.predict.costs import Costs, write_costs
from cluster.lab.predict.launch import PredictionPlan, run_prediction
from cluster.lab.predict.prediction import Predicted, for_request, predict
from cluster.lab.predict.simulated_executor import (
    CALLS,
    COORDINATOR,
    MERGING,
    SENDING,
    SNAPSHOTS,
    WAITING,
    WORKING,
)
from search.job import Portions
from search.plan import FEW_LANES, JOB_S, MIN_ROUNDS
from search.request import SearchRequest
from search.strategies import plan_search
from search.strategies.tree import Planner
from tests.cluster.lab.test_simulated_executor import FREE
from tests.games.own_game import write_waiting

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
    now_s, plan = [0.0], Planner.plan

    def plan_slowly(self: Planner, sizes: npt.NDArray[np.int64], first: int) -> list[Portions]:
        now_s[0] += 1.0 + 0.1 * len(sizes)
        return plan(self, sizes, first)

    monkeypatch.setattr(Planner, "plan", plan_slowly)

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
