"""What a program gets from `import banyan`: searches, their progress and results, and what goes wrong."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import pydoc
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack, get_type_hints

import banyan
import pytest

import cluster
import search
from cluster.checkpoint.checkpoint import begun
from cluster.front_door.options import RequestOptions, SearchOptions, WorkerOptions
from cluster.front_door.running import RunningSearch
from cluster.runtime.tasks import Event, Executor, JobFailed, Task
from cluster.runtime.workers import Resources, Workers
from cluster.workers import placement
from cluster.workers.inline import InlineExecutor
from games.tictactoe import TicTacToe
from search.coordinator import SearchFailed
from tests.cluster.strangers import Stranger, clean_environment, installed
from tests.games import test_own_games
from tests.waiting import PATIENCE_S

MADE = "        super().__init__()\n"
NIM = "import banyan\n" + test_own_games.NIM.replace(
    MADE, MADE + '        self.options = {"stones": stones}\n'
)
PROGRAM = """
    game = Nim(7)
    print(banyan.search(game, simulations=120, lanes=4, executor="ray", workers=1).digest)
"""


def program(text: str, folder: Path, *arguments: str, **settings: str) -> tuple[int, str, str]:
    """A program in a folder of its own, in an environment with nothing of ours."""
    stranger = Stranger(folder, **settings)
    (folder / "program.py").write_text(text)
    return stranger.banyan("program.py", *arguments, command=(sys.executable,))


@pytest.mark.parametrize(
    "module",
    [
        "cluster.front_door.calls",
        "cluster.front_door.running",
        "cluster.play.call",
        "search.ask_tell.search",
        "search.run_inline",
    ],
)
def test_the_examples_are_right(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_every_door_gives_the_same_statistics(strategy: str) -> None:
    request = search.SearchRequest(
        "tictactoe", moves=("b2",), strategy=strategy, lanes=4, simulations=900, seed=3
    )
    asked: dict[str, Any] = {"strategy": strategy, "lanes": 4, "seed": 3}
    found = [
        search.run(request),
        cluster.run(request),
        banyan.search("tictactoe", moves="b2", simulations=900, executor="inline", **asked),
        banyan.start("tictactoe", moves=["b2"], simulations=900, **asked).result(),
    ]
    assert len({each.digest for each in found}) == 1
    assert {each.stopped_by for each in found} == {"simulations"}


@pytest.mark.parametrize("run", [search.run, cluster.run])
def test_a_request_that_nothing_ends_is_refused(run: Any) -> None:
    with pytest.raises(banyan.InvalidInput, match="budget: None is not accepted"):
        run(search.SearchRequest("tictactoe"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"lane": 3}, "unknown option 'lane'; did you mean 'lanes'?"),
        ({"worker": 3}, "unknown option 'worker'; did you mean 'workers'?"),
        ({"zzz": 3}, "unknown option 'zzz'; there are address, allow, avoid, batch, cpuct_base, "),
        ({"workers": 0}, "workers: 0 "),
        ({"workers": 2.5}, "workers: 2.5 "),
        ({"workers": 2, "executor": "inline"}, "workers: 2 is not accepted; expected 1: the inline executor"),
        ({"executor": "dask"}, "executor: 'dask' is not accepted; expected auto or ray or threads or inline"),
        ({"simulations": 1.5}, "simulations: 1.5 "),
        ({"simulations": 5, "seconds": 1.0}, "budget: "),
        ({"moves": "b2 b2"}, "moves: 'b2' "),
        ({"job_timeout": -1.0, "executor": "inline"}, "job_timeout: -1.0 is not accepted; expected none"),
    ],
)
@pytest.mark.parametrize("call", [banyan.search, banyan.start])
def test_what_is_wrong_is_said_before_the_call_returns(
    call: Any, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(banyan.InvalidInput) as caught:
        call("tictactoe", **arguments)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("call", [banyan.search, banyan.start, banyan.open, banyan.plan])
def test_options_of_a_call_are_all_fields_of_a_request_and_help_shows_them(call: Any) -> None:
    hints = get_type_hints(search.SearchRequest)
    options = get_type_hints(RequestOptions)
    named = {"game", "moves", "position", "simulations", "seconds", "seed"}
    assert options == {name: kind | None for name, kind in hints.items() if name not in named}
    assert get_type_hints(SearchOptions) == options | get_type_hints(WorkerOptions)
    accepted = RequestOptions if call is banyan.open else SearchOptions
    assert inspect.signature(call, eval_str=True).parameters["options"].annotation == Unpack[accepted]
    told = pydoc.plain(pydoc.render_doc(call))
    assert all(f"    {name}: " in told for name in set(options) - {"stop_when_full"})


def test_a_search_is_placed_as_its_keywords_say() -> None:
    options: dict[str, Any] = {"job_timeout": 90, "gpus_per_worker": 0.5, "worker_resources": "fast=1"}
    place = placement.Placement("2..8", "ray", "head:6379", **options)
    assert (place.range, place.address, place.job_timeout) == (Workers(2, 8), "head:6379", 90)
    assert place.resources == Resources(cpus=1.0, gpus=0.5, others={"fast": 1.0})


def test_by_the_clock_a_search_has_lanes_for_its_workers(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"seconds": 0.3, "executor": "threads"}
    assert [banyan.search("tictactoe", workers=n, **asked).lanes for n in (1, 3)] == [1, 6]
    assert banyan.search("tictactoe", workers=3, lanes=5, **asked).lanes == 5
    with banyan.start("tictactoe", workers=2, executor="threads", seconds=60.0) as running:
        next(iter(running))
        running.save(tmp_path / "saved")
    # They stay what they are, wherever the search goes on.
    resumed = banyan.resume(tmp_path / "saved", executor="inline")
    resumed.stop()
    assert resumed.result().lanes == 4


def test_progress_comes_until_the_search_is_over() -> None:
    with banyan.start("tictactoe", seconds=2.0) as running:
        seen = list(running)
    assert len(seen) >= 2
    assert [each.simulations for each in seen] == sorted(each.simulations for each in seen)
    # On a busy machine the first one comes before the first result.
    assert all(each.move and each.pv and each.children for each in seen if each.simulations)
    result = running.result()
    last = seen[-1]
    assert running.progress is last
    assert (last.simulations, last.children) == (result.simulations, result.children)
    assert last.share == 1.0
    assert f"{last.simulations:,} simulations" in str(last)
    assert list(running) == [last]


def test_a_search_without_a_budget_ends_when_the_block_does() -> None:
    with banyan.start("tictactoe") as running:
        assert not running.done()
        with pytest.raises(TimeoutError, match=r"not over after 0\.01 s"):
            running.result(timeout=0.01)
        next(each for each in running if each.simulations)
    assert running.done()
    result = running.result()
    assert (result.stopped_by, result.move is None) == ("cancelled", False)
    with pytest.raises(ZeroDivisionError), banyan.start("tictactoe") as running:
        1 / 0  # noqa: B018
    assert running.done()


def test_a_saved_search_goes_on_to_the_same_statistics(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"simulations": 60_000, "strategy": "root", "lanes": 4}
    with banyan.start("tictactoe", **asked) as running:
        running.save(tmp_path / "running")
    running.save(tmp_path / "stopped")
    whole = search.run(search.SearchRequest("tictactoe", **asked))
    for name in ("running", "stopped"):
        with banyan.resume(tmp_path / name, executor="inline") as resumed:
            resumed.result()
        assert resumed.result().digest == whole.digest
        resumed.save(tmp_path / name)
        assert banyan.resume(tmp_path / name).result().digest == whole.digest
    with pytest.raises(banyan.InvalidInput, match="checkpoint"):
        running.save(tmp_path / "missing" / "file")
    with pytest.raises(banyan.InvalidInput, match="file"):
        banyan.resume(tmp_path / "missing")


class Failing(InlineExecutor):
    """Its jobs fail."""

    closed = False

    def submit(self, jobs: Iterable[Task]) -> None:
        self._submitted = [job.index for job in jobs]

    def wait(self, timeout_s: float) -> list[Event]:
        return [JobFailed(index, "out of luck") for index in self._submitted]

    def close(self) -> None:
        self.closed = True


SMALL = search.SearchRequest("tictactoe", simulations=100)


def test_a_search_that_fails_raises_where_it_is_waited_for_and_closes_its_executor() -> None:
    executor = Failing()

    def start(_: threading.Event) -> Executor:
        return executor

    with pytest.raises(SearchFailed, match="out of luck"):
        RunningSearch(begun(SMALL), start).result()
    assert executor.closed


def test_an_executor_that_cannot_be_started_raises_at_once() -> None:
    def start(_: threading.Event) -> Executor:
        raise ConnectionError("no Ray here")

    with pytest.raises(ConnectionError, match="no Ray here"):
        RunningSearch(begun(SMALL), start)


def test_searches_run_in_threads_and_beside_an_event_loop() -> None:
    def one() -> str:
        return banyan.search("tictactoe", simulations=3000).digest

    async def beside() -> list[str]:
        running = banyan.start("tictactoe", simulations=3000)
        return [one(), (await asyncio.to_thread(running.result)).digest]

    with ThreadPoolExecutor(3) as pool:
        found = [future.result() for future in [pool.submit(one) for _ in range(3)]]
    assert len({*found, *asyncio.run(beside())}) == 1


def test_games_by_name_object_and_class() -> None:
    assert "gomoku" in banyan.games()
    games = ("tictactoe", banyan.load_game("tictactoe"), TicTacToe)
    assert len({banyan.search(game, simulations=200).digest for game in games}) == 1
    for wrong in (7, object, banyan.search):
        with pytest.raises(banyan.InvalidInput, match=r"a games\.Game, object or class"):
            banyan.search(wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_on_workers_a_program_searches_a_game_of_its_own(tmp_path: Path) -> None:
    status, out, err = program(NIM + 'if __name__ == "__main__":' + PROGRAM, tmp_path)
    assert status == 0, err
    spec = f"{tmp_path / 'program.py'}:stones=7"
    assert out.strip() == search.run(search.SearchRequest(spec, lanes=4, simulations=120)).digest


@pytest.mark.slow
def test_a_program_that_would_search_while_its_game_is_loaded_is_told_so(tmp_path: Path) -> None:
    status, _, err = program(NIM + "if True:" + PROGRAM, tmp_path)
    assert status == 1
    assert 'below `if __name__ == "__main__":` in' in err.splitlines()[-1]


def test_a_class_that_is_in_no_file_is_refused(stranger: Stranger) -> None:
    text = NIM + "banyan.search(Nim, simulations=10)\n"
    status, _, err = stranger.banyan("-c", text, command=(sys.executable,))
    assert status == 1
    assert "game: 'Nim' is not accepted; expected a class in a file NAME.py" in err


@pytest.mark.slow
def test_a_result_shows_its_board_as_text_and_in_a_notebook() -> None:
    result = banyan.search("gomoku:size=6", moves="c3 d4", simulations=500)
    assert f"best move    {result.move} for x" in str(result)
    assert f"[{max(1, round(100 * result.children[0].visits / 500))}]" in str(result).replace(" ", "")
    assert repr(result).startswith(f"<SearchResult {result.game}: {result.move} ")
    page = ElementTree.fromstring(result._repr_html_())
    circles = [each for each in page.iter() if each.tag.endswith("circle")]
    assert len(circles) == 2
    assert result.move in "".join(page.itertext())
    with banyan.start("morris", simulations=300) as running:
        running.result()
    shown = running._repr_html_()
    assert shown is not None
    assert len([each for each in ElementTree.fromstring(shown).iter() if each.tag.endswith("line")]) == 32
    # A result of a game that is not there any more has no board.
    gone = search.SearchResult(**{**vars(result), "game": "./gone.py"})
    assert gone.board() is None
    assert "best move" in str(gone)


def test_importing_banyan_imports_nothing_else(tmp_path: Path) -> None:
    text = "import sys, banyan\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    status, out, err = program(text, tmp_path)
    assert status == 0, err
    assert not {"numpy", "numba", "ray", "games", "search", "cluster", "rich", "typer"} & set(out.split())


def test_all_names_are_there_and_others_are_not() -> None:
    for name in banyan.__all__:
        assert getattr(banyan, name) is not None
    assert set(dir(banyan)) == set(banyan.__all__)
    for package in (banyan, cluster, search):
        with pytest.raises(AttributeError, match="has no attribute 'serch'"):
            package.serch  # noqa: B018


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_typed_program_is_checked_against_an_installed_copy(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is among the dev requirements")
    site = installed(tmp_path / "site")
    text = (
        "import banyan\n"
        'with banyan.start("gomoku", seconds=1.0) as running:\n'
        "    moves: list[str | None] = [progress.move for progress in running]\n"
        "result: banyan.SearchResult = running.result()\n"
        "visits: int = result.children[0].visits\n"
        "names: list[str] = banyan.games()\n"
        "wrong: int = banyan.search(3).move\n"
        "banyan.serch\n"
    )
    (tmp_path / "program.py").write_text(text)
    found = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", "--strict", "--no-error-summary", "program.py"],
        cwd=tmp_path,
        env=clean_environment(tmp_path / "home", PYTHONPATH=str(site)),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    lines = [line.partition(": error: ") for line in found.stdout.splitlines()]
    assert {(place, what.rpartition("[")[2]) for place, _, what in lines} == {
        ("program.py:7", "assignment]"),
        ("program.py:7", "arg-type]"),
        ("program.py:8", "attr-defined]"),
    }, found.stdout


@pytest.mark.slow
def test_ctrl_c_ends_a_search_and_raises(stranger: Stranger) -> None:
    text = (
        "import banyan, threading\n"
        "try:\n"
        '    with banyan.start("tictactoe") as running:\n'
        '        print("running", flush=True)\n'
        "        running.result()\n"
        "except KeyboardInterrupt:\n"
        '    print("interrupted", running.result().stopped_by, threading.active_count())\n'
    )
    with stranger.start("-c", text, command=(sys.executable,)) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert (out, process.returncode) == ("interrupted cancelled 1\n", 0)


def test_a_program_may_forget_its_search(tmp_path: Path) -> None:
    status, out, err = program('import banyan\nbanyan.start("tictactoe")\nprint("over")\n', tmp_path)
    assert (status, out, err) == (0, "over\n", "")


def test_a_long_way_to_ray_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "make_executor", lambda *_, **__: time.sleep(1.3))
    placement.Placement(address="far:6379").start_quietly(threading.Event())
    assert capsys.readouterr().err == "banyan: Ray at far:6379: connecting after 1 s\n"
    placement.Placement(executor="threads").start_quietly(threading.Event())
    assert capsys.readouterr().err == ""
