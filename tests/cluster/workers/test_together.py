"""Strategy tree by the clock in one process: threads grow one tree together."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import games
from cluster.workers.threads import ThreadsExecutor
from games.rng import new_stream
from search.coordinator import Coordinator
from search.job import ROUND_STREAM
from search.players.presets import STRONGEST, with_preset
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies.turns import GrownTree, TogetherJob
from search.summary import digest
from search.tree.arena import NODES, ROOT, Tree, children_of
from search.worker import Worker
from tests.cluster.searches import compiled_only, session_on

pytestmark = compiled_only

FORCED = with_preset(SearchRequest("gomoku:size=9"), STRONGEST, games.load("gomoku:size=9"))
"""Several threads grow its tree together."""
ALONE = {
    "moves by force": FORCED,
    "random playouts": SearchRequest("connect_four"),
    "evaluated": SearchRequest("morris", playout_plies=0),
    "chance": SearchRequest("pig"),
    "chosen": replace(FORCED, allow="e5 d4"),
}


def by_the_clock(request: SearchRequest, **options: Any) -> SearchRequest:
    return replace(request, **{"simulations": None, "seconds": 0.4, "seed": 3} | options)


@pytest.mark.parametrize("case", ALONE)
def test_one_thread_grows_the_tree_that_a_sequential_search_does(case: str) -> None:
    setup = open_search(by_the_clock(ALONE[case])).strategy.setup
    engine, root = setup.engine, setup.context.root_state
    tree = engine.new_tree(len(setup.tree.visits))
    grown = GrownTree(setup, 1)
    work = engine.new_workspace()
    for index, simulations in enumerate((1, 700, 3_000)):
        (part,) = grown.parts(index, simulations, 60.0)
        part()
        stream = new_stream(3, ROUND_STREAM, 0, index)
        with np.errstate(over="ignore"):
            engine.simulate(tree, setup.params, root.copy(), simulations, stream, work)
        assert grown.outcome(index).simulations == simulations
        assert digest(tree) == digest(setup.tree)


def check_whole(tree: Tree) -> None:
    """Every visit is in the tree, none is in flight, and no move of a node has two children."""
    nodes, seen = [ROOT], 0
    while nodes:
        node = nodes.pop()
        seen += 1
        children = children_of(tree, node)
        assert len({int(tree.move[child]) for child in children}) == len(children)
        below = sum(int(tree.visits[child]) for child in children)
        assert tree.visits[node] > below or (node == ROOT and tree.visits[node] == below), node
        assert abs(tree.total_value[node]) <= tree.visits[node]
        assert tree.unobserved[node] == 0
        nodes += children
    assert seen == tree.counts[NODES]


@pytest.mark.parametrize("threads", [1, 2, 6])
def test_a_tree_that_threads_grow_together_is_whole(threads: int) -> None:
    with closing(ThreadsExecutor(threads)) as executor:
        session = session_on(executor, by_the_clock(FORCED, lanes=threads))
        result = session.run()
    strategy = session.search.strategy
    assert getattr(strategy, "_grown") is not None  # noqa: B009
    assert result.stopped_by == "seconds"
    assert 0.4 <= result.elapsed_s < 1.0
    assert result.simulations == strategy.tree.visits[ROOT] > 100 * threads
    assert strategy.created == result.tree_nodes - 1
    check_whole(strategy.tree)
    counters = session.coordinator.counters
    assert counters.playouts <= counters.simulations
    assert counters.jobs_done == strategy.absorbed == sum(worker.jobs_done for worker in executor.workers)


def test_where_a_thread_fails_the_others_end_and_so_does_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    search = open_search(by_the_clock(FORCED, seconds=60.0))
    grow = search.strategy.setup.engine.grow_together

    def fail(*arguments: Any) -> int:
        work, number = arguments[4], arguments[-1]
        if number == 2 and arguments[3]:
            while work.marks[0] != 2:
                work.marks[0] = work.marks[0] or 2
            raise ArithmeticError("the rules say so")
        return int(grow(*arguments))

    monkeypatch.setattr(search.strategy.setup.engine, "grow_together", fail)
    with closing(ThreadsExecutor(2)) as executor, pytest.raises(ArithmeticError, match="the rules say so"):
        session_on(executor, by_the_clock(FORCED, seconds=60.0, lanes=2)).run()


def one_more(coordinator: Coordinator, jobs: list[Any], elapsed_s: float) -> list[Any]:
    return coordinator.job_done(Worker().run(coordinator.search.context, jobs[0]), elapsed_s)


@pytest.mark.parametrize("begins_together", [True, False])
def test_a_search_goes_on_from_a_checkpoint_in_the_other_way(begins_together: bool) -> None:
    request = by_the_clock(FORCED, lanes=2, seconds=5.0)
    first, then = (Coordinator(open_search(request), 1) for _ in range(2))
    run = partial(Worker().run, first.search.context)
    if begins_together:
        first.work_in_place(2, run)
    jobs = one_more(first, one_more(first, first.start(), 0.1) or first.start(0.1), 0.2) or first.start(0.2)
    assert isinstance(jobs[0], TogetherJob) == begins_together
    then.restore(first.state())
    assert digest(then.search.strategy.tree) == digest(first.search.strategy.tree)
    if not begins_together:
        then.work_in_place(2, run)
    jobs = then.start(0.2)
    assert isinstance(jobs[0], TogetherJob) != begins_together
    one_more(then, jobs, 0.3)
    assert then.counters.simulations > 0
    if not begins_together:
        check_whole(then.search.strategy.tree)
        assert then.counters.simulations == then.search.strategy.tree.visits[ROOT]
