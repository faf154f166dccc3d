"""Calls third-party code in a separate process, so that it cannot crash the server."""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from cluster.service.errors import Problem
from cluster.service.turns import LOOK_S, Turns
from cluster.system.processes import descendants, kill
from games.errors import InvalidInput

MEMORY_MB = 1024
"""Memory limit of one request, in addition to what Python and the libraries take."""
SECONDS = 20.0
"""Limit of CPU time and of wall time of one request, including the compilation of a game's rules. Time for
which other programs have the cores does not count (but see MOST_TIMES)."""
MOST_TIMES = 9
"""Limit of wall time, including time that does not count, as a multiple of the limit in seconds."""
WAITING = 8
"""Largest number of waiting requests. More would block all threads of the server, so they are refused."""
PROGRAM = "cluster.service.foreign_process"


class Foreign:
    """The separate process: started on demand, restarted if it ends, used by one request at a time."""

    def __init__(self, memory_mb: int = MEMORY_MB, seconds: float = SECONDS) -> None:
        self._memory_mb, self._seconds = memory_mb, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()
        """Held during a request."""
        self._turns = Turns(WAITING)

    def ask(
        self,
        call: str,
        subject: str,
        *arguments: Any,
        field: str = "game",
        address: str | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Run a call of `foreign_process.CALLS`; the arguments are pickled. Returns its result.

        ``subject``, ``field``: the game, or another field of the request, that fails if the call does.
        ``address``, ``check``: as in `Turns.turn`; ``address`` None: waits even if many requests are waiting.
        When ``check`` raises during the call, the process is ended. Raises InvalidInput (that field, or
        the field that the call refuses) and Problem (429: too many requests; 503: there is no process).
        """
        turn = nullcontext() if address is None else self._turns.turn(address, check)
        with turn, self._lock:
            answer = self._exchange((call, arguments, self._memory_mb, self._seconds), check)
        if "refused" in answer:
            raise InvalidInput(*answer["refused"])
        if "reason" in answer:
            accepted = f"a {field} that can be played here (this one {answer['reason']})"
            raise InvalidInput(field, subject, accepted)
        value: dict[str, Any] = answer["value"]
        return value

    def close(self) -> None:
        """End the process at once. Later requests are refused."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._end()

    def _exchange(self, request: tuple[Any, ...], check: Callable[[], object]) -> dict[str, Any]:
        # The process may have been killed for lack of memory since the last request: try once more.
        for _ in range(2):
            if self._closed:
                break
            try:
                return self._ask(request, check)
            except Exception as error:
                self._end()
                if not isinstance(error, OSError | EOFError | ValueError):
                    raise
        raise Problem(503, "the process that tests games which are not built in has ended")

    def _ask(self, request: tuple[Any, ...], check: Callable[[], object]) -> dict[str, Any]:
        """Send a request and read the answer. Raises OSError, EOFError, ValueError, what ``check`` raises."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A process with a single thread can fork safely.
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        pickle.dump(request, requests)
        requests.flush()
        while not select.select([answers], [], [], LOOK_S)[0]:
            check()
        if not (line := answers.readline()):
            raise EOFError
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            kill(descendants(process.pid) | {process.pid})
            # Closes the pipes, and waits.
            with suppress(OSError), process:
                pass
