"""Ray's own processes are killed: whatever runs on them goes on, and its answer stays the same."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import cast

import pytest

from cluster.workers.choose import make_executor
from cluster.workers.joining import GONE_S, TRIES, Revival
from cluster.workers.ray_executor import RayExecutor
from search.prepare import open_search
from search.request import SearchRequest
from search.worker import Worker
from tests.cluster.processes import named
from tests.cluster.searches import alone, compiled_only, search_on
from tests.cluster.strangers import Stranger
from tests.cluster.workers.test_ray_executor import Once, request_for
from tests.waiting import PATIENCE_S, eventually

pytestmark = [
    compiled_only,
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def executor(told: list[str]) -> Iterator[RayExecutor]:
    executor = cast("RayExecutor", make_executor("ray", 2, job_timeout_s=30, notify=told.append))
    yield executor
    executor.close()
    assert named("ray") == []


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("/raylet/raylet", "tree"),
        ("gcs_server", "leaf"),
        ("ray::DashboardAgent", "root"),
        ("ray::RuntimeEnvAgent", "tree"),
    ],
)
def test_a_search_goes_on_when_one_of_rays_processes_is_killed(
    executor: RayExecutor, told: list[str], name: str, strategy: str
) -> None:
    told.clear()
    killed: list[int] = []

    def kill(_: object) -> None:
        killed.extend(named(name))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    # Long enough to be seen before it ends, on a busy machine shorter than its patience.
    request = request_for(strategy, simulations=1_500_000)
    result, _ = search_on(executor, request, Once(0.2, kill))
    assert killed
    assert result.digest == alone(request).digest
    # Whether a job was lost depends on when the end is seen: workers may have finished theirs.
    assert told[0].startswith("the local Ray has ended (")
    assert "it is started again" in told[0]
    assert told[1:] == ["Ray is there again"]


def test_a_command_says_that_ray_has_ended_and_goes_on(stranger: Stranger) -> None:
    players = ("uct:simulations=20000", "uct:simulations=15000")
    match = ("match", "gomoku", *players, "--games", "8", "--seed", "1", "--workers", "1")
    with stranger.start(*match, "--json") as process:
        eventually(lambda: named("ray::Banyan", process.pid))
        for pid in named("/raylet/raylet", process.pid):
            os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    found, expected = json.loads(out), stranger.answer(*match, "--executor", "inline")
    for name in ("games", "a_results", "first_player", "pairs"):
        assert found[name] == expected[name]
    assert "the local Ray has ended" in err


class Broken(Worker):
    """Ends its process as a library does that cannot be loaded."""

    def prepare(self, context: object) -> None:
        print("libdriver.so: cannot open shared object file", file=sys.stderr, flush=True)
        os._exit(7)


class Refusing(Worker):
    """Raises as it is made."""

    def __init__(self) -> None:
        raise ValueError("no licence for this machine")


@pytest.mark.parametrize(
    ("worker", "said"),
    [(Broken, "libdriver.so: cannot open shared object file"), (Refusing, "no licence for this machine")],
)
def test_workers_that_cannot_be_kept_alive_are_explained(worker: type[Worker], said: str) -> None:
    executor = make_executor("ray", 1, make_worker=worker)
    try:
        with pytest.raises(ConnectionError, match="no worker could be kept alive: ") as error:
            executor.open(open_search(SearchRequest("tictactoe", simulations=1000)).context)
    finally:
        executor.close()
    assert str(error.value).endswith(said)


def test_a_ray_that_ends_again_and_again_is_given_up() -> None:
    def never() -> None:
        raise ConnectionError("no room in /dev/shm")

    told: list[str] = []
    revival = Revival(never, None, told.append)  # type: ignore[arg-type]
    revival.begin("its raylet has died", 0.0)
    assert told == [
        "the local Ray has ended (its raylet has died); it is started again, and lost jobs run once more"
    ]
    with pytest.raises(ConnectionError, match="did not come back \\(no room in /dev/shm\\)"):
        revival.poll(30.0)
    for _ in range(TRIES - 1):
        revival.begin("its raylet has died", 0.0)
        with pytest.raises(ConnectionError):
            revival.poll(30.0)
    with pytest.raises(ConnectionError, match=f"ended {TRIES + 1} times in a row"):
        revival.begin("its raylet has died", 0.0)


def test_a_cluster_that_has_been_silent_for_long_is_tried_once_and_one_that_was_there_again() -> None:
    tries: list[float] = []

    def never() -> None:
        tries.append(time.monotonic())
        raise ConnectionError("Connection refused")

    for silent_s, more in ((60.0, 1), (GONE_S - 1.0, 2)):
        tries.clear()
        revival = Revival(never, "10.0.0.1:6379")  # type: ignore[arg-type]
        revival.begin("its head does not answer", time.monotonic() - silent_s)
        with pytest.raises(ConnectionError, match="did not come back \\(Connection refused\\)"):
            revival.poll(30.0)
        assert len(tries) == more


def test_a_search_that_could_not_start_leaves_no_checkpoint(stranger: Stranger) -> None:
    search = ("search", "tictactoe", "--simulations", "1000", "--checkpoint", "a.ckpt")
    status, _, err = stranger.banyan(*search, "--address", "127.0.0.1:1")
    assert status == 2, err
    assert not (stranger.folder / "a.ckpt").exists()
    stranger.answer(*search)
