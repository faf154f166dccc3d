"""What `banyan benchmark --evaluator` measures, on a clock that the test turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import games
from cluster.lab.throughput.evaluations import benchmark_evaluators, different_positions
from search.evaluator import load_evaluator, source_of_evaluator
from tests.cluster.command import Here, on_terminal
from tests.cluster.lab.test_benchmark import Clock
from tests.search.test_async_evaluator import WAITING
from tests.search.test_evaluator import BODY, HASHED

SMALL = ("--seconds", "0.001", "--repeats", "2", "--no-progress")
COUNTING = """
import numpy as np
from search.evaluator import Evaluator

class Net(Evaluator):
    seen = []
    device = "abacus"

    def evaluate(self, states):
        self.seen.append(states.copy())
        return np.zeros(len(states)), np.zeros((len(states), self.game.max_moves))
"""


def measured(*evaluators: str, batches: tuple[int, ...] = (1, 100), **changes: Any) -> list[dict[str, Any]]:
    asked: dict[str, Any] = {"seconds": 0.5, "repeats": 3, "seed": 4, "clock": Clock()}
    benches = benchmark_evaluators(["tictactoe"], evaluators, batches=batches, **(asked | changes))
    return [row for bench in benches for row in bench.rows()]


def test_a_row_for_each_evaluator_and_batch() -> None:
    rows = measured(HASHED, WAITING)
    assert [(row["evaluator"], row["batch"]) for row in rows] == [
        (HASHED, 1),
        (HASHED, 100),
        (WAITING, 1),
        (WAITING, 100),
    ]
    for row in rows:
        # Two jobs in each half second of this clock.
        assert row["leaves_per_s"] == row["evaluations_per_s"] == 4.0 * row["batch"]
        ends = [4.0 * row["batch"]] * 2
        assert row["spread"] == {"leaves_per_s": ends, "evaluations_per_s": ends}
        assert (row["game"], row["device"], row["seed"], row["repeats"]) == ("tictactoe", "", 4, 3)
        assert row["measured_on"]


def test_repeats_are_interleaved() -> None:
    lines: list[str] = []
    measured(HASHED, WAITING, repeats=2, report=lines.append)
    said = [line.split(": ")[:2] for line in lines if "repeat" in line]
    assert said == [
        [f"tictactoe, {path}", f"repeat {repeat} of 2"] for repeat in (1, 2) for path in (HASHED, WAITING)
    ]


def test_the_evaluator_gets_whole_batches_of_different_unfinished_positions(tmp_path: Path) -> None:
    path = str(tmp_path / "net.py")
    Path(path).write_text(COUNTING)
    (each,) = measured(path, batches=(100,))
    assert each["device"] == "abacus"
    game = games.load("tictactoe")
    seen: list[Any] = load_evaluator(path, source_of_evaluator(path), game).seen  # type: ignore[attr-defined]
    assert {len(states) for states in seen} == {100}
    assert {len({state.tobytes() for state in states}) for states in seen} == {100}
    assert not any(game.calls.is_terminal(state) for states in seen for state in states)
    # More than one batch takes its turn.
    assert len({states.tobytes() for states in seen}) > 1


def test_positions_depend_on_the_seed_alone() -> None:
    game = games.load("connect_four")
    lines = different_positions(game, 300, 1)
    assert lines == different_positions(game, 300, 1) != different_positions(game, 300, 2)
    assert len(set(lines)) == 300
    # In random order: deep ones are among the first.
    assert 5 < np.mean([len(line) for line in lines[:50]]) < 20


def test_a_game_with_fewer_positions_is_measured_with_those(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(BODY.format("np.zeros(B), np.zeros((B, 1000))"))
    game = games.load("grundy:pile=5")
    lines = different_positions(game, 1000, 0)
    assert sorted(lines)[0] == ()
    assert len(lines) == 4
    asked: dict[str, Any] = {"batches": [3], "seconds": 0.5, "repeats": 1, "seed": 0}
    (bench,) = benchmark_evaluators(["grundy:pile=5"], [str(path)], **asked, clock=Clock())
    assert bench.batches[0].leaves.median == 12.0


def test_json_is_a_list_of_rows(here: Here) -> None:
    command = ("benchmark", "tictactoe", "--evaluator", f"{HASHED}:shift=2", "--batches", "1,8")
    rows = here.json(*command, *SMALL)
    assert [row["batch"] for row in rows] == [1, 8]
    for row in rows:
        low, high = row["spread"]["leaves_per_s"]
        assert 0 < low <= row["leaves_per_s"] <= high
        assert row["evaluations_per_s"] > 0


def test_a_table_fits_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(COUNTING)
    command = ("benchmark", "tictactoe", "--evaluator", str(tmp_path / "net.py"))
    status, out = on_terminal(80, *command, "--batches", "1,512", *SMALL)
    assert status == 0
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert "(abacus)" in out.replace("\n", "")
    assert [line.split()[0] for line in out.splitlines() if line.strip()[:1].isdigit()] == ["1", "512"]
    assert "highest of repeats (2, interleaved, 0.001 s each)" in out


def test_a_game_that_the_evaluator_does_not_know_is_refused(tmp_path: Path, here: Here) -> None:
    path = tmp_path / "net.py"
    path.write_text(BODY.format("np.zeros(B), np.zeros((B, 4))"))
    err = here.refusal("benchmark", "tictactoe", "--evaluator", str(path), *SMALL)
    assert "--evaluator" in err
    assert "policies with a number for move code" in err
