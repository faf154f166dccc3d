"""A search that is kept as arrays, and goes on from them as if nothing had happened."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from search.job import GrowJob, JobResult, LaneTree
from search.kept_tree import KeptTree
from search.packing.arrays import Arrays, BadArchive, CorruptState, compress
from search.packing.tree import pack_tree, unpack_tree
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.strategies import Strategy
from search.summary import digest
from search.tree.arena import FULL, NODES, ROOT, USED, children_of, new_tree
from search.worker import Worker
from tests.games.common import JIT
from tests.search.common import grow, nodes_of
from tests.search.goldens import KINDS

SIMULATIONS = 301 if JIT else 151
GAMES: list[dict[str, Any]] = [{"game": "gomoku:size=5", "moves": ("c3",)}, {"game": "tictactoe"}]


def carried(search: Search) -> Search:
    """The same search in another process: opened again, and what was kept given to it."""
    again = open_search(search.request, kept=(), kept_visits=search.kept_visits)
    again.strategy.restore({name: array.copy() for name, array in search.strategy.state().items()})
    return again


def same(one: Arrays, other: Arrays) -> bool:
    """Whether states are the same, but for trees that lanes have handed in: these are a cache."""
    one, other = ({n: a for n, a in arrays.items() if not n.startswith("lane_")} for arrays in (one, other))
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def run(search: Search, draw: random.Random | None = None, every: int = 5) -> Search:
    """To the end, job by job; with ``draw``, carried elsewhere at random moments, with jobs on their way."""
    plan = search.plan
    assert plan is not None
    worker = Worker()
    while search.strategy.absorbed < plan.jobs and not search.strategy.proven:
        strategy = search.strategy
        while strategy.ready and strategy.issued < plan.jobs:
            strategy.next_job(plan.size(strategy.issued))
            if draw is not None and draw.random() < 0.2:
                strategy.hand_in()
        job = strategy.jobs[strategy.absorbed]
        if strategy.absorb(job, worker.run(search.context, job)):
            strategy.end_round()
        if draw is not None and draw.random() < 1 / every:
            search, worker = carried(search), Worker()
        elif draw is not None and draw.random() < 1 / every:
            worker = Worker()
    return search


@pytest.mark.parametrize("strategy", ["tree", "leaf", "root"])
def test_searches_that_go_on_from_each_other_have_equal_trees_wherever_they_run(strategy: str) -> None:
    game = games.load("connect_four")
    alone = SearchRequest(game.spec, strategy=strategy, lanes=3, rounds=4, simulations=SIMULATIONS)

    def searched(draw: random.Random | None) -> list[tuple[int, str]]:
        kept, found = KeptTree(game), []
        for moves in ((), ("d", "d"), ("d", "d", "d", "d")):
            past = game.play_text(game.initial_state(), moves)
            request = replace(alone, moves=moves, seed=len(moves))
            search = run(open_search(request, kept=kept.at(past)), draw)
            assert int(search.strategy.tree.visits[ROOT]) == search.kept_visits + SIMULATIONS
            kept.keep(search.strategy.left(), past)
            found.append((search.kept_visits, digest(search.strategy.tree)))
        return found

    expected = searched(None)
    assert expected[0][0] == 0 < min(expected[1][0], expected[2][0])
    for seed in range(3):
        assert searched(random.Random(seed)) == expected


def test_lanes_vote_by_all_that_they_know() -> None:
    game, kept = games.load("connect_four"), KeptTree(games.load("connect_four"))
    request = SearchRequest("connect_four", strategy="root", lanes=7, simulations=700, final_move="vote")
    kept.keep(run(open_search(request, kept=())).strategy.left(), ())
    moves = ("d", "d")
    past = game.play_text(game.initial_state(), moves)
    strategy = run(
        open_search(replace(request, moves=moves, simulations=7, seed=1), kept=kept.at(past))
    ).strategy
    votes = Counter(
        int(
            tree.move[
                max(children_of(tree, ROOT), key=lambda slot: (tree.visits[slot], -int(tree.move[slot])))
            ]
        )
        for tree in strategy.left()
    )
    assert {child.move: child.votes for child in strategy.root_children() if child.votes} == votes
    assert votes.total() == 7


CARRIED = {
    f"{kind}, {game['game']}": SearchRequest(**game, **KINDS[kind], simulations=SIMULATIONS, seed=3)
    for kind in KINDS
    for game in GAMES
}
CARRIED["evaluations"] = SearchRequest(
    "morris:variant=three", strategy="root", lanes=9, simulations=SIMULATIONS, implicit_minimax=0.4
)
for strategy in ("root", "tree", "leaf"):
    request = SearchRequest("battleship", strategy=strategy, lanes=3, simulations=SIMULATIONS, seed=3)
    CARRIED[f"hidden, {strategy}"] = request
    # What a full arena refuses depends on its free blocks: they must be the same ones.
    full = {"lanes": 2, "playouts_per_leaf": 1, "simulations": 60_000 if JIT else 600, "memory_mb": 1}
    CARRIED[f"full, {strategy}"] = SearchRequest("gomoku:size=5", strategy=strategy, **full, seed=3)


@pytest.mark.parametrize("name", CARRIED)
def test_a_search_that_was_carried_elsewhere_ends_as_it_would_have(name: str) -> None:
    calm = run(open_search(CARRIED[name]))
    moved = run(open_search(CARRIED[name]), random.Random(name), every=8 if name.startswith("full") else 5)
    assert digest(moved.strategy.tree) == digest(calm.strategy.tree)
    assert same(moved.strategy.state(), calm.strategy.state())
    assert not JIT or name != "full, leaf" or calm.strategy.tree.counts[FULL]
    assert name != "evaluations" or "tree.heuristic" in calm.strategy.state()


def test_lanes_of_root_keep_the_pieces_that_they_have_grown_in_whichever_worker_has_them() -> None:
    """Several pieces a lane, which only a slow game or a large budget has: made here by hand."""
    request = SearchRequest("gomoku:size=5", strategy="root", lanes=2, simulations=400, seed=8)
    searches = [open_search(request), open_search(request)]
    for search in searches:
        for _ in range(4):
            search.strategy.next_job(50)
    worker = Worker()
    for index in range(8):
        for search in searches:
            if index < 4:
                search.strategy.next_job(50)
            job = search.strategy.jobs[index]
            search.strategy.absorb(
                job, (worker if search is searches[0] else Worker()).run(search.context, job)
            )
        searches[1] = carried(searches[1])
    one, other = (search.strategy.state() for search in searches)
    assert same(one, other)
    assert one["merged_sizes"].tolist() == [50] * 8
    assert one["tree.visits"][0] == 400


def test_the_tree_of_a_lane_that_was_handed_in_is_not_grown_again() -> None:
    search = open_search(SearchRequest("gomoku:size=5", strategy="root", lanes=2, simulations=400, seed=8))
    worker = Worker()
    for index in range(6):
        if index == 2:
            search.strategy.hand_in()
        job = search.strategy.next_job(50)
        result = worker.run(search.context, job)
        search.strategy.absorb(job, result)
        assert (result.tree is not None) == (index in (2, 3))
    assert search.strategy.next_job(50).index == 6
    again = carried(search)
    assert [tree.pieces for tree in again.context.begun] == [2, 2]
    for job in (again.strategy.jobs[6], *(again.strategy.next_job(50) for _ in range(3))):
        assert isinstance(job, GrowJob)
        expected = Worker().run(search.context, job)
        otherwise = replace(job, sizes=(7, 7, *job.sizes[2:]))
        assert same_added(Worker().run(again.context, otherwise), expected)
        assert not same_added(Worker().run(search.context, otherwise), expected)
        # One that cannot be read fails its job, instead of another search.
        for data in (again.context.begun[0].data[:-1], compress({"counts": np.zeros(3)})):
            with pytest.raises((BadArchive, CorruptState)):
                Worker().run(replace(again.context, begun=(LaneTree(2, data),) * 2), job)


def same_added(one: JobResult, other: JobResult) -> bool:
    assert one.added is not None
    assert other.added is not None
    return one.tree_nodes == other.tree_nodes and same(one.added._asdict(), other.added._asdict())


@given(
    st.sampled_from(["tictactoe", "gomoku:size=5", "morris:variant=three"]),
    st.integers(1, 400),
    st.integers(0, 99),
)
@settings(max_examples=60 if JIT else 10, deadline=None)
def test_a_tree_comes_back_slot_by_slot(spec: str, simulations: int, seed: int) -> None:
    tree = grow(spec, simulations, seed)
    arrays = pack_tree(tree)
    assert len(arrays["visits"]) == tree.counts[NODES]
    again = new_tree(len(tree.visits))
    unpack_tree(again, arrays)
    assert same(pack_tree(again), arrays)
    assert nodes_of(again) == nodes_of(tree)
    for both in (again, tree):
        grow(spec, 50, seed + 1, tree=both)
    assert same(pack_tree(again), pack_tree(tree))


def broken_trees() -> dict[str, Arrays]:
    """A packed tree, torn in one place each."""
    tree = grow("gomoku:size=5", 300)
    sound = pack_tree(tree)
    assert len(sound["free_blocks"]) > 1
    used = int(tree.counts[USED])

    def changed(name: str, place: int, value: int) -> Arrays:
        column = sound[name].copy()
        column[place] = value
        return {**sound, name: column}

    torn = {
        "children beyond the arena": changed("children", 0, used),
        "negative children": changed("children", 0, -1),
        "its own child": changed("children", 1, int(sound["children"][0])),
        "more children": changed("shape", 1, int(sound["shape"][1]) + 1),
        "many children": changed("shape", 0, 0x0FFF),
        "no children": changed("shape", 0, 0),
        "negative visits": changed("visits", 5, -1),
        "negative visits in flight": changed("unobserved", 5, -1),
        "more used": changed("counts", USED, used + 1),
        "much more used": changed("counts", USED, 2**40),
        "none used": changed("counts", USED, 0),
        "more nodes": changed("counts", NODES, int(tree.counts[NODES]) + 1),
        "neither full nor not": changed("counts", FULL, 2),
        "a node elsewhere": changed("nodes", 3, int(sound["nodes"][3]) ^ 0x18),
        "a free block twice": changed("free_blocks", 1, int(sound["free_blocks"][0])),
        "a free block on the root": changed("free_blocks", 0, 0),
        "a free block beyond": changed("free_blocks", 0, used),
        "a free block on a node": changed("free_blocks", 0, int(sound["children"][0])),
        "more free blocks": changed("free_lengths", 0, int(sound["free_lengths"][0]) + 1),
        "fewer than none": changed("free_lengths", 0, -1),
        "another type": {**sound, "visits": sound["visits"].astype(np.int64)},
        "another shape": {**sound, "visits": sound["visits"].reshape(1, -1)},
        "one too few": {**sound, "move": sound["move"][1:]},
    }
    torn |= {f"no {name}": {k: v for k, v in sound.items() if k != name} for name in sound}
    return torn


with np.errstate(over="ignore"):
    BROKEN_TREES = broken_trees()


@pytest.mark.parametrize("tear", BROKEN_TREES)
def test_a_torn_tree_is_refused(tear: str) -> None:
    with pytest.raises(CorruptState):
        unpack_tree(new_tree(4096), BROKEN_TREES[tear])


def test_a_tree_that_is_larger_than_its_arena_is_refused() -> None:
    arrays = pack_tree(grow("tictactoe", 300))
    with pytest.raises(CorruptState, match="counts"):
        unpack_tree(new_tree(100), arrays)


def kept_strategies() -> dict[str, Arrays]:
    kept = {}
    for kind in ("root", "tree", "leaf"):
        search = open_search(SearchRequest("tictactoe", **KINDS[kind], simulations=SIMULATIONS))
        strategy = search.strategy
        for _ in range(3):
            while strategy.ready:
                strategy.next_job(4)
            job = strategy.jobs[strategy.absorbed]
            if strategy.absorb(job, Worker().run(search.context, job)):
                strategy.end_round()
        kept[kind] = strategy.state()
    return kept


with np.errstate(over="ignore"):
    KEPT = kept_strategies()


def fresh(kind: str) -> Strategy:
    return open_search(SearchRequest("tictactoe", **KINDS[kind], simulations=SIMULATIONS)).strategy


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, kept in KEPT.items() for name in kept])
def test_a_state_with_something_missing_or_of_another_kind_is_refused(kind: str, name: str) -> None:
    state = KEPT[kind]
    fresh(kind).restore(state)
    wrong = [{**state, name: np.zeros((2, 2, 2))}]
    # Earlier checkpoints have neither.
    if name not in ("fullness", "lane_slots"):
        wrong.append({k: v for k, v in state.items() if k != name})
    if len(state[name]):
        wrong.append({**state, name: state[name][:-1]})
        wrong.append({**state, name: state[name].astype(np.complex128)})
    for arrays in wrong:
        with pytest.raises(CorruptState):
            fresh(kind).restore(arrays)


@pytest.mark.parametrize(
    ("kind", "name", "place", "value"),
    [
        ("root", "tally", 0, -1),
        ("root", "tally", 0, 2**40),
        ("root", "tally", 3, 2**40),
        ("root", "sizes", 0, 0),
        ("root", "merged_sizes", 0, 0),
        ("root", "nodes", 0, -1),
        ("root", "lane_pieces", 0, -1),
        ("root", "lane_pieces", 0, 2**40),
        ("root", "lane_lengths", 0, -1),
        ("root", "lane_lengths", 0, 2**40),
        ("root", "lane_slots", 0, 0),
        ("tree", "min_visits", 0, 0),
        ("tree", "snapshots.num_children", 0, 60_000),
        ("tree", "snapshots.visits", 0, -1),
        ("tree", "snapshots.rows", 0, 2**40),
        ("tree", "tally", 0, 9),
        ("leaf", "depths", 0, 100),
        ("leaf", "depths", 0, -1),
        ("leaf", "slots", 0, 60_000),
        ("leaf", "moves", 0, 60_000),
        ("leaf", "movers", 0, 2),
        ("leaf", "sizes", 0, 5),
        ("leaf", "tree.unobserved", 0, 0),
    ],
)
def test_a_state_with_a_number_that_cannot_be_is_refused(
    kind: str, name: str, place: int, value: int
) -> None:
    column = KEPT[kind][name].copy()
    column[place] = value
    with pytest.raises(CorruptState):
        fresh(kind).restore({**KEPT[kind], name: column})
