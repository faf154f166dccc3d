"""The network in cluster/lab/networks: it has learnt what a child sees, and can be made again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import games
from search.evaluator import load_evaluator, source_of_evaluator
from search.kernel.evaluation import asked
from tests.search.common import position

ROOT = Path(__file__).parents[2]
NETWORKS = ROOT / "cluster" / "lab" / "networks"
NET = str(NETWORKS / "gomoku_net.py")


@pytest.mark.parametrize("size", [9, 12])
def test_it_stops_a_four(size: int) -> None:
    game = games.load(f"gomoku:size={size}")
    evaluator = load_evaluator(NET, source_of_evaluator(NET), game)
    stopped = position(game, "c3 g7 d3 h7 e3 b3 f3")
    _, policies = asked(evaluator, stopped[None])
    legal = game.legal_moves(stopped)
    assert game.format_move(stopped, legal[int(np.argmax(policies[0, legal]))]) == "g3"


def test_it_can_be_made_again(tmp_path: Path) -> None:
    out = tmp_path / "net.npz"
    options = ("--games", "1", "--simulations", "20", "--epochs", "1", "--out", str(out))
    ran = subprocess.run(
        [sys.executable, str(NETWORKS / "gomoku_train.py"), *options],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    made, kept = np.load(out), np.load(NETWORKS / "gomoku_net.npz")
    assert {name: made[name].shape for name in made} == {name: kept[name].shape for name in kept}
