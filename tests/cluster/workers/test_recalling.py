"""A store of evaluations: what an evaluator has answered, no search asks again."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import cluster
from cluster.checkpoint.checkpoint import read_checkpoint
from cluster.observe.metrics import Metrics
from cluster.observe.progress import Sampler
from cluster.observe.view import line_of
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from cluster.workers.recalling import RecallingExecutor
from games.errors import InvalidInput
from search.ask_tell.store import EvaluationStore
from search.evaluator import load_evaluator
from search.request import SearchRequest
from search.result import SearchResult
from tests.cluster.command import Here, start
from tests.cluster.searches import alone, compiled_only, keep_after, search_on, session_of
from tests.cluster.workers.test_ray_executor import Once, Signalled
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

COUNTING = Path(__file__).parents[2] / "search" / "counting_evaluator.py"
ASYNC = ("    def evaluate(", "    async def evaluate(")


class Kept:
    """A folder with an evaluator, its log, and a store."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log, self.store = folder / "net.py", folder / "log", folder / "kept.sqlite"
        shutil.copy(COUNTING, self.file)
        self.log.touch()

    def request(self, game: str = "gomoku:size=5", **asked: Any) -> SearchRequest:
        options = asked.pop("options", "")
        given = {"strategy": "leaf", "lanes": 4, "simulations": 250, "batch": 3} | asked
        return SearchRequest(game, evaluator=f"{self.file}:log={self.log}{options}", **given)

    def run(self, request: SearchRequest, most: int = 1_000_000) -> SearchResult:
        executor = RecallingExecutor(InlineExecutor(), EvaluationStore(self.store, most))
        result, session = search_on(cast("Executor", executor), request)
        assert session.coordinator.counters.late_results == 0
        return result

    def asked(self) -> list[str]:
        """What the evaluator was asked for since the last call."""
        lines = self.log.read_text().splitlines()
        self.log.write_text("")
        return lines


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@pytest.mark.parametrize(
    ("game", "lanes", "batch", "kind"),
    [
        ("gomoku:size=5", 4, 3, "function"),
        ("gomoku:size=5", 32, 1, "coroutine"),
        ("morris:variant=three", 4, 3, "coroutine"),
        ("tictactoe", 1, 1, "function"),
    ],
)
def test_each_position_is_asked_for_once_and_by_a_second_search_none(
    kept: Kept, game: str, lanes: int, batch: int, kind: str
) -> None:
    if kind == "coroutine":
        kept.file.write_text(kept.file.read_text().replace(*ASYNC))
    request = kept.request(game, lanes=lanes, batch=batch)
    expected = alone(request)
    assert len(set(kept.asked())) < expected.playouts, "some are reached by several orders of moves"
    first = kept.run(request)
    asked = kept.asked()
    assert len(asked) == len(set(asked)) == first.playouts == expected.playouts - first.recalled
    second = kept.run(request)
    assert kept.asked() == []
    assert (second.playouts, second.recalled) == (0, expected.playouts)
    assert first.digest == second.digest == expected.digest
    longer = kept.run(replace(request, simulations=300))
    assert 0 < longer.playouts < first.playouts
    assert longer.digest == alone(replace(request, simulations=300)).digest


@pytest.mark.parametrize(
    "changed",
    [
        {"options": ",shift=1"},
        {"policy_temperature": 2.0},
        {"evaluator_version": "2"},
        {"game": "gomoku:size=5,candidates=1"},
        "text",
        "weights",
    ],
)
def test_another_evaluator_or_game_is_asked_anew(kept: Kept, tmp_path: Path, changed: Any) -> None:
    (tmp_path / "weights").write_text("1")
    weights = f",weights={tmp_path / 'weights'}"
    kept.run(kept.request(options=weights))
    number = len(kept.asked())
    if changed == "text":
        kept.file.write_text(kept.file.read_text() + "# changed\n")
    if changed == "weights":
        (tmp_path / "weights").write_text("2")
        load_evaluator.cache_clear()
    more: dict[str, Any] = {"options": ""} | (changed if isinstance(changed, dict) else {})
    more["options"] += weights
    assert kept.run(kept.request(**more)).recalled < number / 2
    assert kept.asked()
    kept.run(kept.request(**more))
    assert kept.asked() == []


def test_an_evaluator_that_was_moved_is_the_same(kept: Kept, tmp_path: Path) -> None:
    request = kept.request()
    kept.run(request)
    (tmp_path / "elsewhere").mkdir()
    moved = kept.file.rename(tmp_path / "elsewhere" / "net.py")
    assert kept.run(replace(request, evaluator=f"{moved}:log={kept.log}")).playouts == 0


def test_a_search_that_was_killed_goes_on_where_it_was_and_asks_for_what_is_missing(
    kept: Kept, here: Here
) -> None:
    request = kept.request(options=",wait_ms=5")
    arguments = [
        *("search", request.game, "--strategy", "leaf", "--lanes", "4", "--simulations", "250"),
        *("--batch", "3", "--evaluator", str(request.evaluator), "--executor", "inline"),
        *("--evaluations", str(kept.store), "--json", "--no-progress"),
    ]
    expected = alone(kept.request()).digest
    kept.asked()
    with start(*arguments) as process:
        eventually(lambda: len(kept.log.read_text().splitlines()) > 50, "nothing is asked for")
        process.send_signal(signal.SIGKILL)
    before = kept.asked()
    found = here.json(*arguments)
    after = kept.asked()
    assert found["digest"] == expected
    # Those of the job that was being evaluated.
    assert len(set(before) & set(after)) <= 3
    assert found["recalled"] > 40
    assert here.json(*arguments)["playouts"] == 0
    assert kept.asked() == []
    [row] = here.json("evaluations", str(kept.store))
    assert (row["game"], row["answers"]) == (alone(kept.request()).game, len(set(before) | set(after)))
    assert f"{row['answers']} answers" in here.text("evaluations", str(kept.store))


def test_a_resumed_search_asks_for_nothing_that_was_answered(kept: Kept, tmp_path: Path) -> None:
    def executor() -> Any:
        return RecallingExecutor(InlineExecutor(), EvaluationStore(kept.store))

    request = kept.request()
    expected = alone(request).digest
    kept.asked()
    keep_after(tmp_path / "checkpoint", request, 20, executor())
    before = kept.asked()
    session = session_of(read_checkpoint(tmp_path / "checkpoint").open(), executor())
    assert session.run().digest == expected
    assert not set(before) & set(kept.asked())


def test_processes_use_one_file_at_once(kept: Kept) -> None:
    request = kept.request(options=",wait_ms=1")
    expected = alone(kept.request()).digest
    code = (
        "import sys, cluster; from search.request import SearchRequest\n"
        "request = SearchRequest('gomoku:size=5', strategy='leaf', lanes=4, simulations=250, batch=3,"
        " evaluator=sys.argv[1])\n"
        "print(cluster.run(request, executor='inline', evaluations=sys.argv[2]).digest)"
    )
    command = [sys.executable, "-c", code, str(request.evaluator), str(kept.store)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=PATIENCE_S)[0].strip() for process in running]
    assert said == [expected] * 4
    kept.asked()
    assert cluster.run(request, executor="inline", evaluations=str(kept.store)).playouts == 0
    assert kept.asked() == []


def test_the_oldest_answers_go_first(kept: Kept) -> None:
    request = kept.request()
    assert kept.run(request, most=30).digest == alone(request).digest
    with closing(sqlite3.connect(kept.store)) as store:
        numbers = [number for (number,) in store.execute("SELECT number FROM answer ORDER BY number")]
    assert len(numbers) == 30
    assert numbers == list(range(numbers[-1] - 29, numbers[-1] + 1))


@pytest.mark.parametrize("harm", ["DROP TABLE answer", "UPDATE answer SET priors = x'00'"])
def test_a_file_that_others_spoil_ends_no_search(
    kept: Kept, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    request = kept.request()
    kept.run(request)
    store = EvaluationStore(kept.store)
    with closing(sqlite3.connect(kept.store)) as other, other:
        other.execute(harm)
    caplog.set_level(logging.WARNING)
    executor = cast("Executor", RecallingExecutor(InlineExecutor(), store))
    assert search_on(executor, request)[0].digest == alone(request).digest
    assert len(caplog.records) == ("DROP" in harm), "it is told once"


def spoilt(path: Path, what: str) -> Path:
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("value,policy\n")
    elif what == "no folder":
        path = path / "kept"
    else:
        with closing(sqlite3.connect(path)) as database, database:
            if what == "another version":
                EvaluationStore(path)
                database.execute("PRAGMA user_version = 99")
            else:
                database.execute("CREATE TABLE search (id)")
    return path


@pytest.mark.parametrize("what", ["folder", "text", "no folder", "another version", "another database"])
def test_what_is_no_store_is_refused_and_left_as_it_is(kept: Kept, here: Here, what: str) -> None:
    path = spoilt(kept.store, what)
    before = path.read_bytes() if path.is_file() else None
    evaluator = ("--strategy", "leaf", "--evaluator", str(COUNTING), "--executor", "inline")
    err = here.refusal("search", "tictactoe", *evaluator, "--evaluations", str(path))
    assert f"--evaluations: '{path}' is not accepted; expected a store of evaluations" in err
    assert before is None or path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_cannot_be_written_is_refused(kept: Kept) -> None:
    EvaluationStore(kept.store).close()
    kept.store.chmod(0o400)
    with pytest.raises(InvalidInput, match="evaluations"):
        EvaluationStore(kept.store)


def test_without_an_evaluator_it_is_refused(kept: Kept) -> None:
    with pytest.raises(InvalidInput) as caught:
        cluster.run(SearchRequest("tictactoe", simulations=9), evaluations=str(kept.store))
    assert (caught.value.field, caught.value.accepted) == ("evaluations", "nothing without an evaluator")


def test_progress_says_what_was_not_evaluated(kept: Kept) -> None:
    executor = RecallingExecutor(InlineExecutor(), EvaluationStore(kept.store))
    result, session = search_on(cast("Executor", executor), kept.request())
    metrics = Metrics()
    metrics.watch(session)
    assert f"banyan_recalled_evaluations_total {result.recalled}.0" in metrics.exposition()[0].decode()
    share = 100 * result.recalled / (result.recalled + result.playouts)
    said = f"{result.recalled} evaluations ({share:.0f} %)"
    assert f", recalled {said}, " in line_of(Sampler().sample(session))
    assert ("recalled", said) in result.facts()


@pytest.mark.slow
@compiled_only
def test_workers_that_are_killed_change_no_digest(kept: Kept, two_workers: RayExecutor) -> None:
    request = kept.request(options=",wait_ms=10", lanes=8, batch=2)
    two_workers.use(2)
    executor = RecallingExecutor(two_workers, EvaluationStore(kept.store))
    kill = Once(0.3, Signalled(signal.SIGKILL, 0))
    result, _ = search_on(cast("Executor", executor), request, kill)
    assert kill.done
    assert result.digest == alone(kept.request(lanes=8, batch=2)).digest
    kept.asked()
    again = RecallingExecutor(two_workers, EvaluationStore(kept.store))
    assert search_on(cast("Executor", again), request)[0].digest == result.digest
    assert kept.asked() == []
