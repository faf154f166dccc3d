"""Whatever is sent, the server answers as its document says, and never with an error of its own."""

from __future__ import annotations

import random
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import games
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

SMALL = ("--max-simulations", "500", "--max-seconds", "0.1", "--max-memory", "64", "--max-lanes", "8")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 12
"""For each route."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("data"), *SMALL, "--max-waiting", "20") as server:
        yield server
        assert http.get(f"{server.url}/readyz").status_code == 200


def test_answers_are_those_of_the_document(server: Server) -> None:
    """Requests made from the document, sound and unsound, to each route."""
    schema = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")
    # The events of the cluster have no end.
    schema.config.max_stream_events = 1
    asked = []
    for found in schema.get_all_operations():
        operation = found.ok()
        asked.append(operation.label)

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def answers(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS, timeout=PATIENCE_S)

        answers()
    assert len(asked) == 29


@pytest.mark.parametrize("name", games.names())
def test_positions_and_moves_of_every_game(server: Server, name: str) -> None:
    """Random games through the API; and texts that are almost positions and moves."""
    if name == "explicit":
        name = "explicit:([1 3][2 8])"
    rng = random.Random(4)
    url = f"{server.url}/api/v1/games/{name}/positions"
    with httpx.Client(timeout=PATIENCE_S) as client:
        moves: list[str] = []
        texts: list[str] = []
        for _ in range(6):
            answer = client.post(url, json={"moves": moves})
            assert answer.status_code == 200, answer.text
            shown = answer.json()
            again = client.post(url, json={"position": shown["position"]})
            assert again.status_code == 200
            assert {k: again.json()[k] for k in ("legal_moves", "to_move", "over", "position")} == {
                k: shown[k] for k in ("legal_moves", "to_move", "over", "position")
            }
            texts += [shown["position"], *moves[-1:]]
            if shown["over"]:
                break
            moves.append(rng.choice(shown["legal_moves"]))
        signs = "".join(texts) + "0123456789abcxyz/|.,-?=\"'é\u2028\x00 "
        for number in range(12):
            text = list(rng.choice(texts))
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(text) + 1)
                text[at : at + rng.randrange(2)] = rng.choice(signs) * rng.randrange(3)
            body = {"position": "".join(text)} if rng.random() < 0.6 else {"moves": "".join(text).split()}
            answer = client.post(url, json=body)
            assert answer.status_code in (200, 422), (body, answer.text)
            if number % 3:
                continue
            search = {"game": name, "simulations": 50, "lanes": 2, **body}
            answer = client.post(f"{server.url}/api/v1/searches", json=search)
            assert answer.status_code in (202, 422, 429), (search, answer.text)
    answer = http.get(f"{server.url}/api/v1/searches", params={"state": "failed", "limit": 200})
    assert answer.json()["searches"] == []
