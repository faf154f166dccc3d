"""Joins the cluster at an address, or starts a local Ray; does so again, in a thread, after Ray has ended.

A cluster may require a token. Ray's library decides once, on import, whether it sends a token, and a process
that sends one to a cluster without tokens can join but cannot run actors. So a process without a token joins
first, and runs an actor; if the cluster requires a token, another process joins with it. Ray needs up to two
minutes to give up on an address where nothing answers, so `knock` is called first."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

from cluster.workers.process import RayProcess, TokenRefused
from games.errors import InvalidInput, counted

KNOCK_S = 3.0
"""Time limit in seconds for accepting a connection: a closed port refuses at once, a firewall never does."""


class NotJoined(InvalidInput):
    """The cluster at an address could not be joined."""

    def __init__(self, address: str, reason: str) -> None:
        other = "the address of a running Ray cluster"
        here = "a Ray cluster that runs on this machine, for auto; or host:port"
        accepted = f"{here if address == 'auto' else other} ({reason})"
        super().__init__("address", address, accepted)
        self.reason = reason


def knock(address: str) -> None:
    """Connect to ``host:port`` and disconnect.

    Raises NotJoined if the address has another form, or if no connection is accepted within KNOCK_S.
    """
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise NotJoined(address, "it is not of the form host:port, such as 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise NotJoined(address, f"nobody answers there: {error.strerror or error}") from None


EMBEDDED_S = 120.0
"""Time limit in seconds for the start of an embedded Ray; it takes 4 s on an idle machine."""
STARTS = 2
"""Number of tries to start an embedded Ray."""
JOIN_S = 45.0
"""Time limit in seconds for joining a cluster and running an actor there: it takes 2 s on an idle machine,
and beside other programs ten times as long."""


def connect(address: str | None, cpus: int, cancelled: threading.Event | None = None) -> RayProcess:
    """Start a local Ray with ``cpus`` CPUs (address None), or join a cluster.

    A local Ray that dies during its start is started once more. ``cancelled`` ends the wait for its start.
    Raises NotJoined (an InvalidInput of the address), ConnectionError.
    """
    if address is None:
        return _embedded(cpus, cancelled or threading.Event())
    if address != "auto":
        knock(address)
    # The user's own setting is tried first.
    modes = [os.environ.get("RAY_AUTH_MODE", "disabled").lower(), "disabled", "token"]
    refused = False
    reasons: list[str] = []
    for mode in dict.fromkeys(modes):
        if mode == "token" and not _has_token():
            continue
        try:
            return RayProcess(address, 0, {"RAY_AUTH_MODE": mode}).joined(JOIN_S)
        except TokenRefused:
            refused = True
        except ConnectionError as error:
            reasons.append(str(error))
    if refused and not _has_token():
        raise NotJoined(address, f"the cluster asks for a token: {_TOKEN_PLACES}")
    if refused:
        raise NotJoined(address, f"the cluster does not accept the token of this process: {_TOKEN_PLACES}")
    raise NotJoined(address, reasons[0] if reasons else "no Ray let this machine join")


_TOKEN_PLACES = (
    "it belongs into ~/.ray/auth_token, or into the file that RAY_AUTH_TOKEN_PATH names; "
    "RAY_AUTH_TOKEN, where it is set, comes before both"
)


def _embedded(cpus: int, cancelled: threading.Event) -> RayProcess:
    settings = {
        # Undocumented, and the only way to keep every socket of a local Ray on loopback.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # A separate token, so that Ray does not write one into the home folder.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    reason = ""
    for _ in range(STARTS):
        try:
            return RayProcess(None, cpus, settings).joined(EMBEDDED_S, cancelled)
        except ConnectionError as error:
            reason = str(error)
        if cancelled.is_set():
            break
    raise ConnectionError(f"Ray could not be started: {reason}")


def _has_token() -> bool:
    """Whether Ray would find a token for this process."""
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")).expanduser()
    return bool(os.environ.get("RAY_AUTH_TOKEN")) or file.exists()


TRIES = 3
"""An embedded Ray that ends this often without a finished job in between is given up."""
GONE_S = 20.0
"""Seconds since its last answer in which a cluster may come back at its address, with a restarted head. Ray
notices the end of a head after a minute: then there is one attempt to join, at once."""
PAUSE_S = 1.0
"""Seconds between two tries."""


class Revival:
    """Reconnects in the background, and reports the new connection or the final failure."""

    def __init__(
        self,
        connect: Callable[[], RayProcess],
        address: str | None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """``notify`` is called with a line when Ray has ended, and when it is back."""
        self._connect = connect
        self._address = address
        self._notify = notify or (lambda line: None)
        self._found: Future[RayProcess] | None = None
        """The next connection; None while none is sought."""
        self._closed = threading.Event()
        self._endings = 0
        """How often Ray has ended since the last finished job."""

    @property
    def active(self) -> bool:
        """Whether Ray has ended and is not back yet."""
        return self._found is not None

    def begin(self, reason: str, answered_s: float) -> None:
        """Note that Ray has ended, and when it has answered last (by ``time.monotonic``). Raises
        ConnectionError after too many ends."""
        self._endings += 1
        where = "the local Ray" if self._address is None else f"the Ray cluster at {self._address}"
        if self._endings > TRIES:
            raise ConnectionError(f"{where} ended {counted(self._endings, 'time')} in a row: {reason}")
        verb = "started" if self._address is None else "joined"
        self._notify(f"{where} has ended ({reason}); it is {verb} again, and lost jobs run once more")
        self._found = Future()
        arguments = (self._found, reason, answered_s)
        threading.Thread(target=self._run, args=arguments, name="revival", daemon=True).start()

    def poll(self, timeout_s: float) -> RayProcess | None:
        """Return the new connection once; None while there is none. Raises ConnectionError on final
        failure."""
        assert self._found is not None
        if not wait([self._found], timeout_s).done:
            return None
        found, self._found = self._found, None
        process = found.result()
        self._notify("Ray is there again")
        return process

    def worked(self) -> None:
        """Note that a job was finished."""
        self._endings = 0

    def close(self) -> None:
        """Stop reconnecting; a connection that is made nevertheless is closed, if need be by its thread."""
        self._closed.set()
        if self._found is not None:
            self._found.add_done_callback(_close)

    def _run(self, found: Future[RayProcess], reason: str, answered_s: float) -> None:
        until_s = answered_s + GONE_S
        tries = 0
        while not self._closed.is_set():
            tries += 1
            try:
                found.set_result(self._connect())
                return
            except Exception as error:
                last = error.reason if isinstance(error, NotJoined) else str(error)
                done = time.monotonic() > until_s if self._address else tries == TRIES
                if done:
                    where = "the local Ray" if self._address is None else f"the cluster at {self._address}"
                    gone = f"{where} is gone ({reason}), and did not come back ({last})"
                    found.set_exception(ConnectionError(gone))
                    return
                self._closed.wait(PAUSE_S)


def _close(found: Future[RayProcess]) -> None:
    with contextlib.suppress(OSError):
        found.result().close()
