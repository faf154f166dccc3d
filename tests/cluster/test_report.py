"""`banyan report`: its commands can be run, what was run is kept, and the page says what was found."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cluster.cli import app
from cluster.lab.scaling.page import write_page
from cluster.lab.scaling.part import SCALES, Part, Run, chosen, load
from cluster.lab.scaling.runner import RunFailed, run_missing
from cluster.lab.scaling.store import Store
from cluster.lab.scaling.tables import render
from games.errors import InvalidInput
from tests.cluster.command import here

STRENGTH = (
    "strength tictactoe --lanes 2 --total 64 --scores-only --pairs 2 --strategies tree --executor inline"
)
RUN = Run("small", "tictactoe", "strength", "Two lanes", STRENGTH, STRENGTH, (0.1, 0.1))
PART = Part("small", "A small part", "What it is.", "| others | 7 |", (RUN,))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("run", [run for part in load() for run in part.runs], ids=lambda run: run.title)
def test_each_command_of_the_report_is_one(run: Run, scale: str) -> None:
    words = run.command(scale)
    if run.is_script(scale):
        assert Path(__file__).parents[2].joinpath(*words[2].split(".")).with_suffix(".py").is_file()
        return
    command = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
    command.make_context(words[0], [*words[1:], "--out", "somewhere", "--no-color"])


def test_names_are_unique() -> None:
    assert len({part.name for part in load()}) == len(load())
    runs = [(run.part, run.name) for part in load() for run in part.runs]
    assert len(set(runs)) == len(runs)


def test_parts_are_chosen_by_name() -> None:
    assert chosen(["all"]) == list(load())
    assert [part.name for part in chosen([load()[1].name])] == [load()[1].name]
    with pytest.raises(
        InvalidInput, match="part: 'speed' is not accepted; expected all, or some of strength"
    ):
        chosen(["speed"])


def test_what_has_been_run_is_kept_and_shown(tmp_path: Path) -> None:
    store, lines = Store(tmp_path / "out", "quick"), list[str]()
    run_missing([PART], store, lines.append)
    assert len(lines) == 1
    note = store.note(RUN)
    assert note is not None
    assert note.elapsed_s > 0
    run_missing([PART], store, lines.append)
    assert len(lines) == 1
    page = tmp_path / "REPORT.md"
    write_page([PART], store, page, Path("plots"))
    text = page.read_text()
    assert f"    banyan {STRENGTH}" in text
    assert "| `tree` | 2 | 32 |" in text
    assert "| others | 7 |" in text
    assert note.machine in text
    (picture,) = (tmp_path / "plots").iterdir()
    assert f"(plots/{picture.name})" in text


def test_strength_by_exact_values_is_a_table(tmp_path: Path) -> None:
    command = (
        "strength tictactoe --judge exact --lanes 2 --simulations 20,40 --positions 20 --strategies tree"
    )
    run = Run("small", "exact", "exact", "Exact", f"{command} --executor inline", "", (0.1, 0.1))
    store, page = Store(tmp_path / "out", "quick"), tmp_path / "REPORT.md"
    part = replace(PART, runs=(run,))
    run_missing([part], store, print)
    write_page([part], store, page, Path("plots"))
    text = page.read_text()
    assert "`tictactoe`, 20 positions (seed 0); losses in thousandths" in text
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith(("| sequential", "| `tree`"))]
    assert [line[:3] for line in lines[-2:]] == [["| `tree`", "2", "20"], ["| `tree`", "2", "40"]]
    assert all(line[3].endswith(" %") and " ± " in line[4] for line in lines)
    assert [picture.name for picture in (tmp_path / "plots").iterdir()] == ["small-exact-strength.png"]


def test_another_command_is_run_again_and_one_that_fails_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path, "full")
    run_missing([PART], store, print)
    other = replace(RUN, full=f"{STRENGTH} --seed -1")
    assert store.note(other) is None
    with pytest.raises(RunFailed, match="small/tictactoe ended with status 2: strength tictactoe"):
        run_missing([replace(PART, runs=(other,))], store, print)
    assert store.note(RUN) is not None


def test_what_has_not_been_run_is_said(tmp_path: Path) -> None:
    page = tmp_path / "REPORT.md"
    write_page([PART], Store(tmp_path, "full"), page, Path("plots"))
    assert "Not measured." in page.read_text()


def test_speedups_and_predictions_are_tables() -> None:
    row: dict[str, Any] = {
        "game": "gomoku",
        "strategy": "root",
        "lanes": 16,
        "workers": 2,
        "simulations_per_s": 1.5e6,
        "speedup": 1.9,
        "efficiency": 0.95,
        "ceiling_simulations_per_s": 1.6e6,
        "of_ceiling": 0.94,
        "of_ceiling_spread": [0.93, 0.95],
        "repeats": 3,
        "coordinator_busy": 0.1,
        "spent": {"simulations": 0.951, "merging": 0.02},
    }
    assert "| `root` | 2 | 1.50 M/s | 1.90 | 95 % | 1.60 M/s | 94 % (93 to 95) |" in render("speedup", [row])
    check = {
        "strategy": "root",
        "workers": 2,
        "measured_per_s": 100.0,
        "spread": [90.0, 110.0],
        "predicted_per_s": 105.0,
    }
    lines = render("predict", {"predicted": [row], "measured": [check], "changes": []})
    assert "| `root` | 2 | 100/s | 90/s to 110/s | 105/s | +5.0 % |" in lines
    assert "| `root` | 16 | 2 | 1.50 M/s | 1.9 | 95 % | 10 % |" in lines
    assert "| strategy | simulations | merging |" in lines
    assert "| `root` | 95.1 | 2.0 |" in lines
    assert any("Simulated, not run" in line for line in lines)


def test_what_lies_beyond_what_was_played_is_said() -> None:
    row = {
        "strategy": "tree",
        "lanes": 2,
        "simulations_per_lane": 10,
        "strength_speedup": None,
        "strength_speedup_interval": None,
        "equal_lane_score": 1.0,
        "equal_total_score": 0.5,
        "equal_total_interval": [0.4, 0.6],
        "throughput_speedup_at_most": None,
    }
    known = row | {"strategy": "root", "strength_speedup": 1.5, "strength_speedup_interval": [1.25, None]}
    found = {
        "game": "gomoku",
        "seed": 0,
        "opening_plies": 2,
        "matches": [{"pairs": 3}, {"pairs": 4}],
        "rows": [row, known],
        "curve": [],
    }
    lines = render("strength", found)
    assert "3 to 4 pairs" in lines[0]
    assert "| `tree` | 2 | 10 | beyond what was played | 100 % | 50 % (40 to 60) |  |" in lines
    assert "| `root` | 2 | 10 | 1.5 (1.25 to ?) | 100 % | 50 % (40 to 60) |  |" in lines


def test_the_command_lists_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = here(capsys, "report", "--json", "--scale", "full", "--out", str(tmp_path))
    assert (status, err) == (0, "")
    rows = json.loads(out)
    assert {row["part"] for row in rows} == {part.name for part in load()}
    assert all(row["measured"] is None and shlex.split(row["command"]) for row in rows)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("nothing",), "PART: 'nothing'"),
        (("--scale", "huge"), "--scale: 'huge'"),
        (("--write", "page.html"), "--write: 'page.html'"),
        (("--pictures", "/plots"), "--pictures: '/plots'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: tuple[str, ...], field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = here(capsys, "report", *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"banyan: error: {field}")
    assert err.count("\n") == 1
