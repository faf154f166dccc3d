"""The executor's side of the host process (host.py), which is connected to Ray: starts, calls and ends it.

It also encodes the answers that the two processes exchange."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Self

from cluster.system.processes import bury, descendants, kill, marked
from cluster.workers import session_folder as ray_folder

MARK = "BANYAN_RAY_PROCESS"
"""The environment variable that marks all processes of an embedded Ray."""


class RayEnded(ConnectionError):
    """The host process has ended, and with it all its actors."""


class WorkerLost(Exception):
    """A call has no answer: its worker has died or cannot be reached."""


class TokenRefused(Exception):
    """The cluster requires a token, or a different one."""


class Remote(Exception):
    """An exception in a worker whose type is not known in this process."""


class Handle:
    """A reference to bytes sent by `RayProcess.put`, as an argument of calls; its length is theirs. When it
    is deleted, the host process drops the bytes."""

    def __init__(self, key: int, length: int, dropped: deque[int]) -> None:
        self.key = key
        self._length = length
        self._dropped = dropped

    def __len__(self) -> int:
        return self._length

    def __del__(self) -> None:
        # May run at any time in any thread, so the host process is told with the next message.
        self._dropped.append(self.key)


def pack_answer(work: Callable[[], Any]) -> bytes:
    """What ``work`` returns or raises, as bytes for `answer_of`."""
    try:
        return pickle.dumps((True, work()), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        try:
            known = pickle.dumps(error)
            pickle.loads(known)
        except Exception:
            known = pickle.dumps(None)
        return pickle.dumps((False, (text, known)))


def answer_of(data: bytes) -> Any:
    """The value that a method of an actor returned; raises its exception, or `Remote` for an unknown type."""
    fine, value = pickle.loads(data)
    if fine:
        return value
    text, known = value
    error = pickle.loads(known)
    raise error if isinstance(error, Exception) else Remote(text)


CLOSE_S = 10.0
"""Time limit in seconds, since the last answer of a cluster's head, for leaving the cluster: without its head
no process can leave in order."""
REFUSED_TOKEN = "InvalidAuthToken"
"""Ray logs this text every second while the cluster rejects the token."""
_START = """
import sys
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("banyan", sys.argv[2])
banyan = sys.modules["banyan"] = module_from_spec(spec)
spec.loader.exec_module(banyan)

from cluster.workers.host import main

main()
"""
"""The program of the host process: it imports the Banyan that runs here, wherever it is installed."""
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # The first job that raises ends the search; Ray would log the others.
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
    # Similar log lines, such as those about machines that leave, are not merged.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    # Results of strategy tree (35 to 280 KB a job) mostly return without the object store.
    "RAY_max_direct_call_object_size": str(2**20),
}
"""Environment variables for Ray that the user has not set."""


class RayProcess:
    """A host process and its pending calls."""

    def __init__(self, address: str | None, cpus: int, settings: Mapping[str, str]) -> None:
        """Start the process; see `joined`. ``settings`` are added to its environment."""
        self.address = address
        self._base = ray_folder.base() if address is None else None
        self.mark = secrets.token_hex(16)
        self.folder = Path(tempfile.mkdtemp(prefix="banyan-"))
        """Working folder of the process, with its log; otherwise empty, so that no user files are
        imported."""
        self.node = ""
        """Ray's id of this machine; empty until it is known."""
        self.answered_s = time.monotonic()
        """When Ray's head has answered a question last; at first, when the process was started."""
        self.reason = ""
        """Why the process ended; empty while it runs."""
        self._log = self.folder / "log"
        self._numbers = itertools.count(1)
        self._calls: dict[int, Future[Any]] = {}
        self._dropped: deque[int] = deque()
        self._sending = threading.Lock()
        self._latest: dict[str, Any] = {"machines": {}, "available": {}, "placed": [], "held": {}}
        """The latest answer to each question."""
        self._asked: set[str] = set()
        """Questions without an answer yet."""
        self.ended = threading.Event()
        self._joined: Future[dict[str, Any]] = Future()
        connection, theirs = Pipe()
        self._connection: Connection = connection
        try:
            self._process = self._start(theirs, settings)
        finally:
            theirs.close()
        self._send(address, cpus)
        threading.Thread(target=self._read, name="ray", daemon=True).start()

    def _start(self, theirs: Connection, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
        environment = dict(_SETTINGS) | dict(os.environ) | dict(settings) | {MARK: self.mark}
        if self._base is not None:
            environment["RAY_TMPDIR"] = str(self._base)
        # -P: nothing is imported from the working folder.
        command = [sys.executable, "-P", "-c", _START, str(theirs.fileno()), str(_banyan())]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                # Ctrl-C must reach only this process.
                start_new_session=True,
            )

    def joined(self, timeout_s: float, cancelled: threading.Event | None = None) -> Self:
        """Wait until the process can start actors; it is killed if that fails.

        Raises TokenRefused, or ConnectionError with the reason.
        """
        until_s = time.monotonic() + timeout_s
        try:
            while not self._joined.done():
                if cancelled is not None and cancelled.is_set():
                    raise ConnectionError("it is no longer wanted")
                if time.monotonic() > until_s:
                    raise ConnectionError(f"it has not answered in {timeout_s:.0f} s")
                if self.address is not None and REFUSED_TOKEN in self.log():
                    raise TokenRefused
                wait([self._joined], 0.1)
            facts = self._joined.result()
        except BaseException:
            self.kill_now()
            raise
        self.node = facts.pop("node")
        self._latest |= facts
        return self

    def log(self) -> str:
        """The last 20,000 characters that the process and Ray's library have logged."""
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")[-20_000:]
        return ""

    def put(self, data: bytes) -> Handle:
        """Send an argument of several calls; returns its handle."""
        key = next(self._numbers)
        self._send("put", key, data)
        return Handle(key, len(data), self._dropped)

    def start(self, options: dict[str, Any], machine: str, make_worker: bytes, gives_way: bool) -> int:
        """Start an actor, on the machine with this id of Ray or, if it is empty, on any; returns its
        number."""
        number = next(self._numbers)
        self._send("start", number, options, machine, make_worker, gives_way)
        return number

    def call(self, actor: int, method: str, *arguments: Any) -> Future[bytes]:
        """Call a method of `WorkerProcess` in an actor. The future gets the answer, WorkerLost or RayEnded.

        A `Handle` may be among the last arguments; the method gets the bytes that it stands for.
        """
        call = next(self._numbers)
        answer: Future[bytes] = Future()
        self._calls[call] = answer
        plain = [each for each in arguments if not isinstance(each, Handle)]
        keys = [each.key for each in arguments if isinstance(each, Handle)]
        self._send("call", call, actor, method, plain, keys)
        if self.ended.is_set():
            self._fail_calls()
        return answer

    def kill(self, actor: int, pid: int, node: str) -> None:
        """Kill an actor and its process, even a stopped one. ``pid`` 0: the process is not known."""
        self._send("kill", actor, pid, node)

    def latest(self, question: str) -> Any:
        """The latest answer of Ray to a question, which is asked again without waiting for the new answer.

        An answer may take a minute if the cluster's head is gone. The questions are
        ``machines``: by Ray's ids, the resources of each machine by Ray's names;
        ``available``: the unused resources of all machines together;
        ``placed``: the numbers of the actors that have got their resources;
        ``held``: the counts of live ``actors``, ``references`` to objects, and ``parts`` that were put.
        """
        if question not in self._asked:
            self._asked.add(question)
            self._send("ask", question)
        return self._latest[question]

    def want(self, bundles: list[dict[str, float]]) -> None:
        """Request room from the cluster's autoscaler for all these bundles of resources at once."""
        self._send("want", bundles)

    def close(self) -> None:
        """End the process: leave a cluster in order, or kill an embedded Ray (its orderly end is slow)."""
        if self.address is not None:
            self._send("close")
            silent_s = time.monotonic() - self.answered_s
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(1.0, CLOSE_S - silent_s))
        self.kill_now()

    def kill_now(self) -> None:
        """Kill the process and all its descendants."""
        below = descendants(self._process.pid)
        kill(below | {self._process.pid})
        self._process.wait()
        while left := marked(f"{MARK}={self.mark}"):
            below |= left
            kill(left)
            time.sleep(0.01)
        bury(below, self._process.pid)
        self.ended.wait(1.0)
        self._connection.close()
        if self._base is not None:
            ray_folder.remove_of(self._process.pid, self._base)
        shutil.rmtree(self.folder, ignore_errors=True)
        # Some processes end a moment after the kill.
        bury(set(), self._process.pid)

    def _send(self, *message: Any) -> None:
        """Send a message to the process. If the process has ended, `_read` notices it."""
        with self._sending, contextlib.suppress(OSError):
            while self._dropped:
                self._connection.send_bytes(pickle.dumps(("drop", self._dropped.popleft())))
            self._connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _read(self) -> None:
        """Receive messages until the process ends; runs in a thread of its own."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                kind, *values = pickle.loads(self._connection.recv_bytes())
                if kind == "joined":
                    self._joined.set_result(values[0])
                elif kind in ("refused", "ending"):
                    self.reason = values[0]
                elif kind in self._latest:
                    self._latest[kind] = values[0]
                    self.answered_s = time.monotonic()
                    self._asked.discard(kind)
                else:
                    answer = self._calls.pop(values[0], None)
                    if answer is not None and kind == "answer":
                        answer.set_result(values[1])
                    elif answer is not None:
                        answer.set_exception(WorkerLost(values[1]))
        self.reason = self.reason or last_words(self.log()) or "its process ended"
        self.ended.set()
        if not self._joined.done():
            self._joined.set_exception(ConnectionError(self.reason))
        self._fail_calls()

    def _fail_calls(self) -> None:
        for call in list(self._calls):
            answer = self._calls.pop(call, None)
            if answer is not None and not answer.done():
                answer.set_exception(RayEnded(self.reason))


def _banyan() -> Path:
    """Path of the package `banyan`, in a checkout or in an installed wheel."""
    cluster = Path(__file__).resolve().parents[1]
    inside = cluster / "banyan" / "__init__.py"
    return inside if inside.exists() else cluster.parent / "banyan" / "__init__.py"


def last_words(log: str) -> str:
    """The last error line in a Ray log, without time and source position; empty if there is none."""
    lines = re.findall(r"^\[[^]]* [CEF] [^]]*\] (?:\S+:\d+: )?(.*)$", log, re.MULTILINE)
    said = [line for line in lines if "info_message" not in line]
    return said[-1].partition(". ")[0][:300] if said else ""
