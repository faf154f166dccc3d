"""A search whose waiting lanes have Ray's autoscaler bring machines, which it takes back afterwards.

    python -m tests.autoscaler --machines 3

A real head with a real autoscaler, to which Ray's own node provider for tests gives raylets on this machine
where a cloud would give instances. A search begins on the one CPU of the head with more lanes than that;
jobs sleep for most of their time, so that four machines can be where there are two cores. The answer must
have the digest of the search in one process, every machine must have done jobs, and when the search is over
all must go back and leave no process. The report has the seconds from the beginning of the search.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cluster.executors import make_executor
from cluster.inline_executor import InlineExecutor
from cluster.processes import descendants, kill
from cluster.ray_executor import ray
from cluster.session import Session
from cluster.workers import Workers
from search import plan
from tests.cluster.joining import REQUESTS, SleepyWorker, run_on
from tests.cluster.prometheus import free_port
from tests.service_load import line_by_line
from tests.soak import comes_true

RAY = Path(sys.executable).with_name("ray")
HEAD = "f" * 51 + "00000"
"""The name by which the provider knows the head."""
IDLE_MINUTES = 0.1
"""After which the autoscaler takes a machine back."""
COME_S, GO_S, END_S = 60.0, 90.0, 10.0


@dataclass
class Seen:
    """What happened, in seconds since the search began."""

    machines_s: list[float] = field(default_factory=list)
    """When the second, third ... was there."""
    workers_s: list[float] = field(default_factory=list)
    """When one more worker had done a job."""
    search_s: float = 0.0
    jobs: list[int] = field(default_factory=list)
    """That each worker did."""
    gone_after_s: float = 0.0
    """The search: until all machines but the head had been taken back."""
    left: int = 0
    """Raylets beyond the head's, when the machines had been taken back."""
    digest: str = ""
    expected: str = ""

    def wrong(self, machines: int) -> list[str]:
        found = []
        if self.digest != self.expected:
            found.append(f"the digest is {self.digest}, not {self.expected}")
        if len(self.machines_s) != machines:
            found.append(f"{len(self.machines_s)} machines came, not {machines}")
        if len(self.jobs) != machines + 1 or not all(self.jobs):
            found.append(f"the workers did {self.jobs} jobs")
        if not self.gone_after_s:
            found.append(f"machines were still there after {GO_S:g} s")
        if self.left:
            found.append(f"{self.left} raylets are left")
        return found


class Watching:
    """An observer of the search that looks at its machines."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.began_s = time.monotonic()

    def __call__(self, session: Session) -> None:
        now_s = round(time.monotonic() - self.began_s, 2)
        seen = self.seen
        seen.machines_s += [now_s] * (machines() - 1 - len(seen.machines_s))
        seen.jobs = [worker.jobs_done for worker in session.executor.workers]
        seen.workers_s += [now_s] * (sum(map(bool, seen.jobs)) - len(seen.workers_s))


def machines() -> int:
    """Alive, with the head."""
    return sum(node["Alive"] for node in ray.nodes())


def config(address: str, most: int) -> dict[str, Any]:
    """Of the autoscaler."""
    machine = {"resources": {"CPU": 1, "object_store_memory": 100_000_000}, "node_config": {}}
    return {
        "cluster_name": "banyan-test",
        "max_workers": most,
        "idle_timeout_minutes": IDLE_MINUTES,
        "upscaling_speed": 100.0,
        "provider": {
            "type": "external",
            "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
            "gcs_address": address,
            "launch_multiple": True,
            "head_node_id": HEAD,
            "disable_node_updaters": True,
        },
        "auth": {},
        "head_node_type": "ray.head.default",
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0},
            "machine": machine | {"min_workers": 0, "max_workers": most},
        },
        **{f"{when}_commands": [] for when in ("initialization", "setup", "head_setup", "worker_setup")},
        "head_start_ray_commands": [],
        "worker_start_ray_commands": [],
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
    }


def start_head(folder: Path, port: int, most: int) -> subprocess.Popen[bytes]:
    """A head with an autoscaler that may bring so many machines."""
    path = folder / "autoscaling.json"
    path.write_text(json.dumps(config(f"127.0.0.1:{port}", most)))
    options = [f"--port={port}", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    options += ["--object-store-memory=100000000", "--disable-usage-stats", f"--autoscaling-config={path}"]
    options.append(f"--temp-dir={folder / 'ray'}")
    environment = os.environ | {
        "RAY_FAKE_CLUSTER": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_CLOUD_INSTANCE_ID": HEAD,
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD,
    }
    with (folder / "head").open("wb") as log:
        return subprocess.Popen(
            [RAY, "start", "--head", "--block", *options], env=environment, stdout=log, stderr=log
        )


def run(options: argparse.Namespace, folder: Path) -> Seen:
    seen, port = Seen(), free_port()
    # Cut into many small jobs.
    plan.JOB_S = 0.002
    request = REQUESTS[options.strategy]
    head = start_head(folder, port, options.machines)
    try:
        notes = folder / "notes"
        notes.touch()
        if not comes_true(lambda: b"Ray runtime started" in (folder / "head").read_bytes(), COME_S):
            sys.exit((folder / "head").read_text())
        executor = make_executor(
            "ray",
            Workers(1, options.machines + 1),
            f"127.0.0.1:{port}",
            make_worker=partial(SleepyWorker, notes),
        )
        try:
            watching = Watching(seen)
            seen.digest = run_on(executor, request, watching).digest
            seen.search_s = round(time.monotonic() - watching.began_s, 2)
            executor.drop()
            ended_s = time.monotonic()
        finally:
            executor.close()
        if alone(port):
            seen.gone_after_s = round(time.monotonic() - ended_s, 2)
        comes_true(lambda: len(of_cluster(port, b"/raylet/raylet")) == 1, END_S)
        seen.left = len(of_cluster(port, b"/raylet/raylet")) - 1
    finally:
        # What an autoscaler started may have no parent.
        kill({head.pid} | descendants(head.pid) | of_cluster(port, b"/ray/"))
        head.wait()
    seen.expected = run_on(InlineExecutor(), request).digest
    return seen


def alone(port: int) -> bool:
    """Wait until the head is, for which a driver joins that holds no worker."""
    ray.init(f"127.0.0.1:{port}", logging_level="error", log_to_driver=False)
    try:
        return comes_true(lambda: machines() == 1, GO_S)
    finally:
        ray.shutdown()


def of_cluster(port: int, word: bytes) -> set[int]:
    """Processes with such a word in their command that were started with its address, of any interface."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
            if word in command and f":{port}\0".encode() in command:
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="a search that has an autoscaler bring machines")
    parser.add_argument("--machines", type=int, default=3, help="that it may bring beside the head")
    parser.add_argument("--strategy", choices=sorted(REQUESTS), default="tree")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = run(options, Path(folder))
    wrong = seen.wrong(options.machines)
    print(line_by_line(asdict(seen) | {"wrong": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
