"""Who may ask, from where, how much; and what operators are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cluster.cli import explain
from cluster.client.client import Client
from cluster.service import evaluator_client
from cluster.service.api.tokens import Tokens, read_token, read_tokens
from cluster.service.errors import of_validation
from cluster.service.request_models import SpeedupBody
from cluster.service.service_figures import game_label
from games.errors import InvalidInput
from tests.cluster.observe.test_metrics import UNITS, documented, families_of, types_and_labels
from tests.cluster.service.process import Server, http
from tests.waiting import eventually

TOKEN = "correct.horse.battery.staple"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
REFUSED_PAGES = 'banyan_refused_requests_total{reason="host"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "tokens").write_text(f"# whose\nanother-token-of-sixteen\n{TOKEN}\n")
    options = (
        "--token-file",
        str(folder / "tokens"),
        "--cors-origin",
        "https://page.example",
        "--max-body",
        "2000",
    )
    with Server(folder / "data", *options) as server:
        yield server


@pytest.mark.parametrize(
    "header", [None, "", TOKEN, "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \xe9"]
)
def test_without_a_token_there_is_no_answer(server: Server, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    for path in (
        "/api/v1/searches",
        "/api/v1/searches/1/leaves",
        "/api/v1/searches/1/curve",
        "/api/v1/cluster",
        "/api/v1/cluster/events",
        "/api/v1/games",
        "/api/v1/openapi.json",
        "/metrics",
        "/version",
        "/nowhere",
    ):
        answer = http.get(server.url + path, headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json()["field"] == "Authorization"
    for path in ("/healthz", "/readyz"):
        assert http.get(server.url + path, headers=headers).status_code == 200  # type: ignore[arg-type]


def test_only_pages_of_named_origins_may_ask(server: Server) -> None:
    url = f"{server.url}/api/v1/searches"
    named = {"Origin": "https://page.example"}
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    answer = http.options(url, headers=named | preflight)
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://page.example"
    answer = http.get(url, headers=named | AUTHORIZED)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://page.example"
    other = {"Origin": "https://elsewhere.example"}
    assert "Access-Control-Allow-Origin" not in http.options(url, headers=other | preflight).headers
    answer = http.get(url, headers=other | AUTHORIZED)
    assert (answer.status_code, answer.json()["field"]) == (403, "Origin")
    for help_ in (f"127.0.0.1:{server.port}", "proxy_set_header Host $http_host", "--cors-origin"):
        assert help_ in answer.json()["detail"]
    own = {"Origin": server.url}
    assert http.get(url, headers=own | AUTHORIZED).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "", "//", "http://\xe9"])
def test_an_origin_that_is_none_is_refused_and_counted(server: Server, origin: str) -> None:
    before = server.count(REFUSED_PAGES, **AUTHORIZED)
    answer = http.get(f"{server.url}/healthz", headers={"Origin": origin.encode("latin-1")})  # type: ignore[dict-item]
    assert (answer.status_code, answer.json()["field"]) == (403, "Origin")
    assert server.count(REFUSED_PAGES, **AUTHORIZED) == before + 1


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_elsewhere_reaches_nothing_but_the_page(server: Server, site: str) -> None:
    headers = AUTHORIZED | {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    before = server.count(REFUSED_PAGES, **AUTHORIZED)
    paths = ("/version", "/metrics", "/healthz", "/page/app.js", "/api/v1/searches", "/nowhere")
    for path in paths:
        answer = http.get(server.url + path, headers=headers)
        assert (answer.status_code, answer.json()["field"]) == (403, "Sec-Fetch-Site")
    assert server.count(REFUSED_PAGES, **AUTHORIZED) == before + len(paths)
    assert http.get(server.url, headers=headers | {"Sec-Fetch-Mode": "navigate"}).status_code == 200
    named = headers | {"Origin": "https://page.example"}
    assert http.get(f"{server.url}/version", headers=named).status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_page_and_whoever_types_an_address_are_answered(server: Server, site: str) -> None:
    headers = AUTHORIZED | {"Sec-Fetch-Site": site}
    for path in ("/", "/page/app.js", "/version"):
        assert http.get(server.url + path, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", None]
)
def test_a_body_that_is_not_said_to_be_json_is_not_read(server: Server, kind: str | None) -> None:
    headers = AUTHORIZED | ({} if kind is None else {"Content-Type": kind})
    body = b'{"game": "tictactoe", "simulations": 10}'
    for path in ("/api/v1/searches", "/api/v1/games/tictactoe/positions", "/api/v1/games/tictactoe/moves"):
        answer = http.post(server.url + path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["accepted"]) == (415, "application/json")
        assert answer.json()["field"] == "Content-Type"
    said = headers | {"Content-Type": "Application/JSON; charset=utf-8"}
    assert http.post(f"{server.url}/api/v1/searches", content=body, headers=said).status_code == 202


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity", "x" * 1000])
def test_a_compressed_body_is_not_read(server: Server, coding: str) -> None:
    headers = AUTHORIZED | {"Content-Encoding": coding}
    answer = http.post(f"{server.url}/api/v1/searches", json={"game": "tictactoe"}, headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (415, "Content-Encoding")
    assert answer.json()["accepted"] == answer.headers["Accept-Encoding"] == "identity"
    said = headers | {"Content-Encoding": "Identity"}
    body = {"game": "tictactoe", "simulations": 10}
    assert http.post(f"{server.url}/api/v1/searches", json=body, headers=said).status_code == 202


def test_head_is_answered_as_get_without_a_body(server: Server) -> None:
    paths = ("/", "/page/app.js", "/healthz", "/readyz", "/version", "/metrics", "/api/v1/games", "/nowhere")
    for path in paths:
        got, head = (
            http.request(method, server.url + path, headers=AUTHORIZED) for method in ("GET", "HEAD")
        )
        assert (head.status_code, head.content) == (got.status_code, b""), path
        assert head.headers["Content-Type"] == got.headers["Content-Type"]
    # An event stream would have no end.
    events = http.head(f"{server.url}/api/v1/cluster/events", headers=AUTHORIZED)
    assert (events.status_code, events.headers["Allow"]) == (405, "GET")
    assert http.head(f"{server.url}/version").status_code == 401


def test_a_body_that_is_too_large_is_refused(server: Server) -> None:
    url = f"{server.url}/api/v1/searches"
    for content in (b"x" * 2001, iter([b"x" * 1000] * 3)):
        answer = http.post(url, content=content, headers=AUTHORIZED)
        assert answer.status_code == 413
        assert answer.json()["accepted"] == "at most 2000 bytes"


@pytest.mark.slow
def test_names_that_were_made_to_mean_this_machine_are_not_answered(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "", "[::1].x"):
            answer = http.get(server.url + "/version", headers={"Host": host})
            assert answer.status_code in (400, 421), host
            assert answer.status_code == 400 or "--token-file" in answer.json()["accepted"]
        for host in ("localhost", f"LOCALHOST:{server.port}", "127.0.0.1:1", "[::1]:80"):
            assert http.get(server.url + "/version", headers={"Host": host}).status_code == 200
        page = {"Origin": "http://evil.example"}
        assert http.post(server.url + "/api/v1/searches/x/resume", headers=page).status_code == 403


@pytest.mark.slow
def test_what_is_sent_makes_no_lines_of_its_own_in_the_log(server: Server) -> None:
    with server.client(TOKEN) as client:
        before = len(server.lines)
        with pytest.raises(InvalidInput):
            client.submit({"game": "tictactoe\nbanyan: error: forged", "simulations": 10})
        search = client.wait(
            client.submit({"game": "explicit:([1 3][2 8])", "simulations": 10, "lanes": 1})["id"]
        )
        assert search["state"] == "done"
        assert all(line.startswith('{"time"') for line in server.lines[before:])


def test_metrics_are_those_of_the_document_and_have_bounded_labels(server: Server) -> None:
    with server.client(TOKEN) as client:
        for game in ("tictactoe", "gomoku:size=5", "gomoku"):
            body = {"game": game, "simulations": 2_000, "lanes": 2}
            assert client.wait(client.submit(body)["id"])["state"] == "done"
    for unknown in range(5):
        http.get(f"{server.url}/nowhere/{unknown}", headers=AUTHORIZED)

    def text() -> str:
        return http.get(f"{server.url}/metrics", headers=AUTHORIZED).text

    # What searches have done is counted once a second.
    eventually(lambda: "banyan_game_simulations_total{" in text())
    families = families_of(text())
    rows = {name: (row.type, row.labels) for name, row in documented("service").items()}
    of_searches = {name: (row.type, row.labels) for name, row in documented().items()}
    assert types_and_labels(families) == rows | of_searches
    for name in rows:
        assert re.fullmatch(r"banyan(_[a-z]+)+", name)
        assert name.removesuffix("_total").endswith((*UNITS, "requests", "streams", "pools"))

    def labels(name: str, label: str) -> set[str]:
        return {sample.labels[label] for sample in families[name].samples}

    assert {"gomoku", "tictactoe"} <= labels("banyan_accepted_searches_total", "game")
    assert all(":" not in game for game in labels("banyan_accepted_searches_total", "game"))
    assert "other" in labels("banyan_http_requests_total", "route")
    assert not any("nowhere" in route for route in labels("banyan_http_requests_total", "route"))
    (alive,) = families["banyan_alive_workers"].samples
    assert alive.value == 1


def test_games_that_nobody_knows_share_a_label() -> None:
    assert [game_label(spec) for spec in ("gomoku:size=9", "openspiel:go(board_size=9)", "x" * 100)] == [
        "gomoku",
        "openspiel",
        "other",
    ]


def test_the_document_describes_every_route_with_examples(server: Server) -> None:
    answer = http.get(f"{server.url}/api/v1/openapi.json", headers=AUTHORIZED)
    document = answer.json()
    methods = {
        "/api/v1/searches": "get post",
        "/api/v1/searches/{id}": "delete get",
        "/api/v1/searches/{id}/resume": "post",
        "/api/v1/searches/{id}/events": "get",
        "/api/v1/searches/{id}/curve": "get",
        "/api/v1/analyses": "get post",
        "/api/v1/analyses/{id}": "delete get",
        "/api/v1/analyses/{id}/results": "get",
        "/api/v1/cluster": "get",
        "/api/v1/cluster/events": "get",
        "/api/v1/reports": "get",
        "/api/v1/reports/{id}": "get",
        "/api/v1/speedups": "get post",
        "/api/v1/speedups/{id}": "delete",
        "/api/v1/searches/{id}/leaves": "get",
        "/api/v1/searches/{id}/evaluations": "post",
        "/api/v1/games": "get",
        "/api/v1/games/{name}": "get",
        "/api/v1/games/{name}/positions": "post",
        "/api/v1/games/{name}/moves": "post",
        "/healthz": "get",
        "/readyz": "get",
        "/version": "get",
        "/metrics": "get",
    }
    assert {path: " ".join(sorted(item)) for path, item in document["paths"].items()} == methods
    for operation in (each for item in document["paths"].values() for each in item.values()):
        assert operation["summary"] and operation["description"]
        assert "application/problem+json" in operation["responses"]["422"]["content"]
    schemas = document["components"]["schemas"]
    assert schemas["SearchBody"]["examples"] and schemas["PositionBody"]["examples"]
    bodies = ("SearchBody", "AnalysisBody", "PositionBody", "MoveBody", "EvaluationsBody", "Evaluation")
    for properties in (schemas[name]["properties"] for name in bodies):
        assert all("description" in field for field in properties.values())
    # Whatever is named is there.
    references = set(re.findall(r'"#/components/schemas/(\w+)"', answer.text))
    assert references <= set(schemas) and {"PartialResult", "FinalEvent", "ProblemView"} <= set(schemas)


def endless(schemas: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
    """The parts of a body that may have any length."""
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for kind, most in (("string", "maxLength"), ("array", "maxItems"), ("object", "maxProperties")):
        if schema.get("type") == kind and not schema.keys() & {most, "enum", "const", "properties"}:
            yield where
    for parts in (schema.get("properties", {}), dict(enumerate(schema.get("anyOf", ())))):
        for name, part in parts.items():
            yield from endless(schemas, part, f"{where}.{name}")
    for name in {"items", "additionalProperties"} & schema.keys():
        yield from endless(schemas, schema[name], f"{where}.{name}") if schema[name] else ()


def test_each_list_and_text_of_a_body_has_a_greatest_length(server: Server) -> None:
    document = http.get(f"{server.url}/api/v1/openapi.json", headers=AUTHORIZED).json()
    bodies = {
        path: operation["requestBody"]["content"]["application/json"]["schema"]
        for path, item in document["paths"].items()
        for operation in item.values()
        if "requestBody" in operation
    }
    assert len(bodies) == 6
    schemas = document["components"]["schemas"]
    assert [each for path, body in bodies.items() for each in endless(schemas, body, path)] == []


def test_a_list_that_is_too_long_is_refused_before_its_entries_are_looked_at() -> None:
    with pytest.raises(ValidationError) as error:
        SpeedupBody.model_validate({"game": "hex", "strategies": [1] * 80_000})
    [only] = error.value.errors()
    assert only["type"] == "too_long"
    problem = of_validation(error.value)
    assert (problem.more["field"], problem.more["accepted"]) == ("strategies", "at most 3 entries")


def test_tokens_come_from_a_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANYAN_TOKEN", raising=False)
    assert not read_tokens(None) and read_token(None) is None
    assert Tokens().accept(None)
    file = tmp_path / "tokens"
    file.write_text("first-token-of-sixteen\n\nsecond-token-of-more\n")
    monkeypatch.setenv("BANYAN_TOKEN", "third-token-of-sixteen")
    tokens = read_tokens(file)
    for token in ("first-token-of-sixteen", "second-token-of-more", "third-token-of-sixteen"):
        assert tokens.accept(f"Bearer {token}") and tokens.accept(f"bearer {token}")
        assert not tokens.accept(token)
    assert read_token(file) == "first-token-of-sixteen"
    assert read_token(None) == "third-token-of-sixteen"
    for text in ("", "short", "with blanks in it, sixteen", "\n#only a comment of length\n"):
        file.write_text(text)
        with pytest.raises(InvalidInput, match="token_file"):
            read_tokens(file)
    monkeypatch.setenv("BANYAN_TOKEN", "short")
    with pytest.raises(InvalidInput, match="BANYAN_TOKEN"):
        read_tokens(None)


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http:///x"])
def test_a_client_refuses_what_is_no_address(url: str) -> None:
    with pytest.raises(InvalidInput, match="server"):
        Client(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks4://u:secret@x:1"), ("https_proxy", "ftp://x:1"), ("HTTP_PROXY", "http://x:port")],
)
def test_a_variable_of_a_proxy_that_cannot_be_used_is_named_and_is_nothing_to_this_machine(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    for url in ("127.0.0.1:1", "http://localhost", "https://[::1]:1", "127.0.0.2"):
        Client(url).close()
    with pytest.raises(InvalidInput) as caught:
        Client("http://10.0.0.1")
    line, status = explain(caught.value)
    assert (line.startswith(f"{name}: "), "secret" in line, status) == (True, False, 2)


def test_requests_to_this_machine_go_through_no_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("BANYAN_TOKEN", TOKEN)
    with Client(server.url, TOKEN) as client:
        assert client.games()
    assert evaluator_client.call(f"{server.url}/api/v1/games")["games"]
