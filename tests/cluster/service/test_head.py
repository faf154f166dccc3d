"""The service on the head of a cluster without CPUs: it waits for a machine, and works when one joins."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from cluster.system.processes import descendants, kill
from search.request import SearchRequest
from tests.cluster.interrupted import fresh, session_of
from tests.cluster.prometheus import free_port
from tests.cluster.service_process import Server

RAY = Path(sys.executable).with_name("ray")
OPTIONS = (
    "--block",
    "--disable-usage-stats",
    "--object-store-memory=100000000",
    "--node-ip-address=127.0.0.1",
)
BODY: dict[str, Any] = {
    "game": "gomoku:size=5",
    "strategy": "tree",
    "simulations": 30_000,
    "lanes": 4,
    "seed": 1,
}
COME_S = 60


@contextmanager
def node(environment: dict[str, str], *options: str) -> Iterator[None]:
    """A machine of a cluster, while the block runs."""
    quiet = subprocess.DEVNULL
    command = [RAY, "start", *options, *OPTIONS]
    process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    try:
        yield
    finally:
        kill(descendants(process.pid) | {process.pid})
        process.wait()


def test_a_head_without_cpus_waits_for_a_machine_and_says_so(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "for-a-test"}
    port = free_port()
    address = f"127.0.0.1:{port}"
    head = ("--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false")
    with node(environment, *head):
        until(lambda: listens(port))
        options = ("--workers", "1..auto", "--address", address)
        with Server(tmp_path, *options, executor="ray", environment=environment) as server:
            client = server.client()
            ready = httpx.get(f"{server.url}/readyz")
            assert (ready.status_code, ready.json()["detail"]) == (
                503,
                "there is no worker yet; searches wait for the first one",
            )
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            search_id = client.submit(BODY)["id"]
            with node(environment, f"--address={address}", "--num-cpus=1"):
                until(lambda: httpx.get(f"{server.url}/readyz").status_code == 200)
                found = client.wait(search_id)
            assert found["state"] == "done"
            assert found["result"]["digest"] == session_of(fresh(SearchRequest(**BODY))).run().digest
            # The machine has gone again.
            until(lambda: httpx.get(f"{server.url}/readyz").status_code == 503)


def listens(port: int) -> bool:
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) == 0


def until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + COME_S
    while not true():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
