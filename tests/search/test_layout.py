"""The form of a tree: what its layout says of arrays and bytes is what it has; counts beyond 32 bits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import games
from games.rng import new_stream
from search.features import Features
from search.kernel.engine import engine_of
from search.kernel.params import params_from
from search.prepare import open_search
from search.request import MAX_SIMULATIONS, NARROW_SIMULATIONS, SearchRequest
from search.tree.arena import (
    NODES,
    ROOT,
    USED,
    Tree,
    TreeLayout,
    layout_of,
    new_tree,
    tree_bytes,
)
from search.tree.merge import Statistics, all_rows, increments, lone_root, merge
from search.worker import Worker

LAYOUTS = [TreeLayout(*flags) for flags in product((False, True), repeat=4)]


def slot_columns(tree: Tree) -> list[str]:
    return [name for name in tree._fields if len(getattr(tree, name)) == 100]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_has_the_arrays_of_its_layout(layout: TreeLayout) -> None:
    tree = new_tree(100, layout)
    assert sorted(slot_columns(tree)) == sorted(layout.columns)
    assert layout_of(tree) == layout
    assert layout.bytes_per_node == sum(getattr(tree, name).nbytes for name in slot_columns(tree)) // 100
    tree.counts[USED] = 100
    assert tree_bytes(tree) == sum(getattr(tree, name).nbytes for name in slot_columns(tree))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_keeps_within_its_memory(layout: TreeLayout) -> None:
    slots = layout.capacity_for(10_000, 10**9)
    assert slots * layout.bytes_per_node <= 10_000 < (slots + 1) * layout.bytes_per_node
    assert layout.capacity_for(0, 10) == 2
    assert layout.capacity_for(10**9, 10) < 2000


def grown(game_spec: str, wide: bool) -> Tree:
    game = games.load(game_spec)
    engine = engine_of(game, Features(hidden=game.hidden_information, wide=wide))
    request = SearchRequest(game=game_spec, exploration=0.35)
    tree = engine.new_tree(20_000)
    root_state = game.observation(game.initial_state(), 0)
    stream, work = new_stream(7), engine.new_workspace()
    engine.simulate(tree, params_from(request, 1.0), root_state, 300, stream, work)
    return tree


@pytest.mark.parametrize("game", ["tictactoe", "battleship"])
def test_wide_counts_change_no_search(game: str) -> None:
    narrow, wide = grown(game, False), grown(game, True)
    assert wide.visits.dtype == wide.available.dtype == np.int64
    assert narrow.visits.dtype == narrow.available.dtype == np.int32
    nodes = int(narrow.counts[NODES])
    assert nodes == wide.counts[NODES]
    for mine, other in zip(
        increments(narrow, lone_root(layout_of(narrow)), 1, nodes)[0],
        increments(wide, lone_root(layout_of(wide)), 1, nodes)[0],
        strict=True,
    ):
        assert mine.tolist() == other.tolist()
    assert tree_bytes(wide) > tree_bytes(narrow)


def test_a_request_beyond_32_bits_counts_in_64() -> None:
    assert not SearchRequest(game="tictactoe", simulations=NARROW_SIMULATIONS).wide
    assert SearchRequest(game="tictactoe", simulations=NARROW_SIMULATIONS + 1).wide
    assert not SearchRequest(game="tictactoe", seconds=60.0).wide
    assert SearchRequest(game="tictactoe", seconds=60.0, lanes=1024).wide
    assert SearchRequest(game="tictactoe", seconds=60.0).most_simulations == NARROW_SIMULATIONS
    assert SearchRequest(game="tictactoe", seconds=60.0, lanes=1024).most_simulations == MAX_SIMULATIONS


@pytest.mark.parametrize("strategy", ["root", "tree"])
def test_sums_go_beyond_32_bits(strategy: str) -> None:
    request = SearchRequest(game="tictactoe", strategy=strategy, lanes=3, simulations=30_000_000_000)
    search = open_search(request)
    worker, fold = Worker(), search.strategy
    for _ in range(3):
        job = fold.next_job(50)
        if fold.absorb(job, worker.run(search.context, job)):
            fold.end_round()
    assert fold.tree.visits[ROOT] == 150
    many = fold.lone_root._replace(visits=np.array([2**31 - 1], dtype=np.int64))
    for _ in range(3):
        merge(fold.tree, Statistics._make(column.copy() for column in many), all_rows(1))
    assert fold.tree.visits[ROOT] == 150 + 3 * (2**31 - 1)
    again = open_search(request)
    again.strategy.restore(fold.state())
    assert again.strategy.tree.visits[ROOT] == fold.tree.visits[ROOT]
    assert again.strategy.tree.visits.dtype == np.int64
