"""Strength in time: what lanes are worth, divided by what a move takes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.lab.predict.in_time import in_time, joined, read_strength, table
from games.errors import InvalidInput
from tests.cluster.free_costs import FREE


def ran(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cluster.lab.predict.in_time", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


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
    found = ran(strength, more, "--costs", costs, "--out", tmp_path).stdout
    assert [line.split(" | ")[1:3] for line in found.splitlines()[-2:]] == [["16", "1,000"], ["64", "1,000"]]
    names = {"in_time.json", "in_time.csv", "in_time.png", "in_time.svg"}
    assert names <= {path.name for path in tmp_path.iterdir()}
    more.write_text(json.dumps(exact_strength() | {"game": "othello"}))
    with pytest.raises(InvalidInput, match=r"more\.json.*a file with the game 'connect_four'"):
        joined([strength, more])
    strength.write_text(json.dumps(exact_strength() | {"judge": "games"}))
    with pytest.raises(InvalidInput, match=r"strength\.json that banyan strength --judge exact"):
        read_strength(strength)
    more.write_text(json.dumps(exact_strength(strategy="subtree")))
    for path, words in ((strength, "banyan strength --judge exact"), (more, "lanes of subtree are threads")):
        refused = ran("--costs", costs, path)
        assert refused.returncode != 0
        assert words in refused.stderr and len(refused.stderr.splitlines()) == 1
