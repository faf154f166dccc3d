"""The studies of the lab: what they count, and the tables that they print."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.lab.studies.in_time import SELECTION_S, TURN_S, in_time, joined, read_strength, table
from games.errors import InvalidInput
from search.kernel.subtrees import LEAST_SIMULATIONS, SIMULATIONS
from tests.cluster.free_costs import FREE
from tests.games.common import JIT


def study(name: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"cluster.lab.studies.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.skipif(not JIT, reason="threads run compiled kernels")
def test_a_match_by_the_clock_gives_both_the_same_time() -> None:
    asked = ("tictactoe", "strategy=subtree,workers=2", "lanes=1,workers=1", "--seconds", "0.03")
    *_, last = study("timed_match", *asked, "--pairs", "2").splitlines()
    assert last.startswith("2 pairs: A scores ") and " to 1" in last


def exact_strength(**changes: Any) -> dict[str, Any]:
    """A strength.json by the exact judge with one parallel search, 16 lanes that are worth 12."""
    row = {
        "strategy": "tree",
        "lanes": 16,
        "simulations_per_lane": 1000,
        "total_simulations": 16_000,
        "strength_speedup": 12.0,
        "strength_speedup_low": 10.0,
        "strength_speedup_high": 15.0,
    }
    rows = [{"strategy": "sequential"}, row | changes]
    found = {"judge": "exact", "game": "connect_four", "options": "", "seed": 0, "rows": rows}
    return found | {"measured_on": "a machine"}


def test_strength_in_time_is_strength_where_nothing_costs_time() -> None:
    """Sixteen workers share the simulations; what each call costs is then taken from the gain."""
    rounds, most = 32, 32
    (free,) = in_time(exact_strength(), {"tree": FREE}, 1e-3)
    assert free.move_s == pytest.approx(rounds * most * 1e-3)
    assert free.gain == pytest.approx([worth / free.move_s for worth in (12.0, 10.0, 15.0)])
    (slow,) = in_time(exact_strength(), {"tree": replace(FREE, worker_call_s=0.01)}, 1e-3)
    assert slow.move_s == pytest.approx(free.move_s + rounds * 0.01, rel=1e-4)
    assert slow.gain[0] == pytest.approx(12.0 / slow.move_s)
    # Threads make no calls.
    calls = replace(FREE, worker_call_s=0.01, turn_s=0.01, latency_s=0.1, fetch_s=0.1, publish_s=0.1)
    (threads,) = in_time(exact_strength(), {"tree": calls}, 1e-3, threads=True)
    assert threads.move_s == pytest.approx(free.move_s)


def test_lanes_of_leaf_take_turns_in_threads() -> None:
    (slow,) = in_time(exact_strength(strategy="leaf"), {"leaf": FREE}, 1e-3, threads=True)
    assert slow.move_s == pytest.approx(1.0, rel=0.01)
    (quick,) = in_time(exact_strength(strategy="leaf"), {"leaf": FREE}, 1e-6, threads=True)
    assert quick.move_s == pytest.approx(16_000 * TURN_S)


@pytest.mark.skipif(not JIT, reason="threads run compiled kernels")
def test_lanes_of_subtree_take_turns_in_threads(tmp_path: Path) -> None:
    measured = exact_strength(strategy="subtree")
    (slow,) = in_time(measured, {}, 1e-3, threads=True)
    assert 1.0 < slow.move_s < 1.5
    (quick,) = in_time(measured, {}, 1e-9, threads=True)
    assert 16_000 / SIMULATIONS < quick.move_s / SELECTION_S < 3 * 16_000 / LEAST_SIMULATIONS
    strength = tmp_path / "strength.json"
    strength.write_text(json.dumps(measured))
    assert "| 16 | 1,000 |" in study("in_time", str(strength), "--threads")
    command = [sys.executable, "-m", "cluster.lab.studies.in_time", str(strength)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "in_time: threads: 'no' is not accepted; expected --threads with subtree" in refused.stderr


def test_strength_in_time_needs_a_speedup_and_draws_an_open_interval() -> None:
    assert in_time(exact_strength(strength_speedup=None), {"tree": FREE}, 1e-3) == []
    (row,) = in_time(exact_strength(strength_speedup_high=None), {"tree": FREE}, 1e-3)
    assert row.gain[2] is None
    assert "to ?)" in str(table([row]).rows[0][-1].text)


def test_strength_in_time_writes_files_and_refuses_others(tmp_path: Path) -> None:
    strength, costs = tmp_path / "strength.json", tmp_path / "costs.json"
    strength.write_text(json.dumps(exact_strength()))
    costs.write_text(json.dumps({"tree": FREE.to_json()}))
    more = tmp_path / "more.json"
    more.write_text(
        json.dumps(exact_strength(lanes=64, total_simulations=64_000, strength_speedup_high=None))
    )
    found = study("in_time", str(strength), str(more), "--costs", str(costs), "--out", str(tmp_path))
    assert [line.split(" | ")[1:3] for line in found.splitlines()[-2:]] == [["16", "1,000"], ["64", "1,000"]]
    names = {"in_time.json", "in_time.csv", "in_time.png", "in_time.svg"}
    assert names <= {path.name for path in tmp_path.iterdir()}
    more.write_text(json.dumps(exact_strength() | {"game": "othello"}))
    with pytest.raises(InvalidInput, match=r"more\.json.*a file with the game 'connect_four'"):
        joined([strength, more])
    strength.write_text(json.dumps(exact_strength() | {"judge": "games"}))
    with pytest.raises(InvalidInput, match=r"strength\.json that banyan strength --judge exact"):
        read_strength(strength)
    command = [sys.executable, "-m", "cluster.lab.studies.in_time", str(strength), "--costs", str(costs)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode != 0
    assert len(refused.stderr.splitlines()) == 1
