"""Ctrl-C before, during and after a search, and twice."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.launch import BEFORE_ANY, Output, launch
from cluster.system.interruption import INTERRUPTED, Interruption
from cluster.system.processes import descendants, kill
from tests.cluster.command import ROOT, interrupted, start
from tests.cluster.processes import named, state_of
from tests.cluster.searches import compiled_only
from tests.games.broken_games import ENDLESS_WHEN_COMPILED, write_take
from tests.waiting import PATIENCE_S, eventually


class Search:
    cancelled = cancel_noted = False

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
        from cluster.system.interruption import Interruption
        class Search:
            cancel_noted = True
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
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 130
    assert "still here" not in done.stdout
    # A killed process is listed until the kernel has put it away.
    eventually(lambda: not state_of(int(done.stdout)))


STUCK = """if True:
    import signal, time
    from cluster.system.interruption import Interruption
    class Search:
        cancel_noted = {noted}
        def cancel(self): pass
    watching = Interruption(patience_s=0.2)
    watching.install()
    watching.watch(Search())
    print("before")
    signal.raise_signal(signal.SIGTERM)
    {then}
    until = time.monotonic() + {seconds}
    while time.monotonic() < until:
        pass
    watching.uninstall()
    print("still here")
"""


@pytest.mark.parametrize(
    ("noted", "then", "seconds", "shown", "said"),
    [
        ("False", "", 60, "", "banyan: interrupted; after 0.2 s ended without a result\n"),
        (
            "True",
            "watching.begin_closing()",
            60,
            "before\n",
            "banyan: interrupted; after 0.2 s ended what still ran\n",
        ),
        ("True", "", 0.5, "before\nstill here\n", ""),
    ],
)
def test_what_does_not_end_in_time_is_ended_but_for_a_search_that_has_noted_the_signal(
    noted: str, then: str, seconds: float, shown: str, said: str
) -> None:
    code = STUCK.format(noted=noted, then=then, seconds=seconds)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130 if said else 0, shown, said)


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        (("search", "GAME", "--executor", "inline"), signal.SIGINT),
        (("perft", "GAME", "5"), signal.SIGTERM),
        (("benchmark", "GAME"), signal.SIGINT),
        (("check", "GAME"), signal.SIGINT),
    ],
)
def test_a_rule_that_never_ends_can_be_interrupted(
    arguments: tuple[str, ...], number: signal.Signals, tmp_path: Path
) -> None:
    path = write_take(tmp_path, *ENDLESS_WHEN_COMPILED)
    command = start(*(path if word == "GAME" else word for word in arguments), PYTHONUNBUFFERED="1")
    status, _, err = interrupted(command, "0\n", number)
    assert status == 130
    assert err.endswith("banyan: interrupted; after 1.5 s ended without a result\n")


@pytest.mark.slow
@compiled_only
def test_a_rule_that_never_ends_on_workers_can_be_interrupted(tmp_path: Path) -> None:
    path = write_take(tmp_path, *ENDLESS_WHEN_COMPILED)
    with start("search", path, "--executor", "ray", "--workers", "2", "--no-progress") as process:
        eventually(lambda: named("ray::", process.pid) or process.poll() is not None)
        workers = named("ray::", process.pid)
        assert workers
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "interrupted" in err.splitlines()[-1]
    eventually(lambda: not any(map(state_of, workers)))


def test_children_of_children_are_found_and_ended() -> None:
    with subprocess.Popen(["bash", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= descendants()
        kill({child.pid, grandchild})
    assert child.returncode == -signal.SIGKILL
    assert not {child.pid, grandchild} & descendants()


def test_an_error_for_want_of_what_an_interruption_broke_off_is_the_interruption(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Callbacks of the compiler discard the exception, and what they were to make is missing later."""
    with launch(Output(progress=False, json=True)) as started:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("no compiled object yet")
    assert (started.status, capsys.readouterr().err) == (INTERRUPTED, f"{BEFORE_ANY}\n")


def test_an_error_by_itself_is_an_error() -> None:
    with (
        pytest.raises(RuntimeError),
        launch(Output(progress=False, json=True)),
    ):
        raise RuntimeError


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_is_a_signal_unless_it_is_ignored(ignored: bool) -> None:
    """The search is cancelled, its answer is printed, and what goes to the terminal is dropped."""
    code = """if True:
        import os, signal, sys, time
        from cluster.system.interruption import Interruption
        from cluster.system.terminal import claim_stdout
        class Search:
            cancelled, cancel_noted = False, True
            def cancel(self): self.cancelled = True
        claim_stdout()
        watching, search = Interruption(), Search()
        watching.install()
        watching.watch(search)
        print("ready", file=sys.stderr, flush=True)
        until_s = time.monotonic() + 60
        while not search.cancelled and os.isatty(2) and time.monotonic() < until_s:
            time.sleep(0.01)
        time.sleep(0.1)
        print("to nobody", file=sys.stderr, flush=True)
        print(search.cancelled)
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["sh", "-c", ("trap '' HUP; " if ignored else "") + 'exec "$@"', "sh", sys.executable, "-c", code],
        cwd=ROOT,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:
        os.close(theirs)
        said = b""
        while b"ready" not in said:
            said += os.read(ours, 1000)
        os.close(ours)
        assert process.stdout.read() == f"{not ignored}\n"
    assert process.returncode == 0
