"""Banyan as somebody meets it who has just installed it: an environment with nothing of ours in it, another
folder, and a Ray that somebody else has started."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from cluster.system.processes import kill, marked
from tests.cluster.prometheus import free_port
from tests.waiting import PATIENCE_S

BIN = Path(sys.executable).parent
BANYAN = (sys.executable, "-P", "-m", "banyan")
"""The command, whose script may not be installed where a test runs; without the current folder (-P)."""
ROOT = Path(__file__).parents[2]
MARK = "BANYAN_TEST_CLUSTER"


def clean_environment(home: Path, **settings: str) -> dict[str, str]:
    """PATH and HOME, and what is named here."""
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **settings}


class Command(subprocess.Popen[str]):
    """A command that a test which fails does not wait for."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        super().__exit__(kind, error, trace)


def start(
    *arguments: str, cwd: Path, environment: dict[str, str], command: tuple[str, ...] = BANYAN
) -> Command:
    """The command in a process of its own, its output in pipes."""
    return Command(
        [*command, *arguments],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Stranger:
    """Somebody in a folder of their own, whose environment has nothing of ours but what is named here."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.environment = clean_environment(folder / "home", **settings)

    def start(self, *arguments: str, command: tuple[str, ...] = BANYAN) -> subprocess.Popen[str]:
        return start(*arguments, cwd=self.folder, environment=self.environment, command=command)

    def banyan(self, *arguments: str, command: tuple[str, ...] = BANYAN) -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        with self.start(*arguments, command=command) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
            return process.returncode, out, err

    def answer(self, *arguments: str) -> Any:
        """The answer as an object."""
        status, out, err = self.banyan(*arguments, "--json")
        assert status == 0, err
        return json.loads(out)


def installed(site: Path) -> Path:
    """Banyan as a wheel puts it there."""
    for name in ("games", "search", "cluster"):
        shutil.copytree(ROOT / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.move(site / "cluster" / "banyan", site / "banyan")
    return site


class PlainCluster:
    """What `ray start` starts: a head, and machines that join it, all on this machine."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._mark = secrets.token_hex(8)
        self._environment = environment | {MARK: self._mark, "RAY_USAGE_STATS_ENABLED": "0"}
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def join(self, cpus: int = 1) -> subprocess.Popen[bytes]:
        """Another machine, the head if it is the first; returns at once."""
        first = not self.processes
        where = ["--head", f"--port={self.port}"] if first else [f"--address={self.address}"]
        command = [str(BIN / "ray"), "start", *where, f"--num-cpus={cpus}", "--block"]
        command += ["--include-dashboard=false"] * first
        process = subprocess.Popen(
            command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def wait_until_up(self, timeout_s: float = PATIENCE_S) -> None:
        """Until the head listens."""
        until_s = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            assert time.monotonic() < until_s, "ray start --head has not come up"
            time.sleep(0.1)

    def kill_machine(self, number: int) -> None:
        """End all of its processes, with no warning."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.processes[number].pid, signal.SIGKILL)

    def workers(self) -> set[int]:
        """The ids of the processes of workers."""
        found = set()
        for pid in marked(f"{MARK}={self._mark}"):
            # A process that ends meanwhile is none.
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::Banyan"):
                    found.add(pid)
        return found

    def end(self, timeout_s: float = PATIENCE_S) -> None:
        """End them all, and wait until they are gone: some may be about to start others."""
        until_s = time.monotonic() + timeout_s
        while left := marked(f"{MARK}={self._mark}"):
            assert time.monotonic() < until_s, f"processes of ray start do not end: {left}"
            kill(left)
            for process in self.processes:
                process.wait(timeout_s)
            time.sleep(0.05)


@contextlib.contextmanager
def plain_cluster(environment: dict[str, str], *cpus: int) -> Iterator[PlainCluster]:
    """A cluster that is up, and is gone afterwards; ``cpus``: of each machine, if not one machine of one."""
    cluster = PlainCluster(environment)
    try:
        cluster.join(*cpus[:1])
        cluster.wait_until_up()
        for each in cpus[1:]:
            cluster.join(each)
        yield cluster
    finally:
        cluster.end()
