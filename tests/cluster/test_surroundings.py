"""The command where people run it: beside code that prints, with closed files, without a home."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.command import BANYAN, ROOT, banyan, interrupted, on_terminal, start
from tests.waiting import PATIENCE_S

GAME = """
import os, subprocess, sys, threading, time
import gymnasium
from games import PythonGame
class Position:
    def __init__(self): self.left, self.player = 20, 0
    def current_player(self): return self.player
    def legal_moves(self): return [0, 1, 2]
    def play(self, move):
        note()
        self.left, self.player = self.left - 1 - move, 1 - self.player
    def is_terminal(self): return self.left <= 0
    def returns(self): return 1.0 if self.player else -1.0
class Own(PythonGame):
    max_moves, max_plies = 3, 20
    def new_position(self): return Position()
class Env(gymnasium.Env):
    action_space, observation_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(100)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}
    def step(self, action):
        note()
        self.at += 1
        return self.at, float(action), self.at == 20, False, {}
"""
PRINTING = """
def note():
    print("NOISE by Python")
    print("NOISE by its first stream", file=sys.__stdout__)
    os.write(1, b"NOISE by a library\\n")
    threading.Thread(target=print, args=("NOISE by a thread",)).start()
subprocess.run(["echo", "NOISE by a child"])
note()
"""
SLOW = """
calls = 0
def note():
    global calls
    calls += 1
    if calls > 3000:
        if calls % 20 == 2:
            print("slow", flush=True)
        time.sleep(0.02)
"""
EVALUATOR = """
import os
import numpy as np
from search.evaluator import Evaluator
class Loud(Evaluator):
    def evaluate(self, states):
        os.write(1, b"NOISE of the evaluator\\n")
        print("NOISE of the evaluator")
        return np.zeros(len(states)), np.zeros((len(states), self.game.max_moves))
"""
CACHES = ("NUMBA_CACHE_DIR", "BANYAN_CACHE_DIR", "XDG_CACHE_HOME")
SEARCH = ("search", "tictactoe", "--simulations", "300", "--executor", "inline")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "GAME"),
        ("search", "GAME", "--simulations", "50", "--executor", "inline"),
        ("search", "GAME", "--simulations", "50", "--executor", "ray", "--workers", "1"),
        ("search", "tictactoe", "--evaluator", "EVALUATOR", "--strategy", "leaf", "--simulations", "50"),
        ("tree", "GAME", "--simulations", "50", "--executor", "inline"),
        ("perft", "GAME", "2"),
        ("check", "GAME", "--games", "1"),
        ("benchmark", "GAME", "--seconds", "0.1", "--simulations", "10"),
        ("match", "GAME", "random", "random", "--games", "2", "--executor", "inline"),
        ("plan", "gym:GAME:Env", "--simulations", "8", "--episodes", "1", "--executor", "inline"),
        ("plan", "gym:GAME:Env", "--simulations", "8", "--episodes", "1", "--executor", "ray"),
    ],
    ids=" ".join,
)
def test_standard_output_has_the_results_alone(arguments: tuple[str, ...], tmp_path: Path) -> None:
    game, evaluator = tmp_path / "printing.py", tmp_path / "evaluator.py"
    game.write_text(GAME + PRINTING)
    evaluator.write_text(EVALUATOR)
    words = [word.replace("GAME", str(game)).replace("EVALUATOR", str(evaluator)) for word in arguments]
    status, out, err = banyan(*words, "--json")
    assert status == 0, err
    json.loads(out)
    assert "NOISE" in err
    if arguments[0] == "show":
        assert "NOISE" not in banyan(*words)[1]


def test_lines_that_a_person_types_can_be_edited() -> None:
    """The cursor goes back over the z, which is deleted."""
    typed = ("zb2\x01\x1b[3~\n", "quit\n")
    status, shown = on_terminal(80, "play", "tictactoe", "--opponent", "random", typed=typed)
    assert (status, "moves    b2 " in shown) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_file_is_the_null_device(closed: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    words = ["bash", "-c", f'"$@" {closed}', "bash", *BANYAN, *SEARCH, "--checkpoint", str(kept), "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, b"Traceback" in done.stderr, kept.exists()) == (0, False, True)
    if ">&-" not in closed.replace("2>&-", ""):
        json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
@pytest.mark.parametrize(
    "arguments",
    [("tree", "explicit", "--simulations", "500"), ("experiment",), ("search", "--help")],
    ids=" ".join,
)
def test_a_narrow_encoding_costs_characters_and_no_command(
    arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    status, out, err = banyan(*arguments, **environment)
    assert (status, "error" in err, out.isascii()) == (0, False, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        *(("TMPDIR", folder) for folder in ("x" * 120, "zürich", "two words", "missing/relative")),
        ("RAY_TMPDIR", "x" * 120),
    ],
)
def test_ray_starts_whatever_the_temporary_folder_is(name: str, folder: str, tmp_path: Path) -> None:
    path = Path(folder) if "/" in folder else tmp_path / folder
    if path.is_absolute():
        path.mkdir()
    words = ("search", "tictactoe", "--simulations", "300", "--executor", "ray", "--workers", "1", "--json")
    status, out, err = banyan(*words, **{name: str(path)})
    assert (status, json.loads(out)["executor"]) == (0, "ray"), err
    assert not path.exists() or not [*path.iterdir()]


@pytest.mark.slow
def test_without_a_home_and_with_an_installation_of_others_one_line_names_the_cache(tmp_path: Path) -> None:
    installed, temporary = tmp_path / "installed", tmp_path / "temporary"
    for name in ("games", "search", "cluster", "cluster/banyan"):
        ignored = shutil.ignore_patterns("__pycache__", "banyan" if name == "cluster" else "")
        shutil.copytree(ROOT / name, installed / Path(name).name, ignore=ignored)
    temporary.mkdir()
    subprocess.run(["chmod", "-R", "a-w", installed], check=True)
    # Permissions do not bind root, unless it has no capabilities.
    before = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    environment = os.environ | {"HOME": "/proc", "PYTHONPATH": str(installed), "TMPDIR": str(temporary)}
    environment = {name: value for name, value in environment.items() if name not in CACHES}
    words = ["search", "tictactoe", "--simulations", "300", "--no-progress", "--json"]
    for executor in ("inline", "ray"):
        command = [*before, sys.executable, "-P", "-m", "banyan", *words, "--executor", executor]
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr.count("NUMBA_CACHE_DIR")) == (0, 1), done.stderr
        assert json.loads(done.stdout)["simulations"] == 300
    subprocess.run(["chmod", "-R", "u+w", installed], check=True)
    assert [each.name for each in temporary.iterdir()] == [f"banyan-{os.getuid()}"]


MANY, INLINE = ("--simulations", "100000"), ("--executor", "inline")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (("plan", "gym:GAME:Env:clairvoyant=yes", *MANY, "--episodes", "1", *INLINE), signal.SIGINT),
        (("match", "GAME", "uct:simulations=100000", "random", "--games", "2", *INLINE), signal.SIGTERM),
        (("search", "GAME", *MANY, "--exploration-scale", "spread", *INLINE), signal.SIGINT),
        (("strength", "GAME", *MANY, *INLINE), signal.SIGTERM),
        (("benchmark", "GAME", *MANY), signal.SIGINT),
        (("perft", "GAME", "8"), signal.SIGTERM),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_slow_rules_in_python_can_be_interrupted(
    arguments: tuple[str, ...], number: signal.Signals, tmp_path: Path
) -> None:
    path = tmp_path / "slow.py"
    path.write_text(GAME + SLOW)
    command = start(*(word.replace("GAME", str(path)) for word in arguments), "--json")
    status, out, err = interrupted(command, "slow", number)
    assert (status, "Traceback" in err) == (130, False)
    if arguments[0] in ("plan", "match"):
        json.loads(out)
