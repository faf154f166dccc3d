"""A real server, over HTTP: searches from their request to their result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import httpx
import pytest

from cluster.client.client import STREAM_S, AsyncClient, Client, ServiceError
from cluster.client.remote import OF_EVALUATORS
from cluster.service.limits import Limits
from cluster.service.request_models import SearchBody
from games import load
from games.contract.findings import deal
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.searches import alone, unchanged
from tests.cluster.service.process import Server, http, searching
from tests.waiting import PATIENCE_S, eventually

SMALL: dict[str, Any] = {"game": "gomoku:size=5", "simulations": 900, "lanes": 3, "seed": 4}
LONG: dict[str, Any] = {"game": "gomoku:size=5", "seconds": 60, "lanes": 3}
"""Nothing waits for its end."""
SERVER = ("--max-running", "2", "--max-waiting", "3", "--max-simulations", "1000000", "--max-memory", "512")


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    """A client, and no search that is open before or after."""
    with server.client() as client:
        yield client
        for state in ("queued", "running"):
            for search in client.searches(state)["searches"]:
                client.cancel(search["id"])
                client.wait(search["id"])


def started(client: Client, body: dict[str, Any]) -> str:
    """The id of a search that has begun to search."""
    search_id = str(client.submit(body)["id"])
    searching(client, search_id)
    return search_id


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_the_answer_is_that_of_the_command_line(client: Client, strategy: str) -> None:
    search = client.wait(client.submit(SMALL | {"strategy": strategy})["id"])
    request = SearchRequest("gomoku:size=5", strategy=strategy, simulations=900, lanes=3, seed=4)
    expected = alone(request)
    assert search["state"] == "done"
    assert search["error"] is search["progress"] is None
    assert list(search["result"]) == list(expected.to_json())
    assert {name: search["result"][name] for name in unchanged(expected)} == unchanged(expected)


@pytest.mark.slow
def test_all_options_reach_the_search(client: Client) -> None:
    body = SMALL | {
        "strategy": "tree",
        "exploration": 0.5,
        "first_play_urgency": 0.1,
        "playout_plies": 4,
        "playout_policy": "greedy-random",
        "solver": True,
        "widening": 5,
        "rounds": 5,
        "share_visits": 8,
        "final_move": "secure",
        "memory_mb": 64,
        "moves": ["c3"],
    }
    search = client.wait(client.submit(body)["id"])
    options = {name: value for name, value in body.items() if name != "moves"}
    expected = alone(SearchRequest(moves=("c3",), **options))
    assert search["result"]["digest"] == expected.digest
    assert {name: search["request"][name] for name in body} == body


def test_every_field_of_a_request_can_be_sent_but_for_files() -> None:
    own = {field.name for field in fields(SearchRequest)} - {"stop_when_full"} - OF_EVALUATORS
    assert set(SearchBody.model_fields) == own | {"priority", "continues", "evaluator", "evaluator_version"}
    defaults = SearchBody(game="tictactoe", seconds=1.0).request(Limits())
    assert defaults == SearchRequest("tictactoe", seconds=1.0)


def test_events_are_numbered_partial_and_then_one_is_final(client: Client) -> None:
    search_id = client.submit(SMALL | {"simulations": 60_000})["id"]
    events = list(client.events(search_id))
    assert [event.id for event in events] == sorted({event.id or 0 for event in events})
    *partial, final = events
    assert all(event.data["partial"] is True and event.data["id"] == search_id for event in partial)
    assert {event.name for event in partial} <= {"state", "progress"}
    assert final.final and final.data["partial"] is False
    assert final.data["state"] == "done"
    search = client.get(search_id)
    assert final.data["result"] == search["result"]
    # Whoever comes later gets the final event, and whoever has it nothing.
    assert list(client.events(search_id)) == [final]
    assert list(client.events(search_id, partial[-1].id)) == [final]
    assert list(client.events(search_id, final.id)) == []


def test_a_stream_goes_on_after_the_last_event_that_was_seen(client: Client, server: Server) -> None:
    search_id = started(client, LONG)
    path = f"{server.url}/api/v1/searches/{search_id}/events"
    seen: list[int] = []
    for _ in range(3):
        headers = {"Last-Event-ID": str(seen[-1])} if seen else {}
        with httpx.stream("GET", path, headers=headers, timeout=PATIENCE_S) as response:
            new = 0
            for line in response.iter_lines():
                if line.startswith("id: "):
                    seen.append(int(line.removeprefix("id: ")))
                    new += 1
                    if new == 3:
                        break
    assert seen == sorted(set(seen)) and len(seen) == 9
    client.cancel(search_id)
    assert [event.final for event in client.events(search_id, seen[-1])].count(True) == 1


@pytest.mark.slow
def test_a_silent_stream_has_pings_before_clients_take_it_for_broken(client: Client, server: Server) -> None:
    for _ in range(2):
        started(client, LONG)
    path = f"{server.url}/api/v1/searches/{client.submit(LONG)['id']}/events"
    with httpx.stream("GET", path, timeout=STREAM_S / 2) as response:
        assert response.headers["X-Accel-Buffering"] == "no"
        assert next(line for line in response.iter_lines() if line.startswith(":"))


@pytest.mark.slow
def test_cancelling_leaves_the_best_answer_and_resuming_goes_on(client: Client) -> None:
    # Seconds of work on two workers: it has begun to search long before it ends.
    body = SMALL | {"game": "morris", "simulations": 1_000_000}
    search_id = started(client, body)
    assert client.cancel(search_id)["state"] in ("running", "cancelled")
    search = client.wait(search_id)
    assert search["state"] == "cancelled"
    result = search["result"]
    assert result["stopped_by"] == "cancelled" and result["best_move"] is not None
    assert 0 < result["simulations"] < 1_000_000
    # Once more changes nothing.
    assert client.cancel(search_id) == search
    first = list(client.events(search_id))
    assert client.resume(search_id)["state"] in ("queued", "running")
    search = client.wait(search_id)
    assert search["state"] == "done" and search["result"]["resumed"] == 1
    (last,) = client.events(search_id)
    assert last.final and (last.id or 0) > (first[-1].id or 0)
    alone = client.wait(client.submit(body)["id"])
    assert search["result"]["digest"] == alone["result"]["digest"]
    with pytest.raises(ServiceError) as error:
        client.resume(search_id)
    assert error.value.status == 409


def test_a_search_that_waits_is_cancelled_without_having_begun(client: Client) -> None:
    for _ in range(2):
        started(client, LONG)
    waiting = client.submit(LONG)
    assert waiting["state"] == "queued" and waiting["searches_before"] == 0
    search = client.cancel(waiting["id"])
    assert (search["state"], search["result"], search["started_at"]) == ("cancelled", None, None)
    assert [event.name for event in client.events(waiting["id"])] == ["final"]


def test_a_search_that_waits_to_go_on_is_cancelled_with_the_answer_that_it_had(client: Client) -> None:
    search_id = started(client, LONG)
    client.cancel(search_id)
    before = client.wait(search_id)["result"]
    running = [started(client, LONG) for _ in range(2)]
    assert client.resume(search_id)["state"] == "queued"
    client.cancel(search_id)
    for other in running:
        client.cancel(other)
    search = client.wait(search_id)
    assert search["state"] == "cancelled"
    assert search["result"]["digest"] == before["digest"]


def test_higher_priorities_begin_first(client: Client) -> None:
    running = [started(client, LONG) for _ in range(2)]
    low, middle, high = (client.submit(SMALL | {"priority": p})["id"] for p in (-1, 0, 5))
    assert [client.get(i)["searches_before"] for i in (low, middle, high)] == [2, 1, 0]
    for search_id in running:
        client.cancel(search_id)
    times = [client.wait(i)["started_at"] for i in (high, middle, low)]
    assert times == sorted(times)


def test_a_full_queue_says_when_to_come_again(client: Client, server: Server) -> None:
    for _ in range(5):
        client.submit(LONG)
    eventually(lambda: len(client.searches("queued")["searches"]) == 3)
    body = LONG | {"simulations": None}
    answer = http.post(f"{server.url}/api/v1/searches", json=body)
    assert answer.status_code == 429
    assert answer.headers["content-type"] == "application/problem+json"
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert "3 searches waiting" in answer.json()["detail"]


def test_a_repeated_request_with_its_key_is_harmless(client: Client, server: Server) -> None:
    url = f"{server.url}/api/v1/searches"
    first = http.post(url, json=SMALL, headers={"Idempotency-Key": "k-1"})
    again = http.post(url, json=SMALL | {"lanes": 3}, headers={"Idempotency-Key": "k-1"})
    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    assert first.headers["Location"] == again.headers["Location"] == f"searches/{first.json()['id']}"
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    other = http.post(url, json=SMALL | {"lanes": 4}, headers={"Idempotency-Key": "k-1"})
    assert (other.status_code, other.json()["field"]) == (422, "Idempotency-Key")
    assert http.post(url, json=SMALL).json()["id"] != first.json()["id"]


def test_searches_are_listed_page_by_page(client: Client) -> None:
    ids = [client.submit(SMALL)["id"] for _ in range(3)]
    for search_id in ids:
        client.wait(search_id)
    seen: list[str] = []
    after = None
    while len(seen) < 3:
        page = client.searches("done", after, limit=1)
        seen += [search["id"] for search in page["searches"]]
        after = page["next"]
    assert seen == ids[::-1]
    assert client.searches("failed")["searches"] == []


def test_searches_are_found_by_a_text_in_their_game(server: Server, client: Client) -> None:
    for game in ("tictactoe", "gomoku:size=5"):
        client.wait(client.submit(SMALL | {"game": game})["id"])
    url = f"{server.url}/api/v1/searches"
    for texts, games in (
        (["TACTOE"], {"tictactoe"}),
        (["=5", "tac"], {"gomoku:size=5", "tictactoe"}),
        (["%"], set()),
    ):
        found = http.get(url, params={"game": texts, "limit": 200}).json()["searches"]
        assert {search["request"]["game"] for search in found} == games
    refused = http.get(url, params={"game": ["x" * 201]})
    assert (refused.status_code, refused.json()["field"]) == (422, "game.0")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "game: None is not accepted; expected a value: this field is required"),
        (
            SMALL | {"gam": "chess"},
            "gam: 'chess' is not accepted; expected a field of this object (did you mean game?)",
        ),
        (
            SMALL | {"lane": 3},
            "lane: 3 is not accepted; expected a field of this object (did you mean lanes?)",
        ),
        (SMALL | {"priority": "high"}, "priority: 'high' is not accepted; expected a whole number"),
    ],
)
def test_a_malformed_body_is_refused_in_a_sentence(server: Server, body: Any, detail: str) -> None:
    refused = http.post(f"{server.url}/api/v1/searches", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"game": "chess"}, "game"),
        ({"game": "./mine.py"}, "game"),
        ({"game": "gomoku:size=99"}, "game option size"),
        ({"game": "tictactoe\n"}, "game"),
        ({"moves": ["z9"]}, "moves"),
        ({"moves": "c3"}, "moves"),
        ({"moves": ["c3"] * 2001}, "moves"),
        ({"position": "nonsense"}, "position"),
        ({"strategy": "ucb"}, "strategy"),
        ({"strategy": "./own.py:Mine"}, "strategy"),
        ({"lanes": 0}, "lanes"),
        ({"lanes": 1025}, "lanes"),
        ({"lanes": "3"}, "lanes"),
        ({"lanes": True}, "lanes"),
        ({"simulations": 2_000_000}, "simulations"),
        ({"simulations": 10**30}, "simulations"),
        ({"seconds": 1}, "simulations, seconds"),
        ({"simulations": None, "seconds": 1e9}, "seconds"),
        ({"memory_mb": 513}, "memory_mb"),
        ({"memory_mb": 1, "lanes": 1000, "strategy": "root"}, "memory_mb"),
        ({"seed": -1}, "seed"),
        ({"priority": 11}, "priority"),
        ({"paired": 2}, "paired"),
        ({"implicit_minimax": 0.5}, "strategy"),
        ({"bias": 0.5}, "bias"),
        ({"exploration": -1.0}, "exploration"),
        ({"playout_policy": "clever"}, "playout_policy"),
        ({"workers": 4}, "workers"),
        ({"game": "battleship", "solver": True}, "solver"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(client: Client, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        client.submit(SMALL | change)
    assert error.value.field == field
    assert error.value.accepted


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "body: None is not accepted"),
        (b'{"game": ', "body: '{\"game\": ' is not accepted; expected JSON (Expecting value)"),
        (b"[]", "body: '[]' is not accepted; expected a JSON object"),
        (b'"x"', "body: 'x' is not accepted; expected a JSON object"),
        (b'{"game": NaN}', "game: 'nan' is not accepted"),
        (b'{"game": "hex", "moves": "a1"}', "moves: 'a1' is not accepted; expected a list"),
        (b'{"game": "hex", "priority": "x"}', "priority: 'x' is not accepted; expected a whole number"),
        (b"\xff", "body: "),
        (b"[" * 100_000, "body: '[["),
        (b"9" * 5000, "body: '999"),
    ],
)
def test_a_body_that_is_no_request_is_refused(server: Server, body: bytes, detail: str) -> None:
    answer = http.post(
        f"{server.url}/api/v1/searches", content=body, headers={"content-type": "application/json"}
    )
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code == 422
    assert answer.json()["field"] and answer.json()["accepted"]
    assert answer.json()["detail"].startswith(detail)


def test_what_is_not_there_is_not_found(client: Client, server: Server) -> None:
    with pytest.raises(ServiceError) as error:
        client.get("0" * 32)
    assert error.value.status == 404
    for path in ("/nowhere", "/api/v1/searches/../../etc/passwd", "/api/v1/searches/%00/events"):
        assert http.get(server.url + path).status_code == 404
    assert http.put(f"{server.url}/api/v1/searches").status_code == 405


def test_the_asynchronous_client_does_the_same(server: Server) -> None:
    async def ask() -> list[dict[str, Any]]:
        async with AsyncClient(server.url) as client:
            searches = [await client.submit(SMALL | {"seed": seed}) for seed in (1, 2)]
            assert (await client.game("tictactoe"))["players"] == ["x", "o"]
            assert len(await client.games()) > 4
            assert (await client.position("tictactoe", ["a1"]))["to_move"] == "o"
            return await asyncio.gather(*(client.wait(search["id"]) for search in searches))

    ended = asyncio.run(ask())
    assert [search["state"] for search in ended] == ["done", "done"]
    assert ended[0]["result"]["digest"] != ended[1]["result"]["digest"]


@pytest.mark.slow
def test_a_dealt_fleet_is_not_told(client: Client) -> None:
    game = load("battleship")
    dealt = game.format_position(deal(game, 5))
    fleets = [part.split()[0] for part in dealt.split("fleet=")[1:]]
    assert len(fleets) == 2

    def told(answer: object) -> bool:
        return any(fleet in str(answer) for fleet in fleets)

    assert told(dealt)
    shown = client.position("battleship", [], dealt)
    assert shown["position"] == client.position("battleship", [])["position"]
    body = {"game": "battleship", "position": dealt, "simulations": 100, "lanes": 2}
    search = client.submit(body, key="a-fleet")
    assert client.submit(body, key="a-fleet")["id"] == search["id"]
    assert not any(map(told, (shown, search, client.wait(search["id"]), client.searches())))
