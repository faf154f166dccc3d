"""Several hosts on one machine: searches across them while links are cut and hosts lost.

    python -m tests.hosts                  # as root

Each host is a network namespace with an address, a link to a common switch, a Ray folder and a worker. Jobs
sleep for most of their time, so that three hosts can be where there are two cores. For each strategy a calm
search says how long it takes; then the same search goes on while a link is cut and mended, while a host is
cut off for so long that the cluster gives it up, and while its Ray is killed and started again. Each answer
must have the digest of the search in one process. The report says what every mishap cost.

Without the right to make network namespaces it says so and ends with status 0.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cluster.executors import make_executor
from cluster.inline_executor import InlineExecutor
from cluster.processes import descendants, kill
from cluster.ray_address import check_address
from cluster.session import Session
from cluster.workers import AUTO
from games.errors import InvalidInput
from search import plan
from search.request import SearchRequest
from search.result import SearchResult
from tests.cluster.joining import REQUESTS, SleepyWorker, run_on

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

RAY_FOLDER = Path("/tmp/ray")
HOSTS = (1, 2, 3)
ADDRESS = "10.77.0.1:6379"
JOB_TIMEOUT_S = 4.0
SHORT_CUT_S, LONG_CUT_S = 3.0, 10.0
HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""A host that does not answer is given up after some 4 s: between the two cuts."""


class Network:
    """Namespaces with a link each to a switch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.switch = f"{name}-switch"

    def host(self, number: int) -> str:
        return f"{self.name}-{number}"

    def build(self) -> None:
        """Make it; raises CalledProcessError or OSError where that is not allowed."""
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for number in HOSTS:
            host, port = self.host(number), f"v{number}"
            ip("netns", "add", host)
            ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", self.switch, "link", "set", port, "master", "bridge", "up")
            ip("-n", host, "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "link", "set", "eth0", "up")
            # Ray asks which address a way into the world would begin with.
            ip("-n", host, "route", "add", "default", "dev", "eth0")

    def set_link(self, number: int, state: str) -> None:
        ip("-n", self.switch, "link", "set", f"v{number}", state)

    def remove(self) -> None:
        """End whatever runs in it, and take it away."""
        for name in (*map(self.host, HOSTS), self.switch):
            listed = subprocess.run(
                ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
            )
            kill({int(pid) for pid in listed.stdout.split()})
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def on_host(network: Network, folder: Path, number: int, *command: str) -> list[str]:
    """A command as it runs on a host: with its network, and its own folder for Ray."""
    own = folder / str(number)
    own.mkdir(exist_ok=True)
    RAY_FOLDER.mkdir(exist_ok=True)
    script = f'mount --bind "$0" {RAY_FOLDER} && exec "$@"'
    within = ["unshare", "--mount", "sh", "-c", script, str(own), *command]
    return ["ip", "netns", "exec", network.host(number), *within]


class Rays:
    """A Ray on each host, the head on the first."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network = network
        self.folder = folder
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, number: int) -> None:
        place = (
            ["--head", "--port=6379", "--include-dashboard=false"]
            if number == 1
            else [f"--address={ADDRESS}"]
        )
        command = [
            str(Path(sys.executable).with_name("ray")),
            "start",
            *place,
            f"--node-ip-address=10.77.0.{number}",
        ]
        options = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]
        with (self.folder / f"{number}.log").open("ab") as log:
            self.running[number] = subprocess.Popen(
                on_host(self.network, self.folder, number, *command, *options), stdout=log, stderr=log
            )

    def kill(self, number: int) -> None:
        """As when the power fails."""
        process = self.running.pop(number)
        kill(descendants(process.pid) | {process.pid})
        process.wait()


class Act:
    """An observer that does things when shares of the jobs are done; then they go by the clock."""

    def __init__(self, share: float, *steps: tuple[float, Callable[[], None]]) -> None:
        """``steps``: so many seconds after the step before, or after the share for the first."""
        self.share = share
        self.steps = list(steps)
        self.due_s: float | None = None

    def __call__(self, session: Session) -> None:
        jobs = session.search.plan
        assert jobs is not None
        if self.due_s is None:
            if session.search.strategy.absorbed < self.share * jobs.jobs:
                return
            self.due_s = session.elapsed_s + self.steps[0][0]
        while self.steps and session.elapsed_s >= self.due_s:
            self.steps.pop(0)[1]()
            if self.steps:
                self.due_s += self.steps[0][0]


class Workforce:
    """An observer that notes when workers come and go."""

    def __init__(self) -> None:
        self.alive: list[bool] = []
        self.said: list[str] = []

    def __call__(self, session: Session) -> None:
        alive = [worker.alive for worker in session.executor.workers]
        before = self.alive + [False] * (len(alive) - len(self.alive))
        for slot, (was, is_now) in enumerate(zip(before, alive, strict=True)):
            if self.alive and was != is_now:
                self.said.append(f"{session.elapsed_s:.1f} s slot {slot} {'came' if is_now else 'went'}")
        self.alive = alive


def prove(rays: Rays, strategies: list[str]) -> int:
    """All searches, on a cluster that runs; how many answers were wrong."""
    network = rays.network
    plan.JOB_S = 0.002
    mishaps: dict[str, Callable[[], Act | None]] = {
        "calm": lambda: None,
        f"link of host 3 cut for {SHORT_CUT_S:.0f} s": lambda: Act(
            0.2,
            (0.0, partial(network.set_link, 3, "down")),
            (SHORT_CUT_S, partial(network.set_link, 3, "up")),
        ),
        f"host 2 cut off for {LONG_CUT_S:.0f} s, its Ray started again": lambda: Act(
            0.2,
            (0.0, partial(network.set_link, 2, "down")),
            (LONG_CUT_S, partial(network.set_link, 2, "up")),
            (0.5, partial(rays.kill, 2)),
            (0.5, partial(rays.start, 2)),
        ),
        "Ray of host 3 killed, started again after 1 s": lambda: Act(
            0.2, (0.0, partial(rays.kill, 3)), (1.0, partial(rays.start, 3))
        ),
        "hosts 2 and 3 killed, started again after 1 s": lambda: Act(
            0.3,
            (0.0, partial(rays.kill, 2)),
            (0.0, partial(rays.kill, 3)),
            (1.0, partial(rays.start, 2)),
            (0.0, partial(rays.start, 3)),
        ),
    }
    wrong = 0
    wait_for(joined, 120)
    executor = cast(
        "RayExecutor",
        make_executor(
            "ray", AUTO, ADDRESS, JOB_TIMEOUT_S, make_worker=partial(SleepyWorker, rays.folder / "notes")
        ),
    )
    try:
        for strategy in strategies:
            request = longer(strategy)
            expected = run_on(InlineExecutor(), request).digest
            calm_s = 0.0
            for name, make in mishaps.items():
                wait_for(lambda: executor_cpus() == len(HOSTS), 60)
                act, workforce = make(), Workforce()
                result = run_on(executor, request, *([act] if act else []), workforce)
                calm_s = calm_s or result.elapsed_s
                wrong += say(strategy, name, result, expected, calm_s, workforce)
                if act is not None:
                    for _, step in act.steps:
                        step()
    finally:
        executor.close()
    return wrong


def executor_cpus() -> int:
    from cluster.ray_executor import ray

    return int(ray.cluster_resources().get("CPU", 0))


def say(
    strategy: str, name: str, result: SearchResult, expected: str, calm_s: float, workforce: Workforce
) -> int:
    same = result.digest == expected
    print(
        f"{strategy:4}  {name:52}  digest {'the same' if same else 'OTHER'}  {result.elapsed_s:5.1f} s, "
        f"{result.elapsed_s - calm_s:+5.1f} s  {result.jobs_retried:3} jobs again  "
        f"{'; '.join(workforce.said)}",
        flush=True,
    )
    return not same


def longer(strategy: str) -> SearchRequest:
    request = REQUESTS[strategy]
    assert request.simulations is not None
    rounds = request.rounds and 2 * request.rounds
    return replace(request, simulations=2 * request.simulations, rounds=rounds)


def joined() -> bool:
    """Whether the Ray of this host is up."""
    try:
        check_address(ADDRESS)
    except InvalidInput:
        return False
    return True


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise RuntimeError("the hosts did not come up")
        time.sleep(0.2)


def why_not() -> str | None:
    """Why there can be no hosts here."""
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "ip and unshare are not installed"
    if os.geteuid() != 0:
        return "not root"
    probe = Network(f"banyan{os.getpid()}")
    try:
        probe.build()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces here ({getattr(error, 'stderr', '') or error})".strip()
    finally:
        probe.remove()
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strategy", choices=tuple(REQUESTS), action="append")
    parser.add_argument("--inside", nargs=2, metavar=("NETWORK", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    strategies = options.strategy or list(REQUESTS)
    if options.inside:
        return inside(Network(options.inside[0]), Path(options.inside[1]), strategies)
    reason = why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    return outside(strategies)


def outside(strategies: list[str]) -> int:
    """Make the hosts, and have the rest done on the first of them."""
    network = Network(f"banyan{os.getpid()}")
    settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), **HEALTH}
    chosen = [f"--strategy={strategy}" for strategy in strategies]
    # Asked to end, it leaves no host behind either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="banyan-hosts-") as folder:
        try:
            network.build()
            command = [sys.executable, "-m", "tests.hosts", "--inside", network.name, folder, *chosen]
            first = on_host(network, Path(folder), 1, *command)
            return subprocess.run(first, env={**os.environ, **settings}, check=False).returncode
        finally:
            network.remove()


def inside(network: Network, folder: Path, strategies: list[str]) -> int:
    """On the first host."""
    rays = Rays(network, folder)
    for number in HOSTS:
        rays.start(number)
    try:
        wrong = prove(rays, strategies)
    finally:
        for number in list(rays.running):
            rays.kill(number)
    print("every digest was that of one process" if not wrong else f"{wrong} digests were others")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
