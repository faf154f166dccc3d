"""The studies of the lab: what they count, and the tables that they print."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import games
from cluster.lab.studies import shooters
from cluster.lab.studies.value_kept import points_lost, risky_positions
from games.analysis.solving import solve
from search.players import player_of
from tests.games.common import JIT


def study(name: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"cluster.lab.studies.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_perfect_play_keeps_every_value_and_the_search_nearly_every_one() -> None:
    game = games.load("tictactoe")
    solution = solve(game, game.initial_state())
    positions, unfinished = risky_positions(solution)
    assert 0 < len(positions) < unfinished == solution.num_positions - solution.num_finished
    assert sum(points_lost(solution, "alphabeta:depth=9", positions[:200], 1)) == 0
    if JIT:
        assert sum(points_lost(solution, "uct:simulations=2000,c=1", positions[:200], 1)) <= 2


def test_studies_print_tables() -> None:
    found = study("value_kept", "tictactoe", "random", "uct:simulations=50", "--positions", "30")
    assert "| player | value kept | beside the first | points lost a move |" in found
    assert "| `random` | " in found and "+0.0 % ± 0.0" in found
    lines = study("every_line", "tictactoe", "random", "--seeds", "2").splitlines()
    assert [line.split(" | ")[1] for line in lines[-2:]] == ["first", "second"]
    found = study("shooters", "random", "parity", "--games", "3")
    assert "| player | shots | median | most | fewer than the player before |" in found


@pytest.mark.skipif(not JIT, reason="80,000 simulations")
def test_the_search_shoots_as_a_shooter_does() -> None:
    """Random shots need 95 of 100 cells; cluster.lab.studies.shooters measures what the search needs."""
    player = player_of("uct:preset=best,simulations=300", shooters.GAME)
    shots = [shooters.shots_needed(player, seed) for seed in range(1, 7)]
    assert sum(shots) / len(shots) < 60


def measurement(strategy: str, rounds: list[int], score: float) -> dict[str, Any]:
    rows = [
        {
            "strategy": f"{strategy}:rounds={number}",
            "lanes": lanes,
            "equal_total_score": 0.5 if lanes == 1 else score - 0.1 / number,
            "equal_total_interval": [score - 0.15, score + 0.05],
        }
        for number in rounds
        for lanes in (1, 4)
    ]
    curve = [{"simulations": 100 * 2**k, "elo": 100.0 * k} for k in range(6)]
    return {"rows": rows, "curve": curve, "total_simulations": 3200}


def test_a_law_of_rounds_is_fitted_to_scores(tmp_path: Path) -> None:
    (tmp_path / "strength.json").write_text(json.dumps(measurement("tree", [2, 8, 32], 0.5)))
    found = study("rounds_fit", str(tmp_path), str(tmp_path), "--plot", str(tmp_path / "rounds.svg"))
    assert "| rounds | 1 lane | by the law | 4 lanes | by the law |" in found
    assert "4 lanes alone: a = " in found
    assert "<svg" in (tmp_path / "rounds.svg").read_text()
