"""Several hosts on one machine: searches across them while links are cut and hosts lost.

    python -m tests.faults.hosts                  # as root

Each host is a network namespace with an address, a link to a common switch, a Ray folder and a worker. Jobs
sleep for most of their time, so that three hosts can be where there are two cores. For each strategy an
undisturbed search says how long it takes; then the search is repeated while a link is cut and mended, while a
host is cut off for so long that the cluster gives it up, and while its Ray is killed and started again. Each
answer must have the digest of the search in one process. A line says what each fault cost.

Without the right to make network namespaces it says so and ends with status 0.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cluster.runtime.session import Session
from cluster.runtime.workers import AUTO
from cluster.system.processes import kill
from cluster.workers.choose import make_executor
from cluster.workers.joining import connect
from games.errors import InvalidInput
from search import plan
from search.request import SearchRequest
from tests.cluster.joining import REQUESTS, SleepyWorker
from tests.cluster.searches import alone, search_on
from tests.faults.harness import RAY, Campaign, kill_tree, main, new_parser
from tests.waiting import comes_true

if TYPE_CHECKING:
    from cluster.runtime.tasks import Executor
    from cluster.workers.ray_executor import RayExecutor

RAY_FOLDER = Path("/tmp/ray")
HOSTS = (1, 2, 3)
ADDRESS = "10.77.0.1:6379"
JOB_TIMEOUT_S = 4.0
START_S = 120.0
SHORT_CUT_S, LONG_CUT_S = 3.0, 10.0
HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""A host that does not answer is given up after about 4 s: between the two cuts."""


class Network:
    """Namespaces with a link each to a switch."""

    def __init__(self, name: str, hosts: Sequence[int] = HOSTS) -> None:
        self.name = name
        self.hosts = hosts
        self.switch = f"{name}-switch"

    def host(self, number: int) -> str:
        return f"{self.name}-{number}"

    def build(self) -> None:
        """Make the namespaces; raises CalledProcessError or OSError where that is not allowed."""
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for number in self.hosts:
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
        """Mend (up) or cut (down) the link of a host."""
        ip("-n", self.switch, "link", "set", f"v{number}", state)

    def limit(self, mbit_s: int) -> None:
        """Limit every link to so many Mbit/s in each direction, without bursts; 0: no limit."""
        bucket = ("tbf", "rate", f"{mbit_s}mbit", "burst", str(max(4000, 60 * mbit_s)), "latency", "50ms")
        for number in self.hosts:
            for place, device in ((self.host(number), "eth0"), (self.switch, f"v{number}")):
                command = ["tc", "-n", place, "qdisc", "replace", "dev", device, "root"]
                command += bucket if mbit_s else ["pfifo_fast"]
                subprocess.run(command, check=True, capture_output=True)

    def remove(self) -> None:
        """End whatever runs in the namespaces, and delete them."""
        for name in (*map(self.host, self.hosts), self.switch):
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

    def __init__(self, campaign: Campaign, network: Network, folder: Path, head_cpus: int = 1) -> None:
        self.network = network
        self.head_cpus = head_cpus
        self.folder = folder
        self._campaign = campaign
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, number: int) -> None:
        head = ["--head", "--port=6379", "--include-dashboard=false"]
        place = head if number == 1 else [f"--address={ADDRESS}"]
        cpus = self.head_cpus if number == 1 else 1
        options = [
            f"--num-cpus={cpus}",
            "--object-store-memory=100000000",
            "--disable-usage-stats",
            "--block",
        ]
        command = [*RAY, "start", *place, f"--node-ip-address=10.77.0.{number}", *options]
        command = on_host(self.network, self.folder, number, *command)
        self._running[number] = self._campaign.start(*command, log=f"{number}.log")

    def start_all(self, make: Callable[[], Executor]) -> RayExecutor:
        """Start them all; returns an executor on them. One by one, and the others after this process has
        joined the first: beside other programs that takes long enough."""
        first, *others = self.network.hosts
        self.start(first)
        wait_for(joined, START_S)
        executor = cast("RayExecutor", make())
        self._campaign.callback(executor.close)
        for count, number in enumerate(others, start=1):
            self.start(number)
            wait_for(lambda cpus=self.head_cpus + count: cpus_of(executor) == cpus, START_S)
        return executor

    def kill(self, number: int) -> None:
        """End the Ray of a host, as when the power fails."""
        kill_tree(self._running[number])


class Act:
    """An observer that takes steps by the clock once a share of the jobs is done."""

    def __init__(self, share: float, *steps: tuple[float, Callable[[], None]]) -> None:
        """``steps``: the seconds after the step before, or after the share for the first; and what to do."""
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

    def finish(self) -> None:
        """Take the steps for which the search was too short."""
        for _, step in self.steps:
            step()


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


def faults(rays: Rays) -> dict[str, Act | None]:
    """Every fault by its name, as an observer of one search; the first is none."""
    cut = rays.network.set_link
    return {
        "undisturbed": None,
        f"link of host 3 cut for {SHORT_CUT_S:.0f} s": Act(
            0.2, (0.0, partial(cut, 3, "down")), (SHORT_CUT_S, partial(cut, 3, "up"))
        ),
        f"host 2 cut off for {LONG_CUT_S:.0f} s, its Ray started again": Act(
            0.2,
            (0.0, partial(cut, 2, "down")),
            (LONG_CUT_S, partial(cut, 2, "up")),
            (0.5, partial(rays.kill, 2)),
            (0.5, partial(rays.start, 2)),
        ),
        "Ray of host 3 killed, started again after 1 s": Act(
            0.2, (0.0, partial(rays.kill, 3)), (1.0, partial(rays.start, 3))
        ),
        "hosts 2 and 3 killed, started again after 1 s": Act(
            0.3,
            (0.0, partial(rays.kill, 2)),
            (0.0, partial(rays.kill, 3)),
            (1.0, partial(rays.start, 2)),
            (0.0, partial(rays.start, 3)),
        ),
    }


def disturb(campaign: Campaign, rays: Rays, executor: RayExecutor, strategy: str) -> None:
    """The search of a strategy with every fault; a line for each."""
    request = longer(strategy)
    expected = alone(request).digest
    calm_s = 0.0
    for name, act in faults(rays).items():
        wait_for(lambda: cpus_of(executor) == len(HOSTS), 60)
        workforce = Workforce()
        result, _ = search_on(executor, request, *([act] if act else []), workforce)
        calm_s = calm_s or result.elapsed_s
        print(
            f"{strategy:4}  {name:52}  {result.elapsed_s:5.1f} s, {result.elapsed_s - calm_s:+5.1f} s  "
            f"{result.jobs_retried:3} jobs again  {'; '.join(workforce.said)}",
            flush=True,
        )
        campaign.expect(result.digest == expected, f"{strategy}, {name}: another digest")
        if act is not None:
            campaign.faults[name] += 1
            act.finish()


def longer(strategy: str) -> SearchRequest:
    """The strategy's request with twice the simulations."""
    request = REQUESTS[strategy]
    assert request.simulations is not None
    rounds = request.rounds and 2 * request.rounds
    return replace(request, simulations=2 * request.simulations, rounds=rounds)


def cpus_of(executor: RayExecutor) -> int:
    return int(sum(machine.get("CPU", 0) for machine in executor.latest("machines").values()))


def joined() -> bool:
    """Whether the Ray of this host is up."""
    try:
        connect(ADDRESS, 0).close()
    except (InvalidInput, ConnectionError):
        return False
    return True


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    if not comes_true(condition, seconds):
        raise RuntimeError("the hosts did not come up")


def why_not() -> str | None:
    """Why there can be no hosts here."""
    if not all(map(shutil.which, ("ip", "tc", "unshare"))):
        return "ip, tc and unshare are not installed"
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


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """Make the hosts, and run the searches on the first of them."""
    strategies = options.strategy or list(REQUESTS)
    if options.inside:
        inside(campaign, Network(options.inside[0]), Path(options.inside[1]), strategies)
        return
    arguments = [f"--strategy={strategy}" for strategy in strategies]
    run_inside(campaign, "tests.faults.hosts", HOSTS, arguments, HEALTH)


def run_inside(
    campaign: Campaign, module: str, hosts: Sequence[int], arguments: list[str], settings: dict[str, str]
) -> None:
    """Make the hosts, and run a program on the first of them, which gets --inside NETWORK FOLDER too."""
    reason = why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return
    network = Network(f"banyan{os.getpid()}", hosts)
    settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), **settings}
    campaign.callback(network.remove)
    network.build()
    command = [sys.executable, "-m", module, "--inside", network.name, str(campaign.folder), *arguments]
    first = on_host(network, campaign.folder, 1, *command)
    done = subprocess.run(first, env={**os.environ, **settings}, check=False)
    campaign.expect(done.returncode == 0, f"the searches ended with status {done.returncode}")


def inside(campaign: Campaign, network: Network, folder: Path, strategies: list[str]) -> None:
    """On the first host: start every Ray, and run the searches."""
    # Many small jobs.
    plan.JOB_S = 0.002
    make_worker = partial(SleepyWorker, folder / "notes")
    rays = Rays(campaign, network, folder)
    executor = rays.start_all(
        partial(make_executor, "ray", AUTO, ADDRESS, JOB_TIMEOUT_S, make_worker=make_worker)
    )
    for strategy in strategies:
        disturb(campaign, rays, executor, strategy)


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--strategy", choices=tuple(REQUESTS), action="append")
    parser.add_argument("--inside", nargs=2, metavar=("NETWORK", "FOLDER"), help=argparse.SUPPRESS)
    sys.exit(main(prove, parser))
