"""The service over a real Ray: workers, and Ray itself, are killed, and all searches keep their digests."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client.client import Client
from cluster.commands.serve import PoolOptions
from cluster.service.server import of_workers
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.processes import named
from tests.cluster.searches import alone
from tests.cluster.service.process import Server, http, searching
from tests.cluster.strangers import plain_cluster
from tests.waiting import eventually

pytestmark = pytest.mark.slow

BODIES: list[dict[str, Any]] = [
    {"game": "gomoku:size=5", "strategy": "tree", "simulations": 2_000_000, "lanes": 4, "seed": 1},
    {"game": "gomoku:size=5", "strategy": "root", "simulations": 600_000, "lanes": 4, "seed": 2},
    {"game": "gomoku:size=5", "strategy": "leaf", "simulations": 100_000, "lanes": 4, "seed": 3},
    {"game": "tictactoe", "strategy": "tree", "simulations": 300_000, "lanes": 16, "seed": 4},
]


@pytest.fixture(scope="module")
def digests() -> list[str]:
    return [alone(SearchRequest(**body)).digest for body in BODIES]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # Nicer than others, but not by as much as the default: beside other tests they would starve.
    options = ("--workers", "2", "--max-running", "5", "--checkpoint-every", "0.5", "--nice", "1")
    with Server(tmp_path_factory.mktemp("data"), *options, executor="ray") as server:
        yield server


def begin(client: Client) -> list[str]:
    """Ask for all searches; returns when the first of them has done something."""
    ids = [client.submit(body)["id"] for body in BODIES]
    searching(client, ids[0])
    return ids


def test_searches_share_workers_one_of_which_is_killed(server: Server, digests: list[str]) -> None:
    client = server.client()
    ids = begin(client)
    workers = named("ray::Banyan", server.process.pid)
    assert len(workers) == 2
    # They leave the server what it needs to answer: Ray makes them nicer, in sessions of their own.
    mine = os.getpriority(os.PRIO_PROCESS, server.process.pid)
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in workers} == {mine + 1}
    assert "banyan: workers run at nice 1\n" in server.lines
    assert http.get(f"{server.url}/api/v1/games").json()["workers"] == "workers run at nice 1"
    if Path("/proc/self/autogroup").exists():
        assert [os.getsid(pid) for pid in workers] == workers
    os.kill(workers[0], signal.SIGKILL)

    def cluster() -> dict[str, Any]:
        return dict(http.get(f"{server.url}/api/v1/cluster").json())

    changes = ["joined", "joined", "lost", "joined"]
    eventually(lambda: [mark["change"] for mark in cluster()["marks"]] == changes)
    seen = cluster()
    (worker,) = {mark["worker"] for mark in seen["marks"][2:]}
    # Its start may take less than a second.
    assert -1 in seen["workers"][worker]["strip"]
    assert max(seen["workers"][1 - worker]["strip"]) > 0
    assert {each["machine"] for each in seen["workers"]} == {socket.gethostname()}
    assert {each["search"] for each in seen["workers"]} <= {*ids, None}
    assert set() < seen["searches"].keys() <= set(ids)
    ended = [client.wait(search_id) for search_id in ids]
    assert [search["state"] for search in ended] == ["done"] * 4
    assert [search["result"]["digest"] for search in ended] == digests
    assert {search["result"]["workers"] for search in ended} == {2}
    assert sum(search["result"]["jobs_retried"] for search in ended) > 0
    metrics = http.get(f"{server.url}/metrics").text
    assert "banyan_pool_restarts_total 0.0" in metrics


def test_ray_itself_is_killed(server: Server, digests: list[str]) -> None:
    """The server goes on; Ray is started again, and the jobs that were out are run once more."""
    client = server.client()
    long = BODIES[0] | {"simulations": 8_000_000}
    long_id = client.submit(long)["id"]
    ids = [*begin(client), long_id]
    before = server.count()
    for pid in named("raylet/raylet", server.process.pid):
        os.kill(pid, signal.SIGKILL)
    ended = [client.wait(search_id) for search_id in ids]
    assert [search["state"] for search in ended] == ["done"] * 5
    expected = [*digests, alone(SearchRequest(**long)).digest]
    assert [search["result"]["digest"] for search in ended] == expected
    assert sum(search["result"]["jobs_retried"] for search in ended) > 0
    assert server.count() == before
    assert server.process.poll() is None
    # Of the Ray that was killed nothing is left.
    assert len(named("ray::Banyan", server.process.pid)) == 2
    assert len(named("raylet/raylet", server.process.pid)) == 1


def test_workers_that_others_start_have_no_niceness_of_ours() -> None:
    assert PoolOptions(executor="inline").niceness is PoolOptions(address="here:6379").niceness is None
    with pytest.raises(InvalidInput, match="nice"):
        assert PoolOptions(executor="inline", nice=3).niceness
    assert "tenth of their speed" in of_workers(19)


BODY: dict[str, Any] = {
    "game": "gomoku:size=5",
    "strategy": "tree",
    "simulations": 30_000,
    "lanes": 4,
    "seed": 1,
}


def test_a_head_without_cpus_waits_for_a_machine_and_says_so(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "for-a-test"}
    with plain_cluster(environment, 0) as cluster:
        options = ("--workers", "1..auto", "--address", cluster.address)
        with Server(tmp_path, *options, executor="ray", environment=environment) as server:
            client = server.client()
            ready = http.get(f"{server.url}/readyz")
            assert (ready.status_code, ready.json()["detail"]) == (
                503,
                "there is no worker yet; searches wait for the first one",
            )
            assert http.get(f"{server.url}/healthz").status_code == 200
            search_id = client.submit(BODY)["id"]
            cluster.join()
            eventually(lambda: http.get(f"{server.url}/readyz").status_code == 200)
            found = client.wait(search_id)
            assert found["state"] == "done"
            assert found["result"]["digest"] == alone(SearchRequest(**BODY)).digest
            cluster.kill_machine(1)
            eventually(lambda: http.get(f"{server.url}/readyz").status_code == 503)
