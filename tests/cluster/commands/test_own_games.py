"""A game of one's own wherever a built-in one goes: the commands, and workers that have no such file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import games
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from games import catalogue
from games import user_games as own
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import plan_search
from tests.cluster.command import ROOT, Here
from tests.cluster.searches import compiled_only
from tests.games.own_game import write
from tests.games.test_own_games import NIM
from tests.waiting import PATIENCE_S


@pytest.mark.slow
def test_every_command_takes_the_file(tmp_path: Path, here: Here) -> None:
    path = write(tmp_path)
    assert here.json("show", path, "--moves", "d d c")["to_move"] == "O"
    assert here.json("perft", path, "4")["counts"][3]["count"] == 2_401
    arguments = ("--executor", "inline", "--simulations", "3000")
    found = here.json("search", path, "--moves", "a a b b c", *arguments)
    assert found["game"] == path
    assert found["best_move"] == "d", "the only way to stop four in a row"


@pytest.mark.slow
def test_check_says_all_is_well(tmp_path: Path, here: Here) -> None:
    out = here.text("check", write(tmp_path), "--games", "3")
    for words in ("all that must hold does", "16,807", "first player's return", "simulations on one core"):
        assert words in out


def test_check_says_what_to_mend(tmp_path: Path, here: Here) -> None:
    status, out, _ = here("check", write(tmp_path, text=""), "--json")
    assert status == 2
    (finding,) = json.loads(out)["findings"]
    assert finding["rule"] == "format_move"
    assert "1 thing to mend" in here("check", write(tmp_path, text=""))[1]
    assert here("check", "tictactoe", "--games", "0")[0] == 2


@compiled_only
def test_rules_that_do_not_compile_are_one_line(tmp_path: Path, here: Here) -> None:
    path = write(tmp_path, dictionary="")
    status, out, err = here("search", path, "--executor", "inline", "--simulations", "10")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == "banyan: error: the game's rules do not compile: banyan check says where"


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_workers_without_the_file_give_the_same_digest(
    kind: str, tmp_path: Path, two_workers: Executor
) -> None:
    path = write(tmp_path)
    if kind == "plain":
        path = str(tmp_path / "nim.py")
        Path(path).write_text(NIM)
    simulations = 40_000 if kind == "compiled" else 400
    request = SearchRequest(game=path, strategy="leaf", simulations=simulations, seed=3, lanes=4)
    digests = []
    for strategy in ("leaf", "tree"):
        asked = replace(request, strategy=strategy)
        inline, search = open_search(asked), open_search(asked)
        if strategy == "tree":
            # The workers go on with what came along with the search.
            os.rename(path, path + ".gone")
        for opened, where in ((inline, InlineExecutor()), (search, two_workers)):
            where.open(opened.context)
            digests.append(Session(Coordinator(opened, 2), where).run().digest)
    assert digests[0] == digests[1]
    assert digests[2] == digests[3]


SEARCH = """
import search
from games.compile.specialise import callable_from_python
from search.request import SearchRequest
from search.tree.arena import add_child, add_children

search.run(SearchRequest("./nim.py", simulations=50, lanes=1))
print(*(sum(callable_from_python(each).stats.cache_misses.values()) for each in (add_child, add_children)))
"""


@pytest.mark.slow
@compiled_only
def test_a_second_process_compiles_nothing_that_rules_in_plain_python_need(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(NIM)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SEARCH],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=True,
        )  # fmt: skip
    assert done.stdout.split() == ["0", "0"]


def test_a_slow_game_sends_its_leaves_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM)
    request = SearchRequest(game=str(path), strategy="leaf", simulations=304)
    plan = plan_search(request, games.load(request.game))
    assert {plan.size(job) for job in range(plan.jobs)} == {1}


@pytest.mark.slow
def test_games_describes_a_file_and_leaves_out_a_package_that_is_broken(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM)
    (row,) = here.json("games", str(path))
    assert (row["name"], row["options"][0]["name"], row["options"][0]["default"]) == ("nim", "stones", 10)
    broken = EntryPoint("broken", "no_such:Game", own.GROUP)
    monkeypatch.setattr(own, "installed", lambda: {"broken": broken})
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([broken]))
    catalogue._load.cache_clear()
    status, out, err = here("games", "--json")
    catalogue._load.cache_clear()
    assert status == 0
    assert "tictactoe" in {row["name"] for row in json.loads(out)}
    assert "broken is left out" in err
    assert len(err.splitlines()) == 1
