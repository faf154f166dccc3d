"""Many positions in one request: each has one answer, that of `banyan analyze`, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.client.client import AsyncClient, Client, ServiceError
from cluster.service.kept_analyses import DEATHS
from cluster.service.request_models import MOST_POSITIONS
from cluster.system.processes import descendants
from games import load
from games.contract.findings import deal
from games.errors import InvalidInput
from tests.cluster.command import banyan
from tests.cluster.processes import named
from tests.cluster.service.process import Server, http, searching
from tests.waiting import eventually

SERVER = ("--max-running", "2", "--max-waiting", "2", "--max-simulations", "100000000")
CELLS = [f"{column}{row}" for row in (1, 2, 3) for column in "abc"]
QUERIES: list[dict[str, Any]] = [
    *({"id": cell, "moves": [cell]} for cell in CELLS),
    {
        "id": "turns",
        "moves": "a1 b2 c3",
        "analyzeTurns": [0, 1, 3],
        "priorities": [0, 9, 1],
        "maxVisits": 500,
    },
    {"id": "long", "simulations": 100_000, "lanes": 16, "seed": 3},
    {"id": "allowed", "allowMoves": [{"moves": ["a1", "b2"], "untilDepth": 1}], "leastVisits": {"a1": 90}},
    # Of these only a search can tell.
    {"id": "illegal", "moves": "a1 a1"},
    {"id": "over", "moves": "a1 b2 a2 b3 a3"},
]
BODY: dict[str, Any] = {"game": "tictactoe", "simulations": 200, "positions": QUERIES}
LONG: dict[str, Any] = {
    "game": "tictactoe",
    "simulations": 100_000_000,
    "positions": [{"id": "a"}, {"id": "b"}],
}
"""Nothing waits for its end."""


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    """A client, and no analysis that is open before or after."""
    with server.client() as client:
        yield client
        for analysis in client._send("GET", "/analyses")["analyses"]:
            client.cancel_analysis(analysis["id"])


def written(folder: Path, queries: list[dict[str, Any]], *options: str) -> list[str]:
    """The lines that `banyan analyze` writes for these queries."""
    file, out = folder / "queries.jsonl", folder / "answers.jsonl"
    file.write_text("".join(json.dumps(query) + "\n" for query in queries))
    status, _, err = banyan(
        "analyze", "tictactoe", str(file), "--executor", "inline", "--out", str(out), *options
    )
    # A position that cannot be searched is told, and the rest is searched.
    assert status == ("could not be searched" in err), err
    return out.read_text().splitlines()


def text_of(server: Server, analysis_id: str) -> str:
    return http.get(f"{server.url}/api/v1/analyses/{analysis_id}/results?limit=1000").text


def test_answers_are_those_of_banyan_analyze_and_each_has_one_place(
    server: Server, client: Client, tmp_path: Path
) -> None:
    lines = written(tmp_path, QUERIES, "--simulations", "200")
    analysis = client.analyse(BODY)
    assert (analysis["state"], analysis["positions"]) == ("queued", len(lines))
    found = list(client.results(analysis["id"]))
    text = text_of(server, analysis["id"])
    assert all(line in text for line in lines)
    assert sorted(map(json.dumps, found)) == sorted(lines)
    assert {each["id"] for each in found if "error" in each} == {"illegal", "over"}
    assert len(found) == len(lines)
    for after in range(len(lines) + 1):
        assert list(client.results(analysis["id"], after)) == found[after:]
    assert list(client.results(analysis["id"], 10**6)) == []
    over = client.analysis(analysis["id"])
    assert (over["state"], over["answered"], over["error"]) == ("done", len(lines), None)
    assert over["created_at"] <= over["started_at"] <= over["finished_at"]
    listed = client._send("GET", "/analyses")["analyses"]
    assert listed[0] == over
    # An end is an end.
    assert client.cancel_analysis(analysis["id"]) == over


def test_the_asynchronous_client_gets_the_same(server: Server, client: Client) -> None:
    async def ask() -> list[dict[str, Any]]:
        async with AsyncClient(server.url) as other:
            analysis = await other.analyse(BODY, key="once")
            return [answer async for answer in other.results(analysis["id"])]

    found = asyncio.run(ask())
    repeated = client.analyse(BODY, key="once")
    assert found == list(client.results(repeated["id"]))
    with pytest.raises(InvalidInput, match="Idempotency-Key"):
        client.analyse(BODY | {"simulations": 201}, key="once")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        # What all positions begin with.
        ({"moves": ["z9"]}, "moves"),
        ({"position": "?"}, "position"),
        ({"game": "chess"}, "game"),
        ({"game": "./own.py"}, "game"),
        ({"strategy": "./own.py:Mine"}, "strategy"),
        ({"simulations": 10**9}, "simulations"),
        ({"evaluator": "external"}, "evaluator"),
        ({"komi": 7}, "komi"),
        ({"positions": []}, "positions"),
        ({"positions": [1]}, "positions.0"),
        ({"positions": [{"id": "a"}, {}]}, "positions.1.id"),
        ({"positions": [{"id": "a"}, {"id": "a"}]}, "positions.1.id"),
        # Each of its answers would repeat it.
        ({"positions": [{"id": "x" * 1001}]}, "positions.0.id"),
        ({"positions": [{"id": "a", "moves": ["x" * 300_000]}]}, "positions.0"),
        ({"positions": [{"id": "a", "komi": 7}]}, "positions.0.komi"),
        ({"positions": [{"id": "a", "moves": "a1", "analyzeTurns": [2]}]}, "positions.0.analyzeTurns"),
        ({"positions": [{"id": "a", "maxVisits": 10**9}]}, "positions.0.maxVisits"),
        ({"positions": [{"id": "a", "maxVisits": 9, "seconds": 1}]}, "positions.0.budget"),
        ({"positions": [{"id": "a", "action": "terminate_all"}]}, "positions.0.action"),
        ({"positions": [{"id": "a", "action": "terminate"}]}, "positions.0.action"),
        ({"positions": [{"id": str(n)} for n in range(MOST_POSITIONS + 1)]}, "positions"),
        (
            {"positions": [{"id": n, "moves": ["a1"] * 6000, "analyzeTurns": [*range(6000)]} for n in "ab"]},
            "positions",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(client: Client, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        client.analyse(BODY | change)
    assert error.value.field == field
    assert error.value.accepted
    assert "List should" not in error.value.accepted
    assert str(error.value.value)


def test_an_infinite_option_is_stored_as_it_came(server: Server, client: Client) -> None:
    text = (
        '{"game": "tictactoe", "simulations": 9, "positions": [{"id": "a", "first_play_urgency": Infinity}]}'
    )
    url = f"{server.url}/api/v1/analyses"
    answer = http.post(url, content=text, headers={"Content-Type": "application/json"})
    (found,) = client.results(answer.json()["id"])
    assert found["stoppedBy"] == "simulations"


def test_a_body_has_a_greatest_size_and_the_queue_a_greatest_length(server: Server, client: Client) -> None:
    with pytest.raises(ServiceError, match="at most 4194304 bytes") as too_large:
        client.analyse(BODY | {"positions": [{"id": "x" * 5_000_000}]})
    assert too_large.value.status == 413
    # More than a search may have.
    many = [{"id": f"{n:0>900}"} for n in range(1000)]
    large = client.analyse(BODY | {"positions": many})
    assert client.cancel_analysis(large["id"])["state"] == "cancelled"
    url, accepted = f"{server.url}/api/v1/analyses", []
    while (answer := http.post(url, json=LONG)).status_code == 202:
        accepted.append(answer.json()["id"])
    assert (answer.status_code, len(accepted)) == (429, 4)
    assert answer.json()["detail"] == "the queue is full, with 2 analyses waiting"
    assert answer.headers["Retry-After"]
    assert client.cancel_analysis(accepted[3])["state"] == "cancelled"
    with pytest.raises(ServiceError, match="no such analysis") as unknown:
        client.analysis("analysis-0")
    assert unknown.value.status == 404


def test_a_cancelled_analysis_keeps_what_it_has_and_gives_its_place(server: Server, client: Client) -> None:
    """Behind two that would take hours the next one waits, until nobody wants one of them."""
    short = {"id": "short", "simulations": 100, "priority": 1}
    first, second = (
        client.analyse(LONG | {"positions": [*LONG["positions"], short]})["id"] for _ in range(2)
    )
    eventually(lambda: client.analysis(first)["answered"] == 1)
    third = client.analyse(BODY)["id"]
    assert client.analysis(third)["state"] == "queued"

    def running() -> set[str]:
        return set(http.get(f"{server.url}/api/v1/cluster").json()["now"]["running"])

    eventually(lambda: running() == {first, second})
    assert client.cancel_analysis(first)["state"] == "cancelled"
    assert [each["id"] for each in client.results(first)] == ["short"]
    assert len(list(client.results(third))) == 16
    assert client.analysis(second)["state"] == "running"
    # What was cancelled takes no worker.
    eventually(lambda: running() == {second})


def test_neither_an_analysis_nor_a_search_keeps_the_other_from_the_workers(client: Client) -> None:
    """On one worker: each has a half, so a search of a second ends long before ten thousand positions."""
    many = [{"id": str(n), "seed": n} for n in range(MOST_POSITIONS)]
    analysis = client.analyse(BODY | {"simulations": 5_000, "positions": many})["id"]
    eventually(lambda: client.analysis(analysis)["answered"] > 5)
    body = {"game": "tictactoe", "simulations": 50_000, "lanes": 2}
    assert client.wait(client.submit(body)["id"])["state"] == "done"
    endless = client.submit(body | {"simulations": 100_000_000})["id"]
    searching(client, endless)
    before = client.analysis(analysis)
    assert before["state"] == "running" and before["answered"] < MOST_POSITIONS
    eventually(lambda: client.analysis(analysis)["answered"] > before["answered"] + 20)
    assert client.get(endless)["state"] == "running"
    client.cancel(endless)
    client.wait(endless)


@pytest.mark.slow
def test_a_fleet_that_was_sent_is_not_stored(server: Server, client: Client) -> None:
    game = load("battleship")
    dealt = game.format_position(deal(game, 5))
    body = {"game": "battleship", "simulations": 100, "positions": [{"id": "a", "position": dealt}]}
    (answer,) = client.results(client.analyse(body)["id"])
    assert answer["moveInfos"]
    records = (server.data / "searches.sqlite").read_bytes()
    assert b"battleship" in records
    assert not any(part.split()[0].encode() in records for part in dealt.split("fleet=")[1:])


@pytest.mark.slow
def test_a_server_that_dies_goes_on_and_one_that_always_dies_gives_up(tmp_path: Path) -> None:
    lines = written(tmp_path, QUERIES[:9], "--simulations", "60000", "--lanes", "1")
    body = BODY | {"simulations": 60_000, "lanes": 1, "positions": QUERIES[:9]}
    with Server(tmp_path / "data") as server, server.client() as client:
        analysis = client.analyse(body)["id"]
        eventually(lambda: client.analysis(analysis)["answered"] > 2)
        seen = next(client.results(analysis))
        die(server)
        found = list(client.results(analysis))
        assert found[0] == seen
        assert sorted(map(json.dumps, found)) == sorted(lines)
        deadly = client.analyse(LONG)["id"]
        eventually(lambda: client.analysis(deadly)["state"] == "running")
        server.kill()
    with closing(sqlite3.connect(tmp_path / "data" / "searches.sqlite")) as records, records:
        records.execute("UPDATE analysis SET deaths = ? WHERE id = ?", (DEATHS - 1, deadly))
    with Server(tmp_path / "data") as server, server.client() as client:
        eventually(lambda: client.analysis(deadly)["state"] == "running")
        die(server)
        eventually(lambda: client.analysis(deadly)["state"] == "failed")
        assert "died 5 times while it ran this" in client.analysis(deadly)["error"]["detail"]
        assert list(client.results(deadly)) == []


def die(server: Server) -> None:
    """Kill the server, but not its supervisor, which starts another."""
    (child,) = descendants(server.process.pid)
    os.kill(child, signal.SIGKILL)
    eventually(lambda: not {child, *descendants(server.process.pid)} <= {child} and server.count() >= 1)


@pytest.mark.slow
def test_workers_and_deaths_change_no_answer(tmp_path: Path) -> None:
    """On two workers, of which one is killed, then the server; the next one has eight."""
    queries = [{"id": f"{a} {b}", "moves": [a, b]} for a in CELLS for b in CELLS if a != b]
    lines = written(tmp_path, queries, "--simulations", "50000", "--lanes", "1")
    body = BODY | {"simulations": 50_000, "lanes": 1, "positions": queries}
    places = (("--workers", "2", "--nice", "1"), ("--workers", "8", "--nice", "1"))
    with Server(tmp_path / "data", *places[0], executor="ray") as server, server.client() as client:
        analysis = client.analyse(body)["id"]
        eventually(lambda: client.analysis(analysis)["answered"] > 3)
        os.kill(named("ray::Banyan", server.process.pid)[0], signal.SIGKILL)
        eventually(lambda: client.analysis(analysis)["answered"] > 20)
        before = client._results(analysis, 0)
        server.kill()
    assert len(before["results"]) < len(queries)
    with Server(tmp_path / "data", *places[1], executor="ray") as server, server.client() as client:
        found = [*before["results"], *client.results(analysis, before["next"])]
        assert found == list(client.results(analysis))
        assert client.analysis(analysis)["state"] == "done"
    assert sorted(map(json.dumps, found)) == sorted(lines)
