"""Searches on a server whose leaves are evaluated by clients, in other processes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

import games
import search
from cluster.checkpoint.checkpoint import Keeper, begun
from cluster.service import evaluator_client
from cluster.service.errors import Problem
from cluster.service.external_run import ExternalRun
from cluster.service.limits import Limits
from cluster.service.live import Live
from cluster.service.request_models import SearchBody
from cluster.service.searches import Searches
from cluster.service.store import Store
from cluster.system.processes import descendants, kill
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.command import ROOT
from tests.cluster.searches import never
from tests.cluster.service.process import Server, http
from tests.cluster.service.test_full_disk import Collecting
from tests.cluster.service.test_life import QUICK
from tests.cluster.service.test_pool import Seen
from tests.search.test_ask_tell import HASHED, Caller
from tests.waiting import PATIENCE_S, eventually

ASKED: dict[str, Any] = {"game": "tictactoe", "strategy": "leaf", "simulations": 200, "lanes": 8, "seed": 3}
EXTERNAL = ASKED | {"evaluator": "external"}
SERVER = ("--max-running", "8")
NOBODY = cast("Any", SimpleNamespace(name="none", num_workers=1, threads_here=0, workers=[]))
"""An executor that runs nothing."""


@pytest.fixture(scope="module")
def digest() -> str:
    """That of the search with an evaluator file that gives the answers of the clients."""
    return search.run(SearchRequest(**ASKED, evaluator=HASHED, batch=1)).digest


class Remote:
    """One search on a server, and a caller who counts what is asked for."""

    def __init__(self, server: Server, **asked: Any) -> None:
        answer = http.post(f"{server.url}/api/v1/searches", json=EXTERNAL | asked)
        assert answer.status_code == 202, answer.text
        self.id = answer.json()["id"]
        self.at(server)
        self.game = games.load("tictactoe")
        self.told: list[str] = []
        self._caller = Caller()

    def at(self, server: Server) -> None:
        self.url = f"{server.url}/api/v1/searches/{self.id}"

    def view(self) -> dict[str, Any]:
        found: dict[str, Any] = http.get(self.url).json()
        return found

    def ask(self, n: int = 100, **more: Any) -> list[dict[str, Any]]:
        """Leaves, after the search has begun; none if it is over."""
        found: list[dict[str, Any]] = []

        def asked() -> bool:
            answer = http.get(f"{self.url}/leaves", params={"n": n, **more})
            assert answer.status_code == 200, answer.text
            found.extend(answer.json()["leaves"])
            return bool(found) or answer.json()["state"] not in ("queued", "running")

        eventually(asked, "nothing to evaluate")
        return found

    def answer(self, leaf: dict[str, Any]) -> dict[str, Any]:
        state = self.game.initial_state()
        state[:] = leaf["state"]
        value, policy = self._caller.answer(
            cast("search.Leaf", SimpleNamespace(state=state, codes=leaf["codes"]))
        )
        return {"id": leaf["id"], "value": value, "policy": policy.tolist()}

    def post(self, *evaluations: dict[str, Any]) -> httpx.Response:
        return http.post(f"{self.url}/evaluations", json={"evaluations": list(evaluations)})

    def tell(self, leaves: list[dict[str, Any]]) -> None:
        """Answer them, the last one first."""
        answer = self.post(*(self.answer(leaf) for leaf in reversed(leaves)))
        assert (answer.status_code, answer.json()["refused"]) == (200, []), answer.text
        self.told += [leaf["id"] for leaf in leaves]

    def run(self, turns: int = 10_000) -> None:
        while turns and (leaves := self.ask(5)):
            self.tell(leaves)
            turns -= 1

    def result(self) -> dict[str, Any]:
        eventually(lambda: self.view()["result"] is not None, "no result")
        return dict(self.view()["result"])


CLIENT = """
import sys
import time
from types import SimpleNamespace
import games
from cluster.service import evaluator_client
from tests.search.test_ask_tell import Caller

caller, game = Caller(), games.load("tictactoe")

def evaluate(leaf):
    state = game.initial_state()
    state[:] = leaf["state"]
    value, policy = caller.answer(SimpleNamespace(state=state, codes=leaf["codes"]))
    time.sleep(float(sys.argv[2]))
    return value, dict(zip(leaf["legal"], policy.tolist()))

evaluator_client.work(sys.argv[1], evaluate)
"""


def test_the_example_is_a_program(server: Server) -> None:
    remote = Remote(server, simulations=60)
    command = [sys.executable, str(evaluator_client.__file__), remote.url]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    assert remote.result()["simulations"] == 60


def test_a_server_asks_for_no_position_twice_from_a_version_that_has_a_name(
    server: Server, digest: str
) -> None:
    first, second, other = (Remote(server, evaluator_version=version) for version in ("m-1", "m-1", "m-2"))
    first.run()
    result = first.result()
    assert (result["digest"], result["playouts"]) == (digest, len(first.told))
    assert result["recalled"] > 0
    second.run()
    assert second.result()["digest"] == digest
    # They run at once: what the one was asked for before the other had told it may be asked for twice.
    assert len(second.told) <= 8
    third = Remote(server, evaluator_version="m-1")
    assert (third.result()["digest"], third.told) == (digest, [])
    assert other.ask(1)


def test_leaves_say_what_they_are_and_any_order_of_answers_will_do(server: Server, digest: str) -> None:
    remote = Remote(server)
    [root] = remote.ask()
    assert root == {
        "id": root["id"],
        "moves": [],
        "position": remote.game.format_position(remote.game.initial_state()),
        "player": 0,
        "to_move": remote.game.player_names[0],
        "legal": ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"],
        "codes": list(range(9)),
        "state": remote.game.initial_state().tolist(),
    }
    remote.tell([root])
    assert remote.post(remote.answer(root)).json()["taken"] == 1
    remote.run()
    assert remote.result()["digest"] == digest
    assert len(remote.told) == len(set(remote.told))


def test_the_answer_to_evaluations_has_the_next_leaves_if_it_is_asked_for_them(
    server: Server, digest: str
) -> None:
    remote = Remote(server)
    leaves, requests = remote.ask(), 0
    while leaves:
        told = {"evaluations": [remote.answer(leaf) for leaf in leaves]}
        answer = http.post(f"{remote.url}/evaluations", params={"n": 5, "deadline_s": 60}, json=told).json()
        assert (set(answer), answer["refused"]) == ({"id", "state", "taken", "refused", "leaves"}, [])
        assert len(answer["leaves"]) <= 5
        leaves, requests = answer["leaves"], requests + 1
    assert remote.result()["digest"] == digest
    assert requests >= 200 / 5 - 20, "finished games and positions that are known take none"
    for n in ("0", "257", "x", "-1"):
        answer = http.post(f"{remote.url}/evaluations", params={"n": n}, json=told)
        assert (answer.status_code, answer.json()["field"]) == (422, "n")
    after = http.post(f"{remote.url}/evaluations", params={"n": 5}, json=told).json()
    assert (after["state"], after["taken"], after["leaves"]) == ("done", 0, [])


def test_a_leaf_is_handed_out_again_after_its_deadline(server: Server) -> None:
    remote = Remote(server)
    assert remote.ask(deadline_s=0.1) == remote.ask()
    assert http.get(f"{remote.url}/leaves").json() == {"id": remote.id, "state": "running", "leaves": []}
    http.delete(remote.url)


def test_each_answer_is_refused_by_itself_and_its_leaf_is_there_at_once(server: Server) -> None:
    """Whatever JSON can say, or what Python takes for it: as bytes, because httpx would not send it."""
    remote = Remote(server)
    remote.tell(remote.ask())
    first, second = remote.ask(2)
    values = ["5", "-1.1", "NaN", "1e999", "9" * 400, '"0"', "null", "true", "[0]", "{}", '"\\ud800"']
    policies = ['{"\\ud800": 1}', '{"b1": -1}', '{"b1": NaN}', "{}", "[]", "5", "true", "[[[]]]"]
    entries = [f'"value": {value}' for value in values] + ['"policy": null']
    entries += [f'"value": 0, "policy": {policy}' for policy in [*policies, str([1e308] * 8)]]
    entries += ['"value": 0, "\\ud800": 0', '"value": 0, "prior": [[]]']
    fields = ["value"] * 12 + ["policy"] * 9 + ["\\ud800", "prior"] + ["evaluation"] * 4 + ["id"] * 5
    bad = [f'{{"id": "{second["id"]}", {entry}}}' for entry in entries]
    bad += ["5", "null", "[]", '"\\ud800"', "{}", '{"id": 1, "value": 0}', '{"id": "\\ud800", "value": 0}']
    answered = remote.answer(first)
    good = json.dumps(answered)
    bad += [json.dumps(answered | other) for other in ({"value": -0.7}, {"id": "77-0123456789abcdef"})]
    for encoding in ("utf-8", "utf-16"):
        body = f'{{"evaluations": [{", ".join([good, *bad, good])}]}}'.encode(encoding)
        headers = {"Content-Type": "application/json"}
        answer = http.post(f"{remote.url}/evaluations?n=9", content=body, headers=headers).json()
        assert (answer["taken"], [each["field"] for each in answer["refused"]]) == (2, fields)
        assert [each["index"] for each in answer["refused"]] == list(range(1, 1 + len(fields)))
        # Minutes before its deadline, and once.
        assert [leaf["id"] for leaf in answer["leaves"]].count(second["id"]) == 1
    assert remote.post().json()["field"] == "evaluations"
    for name, value in (("n", "0"), ("n", "257"), ("n", "x"), ("deadline_s", "inf")):
        assert http.get(f"{remote.url}/leaves", params={name: value}).json()["field"] == name
    http.delete(remote.url)


def test_a_search_whose_leaves_are_all_finished_games_holds_up_nobody(server: Server) -> None:
    moves = ["a1", "b1", "c1", "a2", "b2", "a3", "c2", "c3"]
    remote = Remote(server, moves=moves, simulations=10**9)
    remote.tell(remote.ask())
    for path in ("/readyz", "/api/v1/searches"):
        assert http.get(f"{server.url}{path}").status_code == 200
    assert http.delete(remote.url).status_code == 202
    assert 0 < remote.result()["simulations"] < 10**9


@pytest.mark.slow
def test_searches_that_nobody_asks_for_give_their_places_to_others(tmp_path: Path, digest: str) -> None:
    with Server(tmp_path, "--max-running", "2", "--max-simulations", "100000000") as server:
        idle = [Remote(server), Remote(server)]
        for remote in idle:
            remote.run(turns=4)
        client = server.client()
        plain = {"game": "tictactoe", "lanes": 1, "priority": 10}
        others = [client.submit(plain | {"seconds": 600})["id"] for _ in idle]
        eventually(lambda: {client.get(each)["state"] for each in others} == {"running"})
        with closing(sqlite3.connect(tmp_path / "searches.sqlite")) as stored:
            count = "SELECT count(*) FROM search JOIN start USING (id) WHERE state = 'running' AND under_way"
            assert stored.execute(count).fetchone() == (2,)
        # Their clients are back, and get the places that are free.
        for remote in idle:
            assert remote.post({"id": "0", "value": 0}).status_code == 503
            assert remote.view()["state"] == "queued"
        for each in others:
            client.cancel(each)
        for remote in idle:
            remote.run()
            assert remote.result()["digest"] == digest
            assert len(remote.told) == len(set(remote.told))


def test_other_searches_have_no_leaves(server: Server) -> None:
    plain = http.post(f"{server.url}/api/v1/searches", json={"game": "tictactoe", "simulations": 20}).json()
    for search_id, status, field in ((plain["id"], 409, "evaluator"), ("nowhere", 404, "id")):
        url = f"{server.url}/api/v1/searches/{search_id}"
        body = {"evaluations": [{"id": 0, "value": 0.0}]}
        for answer in (http.get(f"{url}/leaves"), http.post(f"{url}/evaluations", json=body)):
            assert (answer.status_code, answer.json()["field"]) == (status, field)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"evaluator": "./net.py"}, "evaluator"),
        ({"strategy": "tree"}, "strategy"),
        ({"seconds": 1.0}, "seconds"),
        ({"simulations": None}, "simulations"),
        ({"simulations": None, "memory_mb": 64}, "simulations"),
        ({"game": "battleship"}, "evaluator"),
        ({"widening": 3}, "widening"),
        ({"lanes": 1024, "batch": 65536, "simulations": 10**9}, "batch"),
        ({"lanes": 64, "batch": 4096, "simulations": 10**9, "memory_mb": 128}, "batch"),
    ],
    ids=str,
)
def test_a_search_that_is_not_for_clients_is_refused(
    server: Server, asked: dict[str, Any], field: str
) -> None:
    answer = http.post(f"{server.url}/api/v1/searches", json=EXTERNAL | asked)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


@pytest.mark.slow
def test_a_cancelled_search_has_a_result_and_goes_on_where_it_was(server: Server, digest: str) -> None:
    remote = Remote(server)
    remote.run(turns=10)
    out = remote.ask(1)
    http.delete(remote.url)
    result = remote.result()
    assert (result["stopped_by"], remote.view()["state"]) == ("cancelled", "cancelled")
    assert 0 < result["simulations"] < 200
    assert remote.ask() == []
    assert http.post(f"{remote.url}/resume").status_code == 202
    again = remote.ask()
    assert out[0]["id"] in [leaf["id"] for leaf in again]
    remote.tell(again)
    remote.run()
    assert remote.result()["digest"] == digest
    assert len(remote.told) == len(set(remote.told))


@pytest.mark.slow
def test_a_server_that_is_stopped_asks_for_nothing_twice(tmp_path: Path, digest: str) -> None:
    with Server(tmp_path) as first:
        remote = Remote(first)
        remote.run(turns=12)
        # The last of them waits for the others.
        *others, last = remote.ask(3)
        remote.tell([last])
    with Server(tmp_path) as second:
        remote.at(second)
        again = remote.ask()
        assert {leaf["id"] for leaf in others} <= {leaf["id"] for leaf in again}
        assert remote.post(remote.answer(last)).json()["taken"] == 1
        remote.tell(again)
        remote.run()
        assert remote.result()["digest"] == digest
    assert len(remote.told) == len(set(remote.told))


@pytest.mark.slow
def test_clients_go_on_when_the_server_is_killed_and_started_again(tmp_path: Path, digest: str) -> None:
    program = (sys.executable, "-c", QUICK)
    with Server(tmp_path, "--checkpoint-every", "0.1", program=program) as server:
        remote = Remote(server, evaluator_version="m-1")
        command = [sys.executable, "-c", CLIENT, remote.url, "0.2"]
        clients = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
        eventually(lambda: (remote.view()["progress"] or {"simulations": 0})["simulations"] >= 10)
        kill(descendants(server.process.pid))
        assert [client.wait(PATIENCE_S) for client in clients] == [0, 0]
        result = remote.result()
        assert result["digest"] == digest
        assert (result["executor"], result["workers"], result["stopped_by"]) == ("external", 0, "simulations")
        late = remote.post({"id": "0-0123456789abcdef", "value": 0.5}).json()
        assert late == {"id": remote.id, "state": "done", "taken": 0, "refused": []}
        assert server.count() == 1
        # All that was asked for before and after the death is kept.
        again = Remote(server, evaluator_version="m-1")
        second = again.result()
        assert (second["digest"], second["playouts"], again.ask()) == (digest, 0, [])
        assert second["recalled"] == result["playouts"] + result["recalled"] > result["playouts"]


@pytest.mark.slow
def test_a_search_that_nobody_asks_for_is_cancelled(tmp_path: Path) -> None:
    with Server(tmp_path, "--max-seconds", "1") as server:
        remote = Remote(server)
        assert len(remote.ask()) == 1
        eventually(lambda: remote.view()["state"] == "cancelled", "it holds its place for ever")


class Queued:
    """Searches with one place, in a pool that runs nothing."""

    def __init__(self, folder: Path) -> None:
        self.pool = Collecting()
        self._searches = Searches(Store(folder), self.pool, Limits(running=1))

    def submit(self, priority: int = 0) -> Live:
        body = SearchBody(**EXTERNAL, priority=priority)
        return self.live(self._searches.submit(body, None)[0].id)

    def live(self, search_id: str) -> Live:
        found = self._searches.live(search_id)
        assert found is not None
        return found

    def begun(self, live: Live) -> ExternalRun:
        run = self.pool.runs.get(timeout=PATIENCE_S)
        assert isinstance(run, ExternalRun)
        assert run.watcher is live
        run.executor = NOBODY
        return run

    def idle(self, run: ExternalRun, seconds: float) -> bool:
        """Whether the run is asked to give its place away when nobody has answered for so long."""
        run.heard_s = run.clock() - seconds
        self._searches._fill()
        return not self.pool.runs.empty() and self.pool.runs.get() is run

    def put_off(self, live: Live) -> None:
        self._searches.search_put_off(live, cast("Any", live.run))

    def ask(self, live: Live) -> None:
        self._searches.wake(live)

    def waiting(self) -> list[Live]:
        return list(self._searches._waiting)


def test_who_never_answers_loses_the_place_and_waits_behind_the_others(tmp_path: Path) -> None:
    queued = Queued(tmp_path)
    silent = queued.submit(10)
    run = queued.begun(silent)
    others = [queued.submit(), queued.submit(-10)]
    assert not queued.idle(run, 9.0)
    assert queued.idle(run, 11.0)
    queued.put_off(silent)
    queued.begun(others[0])
    # It only asks: the others go first, of whatever priority; those that come later do not.
    queued.ask(silent)
    later = queued.submit(-10)
    assert queued.waiting() == [others[1], silent, later]


def test_a_place_is_kept_for_longer_after_an_answer(tmp_path: Path) -> None:
    queued = Queued(tmp_path)
    live = queued.submit()
    run = queued.begun(live)
    run.watcher = Seen()
    run.begin()
    [leaf] = run.ask(1, 10.0)
    run.tell({"id": leaf.id, "value": 0.0})
    queued.submit()
    assert not queued.idle(run, 29.0)
    assert queued.idle(run, 31.0)
    run.heard_s = run.clock()
    queued.submit(1)
    assert not queued.idle(run, 1.0)
    assert queued.idle(run, 3.0)


def run_of(folder: Path, now: list[float]) -> ExternalRun:
    """One that has not begun, with the time that ``now`` holds."""
    opened = begun(SearchRequest(**EXTERNAL), external=True)
    return ExternalRun(opened, Seen(), Keeper(folder / "kept", warn=never), clock=lambda: now[0])


def test_a_new_answer_is_the_only_sign_of_life(tmp_path: Path) -> None:
    now = [0.0]
    run = run_of(tmp_path, now)
    run.executor = NOBODY
    run.begin()
    [leaf] = run.ask(1, 0.001)
    now[0] = 5.0
    assert [again.id for again in run.ask(1, 0.001)] == [leaf.id]
    with pytest.raises(InvalidInput):
        run.tell({"id": leaf.id, "value": 2.0})
    assert (run.idle_s, run.answered) == (5.0, False)
    run.tell({"id": leaf.id, "value": 0.0})
    assert (run.idle_s, run.answered) == (0.0, True)
    now[0] = 9.0
    run.tell({"id": leaf.id, "value": 0.0})
    assert run.idle_s == 4.0


def test_a_run_that_has_not_begun_or_is_closed_takes_nothing(tmp_path: Path) -> None:
    now = [0.0]
    run = run_of(tmp_path, now)
    run.longest_idle_s = 9.0
    assert run.ask(1, 10.0) == []
    with pytest.raises(Problem, match="send the evaluations again"):
        run.tell({"id": "0", "value": 0.0})
    run.executor = NOBODY
    assert run.begin() == []
    assert (run.contexts, run.again()) == ({}, [])
    [leaf] = run.ask(5, 10.0)
    now[0] = 9.0
    run.check()
    assert not run.finished
    run.tell({"id": leaf.id, "value": 0.0})
    now[0] = 18.1
    run.check()
    assert run.finished
    assert run.ask(1, 10.0) == []
    run.close()
    with pytest.raises(Problem, match="send the evaluations again"):
        run.tell({"id": "0", "value": 0.0})
