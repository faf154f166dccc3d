"""A search whose results are taken as they come has all of its simulations, in whatever order they come."""

from __future__ import annotations

import random

import pytest

import games
from cluster.lab.strength.moves import sharp_positions
from cluster.lab.throughput.bill import AsTheyCome, bill
from cluster.runtime.tasks import JobDone, JobLost
from games.analysis.table import judge_of
from search.prepare import open_search
from search.request import SearchRequest
from search.tree.arena import ROOT
from search.worker import Worker
from tests.cluster.searches import compiled_only

REQUEST = SearchRequest(game="connect_four", simulations=3_000, lanes=4, rounds=16)


def test_results_in_any_order_give_all_simulations() -> None:
    search, worker, draw = open_search(REQUEST), Worker(), random.Random(1)
    machine = AsTheyCome(search)
    out = machine.begin()
    assert len(out) == 4
    while out:
        task = out.pop(draw.randrange(len(out)))
        out += machine.take(JobDone(worker.run(search.context, task.job)))
        assert len(machine.again()) == len(out)
    assert machine.finished
    assert search.strategy.tree.visits[ROOT] == REQUEST.simulations


def test_a_lost_job_ends_the_measurement() -> None:
    machine = AsTheyCome(open_search(REQUEST))
    machine.begin()
    with pytest.raises(RuntimeError, match="a job has failed"):
        machine.take(JobLost(0, "killed"))


@compiled_only
@pytest.mark.parametrize("executor", ["threads", pytest.param("ray", marks=pytest.mark.slow)])
def test_both_ways_are_measured(executor: str) -> None:
    game = games.load("tictactoe")
    positions = sharp_positions(game, judge_of(game), 3, seed=1)
    found = bill(SearchRequest(game="tictactoe", simulations=2_000, lanes=4), 2, executor, 2, positions)
    assert list(found) == ["in order", "as they come"]
    for rates, losses in found.values():
        assert (len(rates), len(losses)) == (2, 6)
        assert min(rates) > 0
        assert set(losses) <= {0, 1, 2}
