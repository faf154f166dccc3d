"""Evaluators that are coroutines: the statistics of ordinary ones, many positions awaited at once."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import search
from cluster.runtime.session import Session
from cluster.workers.inline import InlineExecutor
from games.errors import InvalidInput
from search.coordinator import Coordinator
from search.evaluator import Places, wait_for
from search.prepare import open_search
from search.request import SearchRequest
from tests.search.common import ChaosExecutor, run_search
from tests.search.test_evaluator import HASHED
from tests.waiting import PATIENCE_S, eventually

WAITING = str(Path(__file__).with_name("async_evaluator.py"))


def request_of(**asked: Any) -> SearchRequest:
    given = {"game": "tictactoe", "lanes": 3, "simulations": 150, "batch": 8, "seed": 1}
    return SearchRequest(**{**given, "strategy": "leaf", "evaluator": WAITING, **asked})


def test_the_digest_is_that_of_an_ordinary_evaluator() -> None:
    expected = search.run(request_of(evaluator=HASHED)).digest
    assert search.run(request_of()).digest == expected
    assert run_search(request_of(), ChaosExecutor(1))[0].digest == expected


def test_it_can_be_used_where_an_event_loop_runs_and_in_several_threads_at_once() -> None:
    expected = search.run(request_of(evaluator=HASHED)).digest

    async def main() -> str:
        return search.run(request_of()).digest

    assert asyncio.run(main()) == expected
    with ThreadPoolExecutor(3) as pool:
        digests = list(pool.map(lambda _: search.run(request_of()).digest, range(3)))
    assert set(digests) == {expected}


RUNS: dict[str, Callable[[SearchRequest], str]] = {
    "plain": lambda request: search.run(request).digest,
    "inline": lambda request: run_search(request)[0].digest,
}
one_process = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())


def most_of(log: Path) -> int:
    """The largest number of positions that were awaited at once."""
    return max(int(line) for line in log.read_text().split() if line.isdigit())


@one_process
@pytest.mark.parametrize(
    ("concurrency", "batch", "most"), [(1, 1, {1}), (5, 1, {5}), (10, 4, range(5, 11)), (3, 4, range(2, 5))]
)
def test_concurrency_is_in_positions_and_changes_no_digest(
    run: Callable[[SearchRequest], str], concurrency: int, batch: int, most: set[int] | range, tmp_path: Path
) -> None:
    log, asked = tmp_path / "log", {"game": "gomoku:size=7", "lanes": 8, "batch": batch, "simulations": 41}
    expected = run(request_of(evaluator=HASHED, **asked))
    evaluator = f"{WAITING}:wait_ms=5,concurrency={concurrency},log={log}"
    assert run(request_of(evaluator=evaluator, **asked)) == expected
    # Of jobs of 4 some have fewer positions that are different. A call has those of one job at least.
    assert most_of(log) in most


def test_a_concurrency_that_lets_nothing_run_is_refused() -> None:
    with pytest.raises(InvalidInput, match="concurrency of at least 1 position, not 0"):
        search.run(request_of(evaluator=f"{WAITING}:concurrency=0"))


@one_process
def test_an_error_ends_the_search_in_one_line_and_leaves_nothing_running(
    run: Callable[[SearchRequest], str], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    request = request_of(lanes=8, batch=1, evaluator=f"{WAITING}:wait_ms=300,fail=5,log={log}")
    with pytest.raises(InvalidInput, match="RuntimeError: the server is down"):
        run(request)
    # What was awaited beside it, unless it had just ended. It is told of in another thread.
    eventually(lambda: "cancelled" in log.read_text())


@one_process
def test_an_evaluator_that_cancels_itself_fails(run: Callable[[SearchRequest], str], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(CANCELS)
    with pytest.raises(InvalidInput, match="CancelledError"):
        run(request_of(evaluator=str(file), batch=1))


def test_a_search_that_is_cancelled_ends_at_once_with_nothing_running(tmp_path: Path) -> None:
    log, hang = tmp_path / "log", tmp_path / "hang"
    hang.touch()
    opened = open_search(request_of(lanes=8, batch=1, evaluator=f"{WAITING}:hang={hang},log={log}"))
    executor = InlineExecutor()
    executor.open(opened.context)

    def cancel(session: Session) -> None:
        if not hang.exists() and executor.workers[0].state == "busy":
            session.cancel()

    session = Session(Coordinator(opened, 1), executor)
    result = session.run((cancel,))
    assert result.stopped_by == "cancelled"
    assert 0 < result.simulations < 150
    assert executor.workers[0].state == "idle"
    eventually(lambda: "cancelled" in log.read_text())


def test_places_are_given_in_order_and_come_back_from_what_is_cancelled() -> None:
    async def main() -> list[int]:
        places, order = Places(3), list[int]()

        async def hold(wanted: int) -> None:
            async with places.held(wanted):
                order.append(wanted)
                await asyncio.sleep(0.01)

        # The one that wants all waits for two, and those behind it wait too.
        sizes = (2, 1, 7, 1, 2, 3, 1)
        tasks = [asyncio.create_task(hold(wanted)) for wanted in sizes]
        await asyncio.sleep(0)
        tasks[2].cancel()
        tasks[5].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return order

    assert asyncio.run(main()) == [2, 1, 1, 2, 1]


CANCELS = """
import asyncio
import numpy as np
from search.evaluator import Evaluator

class Net(Evaluator):
    calls = 0

    async def evaluate(self, states):
        self.calls += 1
        if self.calls == 3:
            other = asyncio.ensure_future(asyncio.sleep(3600))
            other.cancel()
            await other
        return np.zeros(len(states)), np.zeros((len(states), 9))
"""


def test_what_is_awaited_is_cancelled_when_the_waiting_is_interrupted() -> None:
    began, ended = threading.Event(), threading.Event()

    async def endless() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    def interrupt() -> None:
        began.wait(PATIENCE_S)
        # Until the main thread waits for the outcome.
        time.sleep(0.5)
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.get_ident()
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        wait_for(endless())
    interrupter.join()
    assert ended.wait(PATIENCE_S)
