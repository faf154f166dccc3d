"""Servers that are killed, drained, and started again; and two at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cluster.client.client import Client, ServiceEvent
from cluster.service.records import RUNNING
from cluster.service.request_models import SearchBody
from cluster.service.store import Store
from search.request import SearchRequest
from tests.cluster.command import ROOT
from tests.cluster.processes import state_of
from tests.cluster.searches import alone, compiled_only
from tests.cluster.service.foreign_games import install
from tests.cluster.service.process import Server, http, refused, searching
from tests.waiting import PATIENCE_S, eventually

BODIES: list[dict[str, Any]] = [
    {"game": "gomoku:size=5", "strategy": "tree", "simulations": 600_000, "lanes": 3, "seed": 1},
    {"game": "gomoku:size=5", "strategy": "root", "simulations": 600_000, "lanes": 3, "seed": 2},
    {"game": "gomoku:size=5", "strategy": "leaf", "simulations": 200_000, "lanes": 3, "seed": 3},
    {"game": "gomoku:size=5", "strategy": "tree", "simulations": 3_000, "lanes": 3, "seed": 4},
]
FREE = "a folder that no other server uses"
OPTIONS = ("--max-running", "3", "--checkpoint-every", "0.1")


@pytest.mark.slow
def test_a_server_that_was_killed_finishes_every_search_with_its_digest(tmp_path: Path) -> None:
    with Server(tmp_path, *OPTIONS) as server:
        client = server.client()
        ids = [client.submit(body, key=f"key-{n}")["id"] for n, body in enumerate(BODIES)]
        events: list[ServiceEvent] = []

        def follow(url: str = server.url) -> None:
            with Client(url) as following:
                events.extend(following.events(ids[0]))

        # Somebody follows the first one throughout, and asks again as clients do.
        follower = threading.Thread(target=follow)
        follower.start()
        searching(client, ids[1], 20_000)
        eventually(lambda: [*(tmp_path / "checkpoints").glob("*.npz")])
        assert client.get(ids[1])["state"] == "running"
        server.kill()
        port = server.port
    with Server(tmp_path, *OPTIONS, port=port) as server:
        client = server.client()
        # Who lost the answer to a request sends it again.
        assert client.submit(BODIES[3], key="key-3")["id"] == ids[3]
        ended = [client.wait(search_id) for search_id in ids]
        follower.join(PATIENCE_S)
        assert not follower.is_alive()
        assert server.end() == 0
    assert [search["state"] for search in ended] == ["done"] * 4
    digests = [alone(SearchRequest(**body)).digest for body in BODIES]
    assert [search["result"]["digest"] for search in ended] == digests
    assert any(search["result"]["resumed"] for search in ended)
    numbers = [event.id or 0 for event in events]
    assert numbers == sorted(set(numbers))
    assert [event.final for event in events] == [False] * (len(events) - 1) + [True]
    assert events[-1].data["result"] == ended[0]["result"]
    assert list((tmp_path / "checkpoints").iterdir()) == []


@pytest.mark.slow
def test_a_server_that_is_told_to_end_keeps_what_runs(tmp_path: Path) -> None:
    with Server(tmp_path, "--max-running", "1") as server:
        client = server.client()
        ids = [client.submit(body)["id"] for body in (BODIES[0] | {"simulations": 600_000}, BODIES[3])]
        searching(client, ids[0])
        assert server.end(signal.SIGTERM) == 0
        assert "error" not in "".join(server.lines)
    assert [file.stem for file in (tmp_path / "checkpoints").iterdir()] == [ids[0]]
    with Server(tmp_path) as server:
        ended = [server.client().wait(search_id) for search_id in ids]
    assert [search["state"] for search in ended] == ["done", "done"]
    assert ended[0]["result"]["resumed"] == 1


@pytest.mark.slow
def test_a_search_that_was_cancelled_before_the_server_was_killed_does_not_go_on(tmp_path: Path) -> None:
    with Server(tmp_path, "--max-running", "1") as server:
        client = server.client()
        ids = [client.submit(BODIES[0] | {"simulations": 10**9})["id"] for _ in range(2)]
        searching(client, ids[0])
        client.cancel(ids[0])
        server.kill()
    with Server(tmp_path, "--max-running", "2") as server:
        search = server.client().wait(ids[0])
        assert search["state"] == "cancelled"
        assert server.client().get(ids[1])["state"] in ("queued", "running")


@pytest.mark.slow
def test_a_folder_has_one_server(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        status, lines = refused("--data", str(tmp_path), "--port", "0", "--executor", "inline")
        assert status == 2
        assert lines == [f"banyan: error: --data: {str(tmp_path)!r} is not accepted; expected {FREE}"]
        assert http.get(f"{server.url}/readyz").status_code == 200
        # The port is taken as well.
        other = ("--data", str(tmp_path / "other"), "--port", str(server.port), "--executor", "inline")
        status, lines = refused(*other)
        assert status == 2 and lines[0].startswith(f"banyan: error: --port: {server.port} is not accepted")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        # Without a token nobody else may reach it.
        *((("--host", host), f"--host: '{host}' is not accepted") for host in ("0.0.0.0", "::", "192.0.2.1")),
        (("--data", "/proc/nowhere"), "--data"),
        (("--port", "0"), "--data"),
        (("--port", "0", "--allow-games", "none"), "--allow-games: 'none' is not accepted; expected a game"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_a_line(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    damaged = options == ("--port", "0")
    if damaged:
        (tmp_path / "searches.sqlite").write_text("these are no records, whatever the name says" * 100)
    status, lines = refused("--data", str(tmp_path), "--executor", "inline", *options)
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith(f"banyan: error: {said}")
    assert "--token-file" in lines[0] or "--host" not in options
    assert "undamaged records" in lines[0] or not damaged


@pytest.mark.slow
@compiled_only
def test_a_server_ends_while_kernels_compile_and_answers_who_waits_for_them(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    with Server(tmp_path / "data", environment=environment) as server, ThreadPoolExecutor() as threads:
        asked = threads.submit(http.post, f"{server.url}/api/v1/games/thud/moves", json={})
        eventually(lambda: [*tmp_path.glob("kernels/*/*thud*.nbi")])
        assert server.end() == 0
        answer = asked.result()
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")


QUICK = """
from cluster.cli import main
from cluster.service import supervisor

supervisor.RESTART_AFTER_S = (0.05,)
main()
"""
"""`banyan` with a supervisor that does not wait."""
INNOCENT: dict[str, Any] = {"game": "gomoku:size=5", "simulations": 700_000, "lanes": 2}


@pytest.mark.slow
def test_a_search_that_ends_the_server_each_time_is_failed_and_no_other(tmp_path: Path) -> None:
    """Two others run beside it until it is found; its game passes every trial."""
    environment = install(tmp_path)
    options = ("--max-running", "3", "--allow-games", "trap", "--checkpoint-every", "0.1")
    program = (sys.executable, "-c", QUICK)
    with Server(tmp_path / "data", *options, environment=environment, program=program) as server:
        client = server.client()
        others = [client.submit(INNOCENT | {"seed": seed})["id"] for seed in (1, 2)]
        searching(client, others[1])
        guilty = client.submit({"game": "trap", "simulations": 100, "lanes": 1})["id"]
        search = client.wait(guilty)
        assert search["state"] == "failed"
        words = "the server died 3 times while it ran this search, the last time with no other beside it"
        assert search["error"]["detail"] == words
        ended = [client.wait(search_id) for search_id in others]
        assert [each["state"] for each in ended] == ["done", "done"]
        digests = [alone(SearchRequest(**INNOCENT, seed=seed)).digest for seed in (1, 2)]
        assert [each["result"]["digest"] for each in ended] == digests
        assert server.count() == 3
        # Another is as good as any.
        assert client.wait(client.submit(INNOCENT | {"simulations": 500})["id"])["state"] == "done"
        assert server.end() == 0


@pytest.mark.slow
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
    store.finish("one", state="failed", final_event=1)
    store.reopen("one")
    store.update("one", state=RUNNING)
    store.opening("one")
    assert store.get("one").state == RUNNING  # type: ignore[union-attr]
    assert store.count_death() == ({"one": 1, "two": 1}, ["one"])
    store.close()


PROGRAM = """
import os, signal, subprocess, sys, time
from cluster.service import supervisor

supervisor.RESTART_AFTER_S = (0.05,)
word = sys.argv[1]

def serve(ready, restarts):
    orphan = subprocess.Popen(["sh", "-c", "sleep 100 & echo $!"], stdout=subprocess.PIPE, text=True)
    number = orphan.stdout.readline().strip()
    # A signal may come as soon as this has been read.
    try:
        print("server", os.getpid(), restarts, number, flush=True)
        if word == "refuse":
            return 2
        ready()
        if word == "crash" and restarts < 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "end":
            return 0
        # In one long sleep, a signal that came just before it would be heard of after it.
        until_s = time.monotonic() + 100
        while time.monotonic() < until_s:
            time.sleep(0.05)
    except KeyboardInterrupt:
        print("drained", flush=True)
        return 0

sys.exit(supervisor.Supervisor(serve).run())
"""


class Supervised:
    """A supervisor whose server does nothing."""

    def __init__(self, word: str) -> None:
        command = [sys.executable, "-c", PROGRAM, word]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def server(self) -> tuple[int, int, int]:
        """What the next one that begins says: its process, how many died before, an orphan of its own."""
        word, *numbers = self.process.stdout.readline().split()
        assert word == "server"
        pid, restarts, orphan = map(int, numbers)
        return pid, restarts, orphan

    def ended(self) -> tuple[int, str]:
        """Exit status, and what it said last."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    made: list[Supervised] = []
    yield made
    for each in made:
        each.process.kill()
        each.process.communicate()


def begin(made: list[Supervised], word: str) -> Supervised:
    made.append(Supervised(word))
    return made[-1]


def test_a_server_that_dies_is_followed_by_another_and_leaves_nothing(supervised: list[Supervised]) -> None:
    parent = begin(supervised, "crash")
    servers = [parent.server() for _ in range(3)]
    assert [restarts for _, restarts, _ in servers] == [0, 1, 2]
    eventually(lambda: not any(state_of(orphan) for _, _, orphan in servers[:2]))
    os.kill(servers[2][0], signal.SIGKILL)
    assert parent.server()[1] == 3
    parent.process.send_signal(signal.SIGINT)
    assert parent.ended() == (0, "drained\n")


@pytest.mark.parametrize(("word", "status"), [("refuse", 2), ("end", 0)])
def test_one_that_ends_as_it_should_or_never_serves_is_the_last(
    supervised: list[Supervised], word: str, status: int
) -> None:
    parent = begin(supervised, word)
    _, _, orphan = parent.server()
    assert parent.ended() == (status, "")
    eventually(lambda: not state_of(orphan))


@pytest.mark.slow
def test_none_outlives_its_parent(supervised: list[Supervised]) -> None:
    parent = begin(supervised, "stay")
    pid, _, orphan = parent.server()
    parent.process.kill()
    eventually(lambda: not state_of(pid))
    eventually(lambda: not state_of(orphan))
