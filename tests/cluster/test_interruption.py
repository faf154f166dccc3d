"""Ctrl-C before, during and after a search, and twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.interruption import Interruption
from cluster.processes import descendants, kill
from tests.cluster.command import ROOT


class Search:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def interruption() -> Iterator[Interruption]:
    watching = Interruption()
    watching.install()
    yield watching
    watching.uninstall()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_there_is_a_search_a_signal_ends_what_is_being_made_ready(
    interruption: Interruption, number: signal.Signals
) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_signal_that_got_lost_on_its_way_is_remembered(interruption: Interruption) -> None:
    interruption.signalled = True
    with pytest.raises(KeyboardInterrupt):
        interruption.watch(Search())


def test_the_first_signal_cancels_the_search(interruption: Interruption) -> None:
    search = Search()
    interruption.watch(search)
    signal.raise_signal(signal.SIGINT)
    assert search.cancelled


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    watching = Interruption()
    watching.install()
    assert signal.getsignal(signal.SIGTERM) != before
    watching.uninstall()
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_second_signal_leaves_at_once_and_takes_all_processes_along() -> None:
    code = """if True:
        import signal, subprocess, sys
        from cluster.interruption import Interruption
        class Search:
            def cancel(self): pass
        watching = Interruption()
        watching.install()
        watching.watch(Search())
        print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        print("still here")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert "still here" not in done.stdout
    # A killed process is listed until the kernel has put it away.
    limit = time.monotonic() + 10
    while _runs(int(done.stdout)):
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_children_of_children_are_found_and_ended() -> None:
    with subprocess.Popen(["bash", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= descendants()
        kill({child.pid, grandchild})
    assert child.returncode == -signal.SIGKILL
    assert not {child.pid, grandchild} & descendants()


def _runs(pid: int) -> bool:
    """Whether the process still does anything; one that has ended may be listed for a while, as Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
