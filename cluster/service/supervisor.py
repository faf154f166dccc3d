"""Holds the port, runs the server in a process below this one, and starts another when that dies.

Ray's library ends its own process when Ray is lost on this machine, and nothing in that process can prevent
it. So it is another one that survives, which does nothing but wait. The port stays open meanwhile:
connections wait for the next server, and nobody is refused.
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

from cluster.processes import descendants, kill

LOOK_EVERY_S = 0.1
"""How soon the end of a server is noticed."""
RESTART_AFTER_S = (0.5, 2.0, 5.0, 10.0, 30.0)
"""How long to wait before another server is started, the first time and so on."""
LASTING_S = 60.0
"""A server that has served so long begins that row anew."""
LOG = logging.getLogger("banyan.supervisor")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_SET_CHILD_SUBREAPER = 36
"""Of Linux's prctl: orphans below this process become its children."""


class Supervisor:
    """Runs one server at a time, in a child process."""

    def __init__(self, serve: Callable[[Callable[[], None], int], int]) -> None:
        """``serve`` runs a server to its end and returns its exit status; it is given what to call when it
        serves, and how many servers have died before it."""
        self._serve = serve
        self._child = 0
        self._ending = False

    def run(self) -> int:
        """The exit status: that of a server which ended as it should, or never began to serve.

        Forks, so only for a process with one thread. Returns in the children as well.
        """
        _adopt_orphans()
        # Its end tells the child that this process is gone, whatever became of it.
        watched, held = os.pipe()
        deaths = restarts = 0
        served_before = False
        while True:
            told, telling = os.pipe()
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            sys.stdout.flush()
            sys.stderr.flush()
            began_s = time.monotonic()
            self._child = os.fork()
            if not self._child:
                os.close(held)
                os.close(told)
                return self._be_server(watched, telling, restarts)
            os.close(telling)
            for number in _SIGNALS:
                signal.signal(number, self._forward)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            if self._ending:
                # The signal came before there was this child.
                self._forward(signal.SIGTERM, None)
            status = self._wait()
            served = bool(os.read(told, 1))
            os.close(told)
            # What Ray left behind has this process for a parent now.
            self._clear_up()
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
            os.kill(self._child, number)

    def _wait(self) -> int:
        """Until the server has ended; its exit status as a shell says it. Buries others on the way."""
        while True:
            # In a call without an end, a signal that came just before it would be heard of after it.
            pid, how = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                time.sleep(LOOK_EVERY_S)
            if pid == self._child:
                self._child = 0
                code = os.waitstatus_to_exitcode(how)
                return code if code >= 0 else 128 - code

    def _clear_up(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                kill(descendants())
                os.waitpid(-1, 0)

    def _sleep(self, seconds: float) -> bool:
        """False if a signal came."""
        until_s = time.monotonic() + seconds
        while not self._ending and time.monotonic() < until_s:
            time.sleep(0.05)
        return not self._ending

    def _be_server(self, watched: int, telling: int, restarts: int) -> int:
        _adopt_orphans()
        # Ctrl-C is for the parent, which passes it on.
        os.setsid()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        threading.Thread(target=_follow, args=(watched,), name="parent", daemon=True).start()

        def ready() -> None:
            os.write(telling, b"1")

        return self._serve(ready, restarts)


def _adopt_orphans() -> None:
    """Where it can be had: what is left below this process when it is to be ended is then below it still."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _follow(watched: int) -> None:
    """Wait for the end of the parent, and follow it."""
    os.read(watched, 1)
    kill(descendants())
    os.kill(os.getpid(), signal.SIGKILL)
