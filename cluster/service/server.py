"""One server: the folder, the pool, the application, and how all of it ends."""

from __future__ import annotations

import json
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from cluster.executor import Executor
from cluster.metrics import Metrics
from cluster.service.allocator import give_memory_back
from cluster.service.app import create_app
from cluster.service.limits import Limits
from cluster.service.pool import Pool
from cluster.service.pool_queue import PoolQueue
from cluster.service.searches import Searches
from cluster.service.service_metrics import families
from cluster.service.store import Store
from cluster.service.supervisor import Supervisor
from cluster.service.tokens import Tokens, check_host
from games.errors import InvalidInput

SWITCH_S = 0.001
"""How long a thread may keep Python to itself while others want it: the pool's merges, and a request waits
for several turns."""
LEAVE_S = 5
"""How long connections may take to end after everything else has."""


@dataclass(frozen=True)
class Settings:
    """Where a server listens, keeps and runs; what it takes."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    tokens: Tokens = field(default_factory=Tokens)
    origins: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    checkpoint_every_s: float = 10.0


def serve(settings: Settings, make_executor: Callable[[PoolQueue], Executor]) -> int:
    """Serve until a signal ends it, whatever dies meanwhile; the exit status.

    Forks: the server is a child of this process. Raises InvalidInput (host, port, data, ...).
    """
    check_host(settings.host, settings.tokens)
    _log_lines()
    with _listen(settings.host, settings.port) as listener:
        return Supervisor(partial(_serve, settings, make_executor, listener)).run()


def _serve(
    settings: Settings,
    make_executor: Callable[[PoolQueue], Executor],
    listener: socket.socket,
    ready: Callable[[], None],
    restarts: int,
) -> int:
    """Serve until a signal ends it, in the supervisor's child. Raises InvalidInput (data, ...)."""
    sys.setswitchinterval(SWITCH_S)
    give_memory_back()
    with ExitStack() as stack:
        store = Store(settings.data)
        stack.callback(store.close)
        pool = Pool(make_executor)
        stack.callback(pool.close)
        searches = Searches(store, pool, settings.limits, settings.checkpoint_every_s)
        searches.figures.restarts = restarts
        metrics = Metrics(sources=(partial(families, searches),))
        metrics.watch_executor(pool.executor)
        searches.metrics = metrics
        app = create_app(searches, metrics, settings.tokens, settings.origins)
        pool.start()
        searches.start()
        server = _Server(_config(app), searches)
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(
            f"banyan: serving at http://{shown}:{port}, data in {settings.data}", file=sys.stderr, flush=True
        )
        ready()
        server.run(sockets=[listener.dup()])
        # The supervisor has it too: nobody is to wait for a server that will not be.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        searches.close()
    return 0


class _Server(uvicorn.Server):
    """Ends in two steps: searches are put away while requests are still answered, then it stops listening."""

    def __init__(self, config: uvicorn.Config, searches: Searches) -> None:
        super().__init__(config)
        self._searches = searches

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal drains; the second ends at once, and loses nothing that was acknowledged."""
        if self._searches.draining:
            self.should_exit = self.force_exit = True
            return
        # A lock may be held by the very thread that this interrupts.
        threading.Thread(target=self._drain, name="drain").start()

    def _drain(self) -> None:
        self._searches.drain()
        self._searches.close()
        self.should_exit = True


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LEAVE_S,
        timeout_keep_alive=30,
        limit_concurrency=2000,
        h11_max_incomplete_event_size=64 * 1024,
        lifespan="off",
        ws="none",
    )


def _listen(host: str, port: int) -> socket.socket:
    """Raises InvalidInput (host, port)."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InvalidInput("host", host, f"an address of this machine ({error})") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput("port", port, f"a free port of {host} ({error})") from None
    return listener


class _Lines(logging.Formatter):
    """One line of JSON for each record, so that nothing that was sent can make another."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _log_lines() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, level in (("banyan", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    # Whoever stops reading the log does not stop the server.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
