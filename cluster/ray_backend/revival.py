"""Revival of Ray after it has ended: started or joined again in a thread, while the search waits."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from cluster.ray_backend.address import NotJoined
from cluster.ray_backend.process import RayProcess
from games.errors import counted

TRIES = 3
"""An embedded Ray that ends this often without a finished job in between is given up."""
GONE_S = 20.0
"""Seconds that a cluster may take to come back at its address (its head is restarted), since it has answered
last. Ray notices the end of a head after a minute; then it is joined again once, at once."""
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
        self._thread: threading.Thread | None = None
        self._found: RayProcess | None = None
        self._error: str | None = None
        self._closed = threading.Event()
        self._endings = 0
        """How often Ray has ended since the last finished job."""

    @property
    def active(self) -> bool:
        """Whether Ray has ended and is not back yet."""
        return self._thread is not None

    def begin(self, reason: str, jobs: int, answered_s: float) -> None:
        """Note that Ray has ended, with ``jobs`` jobs on workers, and when it has answered last (by
        ``time.monotonic``). Raises ConnectionError after too many ends."""
        self._endings += 1
        where = "the local Ray" if self._address is None else f"the Ray cluster at {self._address}"
        if self._endings > TRIES:
            raise ConnectionError(f"{where} ended {counted(self._endings, 'time')} in a row: {reason}")
        verb = "started" if self._address is None else "joined"
        again = f"it is {verb} again, to run {counted(jobs, 'job')} once more"
        self._notify(f"{where} has ended ({reason}); {again}")
        self._error = None
        self._thread = threading.Thread(
            target=self._run, args=(reason, answered_s), name="revival", daemon=True
        )
        self._thread.start()

    def poll(self, timeout_s: float) -> RayProcess | None:
        """Return the new connection once; None while there is none. Raises ConnectionError on final
        failure."""
        assert self._thread is not None
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return None
        self._thread = None
        if self._found is None:
            raise ConnectionError(self._error)
        found, self._found = self._found, None
        self._notify("Ray is there again")
        return found

    def worked(self) -> None:
        """Note that a job was finished."""
        self._endings = 0

    def close(self) -> None:
        """Stop reconnecting; a connection that is made nevertheless is closed by its thread."""
        self._closed.set()
        if self._found is not None:
            self._found.close()
            self._found = None

    def _run(self, reason: str, answered_s: float) -> None:
        until_s = answered_s + GONE_S
        tries = 0
        while not self._closed.is_set():
            tries += 1
            try:
                found = self._connect()
            except (ConnectionError, NotJoined) as error:
                last = error.reason if isinstance(error, NotJoined) else str(error)
                done = time.monotonic() > until_s if self._address else tries == TRIES
                if done:
                    where = "the local Ray" if self._address is None else f"the cluster at {self._address}"
                    self._error = f"{where} is gone ({reason}), and did not come back ({last})"
                    return
                self._closed.wait(PAUSE_S)
                continue
            self._found = found
            if self._closed.is_set():
                with contextlib.suppress(OSError):
                    found.close()
            return
