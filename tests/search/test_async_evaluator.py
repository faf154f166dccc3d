"""Evaluators that are coroutines: the statistics of ordinary ones, many positions awaited at once."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import games
import search
from games.errors import InvalidInput
from search.awaiting import wait_for
from search.players import player_of
from search.players.player import Seen
from search.prepare import open_search
from search.request import SearchRequest
from search.worker import Worker
from tests.search.common import ChaosExecutor, run_search
from tests.search.test_evaluator import HASHED

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


def test_the_positions_of_a_batch_are_awaited_at_once() -> None:
    # 50 or 100 ms each: one after the other they would take 7 s; jobs of 32 take 100 ms each.
    request = request_of(game="gomoku:size=9", evaluator=f"{WAITING}:wait_ms=50", lanes=1, batch=32)
    search.run(request_of(game="gomoku:size=9", simulations=3))
    began = time.monotonic()
    result = search.run(request)
    assert result.playouts > 100
    assert time.monotonic() - began < 0.05 * result.playouts / 3


def test_a_player_waits_too() -> None:
    game = games.load("tictactoe")
    state = game.initial_state()
    seen = Seen(game, state, 0, tuple(game.legal_moves(state)))
    choices = [
        player_of(f"uct:evaluator={path},simulations=40", game).choose(seen, 5).move
        for path in (HASHED, WAITING)
    ]
    assert choices[0] == choices[1]


BODY = """
import asyncio
from search.evaluator import Evaluator

class Net(Evaluator):
    async def evaluate(self, states):
        await asyncio.sleep(0)
        return {}
"""
BAD = {
    "1 / 0": "evaluate(states) that runs (line 8: ZeroDivisionError: division by zero)",
    "3": "evaluate(states) to return (values, policies), not int",
    "[2.0], [[0.0] * 9]": "values from -1 to 1, not 2",
}


@pytest.mark.parametrize("answer", BAD)
def test_what_goes_wrong_is_told_as_of_an_ordinary_evaluator(answer: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(BODY.format(answer))
    with pytest.raises(InvalidInput) as caught:
        Worker().prepare(open_search(request_of(evaluator=str(file))).context)
    assert (caught.value.field, caught.value.value) == ("evaluator", str(file))
    assert BAD[answer] in caught.value.accepted


def test_what_is_awaited_is_cancelled_when_the_waiting_is_interrupted() -> None:
    began, ended = threading.Event(), threading.Event()

    async def endless() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    def interrupt() -> None:
        began.wait(60.0)
        # Until the main thread waits for the outcome.
        time.sleep(0.5)
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.get_ident()
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        wait_for(endless())
    interrupter.join()
    assert ended.wait(60.0)
