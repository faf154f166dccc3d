"""A search whose waiting lanes have Ray's autoscaler bring machines, which it takes back afterwards.

    python -m tests.faults.autoscaler --machines 3

A real head with a real autoscaler, to which Ray's own node provider for tests gives raylets on this machine
where a cloud would give instances. A search begins on the one CPU of the head with more lanes than that;
jobs sleep for most of their time, so that four machines can be where there are two cores. The answer must
have the digest of the search in one process, every machine must have done jobs, and when the search is over
all must go back and leave no process. Times are in seconds from the beginning of the search.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ray

from cluster.runtime.session import Session
from cluster.runtime.workers import Workers
from cluster.system.processes import kill
from cluster.workers.choose import make_executor
from search import plan
from tests.cluster.joining import REQUESTS, SleepyWorker
from tests.cluster.processes import command_of
from tests.cluster.prometheus import free_port
from tests.cluster.searches import alone, search_on
from tests.faults.harness import (
    RAY,
    Campaign,
    main,
    new_parser,
    print_fields,
)
from tests.waiting import comes_true

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

HEAD = "f" * 51 + "00000"
"""The name by which the provider knows the head."""
IDLE_MINUTES = 0.1
"""After which the autoscaler takes a machine back."""
COME_S, GO_S, END_S = 60.0, 90.0, 10.0
"""The most that may pass until the head is up, all machines are taken back, and their processes ended."""


@dataclass
class Seen:
    """What happened, in seconds since the search began."""

    machines_s: list[float] = field(default_factory=list)
    """When the second machine was there, the third, and so on."""
    workers_s: list[float] = field(default_factory=list)
    """When one more worker had done a job."""
    search_s: float = 0.0
    jobs: list[int] = field(default_factory=list)
    """The jobs of each worker."""
    gone_after_s: float = 0.0
    """From the end of the search until all machines but the head had been taken back."""
    left: int = 0
    """Raylets beyond the head's, when the machines had been taken back."""
    digest: str = ""
    expected: str = ""

    def judge(self, campaign: Campaign, machines: int) -> None:
        """Complain of whatever is wrong with a search for which so many machines could come."""
        campaign.expect(self.digest == self.expected, f"the digest is {self.digest}, not {self.expected}")
        come = len(self.machines_s)
        campaign.expect(come == machines, f"{come} machines came, not {machines}")
        worked = len(self.jobs) == machines + 1 and all(self.jobs)
        campaign.expect(worked, f"the workers did {self.jobs} jobs")
        campaign.expect(self.gone_after_s > 0, f"machines were still there after {GO_S:g} s")
        campaign.expect(not self.left, f"{self.left} raylets are left")


class Watching:
    """An observer of the search that looks at its machines."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.began_s = time.monotonic()

    def __call__(self, session: Session) -> None:
        now_s = round(time.monotonic() - self.began_s, 2)
        seen, executor = self.seen, cast("RayExecutor", session.executor)
        seen.machines_s += [now_s] * (len(executor.latest("machines")) - 1 - len(seen.machines_s))
        seen.jobs = [worker.jobs_done for worker in session.executor.workers]
        seen.workers_s += [now_s] * (sum(map(bool, seen.jobs)) - len(seen.workers_s))


def config(address: str, most: int) -> dict[str, Any]:
    """The settings of the autoscaler."""
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


def start_head(campaign: Campaign, port: int, most: int) -> subprocess.Popen[bytes]:
    """A head with an autoscaler that may bring so many machines."""
    path = campaign.folder / "autoscaling.json"
    path.write_text(json.dumps(config(f"127.0.0.1:{port}", most)))
    options = [f"--port={port}", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    options += ["--object-store-memory=100000000", "--disable-usage-stats", f"--autoscaling-config={path}"]
    options.append(f"--temp-dir={campaign.folder / 'ray'}")
    environment = {
        "RAY_AUTH_MODE": "disabled",
        "RAY_FAKE_CLUSTER": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_CLOUD_INSTANCE_ID": HEAD,
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD,
    }
    # What an autoscaler starts may have no parent.
    campaign.callback(lambda: kill(of_cluster(port, b"/ray/")))
    return campaign.start(*RAY, "start", "--head", "--block", *options, log="head", **environment)


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """One search, from the start of the head until all machines have gone back."""
    seen, port, log = Seen(), free_port(), campaign.folder / "head"
    # Many small jobs.
    plan.JOB_S = 0.002
    request = REQUESTS[options.strategy]
    start_head(campaign, port, options.machines)
    (campaign.folder / "notes").touch()
    if not comes_true(lambda: b"Ray runtime started" in log.read_bytes(), COME_S):
        campaign.complain(f"the head did not start: {log.read_text()}")
        return
    executor = make_executor(
        "ray",
        Workers(1, options.machines + 1),
        f"127.0.0.1:{port}",
        make_worker=partial(SleepyWorker, campaign.folder / "notes"),
    )
    try:
        watching = Watching(seen)
        seen.digest = search_on(executor, request, watching)[0].digest
        seen.search_s = round(time.monotonic() - watching.began_s, 2)
        executor.drop()
        ended_s = time.monotonic()
    finally:
        executor.close()
    if head_alone(port):
        seen.gone_after_s = round(time.monotonic() - ended_s, 2)
    comes_true(lambda: len(of_cluster(port, b"/raylet/raylet")) == 1, END_S)
    seen.left = len(of_cluster(port, b"/raylet/raylet")) - 1
    seen.expected = alone(request).digest
    print_fields(asdict(seen))
    seen.judge(campaign, options.machines)


def head_alone(port: int) -> bool:
    """Wait until the head is the only machine; a driver that holds no worker joins to see."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray.init(f"127.0.0.1:{port}", logging_level="error", log_to_driver=False)
    try:
        return comes_true(lambda: sum(node["Alive"] for node in ray.nodes()) == 1, GO_S)
    finally:
        ray.shutdown()


def of_cluster(port: int, word: bytes) -> set[int]:
    """Processes with a word in their command that were started with the cluster's address."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    commands = {pid: command_of(pid) for pid in pids}
    return {pid for pid, command in commands.items() if word in command and f":{port}\0".encode() in command}


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--machines", type=int, default=3, help="that it may bring beside the head")
    parser.add_argument("--strategy", choices=sorted(REQUESTS), default="tree")
    sys.exit(main(prove, parser))
