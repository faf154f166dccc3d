"""A search that ends the server's process each time is failed in the end, and no other is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx

from cluster.service.request_models import SearchBody
from cluster.service.store import RUNNING, Store
from search.request import SearchRequest
from tests.cluster.interrupted import fresh, session_of
from tests.cluster.service.foreign_games import install
from tests.cluster.service_process import Server

QUICK = """
from cluster.cli import main
from cluster.service import supervisor

supervisor.RESTART_AFTER_S = (0.05,)
main()
"""
"""`banyan` with a supervisor that does not wait."""
INNOCENT: dict[str, Any] = {"game": "gomoku:size=5", "simulations": 700_000, "lanes": 2}


def test_a_search_that_ends_the_server_each_time_is_failed_and_no_other(tmp_path: Path) -> None:
    """Two others run beside it until it is found; its game passes every trial."""
    environment = install(tmp_path)
    options = ("--max-running", "3", "--allow-games", "trap", "--checkpoint-every", "0.1")
    program = (sys.executable, "-c", QUICK)
    with Server(tmp_path / "data", *options, environment=environment, program=program) as server:
        client = server.client()
        others = [client.submit(INNOCENT | {"seed": seed})["id"] for seed in (1, 2)]
        for event in client.events(others[1]):
            if event.name == "progress" and event.data["simulations"] > 0:
                break
        guilty = client.submit({"game": "trap", "simulations": 100, "lanes": 1})["id"]
        search = client.wait(guilty)
        assert search["state"] == "failed"
        words = "the server died 3 times while it ran this search, the last time with no other beside it"
        assert search["error"]["detail"] == words
        ended = [client.wait(search_id) for search_id in others]
        assert [each["state"] for each in ended] == ["done", "done"]
        alone = [session_of(fresh(SearchRequest(**INNOCENT, seed=seed))).run().digest for seed in (1, 2)]
        assert [each["result"]["digest"] for each in ended] == alone
        lines = httpx.get(f"{server.url}/metrics").text.splitlines()
        assert "banyan_server_restarts_total 3.0" in lines
        # Another is as good as any.
        assert client.wait(client.submit(INNOCENT | {"simulations": 500})["id"])["state"] == "done"
        assert server.end() == 0


def test_only_deaths_of_the_server_alone_count(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for search_id in ("one", "two", "three"):
        body = SearchBody(game="tictactoe", simulations=10).model_dump(mode="json")
        store.add(search_id, body, None, "", 0.0)
    store.opening("one")
    store.opening("two")
    assert store.count_death() == ({"one": 1, "two": 1}, ["one", "two"])
    store.opening("one")
    assert store.count_death() == ({"one": 2, "two": 1}, ["one"])
    # The server ends as it should, or its parent with it.
    store.opening("one")
    store.put_away()
    assert store.count_death() == ({"one": 2, "two": 1}, [])
    # One that is over is forgotten, and begins anew when it is resumed.
    store.finish("one", "failed", None, None, 1, 0.0)
    store.reopen("one")
    store.begin("one", 0.0)
    store.opening("one")
    assert store.get("one").state == RUNNING  # type: ignore[union-attr]
    assert store.count_death() == ({"one": 1, "two": 1}, ["one"])
    store.close()
