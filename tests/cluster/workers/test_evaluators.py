"""A network of one's own on the command line, and on Ray's workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cluster.runtime.session import Session
from cluster.runtime.workers import Resources
from cluster.workers.choose import make_executor
from games.errors import InvalidInput
from search.coordinator import Coordinator, SearchFailed
from search.prepare import open_search
from search.request import SearchRequest
from tests.cluster.command import ROOT, Here, banyan
from tests.cluster.searches import alone, compiled_only, search_on
from tests.cluster.workers.test_ray_executor import Once, Signalled
from tests.search.test_async_evaluator import WAITING, most_of
from tests.search.test_evaluator import BODY, HASHED
from tests.waiting import eventually

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

SEARCH = ("search", "gomoku:size=5", "--strategy", "leaf", "--lanes", "2", "--batch", "8", "--seed", "4")


def request_of(evaluator: str, simulations: int = 3000) -> SearchRequest:
    return SearchRequest(
        "gomoku:size=9",
        strategy="leaf",
        lanes=4,
        batch=16,
        simulations=simulations,
        evaluator=evaluator,
        seed=3,
    )


@compiled_only
@pytest.mark.parametrize("file", [HASHED, WAITING], ids=["function", "coroutine"])
def test_workers_without_the_file_give_the_digest_of_the_inline_search(
    file: str, tmp_path: Path, two_workers: RayExecutor
) -> None:
    path = tmp_path / "net.py"
    shutil.copy(file, path)
    request = request_of(str(path))
    search = open_search(request)
    expected = alone(request_of(HASHED)).digest
    path.unlink()
    for workers in (1, 2):
        two_workers.use(workers)
        two_workers.open(search.context)
        assert Session(Coordinator(search, workers), two_workers).run().digest == expected
        search = open_search(request, evaluator=search.context.evaluator_source)


BESIDE = """
from pathlib import Path
import numpy as np
from search.evaluator import Evaluator

class Net(Evaluator):
    def evaluate(self, states):
        value = float(Path(__file__).with_name("value.txt").read_text())
        return np.full(len(states), value), np.zeros((len(states), self.game.max_moves))
"""


@compiled_only
def test_workers_in_another_folder_find_what_lies_beside_the_file(
    tmp_path: Path, two_workers: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text(BESIDE)
    (tmp_path / "value.txt").write_text("0.25")
    monkeypatch.chdir(tmp_path)
    request = request_of("./net.py", simulations=100)
    two_workers.use(2)
    assert search_on(two_workers, request)[0].digest == alone(request).digest


def awaiting(simulations: int = 65, **options: object) -> SearchRequest:
    """A search that awaits one position a job, up to 32 at a time."""
    given = ",".join(f"{name}={each}" for name, each in ({"concurrency": 32} | options).items())
    return replace(request_of(f"{WAITING}:{given}", simulations), lanes=64, batch=1)


@cache
def awaited_digest(simulations: int) -> str:
    return alone(replace(awaiting(simulations), evaluator=HASHED)).digest


@compiled_only
def test_one_worker_awaits_many_jobs_at_once(two_workers: RayExecutor, tmp_path: Path) -> None:
    log = tmp_path / "log"
    two_workers.use(1)
    result, _ = search_on(two_workers, awaiting(wait_ms=100, log=log))
    assert result.digest == awaited_digest(65)
    assert most_of(log) == 32
    assert two_workers.workers[0].busy_s > 0


@compiled_only
@pytest.mark.parametrize(("workers", "concurrency"), [(1, 1), (2, 1), (2, 32), (2, 5)])
def test_workers_and_concurrency_change_no_digest_of_jobs_that_are_awaited(
    workers: int, concurrency: int, two_workers: RayExecutor
) -> None:
    two_workers.use(workers)
    request = awaiting(600, wait_ms=2, concurrency=concurrency)
    assert search_on(two_workers, request)[0].digest == awaited_digest(600)


@compiled_only
def test_jobs_that_a_killed_worker_awaits_are_run_again(two_workers: RayExecutor) -> None:
    two_workers.use(2)
    kill = Once(0.2, Signalled(signal.SIGKILL, 0))
    result, _ = search_on(two_workers, awaiting(600, wait_ms=20), kill)
    assert kill.done
    # How many it awaited when it was killed depends on how busy the machine is.
    assert 1 < result.jobs_retried <= 64
    assert result.digest == awaited_digest(600)


@compiled_only
def test_a_job_that_is_awaited_for_ever_is_run_again_after_the_others(tmp_path: Path) -> None:
    hang = tmp_path / "hang"
    hang.touch()
    executor = cast("RayExecutor", make_executor("ray", 1, job_timeout_s=2))
    try:
        result, _ = search_on(executor, awaiting(200, wait_ms=20, hang=hang))
    finally:
        executor.close()
    assert result.jobs_retried == 1
    assert result.digest == awaited_digest(200)


@compiled_only
def test_an_error_of_one_job_that_is_awaited_ends_the_search(two_workers: RayExecutor) -> None:
    two_workers.use(1)
    with pytest.raises(SearchFailed, match="RuntimeError: the server is down"):
        search_on(two_workers, awaiting(wait_ms=50, fail=30))
    assert search_on(two_workers, awaiting())[0].digest == awaited_digest(65)


@compiled_only
def test_what_a_cancelled_search_awaits_is_cancelled_in_its_worker(
    two_workers: RayExecutor, tmp_path: Path
) -> None:
    log, hang = tmp_path / "log", tmp_path / "hang"
    hang.touch()
    two_workers.use(1)

    def cancel(session: Session) -> None:
        if not hang.exists():
            session.cancel()

    result, _ = search_on(two_workers, awaiting(log=log, hang=hang), cancel)
    assert result.stopped_by == "cancelled"
    eventually(lambda: "cancelled" in log.read_text())
    assert search_on(two_workers, awaiting())[0].digest == awaited_digest(65)


@compiled_only
def test_an_evaluator_that_makes_no_sense_is_told_of_by_the_worker(
    tmp_path: Path, two_workers: RayExecutor
) -> None:
    path = tmp_path / "net.py"
    path.write_text(BODY.format("np.full(B, 7.0), np.zeros((B, 81))"))
    with pytest.raises(InvalidInput) as caught:
        two_workers.open(open_search(request_of(str(path))).context)
    assert (caught.value.field, caught.value.accepted) == ("evaluator", "values from -1 to 1, not 7")


def test_search_and_resume_take_an_evaluator(tmp_path: Path, here: Here) -> None:
    kept = tmp_path / "kept"
    inline = ("--executor", "inline", "--no-progress")
    asked = (
        *SEARCH,
        "--evaluator",
        f"{HASHED}:shift=2",
        "--simulations",
        "300",
        "--policy-temperature",
        "1.5",
    )
    found = here.json(*asked, "--checkpoint", str(kept), *inline)
    assert (found["simulations"], found["jobs"]) == (300, 39)
    assert 0 < found["playouts"] <= 300, "positions evaluated"
    assert here.json("resume", str(kept), *inline)["digest"] == found["digest"]


@compiled_only
def test_resources_that_no_machine_has_are_not_waited_for() -> None:
    status, out, err = banyan(*SEARCH, "--evaluator", HASHED, "--gpus-per-worker", "8")
    assert (status, out) == (2, "")
    assert "--gpus-per-worker: '8' is not accepted; expected at most" in " ".join(err.split())


def test_how_many_workers_fit() -> None:
    machines = [{"CPU": 8.0, "GPU": 1.0}, {"CPU": 2.0, "GPU": 4.0}, {"CPU": 64.0}]
    assert Resources().workers_in(machines) == 74
    assert Resources(gpus=1).workers_in(machines) == 3
    assert Resources(gpus=0.5).workers_in(machines) == 4
    assert Resources(cpus=4, gpus=1).workers_in(machines) == 1
    for asked, field in [
        (Resources(gpus=5), "gpus_per_worker"),
        (Resources(cpus=65), "cpus_per_worker"),
        (Resources(cpus=16, gpus=1), "cpus_per_worker"),
        (Resources(others={"tpu": 1}), "worker_resources"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            asked.workers_in(machines)
        assert caught.value.field == field
    assert Resources.of(2, 0.5, "tpu=1,host=0.1") == Resources(0.5, 2.0, {"tpu": 1.0, "host": 0.1})


@compiled_only
def test_workers_that_play_a_match_have_its_evaluator_from_whoever_started_them(tmp_path: Path) -> None:
    """Where they run, the path leads nowhere."""
    (tmp_path / "net.py").write_text(BESIDE)
    (tmp_path / "value.txt").write_text("0.25")
    path = os.path.relpath(tmp_path / "net.py", ROOT)
    players = (f"uct:evaluator={path},simulations=30,batch=4", "random")
    options = ("--games", "2", "--executor", "ray", "--workers", "1", "--json", "--no-progress")
    status, out, err = banyan("match", "tictactoe", *players, *options)
    assert (status, err) == (0, "")
    assert json.loads(out)["games"] == 2
