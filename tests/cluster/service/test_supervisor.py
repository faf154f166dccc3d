"""The parent of a server: another is started when one dies, and none outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.command import ROOT

PROGRAM = """
import os, signal, subprocess, sys, time
from cluster.service import supervisor

supervisor.RESTART_AFTER_S = (0.05,)
word = sys.argv[1]

def serve(ready, restarts):
    orphan = subprocess.Popen(["sh", "-c", "sleep 100 & echo $!"], stdout=subprocess.PIPE, text=True)
    number = orphan.stdout.readline().strip()
    # A signal may come as soon as this has been read.
    try:
        print("server", os.getpid(), restarts, number, flush=True)
        if word == "refuse":
            return 2
        ready()
        if word == "crash" and restarts < 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if word == "end":
            return 0
        # In one long sleep, a signal that came just before it would be heard of after it.
        until_s = time.monotonic() + 100
        while time.monotonic() < until_s:
            time.sleep(0.05)
    except KeyboardInterrupt:
        print("drained", flush=True)
        return 0

sys.exit(supervisor.Supervisor(serve).run())
"""


class Supervised:
    """A supervisor whose server does nothing."""

    def __init__(self, word: str) -> None:
        command = [sys.executable, "-c", PROGRAM, word]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def server(self) -> tuple[int, int, int]:
        """What the next one that begins says: its process, how many died before, an orphan of its own."""
        assert self.process.stdout is not None
        word, *numbers = self.process.stdout.readline().split()
        assert word == "server"
        pid, restarts, orphan = map(int, numbers)
        return pid, restarts, orphan

    def ended(self) -> tuple[int, str]:
        """Exit status, and what it said last."""
        out, _ = self.process.communicate(timeout=20)
        return self.process.returncode, out


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    made: list[Supervised] = []
    yield made
    for each in made:
        each.process.kill()
        each.process.communicate()


def begin(made: list[Supervised], word: str) -> Supervised:
    made.append(Supervised(word))
    return made[-1]


def gone(pid: int) -> bool:
    until_s = time.monotonic() + 60
    while runs(pid):
        if time.monotonic() > until_s:
            return False
        time.sleep(0.01)
    return True


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended may wait until its parent has heard of it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_server_that_dies_is_followed_by_another_and_leaves_nothing(supervised: list[Supervised]) -> None:
    parent = begin(supervised, "crash")
    servers = [parent.server() for _ in range(3)]
    assert [restarts for _, restarts, _ in servers] == [0, 1, 2]
    assert all(gone(orphan) for _, _, orphan in servers[:2])
    os.kill(servers[2][0], signal.SIGKILL)
    assert parent.server()[1] == 3
    parent.process.send_signal(signal.SIGINT)
    assert parent.ended() == (0, "drained\n")


@pytest.mark.parametrize(("word", "status"), [("refuse", 2), ("end", 0)])
def test_one_that_ends_as_it_should_or_never_serves_is_the_last(
    supervised: list[Supervised], word: str, status: int
) -> None:
    parent = begin(supervised, word)
    _, _, orphan = parent.server()
    assert parent.ended() == (status, "")
    assert gone(orphan)


def test_none_outlives_its_parent(supervised: list[Supervised]) -> None:
    parent = begin(supervised, "stay")
    pid, _, orphan = parent.server()
    parent.process.kill()
    assert gone(pid)
    assert gone(orphan)
