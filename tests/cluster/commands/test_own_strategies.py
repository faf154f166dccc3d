"""A strategy of one's own: the commands, workers and machines that have no such file, and a service."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from games.user_games import files_read
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from tests.cluster.command import Here
from tests.cluster.searches import keep_after
from tests.cluster.strangers import ROOT

ASKED = {"game": "gomoku:size=5", "simulations": 3_000, "seed": 4, "lanes": 3, "rounds": 12}
OPTIONS = ("gomoku:size=5", "--simulations", "3000", "--seed", "4", "--lanes", "3", "--rounds", "12")


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """The example, in a folder of a user."""
    shutil.copy(ROOT / "search/examples/slow_root.py", tmp_path)
    return f"{tmp_path}/slow_root.py:SlowRoot"


def broken(mine: str, before: str, after: str) -> None:
    """Change the code of the file."""
    path = Path(mine.rpartition(":")[0])
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def test_check_says_whether_the_law_holds(mine: str, here: Here) -> None:
    assert here.json("check", mine) == {"strategy": mine, "findings": []}
    assert "the same digest on 1, 2 and 5 workers" in here.text("check", mine)
    broken(mine, "self.absorbed <", "0 <")
    status, out, _ = here("check", mine)
    assert (status, out.splitlines()[0]) == (2, "1 thing to mend:")
    assert "SlowRoot: raised SearchFailed" in out


@pytest.mark.slow
def test_workers_without_the_file_give_the_same_digest(mine: str, two_workers: Executor) -> None:
    request = SearchRequest(**ASKED, strategy=mine)
    searches = open_search(request), open_search(request)
    os.remove(mine.rpartition(":")[0])
    found = []
    for opened, where in zip(searches, (InlineExecutor(), two_workers), strict=True):
        where.open(opened.context)
        found.append(Session(Coordinator(opened, 2), where).run().digest)
    assert found[0] == found[1]


@pytest.mark.slow
def test_an_error_on_a_worker_names_the_line(mine: str, two_workers: Executor) -> None:
    broken(mine, "found, own = ", "found, own = 1 // 0, ")
    opened = open_search(SearchRequest(**ASKED, strategy=mine))
    two_workers.open(opened.context)
    with pytest.raises(Exception, match=r"slow_root.py.*heed: raised ZeroDivisionError: .* \(line 29\)"):
        Session(Coordinator(opened, 2), two_workers).run()


@pytest.mark.parametrize(
    ("before", "after", "status", "expected"),
    [
        ("waits = ", "waits = 1 // 0 or ", 2, "ready: raised ZeroDivisionError"),
        ("found, own = ", "found, own = 1 // 0, ", 2, "heed: raised ZeroDivisionError"),
        (
            "return super().ready and not waits",
            "return self.issued < 5",
            1,
            "makes no job, though none is out",
        ),
        ("class SlowRoot(", "class Other(", 2, "a subclass of Strategy there, not None"),
    ],
)
def test_what_is_wrong_is_one_line(
    mine: str, here: Here, before: str, after: str, status: int, expected: str
) -> None:
    broken(mine, before, after)
    found, out, err = here("search", *OPTIONS, "--strategy", mine, "--no-progress")
    assert (found, out, len(err.splitlines())) == (status, "", 1)
    assert expected in err


def test_a_machine_without_the_file_resumes(mine: str, tmp_path: Path, here: Here) -> None:
    whole = here.json("search", *OPTIONS, "--strategy", mine)
    keep_after(tmp_path / "kept", SearchRequest(**ASKED, strategy=mine), 17)
    os.remove(mine.rpartition(":")[0])
    again = here.json("resume", str(tmp_path / "kept"), "--executor", "threads", "--workers", "2")
    assert again["resumed"] == 1
    assert again["digest"] == whole["digest"]


@pytest.mark.slow
def test_measurements_take_it(mine: str, tmp_path: Path, here: Here) -> None:
    measured = ("--workers", "1,2", "--seconds", "4", "--executor", "threads", "--out", str(tmp_path))
    rows = here.json("speedup", "tictactoe", "--strategies", f"root,{mine}", *measured)
    assert {row["strategy"] for row in rows} == {"root", mine}
    assert (tmp_path / "speedup.png").exists()
    strategies = f"root:rounds=3,{mine}:c=0.5,rounds=8"
    small = ("--lanes", "2", "--simulations", "20", "--pairs", "2", "--executor", "inline")
    found = here.json("strength", "tictactoe", "--strategies", strategies, *small)
    assert found["strategies"] == ["root:rounds=3", f"{mine}:c=0.5,rounds=8"]


@pytest.mark.parametrize("strategies", ["root,./mine.py", "root,Mine", "./mine.txt:Mine"])
def test_what_is_no_strategy_is_refused(strategies: str, here: Here) -> None:
    for command in ("speedup", "strength"):
        status, _, err = here(command, "tictactoe", "--strategies", strategies)
        assert (status, len(err.splitlines())) == (2, 1)


def test_a_client_is_told_that_a_service_runs_no_files(mine: str, here: Here) -> None:
    status, _, err = here("search", *OPTIONS, "--strategy", mine, "--server", "http://localhost:1")
    assert status == 2
    assert "expected root, tree, leaf with --server: a service does not run clients' files" in err


def test_a_player_takes_it_to_the_workers_of_a_match(mine: str, here: Here) -> None:
    player = f"uct:strategy={mine},lanes=2,rounds=6,simulations=60"
    found = here.text("match", "tictactoe", player, "random", "--games", "2", "--executor", "inline")
    assert "SlowRoot" in found
    assert mine.rpartition(":")[0] in files_read()
