"""Moves over HTTP: who plays, what it says, and what is refused."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from cluster.lab.sources.table import sources
from cluster.service.errors import Problem
from cluster.service.known_games import MOVES, KnownGames
from cluster.service.positions import move, read
from cluster.service.request_models import MoveBody, PositionBody, SearchBody
from cluster.service.turns import Turns
from games.errors import InvalidInput
from search.players.presets import BEST
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

THREE = "morris:variant=three"
MILL = ["a1", "c3", "b1", "b3"]
"""At three men's morris the first player closes a mill with c1, and wins."""


def asked(server: Server, game: str, **body: Any) -> httpx.Response:
    return http.post(f"{server.url}/api/v1/games/{game}/moves", json=body)


@pytest.mark.slow
def test_at_morris_alphabeta_moves(server: Server) -> None:
    answer = asked(server, "morris", moves=["d2"], seconds=0.05).json()
    assert answer["player"] == "alphabeta:seconds=0.05"
    assert answer["simulations"] == 0 < answer["nodes"]
    assert answer["thought"].startswith("depth ")
    shown = http.post(f"{server.url}/api/v1/games/morris/positions", json={"moves": ["d2"]}).json()
    assert answer["move"] in shown["legal_moves"]
    assert asked(server, "morris", position=shown["position"], seconds=0.05).status_code == 200


@pytest.mark.slow
def test_the_list_of_games_says_whom_one_meets(server: Server) -> None:
    listed = http.get(f"{server.url}/api/v1/games").json()
    opponents = {game["name"]: game["opponent"] for game in listed["games"]}
    assert {name for name, opponent in opponents.items() if opponent != "uct"} == {"morris"}
    three = http.get(f"{server.url}/api/v1/games/{THREE}").json()
    assert three["opponent"] == "alphabeta" and {"morris-agent", "scripted", "uct"} < {*three["opponents"]}
    described = {player["name"]: player for player in listed["players"]}
    assert {name for game in listed["games"] for name in game["opponents"]} == {*described} - {"openspiel"}
    assert "nine men's morris" in described["morris-agent"]["source"] and not described["uct"]["source"]
    # Each program of a source is a player.
    assert {name for source in sources().values() for name in source.get("players", ())} <= {*described}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "body", "player"),
    [
        ("morris", {"player": "plain", "seconds": 0.05}, "uct:preset=plain,seconds=0.05"),
        ("tictactoe", {"player": "article:simulations=50"}, "article:simulations=50"),
        (THREE, {"player": "morris-agent", "moves": ["a1"]}, "morris-agent"),
        ("battleship:size=4,fleet=2", {"player": "omniscient-minimax", "deal": 5}, "omniscient-minimax"),
    ],
)
def test_any_player_can_be_asked(server: Server, game: str, body: dict[str, Any], player: str) -> None:
    answer = server.client().move(game, body)
    assert answer["player"] == player and answer["simulations"] + answer["nodes"] > 0
    moves = [*body.get("moves", []), answer["move"]]
    after = read(game, PositionBody(moves=moves, deal=body.get("deal")))["legal_moves"]
    # One that sees the other fleet hits.
    assert after and ("omniscient" not in player or after == ["hit"])


@pytest.mark.parametrize("name", sorted(BEST))
def test_the_best_settings_are_told_as_a_search_takes_them(name: str, server: Server) -> None:
    best = http.get(f"{server.url}/api/v1/games/{name}").json()["best"]
    told = json.dumps(best, sort_keys=True)
    assert told == json.dumps(dict(BEST[name]), sort_keys=True)
    assert SearchBody.model_validate({"game": name, **best})


@pytest.mark.slow
def test_what_is_hidden_is_not_needed() -> None:
    answer = move("battleship:size=4,fleet=2", MoveBody(moves=["a1", "miss"], seconds=0.02))
    assert answer["player"] == "uct:preset=best,seconds=0.02"


def test_the_only_move_is_made_at_once() -> None:
    moves = ["a1", "b1", "c1", "a2", "b2", "c2", "b3", "a3"]
    answer = move("tictactoe", MoveBody(moves=moves))
    assert (answer["move"], answer["thought"], answer["cpu_s"]) == ("c3", "the only move", 0.0)


@pytest.mark.parametrize(
    ("game", "body", "field"),
    [
        ("chess", {}, "game"),
        ("./mygame.py", {}, "game"),
        ("morris", {"player": "strong"}, "player"),
        ("morris", {"player": "article"}, "player"),
        ("morris", {"player": "flat", "seconds": 1.0}, "seconds"),
        ("morris", {"player": "uct:seconds=10.5"}, "player option seconds"),
        ("morris", {"player": "uct:simulations=3e9"}, "player option simulations"),
        ("morris", {"player": "uct:memory=4000"}, "player option memory"),
        ("battleship", {"player": "omniscient-minimax"}, "position"),
        ("morris", {"player": "uct:evaluator=net.py,strategy=leaf"}, "player option evaluator"),
        ("morris", {"player": "uct:evaluator=./net.py,strategy=leaf"}, "player"),
        ("morris", {"seconds": 10.5}, "seconds"),
        ("morris", {"seconds": 0}, "seconds"),
        ("morris", {"seconds": "1"}, "seconds"),
        ("morris", {"moves": ["z9"]}, "moves"),
        ("morris", {"position": "nowhere"}, "position"),
        ("morris", {"seed": -1}, "seed"),
        ("morris", {"simulations": 5}, "simulations"),
        ("tictactoe", {"moves": ["b2", "a1", "b1", "a2", "b3"]}, "moves"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    server: Server, game: str, body: dict[str, Any], field: str
) -> None:
    answer = asked(server, quote(game, safe=""), **body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert answer.json()["accepted"]


@pytest.mark.parametrize(
    ("player", "field"),
    [
        ("strong", "player"),
        ("uct:seconds=10.5", "player option seconds"),
        ("flat:depth=2", "player option"),
        ("uct:evaluator=net.py,strategy=leaf", "player option evaluator"),
    ],
)
def test_a_player_can_be_refused_before_the_game(server: Server, player: str, field: str) -> None:
    games = f"{server.url}/api/v1/games"
    answer = http.get(f"{games}/morris", params={"player": ["best", "flat:seconds=2", player]})
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert http.get(f"{games}/morris", params={"player": ["best", "flat:seconds=2"]}).status_code == 200


@pytest.mark.slow
def test_the_server_answers_others_meanwhile_and_moves_come_one_after_the_other(server: Server) -> None:
    with ThreadPoolExecutor(3) as threads:
        moves = [threads.submit(asked, server, "morris", seconds=0.5) for _ in range(3)]
        assert http.get(f"{server.url}/readyz").status_code == 200
        assert [each.result().status_code for each in moves] == [200] * 3


@pytest.mark.slow
def test_more_than_can_wait_are_told_to_come_again() -> None:
    known, ends, small = KnownGames(), threading.Event(), MoveBody(seconds=0.01)
    assert known.move("tictactoe", small)["player"] == "uct:preset=best,seconds=0.01"
    assert known.move("hex:size=4", small) and known.move("hex:size=04", small)
    assert len(known._compiled) == 2
    long = MoveBody(seconds=3600.0)
    # Moves of players that are compiled do not wait for others.
    with ThreadPoolExecutor(2 * MOVES) as threads, known._compiling.turn("c", lambda: None):
        theirs = [threads.submit(known.move, "tictactoe", long, "a", ends.is_set) for _ in range(MOVES)]
        eventually(lambda: sum(each.done() for each in theirs) == MOVES // 4)
        done, waiting = wait(theirs, 0.0)
        for each in done:
            with pytest.raises(Problem) as caught:
                each.result()
            assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
        other = threads.submit(known.move, "tictactoe", small, "b")
        assert not other.done()
        ends.set()
        assert other.result(PATIENCE_S)["simulations"] > 0
        assert [type(each.exception(60)) for each in waiting] == [Problem] * len(waiting)
    with pytest.raises(InvalidInput):
        known.move("tictactoe", MoveBody(moves=["z9"]))
    # A player that has no limit of time is ended.
    known._players._seconds = 2.0
    with pytest.raises(InvalidInput, match="took longer than 2 s") as late:
        known.move("gomoku", MoveBody(player="minimax:depth=6"))
    assert (late.value.field, late.value.value) == ("player", "minimax:depth=6")
    known._players.close()
    # A move that was refused has given its place back.
    assert known.move("tictactoe", small)["simulations"] > 0


def test_the_next_turn_is_that_of_the_address_that_has_taken_least() -> None:
    turns, order, gate = Turns(8), list[str](), threading.Event()

    def ask(address: str) -> None:
        with turns.turn(address, lambda: None):
            gate.wait(PATIENCE_S)
            order.append(address)

    with ThreadPoolExecutor(8) as threads:
        for number, address in enumerate(("a", "a", "a", "b", "c"), 1):
            threads.submit(ask, address)
            eventually(lambda number=number: len(turns._address_of) == number)
        gate.set()
    assert order == ["a", "b", "c", "a", "a"]


@pytest.mark.slow
def test_moves_of_clients_that_have_gone_hold_up_nobody(server: Server) -> None:
    assert asked(server, "tictactoe", seconds=0.01).status_code == 200
    head = b"POST /api/v1/games/tictactoe/moves HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n"
    for _ in range(3):
        with closing(socket.create_connection(("127.0.0.1", server.port))) as connection:
            connection.sendall(head + b'Content-Type: application/json\r\n\r\n{"seconds": 10}')
            time.sleep(0.1)
    began_s = time.monotonic()
    assert asked(server, "tictactoe", seconds=0.01).status_code == 200
    # All of them together would take half a minute.
    assert time.monotonic() - began_s < 20


SMALL = "battleship:size=5,fleet=3-2"


def cells(board: dict[str, list[list[dict[str, object]]]]) -> list[dict[str, object]]:
    return [cell for row in board["rows"] for cell in row]


def test_the_same_number_deals_the_same() -> None:
    body = PositionBody(deal=5, show=0)
    assert read(SMALL, body) == read(SMALL, body)
    secrets = {str(read(SMALL, PositionBody(deal=number, show=0))["secret"]) for number in range(8)}
    assert len(secrets) > 4


def test_a_dealt_fleet_answers_truly() -> None:
    """Of two answers one is legal, and it is what the secret shows."""
    secret = read(SMALL, PositionBody(deal=5, show=1))["secret"]
    taken = {
        f"{column}{row}"
        for row, drawn in zip(secret["row_labels"], secret["rows"], strict=True)
        for column, cell in zip(secret["column_labels"], drawn, strict=True)
        if cell["owner"] is not None
    }
    assert len(taken) == 5
    for shot in ("a1", "b2", "c3", "d4", "e5", *taken):
        answers = read(SMALL, PositionBody(deal=5, moves=[shot]))["legal_moves"]
        assert answers == ["hit" if shot in taken else "miss"]


def test_a_secret_is_told_only_to_who_asks_for_it() -> None:
    dealt = read(SMALL, PositionBody(deal=5))
    plain = read(SMALL, PositionBody())
    assert dealt["secret"] is None
    assert dealt["position"] == plain["position"]
    assert dealt["board"] == plain["board"]


def test_a_player_places_the_own_ships() -> None:
    """Each answer names the ship that is next, and its places, until all lie; the rest may be random."""
    first = read(SMALL, PositionBody(deal=5, show=0, fleet=[]))
    assert first["placing"] == "3a (3 cells)" and "a1c1" in first["legal_moves"]
    body = PositionBody(deal=5, show=0, fleet=["c1a1", "random"])
    whole = read(SMALL, body)
    assert whole["placing"] is None and read(SMALL, body) == whole
    assert sum(cell["owner"] == 0 for cell in cells(whole["secret"])) == 5
    assert read(
        SMALL, PositionBody(deal=5, show=0, fleet=["c1a1", "random"], moves=["a1", "miss", "a1", "hit"])
    )
    assert whole["board"] == read(SMALL, PositionBody(deal=5))["board"]
    for wrong in ({"deal": 5}, {"show": 0}, {"deal": 5, "show": 0, "moves": ["a1"]}):
        with pytest.raises(InvalidInput, match="fleet"):
            read(SMALL, PositionBody(fleet=["a1c1"], **wrong))


def test_chances_go_by_what_was_seen_alone() -> None:
    moves = ["c3", "miss", "a1", "miss"]
    found = read(SMALL, PositionBody(moves=moves, draws=200))["chances"]
    dealt = next(
        number for number in range(1000) if _can_be_played(PositionBody(moves=moves, deal=number, draws=200))
    )
    assert read(SMALL, PositionBody(moves=moves, deal=dealt, draws=200))["chances"] == found
    left = [value for row in found for value in row[:5]]
    # What was tried is not guessed at; of the five cells that are taken none was found.
    assert left[12] is None
    assert sum(value for value in left if value is not None) == pytest.approx(5)
    assert all(value is None for row in found for value in row[5:])


def _can_be_played(body: PositionBody) -> bool:
    try:
        read(SMALL, body)
    except InvalidInput:
        return False
    return True


def test_nothing_hidden_has_no_chances() -> None:
    answer = read("tictactoe", PositionBody(deal=1, draws=10, show=0))
    assert answer["chances"] is None
    assert answer["secret"] is None


def test_a_deal_goes_with_no_position() -> None:
    position = read(SMALL, PositionBody())["position"]
    with pytest.raises(InvalidInput, match="deal"):
        read(SMALL, PositionBody(deal=1, position=position))


def test_lines_of_a_mill_board() -> None:
    """Three men's: the frame of eight and the four spokes, each between neighbours of the grid."""
    board = read("morris:variant=three", PositionBody())["board"]
    assert len(board["lines"]) == 12
    assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in board["lines"])
    assert len(cells(board)) == 9


def test_where_chance_moves_the_outcomes_are_told() -> None:
    rolling = read("pig", PositionBody(moves=["roll"]))
    assert (rolling["player"], rolling["to_move"]) == (-1, "chance")
    assert rolling["outcomes"] == {str(face): pytest.approx(1 / 6) for face in range(1, 7)}
    assert read("pig", PositionBody(moves=["roll", "3"]))["to_move"] == "first"


def test_the_service_draws_what_chance_brings() -> None:
    found = {move("pig", MoveBody(moves=["roll"], seed=seed))["move"] for seed in range(60)}
    assert found == {"1", "2", "3", "4", "5", "6"}
    drawn = move("pig", MoveBody(moves=["roll"], seed=4))
    assert (drawn["player"], drawn["value"], drawn["simulations"]) == ("chance", None, 0)
    assert drawn["move"] == move("pig", MoveBody(moves=["roll"], seed=4))["move"]


def test_one_player_has_a_score() -> None:
    shown = read("2048", PositionBody())
    assert (shown["player"], shown["scores"]) == (0, (0.0,))


def test_three_players_have_a_return_each() -> None:
    over = read("chinese_checkers:turns=1", PositionBody(moves=["k3i5"]))
    assert (over["over"], len(over["returns"])) == (True, 3)
