"""A search on a Ray cluster that a machine joins and another leaves: run by test_elasticity.py, prints JSON.

A process of its own, because Ray reads its settings once: the cluster here is not on loopback alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

os.environ["RAY_AUTH_MODE"] = "disabled"

from cluster.runtime.session import Session
from cluster.system.processes import descendants, kill
from cluster.workers.choose import make_executor
from cluster.workers.ray_executor import RayExecutor
from search import plan
from search.job import Context, GrowJob, Job, JobResult, LaneTree
from search.request import SearchRequest
from search.worker import Worker
from tests.cluster.searches import alone, search_on

JOB_S = 0.1
"""How long a job takes here, nearly all of it asleep: two machines are one, and a small one."""
REQUESTS = {
    "root": SearchRequest("gomoku", strategy="root", lanes=8, simulations=300_000, seed=3, memory_mb=256),
    "tree": SearchRequest("gomoku", strategy="tree", lanes=8, rounds=24, simulations=200_000, seed=3),
    "leaf": SearchRequest(
        "gomoku", strategy="leaf", lanes=8, simulations=300_000, batch=64, playouts_per_leaf=32, seed=3
    ),
}

# Workers look for nothing in the current folder.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])


class SleepyWorker(Worker):
    """Takes its time, and notes each lane that it has to grow again."""

    def __init__(self, notes: Path) -> None:
        super().__init__()
        self.notes = notes

    def take_over(self, context: Context, lane: int, tree: LaneTree) -> None:
        with self.notes.open("a") as notes:
            notes.write("with its tree\n")
        super().take_over(context, lane, tree)

    def run(self, context: Context, job: Job) -> JobResult:
        time.sleep(JOB_S)
        if isinstance(job, GrowJob) and len(job.sizes) > 1:
            lanes = self._runner.lanes if context.search_id == self._search_id else {}
            if job.lane not in lanes:
                with self.notes.open("a") as notes:
                    notes.write("again\n")
        result = super().run(context, job)
        return replace(result, duration_s=result.duration_s + JOB_S)


@dataclass
class Seen:
    """When things happened, in seconds since the machine was there."""

    node_s: float = 0.0
    asked_s: float = 0.0
    """A process for it was started."""
    ready_s: float = 0.0
    first_job_s: float = 0.0
    left_s: float = 0.0
    """The machine was gone."""
    digest: str = ""
    workers: int = 0
    jobs_retried: int = 0
    alive: list[bool] = field(default_factory=list)
    """Of the slots at the end."""
    lanes_moved: list[str] = field(default_factory=list)
    """With their trees, or to be grown again."""
    expected: str = ""
    """The digest of the search in one process."""


class Machines:
    """An observer that adds a machine when a share of the jobs is done, and takes it away later."""

    def __init__(self, address: str, executor: RayExecutor, seen: Seen) -> None:
        self.address = address
        self.executor = executor
        self.seen = seen
        self.machine: subprocess.Popen[bytes] | None = None

    def __call__(self, session: Session) -> None:
        seen, workers = self.seen, session.executor.workers
        jobs = session.search.plan
        share = session.search.strategy.absorbed / jobs.jobs
        if share > 0.02 and self.machine is None:
            # The search waits meanwhile, however long it takes.
            self.machine = self._join()
        if not seen.asked_s and len(workers) > 1 and workers[1].state == "starting":
            seen.asked_s = time.monotonic()
        if not seen.ready_s and len(workers) > 1 and workers[1].alive:
            seen.ready_s = time.monotonic()
        if not seen.first_job_s and len(workers) > 1 and workers[1].jobs_done:
            seen.first_job_s = time.monotonic()
        if self.machine is not None and not seen.first_job_s:
            # Beside other programs its worker may be long in starting, and the search be over before.
            time.sleep(3 * JOB_S)
        if seen.first_job_s and share > 0.6 and not seen.left_s and self.machine is not None:
            self._leave(self.machine)

    def _join(self) -> subprocess.Popen[bytes]:
        ray_command = Path(sys.executable).with_name("ray")
        command = [str(ray_command), "start", f"--address={self.address}", "--num-cpus=1", "--block"]
        options = ["--object-store-memory=100000000", "--disable-usage-stats"]
        before = descendants()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        machine = subprocess.Popen(command + options, **quiet)  # type: ignore[call-overload]
        while len(self.executor.latest("machines")) < 2:
            time.sleep(0.01)
        self.seen.node_s = time.monotonic()
        self.processes = descendants() - before
        return machine

    def _leave(self, machine: subprocess.Popen[bytes]) -> None:
        # With a worker and its raylet, as if the power had failed.
        kill(self.processes | descendants(machine.pid))
        machine.wait()
        self.seen.left_s = time.monotonic()


def main() -> None:
    from ray.cluster_utils import Cluster

    request = REQUESTS[sys.argv[1]]
    # Cut into many small jobs.
    plan.JOB_S = 0.002
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        # By the name that workers know.
        make_worker = partial(import_module("tests.cluster.joining").SleepyWorker, notes)
        executor = cast(RayExecutor, make_executor("ray", None, cluster.address, make_worker=make_worker))
        try:
            machines = Machines(cluster.address, executor, seen)
            result, _ = search_on(executor, request, machines)
            seen.alive = [worker.alive for worker in executor.workers]
        finally:
            executor.close()
            cluster.shutdown()
        seen.lanes_moved = notes.read_text().splitlines()
    seen.digest, seen.workers, seen.jobs_retried = result.digest, result.workers, result.jobs_retried
    seen.expected = alone(request).digest
    print(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
