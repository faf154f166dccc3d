"""The command `banyan`, as people and programs call it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cluster.cli import app_of, explain, run
from cluster.commands.options import MANY
from cluster.system.interruption import INTERRUPTED
from search.options import GROUPS
from search.request import STRATEGIES
from tests.cluster.command import ROOT, SEARCHES, Here, banyan, interrupted, start
from tests.cluster.searches import compiled_only
from tests.waiting import PATIENCE_S

FIELDS = [
    *("game", "moves", "position", "to_move", "strategy", "lanes", "seed", "workers", "executor"),
    *("best_move", "value", "pv", "children"),
    *(
        "simulations",
        "playouts",
        "tree_nodes",
        "tree_full",
        "jobs",
        "jobs_retried",
        "resumed",
        "workers_lost",
        "recalled",
        "kept_visits",
    ),
    *("elapsed_s", "simulations_per_s", "stopped_by", "digest"),
]
"""Of `banyan search --json`, as programs rely on them."""
INLINE = ("--executor", "inline")
SMALL = (*INLINE, "--simulations", "300")
COMMANDS: dict[str, Any] = dict(get_command(app_of()).commands)  # type: ignore[attr-defined]


def search_json(here: Here, *arguments: str) -> Any:
    return here.json("search", *arguments, "--no-progress")


@pytest.mark.parametrize("reason", ["", ": Unable to allocate 163. GiB"])
def test_too_little_memory_is_one_line_that_names_the_option(reason: str) -> None:
    line = f"there is not enough memory{reason}; a smaller --memory may do"
    assert explain(MemoryError(reason[2:])) == (line, 1)


@pytest.mark.parametrize(
    "error", [RuntimeError("can't start new thread"), BlockingIOError(11, "unavailable")]
)
def test_a_limit_of_threads_and_processes_is_one_line_that_names_it(error: Exception) -> None:
    line, status = explain(error)
    assert status == 1 and "ulimit -u" in line and "bug" not in line


def test_wrong_input_ends_the_process_with_2_and_no_traceback() -> None:
    status, out, err = banyan("search", "gomoku", "--moves", "z99", "--json")
    assert (status, out) == (2, "")
    assert err.startswith("banyan: error: --moves: 'z99'")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [("search", "tictactoe", *SMALL), ("speedup", "tictactoe")])
def test_a_port_in_use_is_found_before_anything_starts(command: tuple[str, ...], here: Here) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        err = here.refusal(*command, "--metrics-port", str(port))
    assert f"--metrics-port: {port}" in err


def test_a_search_says_where_its_metrics_are(here: Here) -> None:
    status, _, err = here("search", "tictactoe", "--metrics-port", "0", *SMALL)
    assert status == 0
    assert re.search(r"^banyan: metrics at http://127\.0\.0\.1:\d+/metrics$", err, re.MULTILINE)


def test_json_is_one_object_with_the_fields_that_programs_rely_on() -> None:
    status, out, err = banyan("search", "tictactoe", "--moves", "b2 a1", *SMALL, "--json")
    assert status == 0, err
    assert out.count("\n") == 1
    answer = json.loads(out)
    assert list(answer) == FIELDS
    assert answer["game"] == "tictactoe"
    assert answer["moves"] == ["b2", "a1"]
    assert answer["simulations"] == 300
    assert answer["stopped_by"] == "simulations"
    assert answer["best_move"] == answer["pv"][0]
    visits = [child["visits"] for child in answer["children"]]
    assert visits == sorted(visits, reverse=True)
    assert 0 < sum(visits) <= 300
    assert re.fullmatch("[0-9a-f]{64}", answer["digest"])


@pytest.mark.parametrize("option", [("--simulations", "3e2"), ("--simulations=0.3k",)])
def test_a_count_may_be_written_in_short(option: tuple[str, ...], here: Here) -> None:
    assert search_json(here, "tictactoe", *INLINE, *option)["simulations"] == 300


def test_every_option_of_whole_numbers_is_read_alike() -> None:
    kinds = {
        (name, each): kind for name in COMMANDS for each, kind in COMMANDS[name].callback.numbers.items()
    }
    wholes = {each for each, kind in kinds.items() if kind is int}
    assert {("search", "simulations"), ("plan", "episodes"), ("match", "games"), ("serve", "port")} <= wholes
    assert kinds["search", "seconds"] is kinds["search", "exploration"] is float


def test_memory_alone_is_a_budget(here: Here) -> None:
    answer = search_json(here, "gomoku:size=9", *INLINE, "--memory", "1")
    assert answer["stopped_by"] == "memory"
    assert answer["tree_full"] is True


def test_memory_that_is_used_up_is_said(here: Here) -> None:
    command = ("search", "gomoku:size=9", *INLINE, "--memory", "1", "--simulations", "200000")
    status, out, err = here(*command, "--no-progress")
    assert status == 0
    assert "200,000 in" in out
    assert "the memory of 1 MB was full: the search continued without growing" in err


def test_people_see_the_board_and_the_best_move(here: Here) -> None:
    status, out, err = here(
        "search", "tictactoe", "--moves", "a1 a2 b1 b2", *SMALL, "--no-color", "--no-progress"
    )
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    # The best move, with its share of the visits, stands in brackets on the board.
    assert re.search(r"^1 +X +X +\[\d+\]", out, re.MULTILINE)
    assert re.search(r"^best move +c1", out, re.MULTILINE)
    for name in ("value", "line", "simulations", "rate", "ran on", "stopped by", "digest"):
        assert re.search(f"^{name}", out, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("games",), ("experiment",)])
def test_tables_are_whole_in_a_pipe_however_narrow_a_terminal_is_said_to_be(command: tuple[str, ...]) -> None:
    status, narrow, err = banyan(*command, COLUMNS="40")
    assert status == 0, err
    assert "\N{HORIZONTAL ELLIPSIS}" not in narrow
    assert narrow == banyan(*command, COLUMNS="400")[1]


def test_progress_goes_to_standard_error_alone() -> None:
    status, out, err = banyan("search", "gomoku:size=9", *INLINE, "--seconds", "3.3", "--json")
    assert status == 0
    assert json.loads(out)["stopped_by"] == "seconds"
    lines = [line for line in err.splitlines() if "simulations" in line]
    assert 1 <= len(lines) <= 3
    assert all(line.startswith("banyan: ") for line in lines)


@compiled_only
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((), "2 of 3 workers idle without lanes: --lanes 3 uses all"),
        (("--lanes", "2"), "1 of 3 workers idle without a lane: --lanes 3 uses all"),
        (("--strategy", "root", "--lanes", "2"), "1 of 3 workers idle without a lane: --lanes 3 uses all"),
        (("--lanes", "3"), None),
        (("--no-progress",), None),
    ],
)
def test_workers_that_a_search_cannot_use_are_told(
    here: Here, asked: tuple[str, ...], told: str | None
) -> None:
    threads = ("--executor", "threads", "--workers", "3")
    status, _, err = here("search", "tictactoe", "--simulations", "2000", *threads, *asked)
    assert status == 0
    assert [line for line in err.splitlines() if "idle" in line] == ([f"banyan: {told}"] if told else [])


@pytest.mark.parametrize(
    ("where", "number"),
    [
        (INLINE, signal.SIGINT),
        (INLINE, signal.SIGTERM),
        pytest.param(("--workers", "2"), signal.SIGINT, marks=compiled_only),
    ],
)
def test_an_interrupted_search_prints_its_best_answer(where: tuple[str, ...], number: signal.Signals) -> None:
    search = start("search", "gomoku:size=9", *where, "--seconds", "100", "--json")
    status, out, _ = interrupted(search, SEARCHES, number)
    assert status == INTERRUPTED
    answer = json.loads(out)
    assert (answer["stopped_by"], answer["executor"]) == (
        "cancelled",
        "inline" if where == INLINE else "threads",
    )
    assert answer["best_move"] and answer["simulations"] > 0


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_describes_every_option(command: str) -> None:
    assert COMMANDS[command].help
    for parameter in COMMANDS[command].params:
        assert parameter.help, parameter.name


def test_help_of_search_has_a_panel_for_each_group(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    out = here.text("search", "--help-all")
    titles = re.findall(r"^\N{BOX DRAWINGS LIGHT ARC DOWN AND RIGHT}\S (.+?) \S+$", out, re.MULTILINE)
    assert titles == ["Arguments", *GROUPS, "Where it runs", "Output"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_is_short_and_says_how_to_see_the_rest(
    command: str, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    short, full = (here(command, wanted)[1] for wanted in ("--help", "--help-all"))
    options = [each.opts[0] for each in COMMANDS[command].params if each.opts[0].startswith("-")]
    shown = [
        len(re.findall(rf"^.[ *]+({'|'.join(options)})\b", page, re.MULTILINE)) for page in (short, full)
    ]
    assert shown[1] == len(options)
    left = re.search(r"(\d+) more options: banyan \S+ --help-all", short)
    assert (left is None) == (short == full) == (len(COMMANDS[command].params) <= MANY)
    if left is not None:
        assert 5 <= shown[0] == len(options) - int(left[1]) <= 20
        assert len(short.splitlines()) < 65


def test_the_first_panel_of_search_is_what_most_people_need() -> None:
    first = {each.opts[0] for each in COMMANDS["search"].params if not getattr(each, "rich_help_panel", None)}
    assert first == {
        *("game", "--moves", "--position", "--simulations", "--seconds", "--memory"),
        *("--strategy", "--seed", "--workers"),
    }


def test_nothing_heavy_is_imported_for_help() -> None:
    code = (
        "import sys; from cluster.cli import run; run(['--help']);"
        "print([name for name in ('numba', 'numpy', 'ray', 'matplotlib') if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert out.stdout.splitlines()[-1] == "[]"


def test_a_search_whose_kernels_are_compiled_imports_neither_a_compiler_nor_a_cluster() -> None:
    code = (
        "import sys; from cluster.cli import run; run(['search', 'tictactoe', '--simulations', '300']);"
        "heavy = ('numba.cpython.unicode', 'ray', 'fastapi', 'matplotlib', 'cluster.commands.serve');"
        "print([name for name in heavy if name in sys.modules])"
    )
    for _ in range(2):  # The first one may compile.
        out = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
    assert out.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    with start("show", "gomoku") as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_a_reader_that_has_seen_enough_loses_no_file(tmp_path: Path) -> None:
    measured = ("speedup", "tictactoe", "--executor", "threads", "--workers", "1", "--simulations", "2000")
    with start(*measured, "--repeats", "1", "--strategies", "root", "--out", str(tmp_path)) as process:
        process.stdout.close()
        process.stderr.read()
    assert process.returncode == 0
    assert {each.name for each in tmp_path.iterdir()} == {"speedup.json", "speedup.csv", "speedup.png"}


def test_versions_are_one_line() -> None:
    status, out, err = banyan("--version")
    assert (status, err) == (0, "")
    assert re.fullmatch(
        r"banyan \d+\.\d+\.\d+ \(python [\d.]+, ray [\d.]+, numba [\d.]+, numpy [\d.]+\)\n", out
    )


def test_a_command_without_arguments_is_helped() -> None:
    status, out, err = banyan()
    assert (status, err) == (2, "")
    assert "Usage: banyan" in out


@compiled_only
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_that_kernels_are_compiled_is_told_once(strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    search = ("search", "tictactoe", "--strategy", strategy, "--simulations", "100", "--seed", "5")
    assert run(search) == 0
    capsys.readouterr()
    assert run(search) == 0
    assert "compiling" not in capsys.readouterr().err
