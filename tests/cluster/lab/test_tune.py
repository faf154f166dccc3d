"""`banyan tune`: which settings are tried how often, what they are worth, and what it says to take."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.lab.throughput import tune
from cluster.lab.throughput.speedup import MeasuredRun, OwnWorkers
from cluster.lab.throughput.tune import ONE, Setting, Tuning, kept, measure, settings
from search.coordinator import RoundCosts
from search.request import SearchRequest
from tests.cluster.command import banyan
from tests.cluster.searches import compiled_only

REQUEST = SearchRequest(game="tictactoe", seconds=1.0, lanes=1)


class Machine(OwnWorkers):
    """Workers whose rates are given, on a clock that only searches move."""

    def __init__(self, rates: dict[Setting, float]) -> None:
        self.executor, self.here = "threads", False
        self.rates, self.now_s, self.closed = rates, 0.0, False
        self.ran: list[Setting] = []

    def search(self, request: SearchRequest, workers: int) -> MeasuredRun:
        assert request.lanes is not None
        assert request.seconds is not None
        setting = Setting(request.strategy, workers, request.lanes)
        self.now_s += request.seconds
        if request.seconds == REQUEST.seconds:
            self.ran.append(setting)
        rounds = RoundCosts(rounds=128)
        return MeasuredRun(self.rates.get(setting, 1000.0), "", 0.0, round_costs=rounds)

    def close(self) -> None:
        self.closed = True


def tuned(monkeypatch: pytest.MonkeyPatch, machine: Machine, seconds: float, *workers: int) -> Tuning:
    monkeypatch.setattr(tune.time, "monotonic", lambda: machine.now_s)
    found = measure(REQUEST, workers, machine, seconds, lambda line: None)
    assert machine.closed
    return found


def test_lanes_are_tried_on_each_number_of_workers() -> None:
    trees = [Setting("tree", n, n * each) for n in (2, 4) for each in (1, 2, 4)]
    assert settings((1, 2, 4)) == [ONE, *trees, Setting("leaf", 2, 4), Setting("leaf", 4, 8)]


def test_lanes_keep_less_the_more_there_are_and_the_fewer_rounds() -> None:
    for setting in (ONE, Setting("tree", 4, 16), Setting("leaf", 4, 16)):
        middle, low, high = kept(setting, 64, 100_000)
        assert 0 < low <= middle <= high <= 1
    assert kept(ONE, 7, 1000) == (1.0, 1.0, 1.0)
    few, many = kept(Setting("tree", 4, 16), 32, 1e5), kept(Setting("tree", 4, 16), 128, 1e5)
    assert few[0] < many[0]
    # One tree of four threads, by the clock.
    assert kept(Setting("tree", 4, 16), 0, 1e5)[1] > 0.99
    assert kept(Setting("leaf", 4, 64), 0, 1e5)[0] < kept(Setting("leaf", 4, 16), 0, 1e5)[0]


def test_the_better_half_runs_more_often_and_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {Setting("tree", 2, each): rate for each, rate in ((2, 15e4), (4, 19e4), (8, 17e4))}
    machine = Machine({ONE: 10e4, **quick})
    found = tuned(monkeypatch, machine, 20.0, 1, 2)
    runs = {trial.setting: trial.runs for trial in found.trials}
    assert runs[Setting("tree", 2, 2)] == 2
    assert runs[Setting("tree", 2, 4)] == max(runs.values()) > 4
    assert machine.now_s <= 20.0 + 1.0
    best = found.trials[0]
    assert (best.setting, found.take) == (Setting("tree", 2, 4), Setting("tree", 2, 4))
    assert best.worth[0] == pytest.approx(1.9 * best.kept[0])
    assert "defaults" in found.advice()


def test_each_setting_runs_once_if_the_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({ONE: 1e5})
    tuned(monkeypatch, machine, 0.5, 1, 2)
    assert machine.ran == settings((1, 2))


def test_another_setting_is_taken_only_if_it_is_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    default, other = Setting("tree", 2, 4), Setting("tree", 2, 2)
    for rate, take in ((19e4, default), (17e4, other)):
        found = tuned(monkeypatch, Machine({ONE: 1e5, default: rate, other: 18.5e4}), 20.0, 1, 2)
        assert found.take == take
        assert str(take) in found.advice()


def test_leaf_is_taken_where_it_is_worth_most(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = Setting("leaf", 8, 16)
    found = tuned(monkeypatch, Machine({leaf: 7900.0, Setting("tree", 8, 16): 7500.0}), 30.0, 1, 8)
    assert found.take == leaf
    assert found.advice() == "Take --strategy leaf --workers 8 --lanes 16."


def test_one_worker_is_a_table_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tuned(monkeypatch, Machine({ONE: 1e5}), 10.0, 1)
    assert [trial.setting for trial in found.trials] == [ONE]
    assert found.take == ONE
    doubtful = replace(found, others=[0.5])
    assert doubtful.warning is not None


@compiled_only
@pytest.mark.parametrize("executor", ["threads", pytest.param("ray", marks=pytest.mark.slow)])
def test_the_command_measures_and_writes(tmp_path: Path, executor: str) -> None:
    times = ("--seconds", "1", "--search-seconds", "0.1")
    asked = ("--executor", executor, "--workers", "2", *times, "--json", "--out", str(tmp_path))
    status, out, err = banyan("tune", "gomoku:size=5", *asked)
    assert status == 0, err
    found = json.loads(out)
    assert found["take"] in [trial["setting"] for trial in found["trials"]]
    assert {trial["setting"]["workers"] for trial in found["trials"]} == {1, 2}
    assert all((t["of_ceiling"] is None) == (t["setting"]["workers"] == 1) for t in found["trials"])
    with (tmp_path / "tune.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(found["trials"])
    assert json.loads((tmp_path / "tune.json").read_text()) == found
    assert (tmp_path / "tune.png").stat().st_size > 10_000
