"""A game of one's own wherever a built-in one goes: the commands, and workers that have no such file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.coordinator import Coordinator
from cluster.executors import make_executor
from cluster.inline_executor import InlineExecutor
from cluster.session import Session
from search.opening import open_search
from search.request import SearchRequest
from tests.cluster.command import here
from tests.games.own_game import write
from tests.games.test_own_games import NIM

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="real workers run compiled kernels"
)


def test_every_command_takes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path)
    status, out, _ = here(capsys, "show", path, "--moves", "d d c", "--json")
    assert (status, json.loads(out)["to_move"]) == (0, "O")
    status, out, _ = here(capsys, "perft", path, "4", "--json")
    assert json.loads(out)["counts"][3]["count"] == 2_401
    arguments = ("--executor", "inline", "--simulations", "3000", "--json")
    status, out, _ = here(capsys, "search", path, "--moves", "a a b b c", *arguments)
    assert status == 0
    found = json.loads(out)
    assert found["game"] == path
    assert found["best_move"] == "d", "the only way to stop four in a row"


def test_check_says_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = here(capsys, "check", write(tmp_path), "--games", "3")
    assert status == 0
    for words in ("all that must hold does", "16,807", "first player's return", "simulations on one core"):
        assert words in out


def test_check_says_what_to_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = here(capsys, "check", write(tmp_path, text=""), "--json")
    assert status == 2
    (finding,) = json.loads(out)["findings"]
    assert finding["rule"] == "format_move"
    status, out, _ = here(capsys, "check", write(tmp_path, text=""))
    assert "1 thing to mend" in out
    assert here(capsys, "check", "tictactoe", "--games", "0")[0] == 2


@compiled_only
def test_rules_that_do_not_compile_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, unknown="")
    status, out, err = here(capsys, "search", path, "--executor", "inline", "--simulations", "10")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == "banyan: error: the game's rules do not compile: banyan check says where"


@compiled_only
@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_workers_without_the_file_give_the_same_digest(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path)
    if kind == "plain":
        path = str(tmp_path / "nim.py")
        Path(path).write_text(NIM)
    simulations = 40_000 if kind == "compiled" else 400
    request = SearchRequest(game=path, strategy="leaf", simulations=simulations, seed=3, lanes=4)
    digests = []
    executor = make_executor("ray", 2, job_timeout_s=30)
    try:
        for strategy in ("leaf", "tree"):
            asked = replace(request, strategy=strategy)
            inline, search = open_search(asked), open_search(asked)
            if strategy == "tree":
                # The workers go on with what came along with the search.
                os.rename(path, path + ".gone")
            for opened, where in ((inline, InlineExecutor()), (search, executor)):
                where.open(opened.context)
                digests.append(Session(Coordinator(opened, 2), where).run().digest)
    finally:
        executor.close()
    assert digests[0] == digests[1]
    assert digests[2] == digests[3]
