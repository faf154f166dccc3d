"""`banyan.open`, `OpenSearch.save` and `banyan.reopen`: searches with answers from outside, in files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import banyan
import pytest
from banyan import InvalidInput

from search.ask_tell.leaf import Leaf
from tests.games.own_game import waiting_connect_four
from tests.search.test_ask_tell import HASHED

ROOT = Path(__file__).parents[3]
ASKED: dict[str, Any] = {"simulations": 200, "lanes": 4, "seed": 7}


def with_a_file() -> str:
    """The digest of the search with an evaluator file."""
    found = banyan.search("tictactoe", strategy="leaf", evaluator=HASHED, batch=1, executor="inline", **ASKED)
    return found.digest


CHILD = """
import sys
import banyan
from tests.games.own_game import waiting_connect_four
from tests.search.test_ask_tell import Caller

file = sys.argv[1]
try:
    opened = banyan.reopen(file)
except banyan.InvalidInput:
    opened = banyan.open("tictactoe", simulations=200, lanes=4, seed=7)
caller = Caller()
while not opened.done:
    # The last one first, so that answers wait for earlier ones when the process is killed.
    for leaf in reversed(opened.ask(4)):
        caller.tell(opened, leaf)
        opened.save(file)
        print(leaf.id, flush=True)
print("digest", opened.result().digest, flush=True)
"""


@pytest.mark.slow
def test_a_program_that_is_killed_goes_on_from_its_file(tmp_path: Path) -> None:
    """No evaluation is repeated whose answer was saved, and the digest is that of a whole search."""
    command = [sys.executable, "-c", CHILD, str(tmp_path / "open")]
    told: list[str] = []
    draw = random.Random(2)
    for _ in range(20):
        after = draw.randint(50, 80)
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                if line.startswith("digest"):
                    child.wait()
                    assert line.split()[1] == with_a_file()
                    assert len(told) == len(set(told)) > 100
                    return
                told.append(line.strip())
                after -= 1
                if after == 0:
                    os.kill(child.pid, signal.SIGKILL)
    pytest.fail("the search does not end")


def test_a_search_of_a_game_file_needs_the_file_no_more(tmp_path: Path) -> None:
    game, file = tmp_path / "mine.py", tmp_path / "open"
    game.write_text(waiting_connect_four())
    opened = banyan.open(str(game), simulations=20, lanes=2)
    opened.tell(opened.ask()[0].id, 0.0)
    opened.save(file)
    game.unlink()
    again = banyan.reopen(file)
    while not again.done:
        for leaf in again.ask(2):
            again.tell(leaf.id, 0.0)
    assert again.result().simulations == 20


def test_time_before_a_break_counts(tmp_path: Path) -> None:
    now = [10.0]
    opened = banyan.open("tictactoe", simulations=20, clock=lambda: now[0])
    now[0] = 15.0
    opened.save(tmp_path / "open")
    now[0] = 100.0
    again = banyan.reopen(tmp_path / "open", clock=lambda: now[0])
    now[0] = 101.5
    assert again.result().elapsed_s == 6.5


def test_a_reopened_search_keeps_its_store(tmp_path: Path) -> None:
    opened = banyan.open("tictactoe", simulations=50, evaluations=tmp_path / "kept", evaluator_version="1")
    opened.save(tmp_path / "open")
    told = 0
    while not opened.done:
        for leaf in opened.ask(3):
            opened.tell(leaf.id, 0.25)
            told += 1
    assert told == opened.result().playouts
    again = banyan.reopen(tmp_path / "open", evaluations=tmp_path / "kept")
    assert (again.done, again.ask()) == (True, [])
    assert again.result().digest == opened.result().digest


def test_a_file_that_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    opened = banyan.open("tictactoe", simulations=20)
    for path in (tmp_path, tmp_path / "nowhere" / "open"):
        with pytest.raises(InvalidInput, match=r"checkpoint: .* a file in a folder that is there"):
            opened.save(path)
    with pytest.raises(InvalidInput, match=r"file: .* a checkpoint that can be read"):
        banyan.reopen(tmp_path / "nowhere")
    file = tmp_path / "open"
    opened.save(file)
    file.write_bytes(file.read_bytes()[:-200] + file.read_bytes()[-199:])
    with pytest.raises(InvalidInput, match="file: "):
        banyan.reopen(file)


def test_files_of_searches_of_either_kind_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "open"
    banyan.open("tictactoe", simulations=20).save(file)
    with pytest.raises(InvalidInput, match=r"evaluator: 'external' is not accepted; .* banyan\.reopen"):
        banyan.resume(file)
    with banyan.start("tictactoe", strategy="leaf", evaluator=HASHED, executor="inline", **ASKED) as running:
        running.save(file)
    with pytest.raises(InvalidInput, match=r"evaluator: .* is not accepted; expected external"):
        banyan.reopen(file)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"strategy": "tree"}, "strategy"),
        ({"evaluator": HASHED}, "evaluator"),
        ({"seconds": 2.0}, "seconds"),
        ({"job_timeout": 3.0}, "job_timeout"),
        ({"worker": 3}, "worker"),
        ({"deadline_s": 0.0}, "deadline_s"),
        ({"moves": "z9"}, "moves"),
    ],
    ids=str,
)
def test_a_keyword_that_makes_no_sense_is_refused(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        banyan.open("tictactoe", **asked)
    assert caught.value.field == field


def test_a_search_shows_what_it_is() -> None:
    opened = banyan.open("tictactoe", simulations=2, lanes=1)
    assert repr(opened) == "<AskTellSearch of tictactoe, open: 0 simulations>"
    for _ in range(2):
        leaf: Leaf
        [leaf] = opened.ask()
        opened.tell(leaf.id, 0.0)
    assert repr(opened) == "<AskTellSearch of tictactoe, stopped by simulations: 2 simulations>"
    assert isinstance(opened, banyan.OpenSearch)
