"""The supervisor: holds the listening socket, runs the server in a child process, restarts it after a crash.

A server may end by a lack of memory, a fault in a library, or a kill; the supervisor, which only waits,
survives. The port stays open meanwhile: connections wait for the next server and are not refused.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from cluster.system.interruption import ending_signals
from cluster.system.processes import descendants, kill

LOOK_EVERY_S = 0.1
"""Interval, in seconds, of checks for the end of the server."""
RESTART_AFTER_S = (0.5, 2.0, 5.0, 10.0, 30.0)
"""Delays before the first, second and further restarts; the last one is repeated."""
LASTING_S = 60.0
"""A server that has served for this time resets the delays."""
LOG = logging.getLogger("banyan.supervisor")
_SET_CHILD_SUBREAPER = 36
"""Option of Linux's prctl: orphaned descendants become children of this process."""


class Supervisor:
    """Runs one server at a time, in a child process."""

    def __init__(self, serve: Callable[[Callable[[], None], int], int]) -> None:
        """``serve(ready, restarts)`` runs a server to its end and returns its exit status; it calls ``ready``
        when it serves. ``restarts``: number of servers that have crashed before."""
        self._serve = serve
        self._child = 0
        self._ending = False
        self._signals = ending_signals()

    def run(self) -> int:
        """Run servers until one ends normally or fails before it serves; returns its exit status.

        Forks, so the process must have only one thread. A child process raises what ``serve`` raises.
        """
        _adopt_orphans()
        # The child detects the end of this process, however it ends, by the end of this pipe.
        watched, held = os.pipe()
        deaths = restarts = 0
        served_before = False
        while True:
            told, telling = os.pipe()
            signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
            sys.stdout.flush()
            sys.stderr.flush()
            began_s = time.monotonic()
            self._child = os.fork()
            if not self._child:
                os.close(held)
                os.close(told)
                self._be_server(watched, telling, restarts)
            os.close(telling)
            for number in self._signals:
                signal.signal(number, self._forward)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)
            if self._ending:
                # The signal arrived before the child existed.
                self._forward(signal.SIGTERM, None)
            status = self._wait()
            served = bool(os.read(told, 1))
            os.close(told)
            # Orphans of Ray are children of this process now.
            _end_descendants()
            served_before |= served
            if self._ending or status == 0 or not served_before:
                return status
            deaths = 0 if served and time.monotonic() - began_s > LASTING_S else deaths
            delay_s = RESTART_AFTER_S[min(deaths, len(RESTART_AFTER_S) - 1)]
            deaths += 1
            restarts += 1
            LOG.error("the server has died (status %d); another is started in %g s", status, delay_s)
            if not self._sleep(delay_s):
                return status

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self._ending = True
        if not self._child:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

    def _wait(self) -> int:
        """Wait until the server has ended; returns its exit status as a shell does. Reaps other children."""
        while True:
            # Polling, because a signal that arrives just before a blocking call would be handled after it.
            pid, how = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                time.sleep(LOOK_EVERY_S)
            if pid == self._child:
                self._child = 0
                code = os.waitstatus_to_exitcode(how)
                return code if code >= 0 else 128 - code

    def _sleep(self, seconds: float) -> bool:
        """Sleep; returns False if a signal arrived."""
        until_s = time.monotonic() + seconds
        while not self._ending and time.monotonic() < until_s:
            time.sleep(0.05)
        return not self._ending

    def _be_server(self, watched: int, telling: int, restarts: int) -> NoReturn:
        _adopt_orphans()
        # Ctrl-C goes to the parent only, which forwards it.
        os.setsid()
        for number in self._signals:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)
        threading.Thread(target=_follow, args=(watched,), name="parent", daemon=True).start()

        def ready() -> None:
            # If the parent has just ended, `_follow` ends this process, with its descendants.
            with contextlib.suppress(BrokenPipeError):
                os.write(telling, b"1")

        status = self._serve(ready, restarts)
        sys.stderr.flush()
        # Threads of requests may still be in compiled code.
        _end_descendants()
        os._exit(status)


def _adopt_orphans() -> None:
    """Make this process adopt orphaned descendants, if the system supports it, so that it can end them."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_descendants() -> None:
    """Kill and reap all descendants, including those that are orphaned meanwhile."""
    with contextlib.suppress(ChildProcessError):
        while True:
            kill(descendants())
            os.waitpid(-1, 0)


def _follow(watched: int) -> None:
    """Wait for the end of the parent process and then end this one."""
    os.read(watched, 1)
    _end_descendants()
    os.kill(os.getpid(), signal.SIGKILL)
