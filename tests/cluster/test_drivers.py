"""Whoever drives a search, it ends by the same rule and with the same answer: random requests, all drivers.

To repeat one: ``compare(SearchRequest(...))`` with the request that a failure prints.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

import games
import search
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from cluster.workers.threads import ThreadsExecutor
from games.errors import InvalidInput
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.worker import why_one_at_a_time
from tests.cluster.searches import Stop, alone, compiled_only, search_on
from tests.games.common import JIT
from tests.search.common import ChaosExecutor
from tests.search.forms import FORMS, problem
from tests.search.test_ask_tell import HASHED, Caller

COMPILED = ("tictactoe", "connect_four", "pig:goal=20")
PLAIN = tuple(problem(form, 3, plain=True) for form in ("one player", "chance", "five at the end"))
Driver = Callable[[SearchRequest], SearchResult]


def random_request(draw: random.Random, compiled: Sequence[str]) -> SearchRequest:
    """A request of any game, strategy, options and budgets that there are; raises InvalidInput for some."""
    spec = draw.choice(compiled if draw.random() < 0.8 else PLAIN)
    game = games.load(spec)
    state, moves = game.initial_state(), list[str]()
    for _ in range(draw.randint(0, 4)):
        if game.calls.is_terminal(state):
            break
        move = draw.choice(game.legal_moves(state))
        moves.append(game.format_move(state, move))
        game.calls.play(state, move)
    asked: dict[str, Any] = {
        "strategy": draw.choice(("root", "tree", "leaf")),
        "lanes": draw.choice((1, 2, 3, 5, 16)),
        "seed": draw.randrange(1000),
    }
    if spec in PLAIN or not JIT:
        asked["simulations"] = draw.randint(1, 200)
    else:
        asked |= {"memory_mb": draw.choice((1, 1, 16)), "simulations": int(10 ** draw.uniform(0, 4.8))}
        asked["stop_when_full"] = draw.random() < 0.6
        if spec == "connect_four" and draw.random() < 0.4:
            # The trees of the other games fill no memory, nor does one that settles on a few lines.
            moves.clear()
            asked |= {"memory_mb": 1, "stop_when_full": True, "simulations": None}
    further: dict[str, Any] = {
        "solver": draw.random() < 0.7,
        "exploration": draw.choice((0.3, 1.0, 2)),
        "final_move": draw.choice(("robust", "max", "robust-max", "secure", "vote")),
        "rounds": draw.choice((1, 4, 50)),
        "batch": draw.choice((1, 3, 40)),
        "playouts_per_leaf": draw.choice((2, 7)),
        "in_flight": "virtual-loss",
        "share_visits": draw.choice((3, 20)),
        "first_play_urgency": draw.choice((-0.5, 0.9)),
    }
    asked |= {name: value for name, value in further.items() if draw.random() < 0.25}
    if asked["simulations"] is None:
        for name in ("first_play_urgency", "exploration"):
            asked.pop(name, None)
    if spec == "tictactoe" and asked["strategy"] == "leaf" and draw.random() < 0.5:
        # Each evaluation is Python.
        asked |= {"evaluator": HASHED, "batch": draw.choice((1, 4)), "simulations": draw.randint(2, 150)}
        asked.pop("playouts_per_leaf", None)
    return SearchRequest(spec, moves=tuple(moves), **asked)


def random_requests(seed: int, count: int, compiled: Sequence[str] = COMPILED) -> Iterator[SearchRequest]:
    """Valid requests; the same ones for the same arguments."""
    draw = random.Random(seed)
    while count:
        try:
            request = random_request(draw, compiled)
            open_search(request)
        except InvalidInput:
            continue
        count -= 1
        yield request


def on(executor: Executor) -> Driver:
    """The search on an executor."""
    return lambda request: search_on(executor, request)[0]


def broken_off(request: SearchRequest) -> SearchResult:
    """The search in pieces: each begins with the state in which the one before was left."""
    draw, arrays = random.Random(request.seed), None
    for _ in range(4):
        coordinator, executor = Coordinator(open_search(request), 1), InlineExecutor()
        if arrays is not None:
            coordinator.restore(arrays)
        left = draw.randint(1, 12)

        def look(session: Session) -> None:
            nonlocal left
            left -= 1
            if left == 0 and not session.finished:
                raise Stop

        executor.open(coordinator.search.context)
        try:
            return Session(coordinator, executor).run((look,))
        except Stop:
            arrays = {name: array.copy() for name, array in coordinator.state().items()}
    coordinator = Coordinator(open_search(request), 1)
    assert arrays is not None
    coordinator.restore(arrays)
    executor = InlineExecutor() if request.seed % 2 else ChaosExecutor(request.seed)
    executor.open(coordinator.search.context)
    return Session(coordinator, executor).run()


def told(request: SearchRequest) -> SearchResult:
    """The search whose caller evaluates, in any order, with breaks."""
    opened = search.open(replace(request, evaluator="external"))
    caller, draw = Caller(request.game), random.Random(request.seed)
    while not opened.done:
        caller.run(opened, draw, 5, turns=draw.randint(1, 8))
        arrays = {name: array.copy() for name, array in opened.state().items()}
        again = open_search(opened.search.request, external=True)
        opened = search.AskTellSearch(again, state=arrays, stopped_by=opened.stopped_by)
    return opened.result()


def drivers_of(request: SearchRequest) -> dict[str, Driver]:
    """All that can run the request, by name; beside `search.run`."""
    drivers = {
        "inline": on(InlineExecutor()),
        "broken off": broken_off,
        "chaos": on(ChaosExecutor(request.seed)),
    }
    if why_one_at_a_time(open_search(request).context) is None:
        drivers["threads"] = in_threads
    if request.evaluator is not None:
        drivers["told"] = told
    return drivers


def in_threads(request: SearchRequest) -> SearchResult:
    with closing(ThreadsExecutor(2)) as executor:
        return search_on(executor, request)[0]


def compare(request: SearchRequest, **others: Driver) -> SearchResult:
    """Assert that all drivers, and these others, give the answer of `search.run`; return it."""
    expected = search.run(request)
    for name, driver in (drivers_of(request) | others).items():
        result = driver(request)
        for field in ("digest", "answer", "stopped_by", "simulations", "tree_nodes", "tree_full"):
            what = getattr(result, field), getattr(expected, field)
            assert what[0] == what[1], f"{name}: {field} {what[0]}, not {what[1]}, of {request!r}"
    assert request.stop_when_full or expected.stopped_by != "memory"
    return expected


@pytest.mark.parametrize("seed", range(6))
def test_every_driver_gives_one_answer_and_one_reason(seed: int) -> None:
    # The first ones are run before every commit.
    for request in random_requests(seed, 12 if JIT else 4, COMPILED if seed else COMPILED[:1]):
        compare(request)


CONNECT_FOUR = SearchRequest("connect_four", memory_mb=1, stop_when_full=True, lanes=4, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("simulations", [None, 1_300_000])
@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_a_full_memory_ends_a_search_that_says_so(strategy: str, simulations: int | None) -> None:
    result = compare(replace(CONNECT_FOUR, strategy=strategy, simulations=simulations))
    assert result.stopped_by == "memory"
    # Half of the memory is for what lanes send, or for what is put together from it; a node takes 24 bytes.
    assert result.tree_nodes > 0.4 * 2**20 / 24 / (2 if strategy in ("root", "tree") else 1)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_workers_give_that_answer(strategy: str, two_workers: Executor) -> None:
    request = replace(CONNECT_FOUR, strategy=strategy)
    compare(request, ray=on(two_workers))
    compare(replace(request, simulations=20_000, solver=True, moves=("a",)), ray=on(two_workers))


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_workers_give_that_answer_of_problems_of_every_form(strategy: str, two_workers: Executor) -> None:
    for form in FORMS:
        # Those in plain Python have no kernels to compile.
        spec = problem(form, 3, plain=form != "three with chance")
        request = SearchRequest(spec, strategy=strategy, lanes=4, simulations=60, seed=2)
        expected, result = alone(request), search_on(two_workers, request)[0]
        assert (result.digest, result.answer) == (expected.digest, expected.answer), form


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_time_ends_a_search_whoever_drives_it(strategy: str) -> None:
    request = SearchRequest("connect_four", seconds=0.05, strategy=strategy, lanes=4)
    for driver in (search.run, *drivers_of(request).values()):
        result = driver(request)
        assert result.stopped_by == "seconds"
        assert result.simulations > 0
        assert result.elapsed_s >= 0.05
