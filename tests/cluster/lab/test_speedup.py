"""`banyan speedup`: a real small run, its figures held against each other, and the files it writes."""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.commands.speedup import SpeedupOptions, _request, measured_counts
from cluster.lab.throughput.ceiling import Ceiling
from cluster.lab.throughput.losses import COORDINATOR, GCS, OTHERS, PARTS, WORKERS, Losses
from cluster.lab.throughput.speedup import (
    DigestsDifferError,
    MeasuredRun,
    OwnWorkers,
    Schedule,
    SpeedupRow,
    SpeedupRunner,
    amounts,
    measure_speedup,
    rounded,
    settings,
    warnings,
)
from cluster.lab.throughput.speedup_report import draw_file, metric_families, plot, tables, write_rows
from cluster.report.machine import provenance
from cluster.system.processes import descendants, num_cores
from cluster.system.terminal import in_minutes
from games.errors import InvalidInput
from search.coordinator import RoundCosts
from search.request import SearchRequest
from tests.cluster.command import ROOT, start
from tests.cluster.observe.test_metrics import documented
from tests.cluster.searches import compiled_only
from tests.waiting import PATIENCE_S, eventually

pytestmark = [
    compiled_only,
    pytest.mark.slow,
]

# Long enough for rates within a factor of two; by itself, leaf has short jobs here, which Ray carries slowly.
SIMULATIONS = 1_000_000
REQUEST = SearchRequest(game="tictactoe", lanes=16, simulations=SIMULATIONS, batch=64, seed=3, memory_mb=256)
STRATEGIES = ("root", "tree", "leaf")


@pytest.fixture(scope="module")
def rows() -> list[SpeedupRow]:
    seen: list[int] = []
    so_far: list[SpeedupRow] = []

    def report(line: str) -> None:
        if "of the ceiling" in line:
            seen.append(len(so_far))

    rows = measure_speedup(REQUEST, STRATEGIES, (1, 2), OwnWorkers(2), 2, report=report, so_far=so_far)
    assert seen == [1, 2, 3, 4, 5, 6] + [6] * 6
    return rows


def test_figures_follow_from_each_other(rows: list[SpeedupRow]) -> None:
    assert [(row.strategy, row.workers) for row in rows] == [(s, n) for s in STRATEGIES for n in (1, 2)]
    one = {row.strategy: row for row in rows if row.workers == 1}
    for row in rows:
        assert row.of_ceiling_spread is not None
        assert row.ceiling_simulations_per_s is not None
        assert row.spread[0] <= row.simulations_per_s <= row.spread[1]
        assert row.of_ceiling_spread[0] <= row.of_ceiling <= row.of_ceiling_spread[1]
        speedup = row.simulations_per_s / one[row.strategy].simulations_per_s
        assert row.speedup == pytest.approx(speedup, abs=1e-3)
        assert row.efficiency == pytest.approx(row.speedup / row.workers, abs=1e-3)
        assert (row.repeats, row.simulations) == (2, SIMULATIONS)
        # The same jobs without Ray, coordinator and merging cannot be slower than half as fast, on a machine
        # that does nothing else.
        assert row.ceiling_simulations_per_s > row.simulations_per_s / (2 if row.trusted else 10)
        # The number of workers does not change the digest.
        assert row.digest == one[row.strategy].digest
    assert len({row.digest for row in rows}) == 3


def test_the_time_of_all_cores_is_accounted_for(rows: list[SpeedupRow]) -> None:
    for row in rows:
        assert tuple(row.spent) == PARTS
        # Ticks of 10 ms are counted for each of some ten processes, and a run takes half a second here.
        assert sum(row.spent.values()) == pytest.approx(1.0, abs=0.25)
        assert row.spent[WORKERS] > row.spent[GCS]
        assert row.others is not None
        assert row.spent[OTHERS] <= row.others + 1e-4 <= 1.0001
        assert row.trusted == (not warnings([row]))


def test_a_line_warns_of_others_and_of_what_is_not_possible(rows: list[SpeedupRow]) -> None:
    calm = [replace(row, others=0.01, of_ceiling=1.02) for row in rows]
    assert warnings(calm) == []
    assert warnings([replace(row, others=None) for row in calm]) == []
    (line,) = warnings([*calm, replace(calm[0], others=0.314)])
    assert line == "other programs used 31% of the cores during these runs: figures are not to be trusted"
    (line,) = warnings([*calm, replace(calm[0], of_ceiling=1.47)])
    assert line.startswith("147% of the ceiling is more than is possible")


@pytest.mark.parametrize(("executor", "number"), [("threads", signal.SIGINT), ("ray", signal.SIGTERM)])
def test_metrics_are_served_until_a_signal(executor: str, number: int) -> None:
    small = ("--workers", "1", "--strategies", "root", "--simulations", "20000", "--repeats", "1")
    more = ("--executor", executor, "--metrics-port", "0", "--json")
    with start("speedup", "tictactoe", *small, *more) as process:
        assert process.stdout is not None and process.stderr is not None
        line = next(line for line in process.stderr if "until this is ended (Ctrl-C)" in line)
        ((row,), children) = json.loads(process.stdout.readline()), descendants(process.pid)
        with urllib.request.urlopen(line.split()[3], timeout=PATIENCE_S) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
    # Only what tracks shared memory is left of the workers, which ends by itself.
    assert len(children) <= 1
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), "a process is left")
    seen = {sample.name: sample for family in families for sample in family.samples}
    assert seen["banyan_simulations_total"].value == 20_000
    rows = {name: seen[name] for name in documented("speedup")}
    keys = ("simulations_per_s", "speedup", "efficiency", "ceiling_simulations_per_s")
    assert [sample.value for sample in rows.values()] == [row[key] for key in keys]
    labels = {"game": "tictactoe", "strategy": "root", "executor": executor, "workers": "1"}
    assert all(sample.labels == labels for sample in rows.values())


@pytest.mark.parametrize("game", ["./own.py:size=5", "/x/own.py", "own:size=9"])
def test_metrics_name_a_game_without_its_options_and_folder(rows: list[SpeedupRow], game: str) -> None:
    for family in metric_families([replace(rows[0], game=game)]):
        assert [sample.labels["game"] for sample in family.samples] == ["own"]


BURN = "import time\nwhile time.process_time() < 0.6: pass"


def test_what_a_process_of_ours_took_is_ours_when_it_has_ended() -> None:
    watch, since = Losses(), time.monotonic()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    shares = watch.shares()
    machine_s = (time.monotonic() - since) * (os.cpu_count() or 1)
    assert shares[COORDINATOR] * machine_s > 0.4


RAYLET = f"""
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    open("/proc/self/comm", "w").write("ray::BanyanWork")
    exec({BURN!r})
    print("idle", flush=True)
    sys.stdin.readline()
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("ended", flush=True)
    sys.stdin.readline()
"""


def test_what_a_worker_of_ray_took_is_ours_when_it_has_ended() -> None:
    """The raylet does not wait for its workers, so that the system forgets what they took."""
    watch, since = Losses(), time.monotonic()
    command = [sys.executable, "-c", RAYLET]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as raylet:
        assert raylet.stdout.readline() == "idle\n"
        watch.look()
        raylet.stdin.write("end\n")
        assert raylet.stdout.readline() == "ended\n"
        shares = watch.shares()
        machine_s = (time.monotonic() - since) * (os.cpu_count() or 1)
        raylet.stdin.write("end\n")
    assert shares[WORKERS] * machine_s > 0.4


def test_what_a_program_took_that_is_not_ours_is_others() -> None:
    watch, since = Losses(), time.monotonic()
    # Its parent ends at once, so that it is nobody's child here; its output ends with it.
    with subprocess.Popen(["sh", "-c", f"{sys.executable} -c '{BURN}' &"], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.read() == b""
    others = watch.others()
    machine_s = (time.monotonic() - since) * (os.cpu_count() or 1)
    assert others is not None
    assert others * machine_s > 0.4


def test_rows_are_written_as_json_csv_and_a_picture(rows: list[SpeedupRow], tmp_path: Path) -> None:
    paths = write_rows(rows, tmp_path / "new" / "folder")
    written = json.loads(paths[0].read_text())
    assert [row["digest"] for row in written] == [row.digest for row in rows]
    assert {field.name for field in fields(SpeedupRow)} | {"measured_on"} == set(written[0])
    with paths[1].open() as file:
        table = list(csv.DictReader(file))
    assert [line["digest"] for line in table] == [row.digest for row in rows]
    assert paths[2].read_bytes().startswith(b"\x89PNG")


MADE = [
    SpeedupRow("tictactoe", strategy, 16, n, 1000, n * rate, n, 1.0, 2e6 * n, 0.9, "ab", 2,
        (n * rate, n * rate), (1e6 * n, 3e6 * n), (0.8, 1.0), {}, None, True)
    for strategy, rate in (("root", 1e6), ("tree", 2e4))
    for n in (1, 2)
]  # fmt: skip


def drawn(rows: list[SpeedupRow], folder: Path) -> str:
    """The picture of rows. Letters are outlines, each text below a comment that holds its first line."""
    *_, path = write_rows(rows, folder, "svg")
    return path.read_text()


def test_a_picture_says_what_it_shows_and_what_it_was_measured_on(tmp_path: Path) -> None:
    found = drawn(MADE, tmp_path)
    for text in (
        "Speedup of tictactoe on 1 to 2 workers",
        "median and range of 2 runs",
        "efficiency, %",
        "simulations per second",
        "of the ceiling",
        provenance(),
    ):
        assert re.search(f"(<!--|description>)[^>]*{re.escape(text)}", found), text
    assert platform.node() not in provenance()
    assert version("banyan-mcts") in provenance()


def test_a_table_says_what_rounds_cost_and_what_more_cores_would_use() -> None:
    costs = RoundCosts(
        rounds=10, jobs_s=1.6, longest_s=0.11, merge_s=0.02, snapshot_s=0.01, plan_s=0.005, send_s=0.0
    )
    row = replace(MADE[-1], round_costs=costs, used={4: costs.efficiency(4, 16, True)})
    _, table = tables([MADE[0], row])
    (cells,) = zip(*(column.cells for column in table.columns), strict=True)
    assert list(map(str, cells)) == [
        *("tree", "2", "10", "10.00", "11.00", "2.00", "1.00", "0.50", "0.00"),
        f"{100 * 1.6 / 4 / (0.11 + 3 * 0.1 + 0.035):.0f} %",
    ]
    # Where no round was over nothing is known.
    assert len(tables(MADE)) == 1


def test_a_picture_says_what_is_in_doubt_and_how_often_it_ran(tmp_path: Path) -> None:
    once = [replace(row, repeats=1, others=0.314, of_ceiling=1.47) for row in MADE]
    found = drawn(once, tmp_path)
    assert "one run" in found
    for line in warnings(once):
        assert f"<!-- Warning: {line[:40]}" in found
    found = drawn([replace(row, repeats=2 + 5 * (row.workers > 1)) for row in MADE], tmp_path)
    assert "Warning" not in found
    assert "median and range of 2 to 7 runs" in found


def test_two_numbers_of_workers_are_bars_and_three_a_curve(tmp_path: Path) -> None:
    # Of one strategy the ceiling was not measured.
    none: Any = dict.fromkeys(("ceiling_simulations_per_s", "of_ceiling", "ceiling_spread", "spread"))
    path = tmp_path / "speedup.svg"
    rates, efficiencies = plot([*MADE[:2], *(replace(row, **none) for row in MADE[2:])], path).axes
    assert "on 2 workers, of the ceiling: root 90 %<" in re.sub(r"\s+", " ", path.read_text())
    assert sorted(bar.get_height() for bar in rates.patches) == [2e4, 4e4, 1e6, 2e6]
    assert [bar.get_height() for bar in efficiencies.patches] == [100] * 4
    rates, efficiencies = draw_file(ROOT / "cluster" / "lab" / "records" / "sixteen_cores.json", path).axes
    assert not rates.patches and rates.get_xscale() == rates.get_yscale() == "log"
    assert efficiencies.get_ylim()[0] == 0
    assert "Intel Xeon, 16 cores; 2026-11-26" in path.read_text()


@pytest.mark.parametrize(("strategy", "lanes"), [("tree", 16), ("tree", 1), ("root", 1)])
def test_a_ceiling_runs_all_that_it_is_asked_to_and_leaves_no_process(strategy: str, lanes: int) -> None:
    """Also where there are fewer jobs, or lanes, than processes."""
    request = replace(REQUEST, strategy=strategy, lanes=lanes, simulations=50_000)
    ceiling = Ceiling(request, 2)
    processes = list(ceiling.processes)
    assert ceiling.measure(1) > 0
    assert ceiling.measure(2) > 0
    ceiling.close()
    assert not any(process.is_alive() for process in processes)


def test_simulations_and_times_are_round_numbers() -> None:
    assert [rounded(each) for each in (0.01, 4.4e6, 12_345_678)] == [1, 4_400_000, 12_000_000]
    assert rounded(10, least=16) == 16
    said = [in_minutes(seconds) for seconds in (-3, 0.4, 42.4, 78, 118, 3725)]
    assert said == ["0 s", "0 s", "42 s", "1 min 20 s", "2 min", "62 min"]


@pytest.mark.parametrize(
    ("run_s", "expected_s", "repeats", "end_s", "left"),
    [
        # Each cell runs once however little time there is.
        ([64.0, 32.0, 16.0], [64.0, 32.0, 16.0], None, 20.0, ["1 min 50 s", "48 s", "16 s", "0 s"]),
        # A fixed number of runs has no end; the rest is estimated after the first run of each.
        ([4.0, 2.0], [math.nan, math.nan], 2, 0.0, ["", "", "6 s", "2 s", "0 s"]),
        # Each cell gets the same time, whatever was expected.
        ([9.0, 4.6], [2.0, 2.0], None, 36.0, ["36 s", "27 s", "22 s", "18 s", "9 s", "4 s", "0 s"]),
    ],
)
def test_cells_take_turns(
    run_s: list[float], expected_s: list[float], repeats: int | None, end_s: float, left: list[str]
) -> None:
    took: list[float] = []
    cells = [("root", 2**power) for power in range(len(run_s))]
    expected = dict(zip(cells, expected_s, strict=True))
    schedule = Schedule(expected, repeats, end_s, clock=lambda: sum(took))
    said = [schedule.left()]
    while (cell := schedule.next()) is not None:
        took.append(run_s[cells.index(cell)])
        schedule.took_s[cell].append(took[-1])
        said.append(schedule.left())
    assert [line.removeprefix("; ").removesuffix(" left") for line in said] == left


class Unequal(SpeedupRunner):
    """Each search has another digest."""

    def search(self, request: SearchRequest, workers: int) -> MeasuredRun:
        return MeasuredRun(1.0, f"{workers}", None)


def test_digests_that_differ_end_a_measurement() -> None:
    with pytest.raises(DigestsDifferError, match="root, 2 workers, run 1: digest 2 after 1"):
        measure_speedup(REQUEST, ("root",), (1, 2), Unequal(), 1)


def test_within_the_time_all_numbers_of_workers_have_the_same_simulations() -> None:
    lines: list[str] = []
    request = replace(REQUEST, simulations=None)
    rows = measure_speedup(
        request, ("root",), (2, 1), OwnWorkers(2, "threads"), seconds=1.0, report=lines.append
    )
    assert lines[0] == "root on 1 and 2 workers, in about 1 s; a search on all takes at least 2 s"
    assert len({row.simulations for row in rows}) == len({row.digest for row in rows}) == 1
    for row in rows:
        # The time of threads is not counted for the coordinator as well.
        assert row.executor == "threads" and row.spent[WORKERS] > row.spent[COORDINATOR]
    assert min(row.repeats for row in rows) >= 1
    assert all(line.endswith(" left") for line in lines[2:])
    assert f"{amounts(rows)}, {settings(rows)}".startswith(
        f"{rows[0].simulations:,} simulations, 16 lanes, searches of "
    )


def test_time_is_no_limit_of_what_is_fixed() -> None:
    fixed = SpeedupOptions(seconds=5.0, simulations=100, repeats=1)
    with pytest.raises(InvalidInput, match="seconds"):
        _request("tictactoe", fixed, ["root"], 2)
    assert measured_counts("auto", None)[-1] == num_cores()
    assert measured_counts("3,5", None) == [3, 5]
