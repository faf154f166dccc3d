"""The analysis engine: each position gets exactly one final answer, whatever happens meanwhile."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import search
from cluster.analysis.engine import Engine
from cluster.analysis.launch import analysed, run_analysis
from cluster.analysis.queries import Action, BadQuery, Position, read
from cluster.analysis.worker import AnalysisWorker
from cluster.runtime.pool_queue import PoolQueue
from cluster.runtime.tasks import Executor
from cluster.system.kept_folder import whole_lines
from cluster.system.terminal import Output
from cluster.workers.handover import PAYS_S
from cluster.workers.inline import InlineExecutor
from cluster.workers.placement import Placement
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster.command import BANYAN, Here, banyan, start
from tests.cluster.processes import named, state_of
from tests.waiting import PATIENCE_S, eventually

DEFAULTS = SearchRequest("tictactoe", simulations=200)
Answers = list[dict[str, Any]]


def asked(*queries: dict[str, Any] | str, waits: bool = True, defaults: SearchRequest = DEFAULTS) -> Answers:
    """What an engine of one worker in this process writes for these lines."""
    written: Answers = []
    queue, lines = PoolQueue(), SimpleQueue[str | bytes | None]()
    executor = InlineExecutor(AnalysisWorker, queue)
    executor.open(None)
    engine = Engine(
        analysed(defaults),
        executor,
        queue,
        lambda each, *_: written.append(json.loads(each) if isinstance(each, str) else each),
        "1.2.3",
    )
    for query in queries:
        lines.put(query if isinstance(query, str) else json.dumps(query))
    lines.put(None)
    engine.run(lines, waits=waits)
    assert engine.open == 0
    return written


def final(answers: Answers) -> dict[tuple[str, int], dict[str, Any]]:
    """The final answers by id and turn; there is one for each."""
    ends = [each for each in answers if each.get("isDuringSearch") is False]
    found = {(each["id"], each["turnNumber"]): each for each in ends}
    assert len(found) == len(ends)
    return found


def test_every_turn_is_searched_as_it_is_alone() -> None:
    query = {"id": "g", "moves": ["a1", "b2", "c3"], "analyzeTurns": [0, 1, 3], "maxVisits": 500, "seed": 7}
    found = final(asked(query, {"id": "other", "moves": "a1 b2"}))
    assert set(found) == {("g", 0), ("g", 1), ("g", 3), ("other", 2)}
    for turn in (0, 1, 3):
        moves = tuple(query["moves"][:turn])
        alone = search.run(SearchRequest("tictactoe", moves=moves, simulations=500, seed=7))
        answer = found["g", turn]
        assert (answer["digest"], answer["rootInfo"]["visits"]) == (alone.digest, 500)
        infos = answer["moveInfos"]
        assert [infos[0]["move"], *infos[0]["pv"]] == [alone.move, *alone.pv]
        assert {each["move"]: each["visits"] for each in infos} == {c.move: c.visits for c in alone.children}
        assert [each["order"] for each in infos] == list(range(len(infos)))
        assert infos[0]["winrate"] == pytest.approx((1 + alone.value) / 2)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("nonsense", "query"),
        ("[1]", "query"),
        ("[" * 100_000, "query"),
        ({"moves": []}, "id"),
        ({"id": "q", "komi": 7}, "komi"),
        ({"id": "q", "maxVisits": 0}, "maxVisits"),
        ({"id": "q", "moves": [1]}, "moves"),
        ({"id": "q", "moves": "a1", "analyzeTurns": [2]}, "analyzeTurns"),
        ({"id": "q", "analyzeTurns": [0, 0]}, "analyzeTurns"),
        ({"id": "q", "analyzeTurns": []}, "analyzeTurns"),
        ({"id": "q", "priority": 1.5}, "priority"),
        ({"id": "q", "analyzeTurns": [0], "priorities": []}, "priorities"),
        *(({"id": "q", "reportDuringSearchEvery": s}, "reportDuringSearchEvery") for s in (0, nan, inf)),
        ({"id": "q", "maxVisits": 10, "simulations": 20}, "maxVisits"),
        ({"id": "q", "allow": "a1", "allowMoves": [{"moves": ["b1"]}]}, "allowMoves"),
        ({"id": "q", "leastVisits": {"a1": 2}, "least_visits": "b1=3"}, "leastVisits"),
        ({"id": "q", "action": "stop"}, "action"),
        ({"id": "q", "action": "terminate"}, "terminateId"),
        ({"id": "q", "evaluator": "./net.py"}, "evaluator"),
        ({"id": "q", "avoidMoves": [{"moves": ["a1"], "untilDepth": 2}]}, "avoidMoves"),
        ({"id": "q", "leastVisits": ["a1"]}, "leastVisits"),
        # Of these only a search can tell.
        ({"id": "q", "allowMoves": [{"moves": ["z9"], "untilDepth": 1}]}, "allowMoves"),
        ({"id": "q", "leastVisits": {"a1": 201}}, "leastVisits"),
        ({"id": "q", "moves": "z9"}, "moves"),
        ({"id": "q", "maxVisits": 10, "seconds": 1}, "budget"),
        ({"id": "q", "position": "?"}, "position"),
        ({"id": "q", "moves": "a1 b2 a2 b3 a3"}, "moves"),
    ],
)
def test_a_bad_query_gets_one_error_that_names_the_field(query: dict[str, Any] | str, field: str) -> None:
    (answer,) = asked(query)
    assert answer["field"] == field
    assert answer["accepted"] in answer["error"]
    assert answer.get("id") == (query.get("id") if isinstance(query, dict) else None)


@pytest.mark.parametrize("field", ["id", "moves", "position", "komi", "seed", "z" * 10**6])
def test_an_answer_does_not_repeat_what_is_long(field: str) -> None:
    (answer,) = asked({"id": "q", field: "z" * 10**6})
    assert len(json.dumps(answer)) < 5000
    assert answer["field"] == field[:200]


def test_the_highest_priority_goes_first_and_the_older_of_equal_ones() -> None:
    queries = [{"id": name, "priority": level} for name, level in (("a", 0), ("b", 2), ("c", 0), ("d", 2))]
    many = {"id": "m", "moves": "a1 a2 a3", "analyzeTurns": [0, 1, 2], "priorities": [0, 9, 1]}
    order = [(each["id"], each["turnNumber"]) for each in asked(*queries, many)]
    assert order == [("m", 1), ("b", 0), ("d", 0), ("m", 2), ("a", 0), ("c", 0), ("m", 0)]


def test_what_is_terminated_ends_once_and_actions_are_echoed() -> None:
    stop = {"id": "x", "action": "terminate", "terminateId": "t", "turnNumbers": [1]}
    queries = {"id": "t", "moves": "a1 b2", "analyzeTurns": [0, 1]}, {"id": "u"}
    answers = asked(*queries, stop, {"id": "v", "action": "query_version"})
    assert stop in answers
    assert {"id": "v", "action": "query_version", "version": "1.2.3"} in answers
    found = final(answers)
    assert [key for key, each in found.items() if "noResults" in each] == [("t", 1)]
    everything = final(asked(*queries, {"id": "y", "action": "terminate_all"}))
    assert all(each["noResults"] for each in everything.values())
    assert len(everything) == 3
    assert all("noResults" in each for each in final(asked(*queries, waits=False)).values())


def test_moves_of_the_position_are_chosen_and_get_their_visits() -> None:
    only = {"id": "only", "allowMoves": [{"moves": ["a1", "b2"], "untilDepth": 1}]}
    without = {"id": "without", "avoidMoves": [{"player": "x", "moves": ["b2"], "untilDepth": 1}]}
    found = final(asked(only, without, {"id": "least", "leastVisits": {"b1": 90}}))
    visits = {
        name: {each["move"]: each["visits"] for each in found[name, 0]["moveInfos"]} for name, _ in found
    }
    assert visits["only"].keys() == {"a1", "b2"}
    assert len(visits["without"]) == 8
    assert visits["least"]["b1"] >= 90
    assert sum(visits["least"].values()) == 200
    assert found["least", 0]["moveInfos"][0]["move"] != "b1"


def test_a_long_search_reports_and_ends_with_what_it_has() -> None:
    """Of 400,000 simulations in 16 lanes, with reports after each look."""
    query = {"id": "r", "simulations": 400_000, "lanes": 16, "seed": 3}
    answers = asked({**query, "reportDuringSearchEvery": 1e-6}, {"id": "s"})
    visits = [each["rootInfo"]["visits"] for each in answers if each["id"] == "r"]
    assert len(visits) > 2
    assert visits == sorted(visits)
    assert visits[-1] == 400_000
    alone = search.run(SearchRequest("tictactoe", simulations=400_000, lanes=16, seed=3))
    assert final(answers)["r", 0]["digest"] == final(asked(query))["r", 0]["digest"] == alone.digest


def test_queries_and_actions_are_read() -> None:
    assert read('{"id": "a", "moves": "a1 b2"}') == [Position({"id": "a", "moves": "a1 b2"}, 2)]
    assert isinstance(read(b'{"id": "a", "action": "terminate_all"}'), Action)
    with pytest.raises(BadQuery):
        read("{")
    limited = Position({"id": "a", "memory_mb": 7}, 0).request(DEFAULTS)
    assert (limited.memory_mb, limited.simulations) == (7, 200)
    with pytest.raises(InvalidInput, match="seconds"):
        Position({"id": "a", "seconds": 1, "simulations": 5}, 0).request(DEFAULTS)


def test_what_runs_ends_with_its_results_when_it_is_terminated_and_at_a_signal() -> None:
    """Searches of a day: one is terminated, one is interrupted, one waits."""
    day = {"simulations": 10**11, "lanes": 1, "strategy": "leaf", "batch": 64}
    command = (*BANYAN, "engine", "tictactoe", "--executor", "inline")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def tell(query: dict[str, Any]) -> None:
            process.stdin.write(json.dumps(query) + "\n")
            process.stdin.flush()

        def hear() -> dict[str, Any]:
            return dict(json.loads(process.stdout.readline()))

        tell({"id": "a", **day, "reportDuringSearchEvery": 0.01})
        assert hear()["isDuringSearch"]
        stop = {"id": "stop", "action": "terminate", "terminateId": "a"}
        tell(stop)
        heard = list(iter(hear, stop))
        heard += iter(lambda: hear()["isDuringSearch"], False)
        tell({"id": "b", **day, "reportDuringSearchEvery": 0.01})
        tell({"id": "c", **day})
        tell({"id": "v", "action": "query_version"})
        assert any(each["id"] == "v" for each in iter(hear, None))
        process.terminate()
        left = [json.loads(line) for line in process.stdout]
    found = final(left)
    assert set(found) == {("b", 0), ("c", 0)}
    assert found["b", 0]["stoppedBy"] == "cancelled"
    assert found["c", 0]["noResults"]
    assert process.returncode == 130


def lines_of(path: Path, number: int) -> Path:
    """A file of that many games of some moves."""
    file = path / "queries.txt"
    cells = [f"{column}{row}" for row in (1, 2, 3) for column in "abc"]
    file.write_text("".join(f"{cells[n % 9]} {cells[(n + 1 + n // 9) % 9]}\n" for n in range(number)))
    return file


@pytest.mark.slow
def test_a_file_has_equal_answers_on_any_number_of_workers_and_after_kills(tmp_path: Path) -> None:
    """A worker is killed, and then the command; it is started again, with other workers."""
    file, outs = lines_of(tmp_path, 72), [tmp_path / f"{n}.jsonl" for n in range(3)]
    command = ("analyze", "tictactoe", str(file), "--simulations", "50000", "--lanes", "1")
    ray = ("--executor", "ray", "--workers", "2")
    for out, place in zip(outs, (("--executor", "inline"), ray), strict=False):
        status, _, err = banyan(*command, "--out", str(out), *place)
        assert status == 0, err
    part = outs[2].with_name("2.jsonl.part")
    with start(*command, "--out", str(outs[2]), *ray) as process:
        eventually(lambda: len(whole_lines(part)) > 3)
        os.kill(named("ray::Banyan", process.pid)[0], signal.SIGKILL)
        eventually(lambda: len(whole_lines(part)) > 20)
        process.kill()
    ids = [json.loads(line)["id"] for line in whole_lines(part)]
    assert 72 > len(ids) == len(set(ids))
    status, _, err = banyan(*command, "--out", str(outs[2]), "--executor", "inline")
    assert status == 0, err
    assert outs[0].read_text() == outs[1].read_text() == outs[2].read_text()
    assert len(outs[0].read_text().splitlines()) == 72
    assert not part.exists()


@pytest.mark.slow
def test_workers_take_over_in_the_middle_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Long enough for Ray to start meanwhile; one position has lanes for all workers."""
    file, outs = tmp_path / "queries.jsonl", [tmp_path / f"{n}.jsonl" for n in range(2)]
    file.write_text("".join(f'{{"id": "{n}", "seed": {n}, "lanes": {1 + (n == 50)}}}\n' for n in range(250)))
    defaults, output = replace(DEFAULTS, simulations=100_000), Output(no_color=True)
    assert run_analysis(file, defaults, Placement(executor="inline"), output, outs[0]) == 0
    assert run_analysis(file, defaults, Placement(2), output, outs[1]) == 0
    assert "2 workers took over" in capsys.readouterr().err
    assert outs[0].read_text() == outs[1].read_text()


def only_here(start: Callable[..., Executor]) -> Callable[..., Executor]:
    """`Placement.start` where Ray cannot be started."""

    def started(place: Placement, *arguments: Any, **options: Any) -> Executor:
        if place.executor != "inline":
            raise ConnectionError("no room")
        return start(place, *arguments, **options)

    return started


@pytest.mark.parametrize("pays_s", [PAYS_S, 0.0])
def test_a_file_is_searched_without_ray_if_it_is_short_or_there_is_none(
    pays_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Placement, "start", only_here(Placement.start))
    monkeypatch.setattr("cluster.analysis.launch.PAYS_S", pays_s)
    file, output = lines_of(tmp_path, 72), Output(no_color=True)
    with file.open("a") as opened:
        opened.write('{"id": "long", "lanes": 2}\n' * (pays_s == 0.0))
    assert run_analysis(file, DEFAULTS, Placement(2), output, tmp_path / "out.csv") == 0
    assert ("no workers could be started (no room)" in capsys.readouterr().err) == (pays_s == 0.0)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 73 + (pays_s == 0.0)


@pytest.mark.slow
def test_an_interruption_while_workers_start_leaves_nothing(tmp_path: Path) -> None:
    """What is answered until then is kept."""
    file, out = lines_of(tmp_path, 72), tmp_path / "out.jsonl"
    command = ("analyze", "tictactoe", str(file), "--simulations", "1000000", "--lanes", "1")
    with start(*command, "--out", str(out), "--workers", "2") as process:
        eventually(lambda: len(whole_lines(out.with_name("out.jsonl.part"))) > 2)
        below = named("", process.pid)
        assert below
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    eventually(lambda: not any(state_of(pid) for pid in below))


def test_a_file_that_is_no_text_and_a_wrong_beginning_are_one_error(tmp_path: Path, here: Here) -> None:
    file = tmp_path / "moves.txt"
    file.write_bytes(b"a1\n\xff\n")
    command = ("analyze", "tictactoe", str(file), "--executor", "inline", "--simulations", "9")
    assert "text in UTF-8 (invalid start byte at 3)" in here.refusal(*command)
    # As other programs write it: with a mark at the beginning, and other ends of lines in texts.
    file.write_text('\ufeffa1\r\n{"id": "q\u2028", "moves": "b2"}\r\n', encoding="utf-8")
    status, out, err = banyan(*command, "--json")
    assert status == 0, err
    assert [(each["id"], "error" in each) for each in map(json.loads, out.splitlines())] == [
        ("1", False),
        ("q\u2028", False),
    ]
    assert here.refusal(*command, "--moves", "z9").count("z9") == 1
    assert "--position" in here.refusal(*command, "--position", "?")
    assert "--moves" in here.refusal("engine", "tictactoe", "--moves", "z9")
    assert "the name of a game" in here.refusal("engine")


def test_a_file_is_answered_in_its_order_as_table_json_and_csv(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('b2 a1\n\n{"id": "x", "moves": "z9"}\n{"id": "y", "priority": 1}\n')
    command = ("analyze", "tictactoe", str(file), "--executor", "inline", "--simulations", "100")
    status, out, err = banyan(*command, "--json")
    assert status == 1
    assert "1 position could not be searched" in err
    answers = [json.loads(line) for line in out.splitlines()]
    assert [(each["id"], each["turnNumber"], "error" in each) for each in answers] == [
        ("1", 2, False),
        ("x", 1, True),
        ("y", 0, False),
    ]
    assert "expected" in banyan(*command)[1]
    written = tmp_path / "answers.csv"
    assert banyan(*command, "--out", str(written))[0] == 1
    with written.open() as opened:
        rows = list(csv.DictReader(opened))
    assert [row["move"] for row in rows] == [
        answers[0]["moveInfos"][0]["move"],
        "",
        answers[2]["moveInfos"][0]["move"],
    ]
    status, _, err = banyan(*command, "--out", str(written))
    assert status == 2
    assert "--out" in err
    other = written.with_name("other.csv")
    other.with_name("other.csv.part").write_text('{"key": "0", "id": "1", "turnNumber": 2}\n')
    status, _, err = banyan(*command, "--out", str(other))
    assert status == 2
    assert "other.csv.part" in err
