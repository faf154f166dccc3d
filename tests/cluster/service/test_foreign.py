"""Games that do not come with Banyan: what their code does harms neither the server nor other searches."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cluster.service.foreign import Foreign
from cluster.service.known_games import AllowedGames, allow_games
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.processes import named
from tests.cluster.searches import alone
from tests.cluster.service.foreign_games import install
from tests.cluster.service.process import Server, http

openspiel = pytest.mark.skipif(
    importlib.util.find_spec("pyspiel") is None, reason="OpenSpiel is not installed"
)
gymnasium = pytest.mark.skipif(
    importlib.util.find_spec("gymnasium") is None, reason="gymnasium is not installed"
)
BUILT_IN = [
    *("2048", "battleship", "breakthrough", "chinese_checkers", "connect_four", "explicit", "gomoku"),
    *("grundy", "hex", "jobshop", "morris", "othello", "pig", "samegame", "thud", "tictactoe"),
]
LONG: dict[str, Any] = {"game": "gomoku:size=5", "simulations": 10**9, "lanes": 2}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Server]:
    options = ["--allow-games", "nim", "--allow-games", "cr*"]
    if importlib.util.find_spec("pyspiel") is not None:
        options += ["--allow-games", "openspiel:connect_four", "--allow-games", "openspiel:*"]
    if importlib.util.find_spec("gymnasium") is not None:
        options += ["--allow-games", "gym:FrozenLake-v1", "--allow-games", "gym:Cart*"]
    with Server(tmp_path_factory.mktemp("data"), *options, environment=environment) as server:
        yield server
        assert server.count() == 0
        assert server.client().searches("failed")["searches"] == []


def refusals(server: Server, game: str) -> list[tuple[int, str, str]]:
    """What each route answers: status, field, detail."""
    api = f"{server.url}/api/v1"
    answers = [
        http.get(f"{api}/games/{game}"),
        http.post(f"{api}/games/{game}/positions", json={}),
        http.post(f"{api}/searches", json={"game": game, "simulations": 200}),
    ]
    return [(a.status_code, a.json().get("field"), a.json().get("detail")) for a in answers]


@pytest.mark.slow
@openspiel
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("havannah(board_size=-1)", "ended its process by SIG"),
        ("y(board_size=-1)", "ended its process by SIG"),
        ("connect_four(rows=0)", "ended its process by SIG"),
        ("gomoku(size=2,dims=30)", "needs more than 1024 MB"),
        ("go(board_size=30)", "supports board size up to 19"),
        ("hex(board_size=200)", "at most 4095 legal moves (this one begins with 40000)"),
    ],
)
def test_parameters_that_end_a_process_are_refused(server: Server, name: str, reason: str) -> None:
    for status, field, detail in refusals(server, f"openspiel:{name}"):
        assert (status, field) == (422, "game")
        assert reason in detail


@pytest.mark.slow
@openspiel
@pytest.mark.parametrize("game", ["openspiel:tic_tac_toe", "openspiel:hex(board_size=4)", "nim:stones=7"])
def test_sound_games_of_others_are_shown_and_searched(
    server: Server, environment: dict[str, str], game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(environment["PYTHONPATH"].partition(":")[0])
    with server.client() as client:
        assert client.game(game)["game"] == game
        move = client.position(game, [])["legal_moves"][0]
        assert client.position(game, [move])["to_move"] == "second"
        body = {"game": game, "moves": [move], "simulations": 40, "lanes": 2}
        search = client.wait(client.submit(body)["id"])
        expected = alone(SearchRequest(game, (move,), simulations=40, lanes=2))
        assert search["result"]["digest"] == expected.digest
        with pytest.raises(InvalidInput, match="moves"):
            client.submit(body | {"moves": ["nowhere"]})
    # Players are asked for moves in the process that tries games.
    url = f"{server.url}/api/v1/games/{quote(game, safe='')}/moves"
    answer = http.post(url, json={"moves": [move], "seconds": 0.05})
    assert answer.json()["player"] == "uct:preset=best,seconds=0.05", answer.text


@pytest.mark.slow
@gymnasium
@pytest.mark.parametrize("game", ["gym:FrozenLake-v1(is_slippery=False)", "gym:CartPole-v1:steps=20"])
def test_environments_that_are_allowed_are_shown_and_searched(server: Server, game: str) -> None:
    with server.client() as client:
        assert client.game(game)["name"] == "gym"
        assert client.position(game, ["1"])["to_move"] == "agent"
        body = {"game": game, "moves": ["1"], "simulations": 40, "lanes": 2}
        search = client.wait(client.submit(body)["id"])
        expected = alone(SearchRequest(game, ("1",), simulations=40, lanes=2))
        assert search["result"]["digest"] == expected.digest


@gymnasium
@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("gym:Taxi-v3", "gym:FrozenLake-v1, gym:Cart* (the operator of this server allows others with"),
        ("gym:FrozenLake", "gym:FrozenLake-v1, gym:Cart* (the operator of this server allows others with"),
        ("gym:./mine.py:CartPole", "a name, not a file"),
        ("gym:CartPole-v1(xml_file=./model.xml)", "others may name files"),
        ("gym:CartPole-v1(render_mode=human)", "no render_mode=human (drop it)"),
        ("gym:CartPole-v1(render_mode=rgb_array)", "without render_mode"),
        ("gym:CartPole-v1:mask=close", "others name methods"),
        ("gym:Cart-v7", "an environment of gymnasium"),
    ],
)
def test_other_environments_are_refused_in_one_clear_error(server: Server, game: str, reason: str) -> None:
    api = f"{server.url}/api/v1"
    answers = [
        http.get(f"{api}/games/{quote(game, safe='')}"),
        http.post(f"{api}/searches", json={"game": game, "simulations": 200}),
    ]
    for answer in answers:
        problem = answer.json()
        assert (answer.status_code, problem["field"], problem["value"]) == (422, "game", game)
        assert reason in problem["detail"] and "\n" not in problem["detail"]


def test_a_game_whose_positions_end_a_process_is_refused(server: Server) -> None:
    # The game is played at random before anything of it is shown.
    url = f"{server.url}/api/v1/games/crash/positions"
    for moves in ([], ["1", "3", "1"]):
        answer = http.post(url, json={"moves": moves})
        assert (answer.status_code, answer.json()["field"]) == (422, "game")
        assert "ended its process by SIGSEGV" in answer.json()["detail"]
    answer = http.post(f"{server.url}/api/v1/searches", json={"game": "crash", "simulations": 9})
    assert (answer.status_code, answer.json()["field"]) == (422, "game")


@pytest.mark.slow
def test_only_what_is_allowed_is_listed(server: Server) -> None:
    listed = [game["name"] for game in server.client().games()]
    there = importlib.util.find_spec("pyspiel") is not None
    gym = importlib.util.find_spec("gymnasium") is not None
    others = [*["openspiel:connect_four"] * there, *["gym:FrozenLake-v1"] * gym]
    assert listed == sorted([*BUILT_IN, "nim", *others])


@pytest.mark.slow
def test_a_process_that_is_killed_is_started_again(server: Server) -> None:
    assert server.client().game("nim")["name"] == "nim"
    (pid,) = named("foreign_process", server.process.pid)
    os.kill(pid, signal.SIGKILL)
    assert server.client().game("nim")["name"] == "nim"


@pytest.mark.slow
def test_nothing_of_others_is_taken_unless_it_is_allowed(tmp_path: Path, environment: dict[str, str]) -> None:
    with Server(tmp_path, "--allow-games", "nim", "--max-running", "1", environment=environment) as server:
        client = server.client()
        client.submit(LONG)
        stored = client.submit({"game": "nim", "simulations": 100})["id"]
        server.kill()
    with Server(tmp_path, "--max-running", "2", environment=environment) as server:
        client = server.client()
        assert [game["name"] for game in client.games()] == BUILT_IN
        accepted = f"expected one of {', '.join(BUILT_IN)} (the operator of this server allows others with "
        for game in (
            "nim",
            "nim:stones=3",
            "openspiel:connect_four",
            "openspiel:havannah(board_size=-1)",
            "go",
            "gym:FrozenLake-v1",
        ):
            for status, field, detail in refusals(server, game):
                assert (status, field) == (422, "game")
                assert accepted in detail
        # Nor what was asked for when it was allowed.
        search = client.wait(stored)
        assert search["state"] == "failed"
        assert "--allow-games" in search["error"]["detail"]
        assert named("foreign_process", server.process.pid) == []


@pytest.mark.parametrize(
    ("pattern", "accepted"),
    [
        ("no_such_game", "a game that is installed"),
        ("openspiel:mnk(m=5,n=5,k=4)", "the name of a game without options"),
        ("gomoku:size=5", "the name of a game without options"),
        ("./mine.py", "the name of a game without options"),
        ("gym:./mine.py:Mine", "the name of a game without options"),
        ("gym:./mine.py", "the name of a game without options"),
        ("gym:FrozenLake-v1(map_name=8x8)", "the name of a game without options"),
        ("", "the name of a game without options"),
    ],
)
def test_an_operator_is_told_what_can_be_allowed(pattern: str, accepted: str) -> None:
    with pytest.raises(InvalidInput, match=accepted) as error:
        allow_games(["gomoku", pattern])
    assert (error.value.field, error.value.value) == ("allow_games", pattern)


@pytest.mark.parametrize("pattern", ["*", "g*", "openspiel:*"])
def test_environments_are_allowed_by_a_pattern_of_their_own(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="the operator of this server allows others"):
        AllowedGames((pattern,)).is_foreign("gym:FrozenLake-v1")
    assert AllowedGames((pattern, "gym:*")).is_foreign("gym:FrozenLake-v1")


@pytest.mark.slow
def test_time_for_which_others_have_the_cores_does_not_count(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    foreign, spin = Foreign(seconds=2.0), [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        stack.callback(foreign.close)
        others = named("foreign_process", os.getpid())
        foreign.ask("game", "nim", "nim")
        (tried,) = set(named("foreign_process", os.getpid())) - set(others)
        core = {min(os.sched_getaffinity(0))}
        for _ in range(3):
            other = stack.enter_context(subprocess.Popen(spin))
            stack.callback(other.kill)
            os.sched_setaffinity(other.pid, core)
        os.sched_setaffinity(tried, core)
        assert foreign.ask("game", "busy", "busy")["name"] == "busy"


@pytest.mark.slow
def test_a_trial_has_limits(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    before = named("foreign_process", os.getpid())
    foreign = Foreign(memory_mb=300, seconds=3.0)
    try:
        assert foreign.ask("game", "nim", "nim")["name"] == "nim"
        for game, reason in (
            ("hang", "took longer than 3 s"),
            ("spin", "took longer than 3 s"),
            ("hungry", "needs more than 300 MB"),
            ("exits", "ended its process with status 3"),
            ("raises", "raised RuntimeError: the board is missing"),
            ("drips", "took longer than 3 s"),
        ):
            with pytest.raises(InvalidInput) as error:
                foreign.ask("game", game, game)
            assert error.value.field == "game"
            assert str(error.value.value).partition(":")[0] == game
            assert reason in error.value.accepted
        # A call whose client has gone is not waited for.
        with pytest.raises(ZeroDivisionError):
            foreign.ask("game", "hang", "hang", address="", check=lambda: 1 / 0)
        assert foreign.ask("game", "nim", "nim")["name"] == "nim"
    finally:
        foreign.close()
    # Not even the children of what was tried are left.
    assert named("foreign_process", os.getpid()) == before
