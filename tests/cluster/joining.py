"""A search on a Ray cluster that a machine joins and another leaves: run by test_elasticity.py, prints JSON.

A process of its own, because Ray reads its settings once: the cluster here is not on loopback alone.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", "for-a-test")

import ray
from ray.cluster_utils import Cluster

from cluster.coordinator import Coordinator
from cluster.executors import make_executor
from cluster.processes import descendants, kill
from cluster.ray_executor import RayExecutor
from cluster.session import Session
from search.opening import open_search
from search.request import SearchRequest


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
    states: list[str] = field(default_factory=list)
    """Of the slots at the end."""
    pieces_again: int = 0


class Machines:
    """An observer that adds a machine when a share of the jobs is done, and takes it away later."""

    def __init__(self, address: str, seen: Seen) -> None:
        self.address = address
        self.seen = seen
        self.threads: list[threading.Thread] = []

    def __call__(self, session: Session) -> None:
        seen, workers = self.seen, session.executor.workers
        plan = session.search.plan
        assert plan is not None
        share = session.search.strategy.absorbed / plan.jobs
        if share > 0.05 and not self.threads:
            self._start(self._join)
        if not seen.asked_s and len(workers) > 1 and workers[1].state == "starting":
            seen.asked_s = time.monotonic()
        if not seen.ready_s and len(workers) > 1 and workers[1].alive:
            seen.ready_s = time.monotonic()
        if not seen.first_job_s and len(workers) > 1 and workers[1].jobs_done:
            seen.first_job_s = time.monotonic()
        if seen.first_job_s and share > 0.8 and len(self.threads) == 1:
            self._start(self._leave)

    def _start(self, act: Any) -> None:
        self.threads.append(threading.Thread(target=act))
        self.threads[-1].start()

    def _join(self) -> None:
        ray_command = Path(sys.executable).with_name("ray")
        command = [str(ray_command), "start", f"--address={self.address}", "--num-cpus=1", "--block"]
        options = ["--object-store-memory=100000000", "--disable-usage-stats"]
        before = descendants()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.machine = subprocess.Popen(command + options, **quiet)  # type: ignore[call-overload]
        while sum(node["Alive"] for node in ray.nodes()) < 2:
            time.sleep(0.01)
        self.seen.node_s = time.monotonic()
        self.processes = descendants() - before

    def _leave(self) -> None:
        # With a worker and its raylet, as if the power had failed.
        kill(self.processes | descendants(self.machine.pid))
        self.machine.wait()
        self.seen.left_s = time.monotonic()


def main() -> None:
    strategy, simulations = sys.argv[1], int(sys.argv[2])
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    seen = Seen()
    executor = cast(RayExecutor, make_executor("ray", None, cluster.address))
    logging.disable()
    try:
        search = open_search(
            SearchRequest(game="gomoku", strategy=strategy, simulations=simulations, seed=3, memory_mb=256)
        )
        executor.open(search.context)
        machines = Machines(cluster.address, seen)
        result = Session(Coordinator(search, executor.num_workers), executor).run((machines,))
        for thread in machines.threads:
            thread.join()
        seen.digest, seen.workers, seen.jobs_retried = result.digest, result.workers, result.jobs_retried
        seen.states = [worker.state for worker in executor.workers]
        print(json.dumps(asdict(seen)))
    finally:
        executor.close()
        cluster.shutdown()


if __name__ == "__main__":
    main()
