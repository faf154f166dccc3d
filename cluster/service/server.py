"""A server process: creates store, pool and application, serves, and shuts them down."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from types import FrameType

import uvicorn
from fastapi import FastAPI

from cluster.runtime.pool_queue import PoolQueue
from cluster.runtime.tasks import Executor
from cluster.service.api.app import create_app
from cluster.service.api.connections import ACCEPTED_AT_ONCE, PatientProtocol, affordable, bounded
from cluster.service.api.middleware import read_root_path
from cluster.service.api.tokens import check_host, read_tokens
from cluster.service.known_games import AllowedGames, KnownGames, allow_games
from cluster.service.limits import Limits, Settings
from cluster.service.pool import Pool
from cluster.service.searches import Searches
from cluster.service.store import Store
from cluster.service.supervisor import Supervisor
from cluster.system.allocator import give_memory_back
from games.compile.watch import WATCH
from games.errors import InvalidInput

SWITCH_S = 0.001
"""Python's thread switch interval: merges in the pool's thread must not delay requests, which need several
turns."""
SEND_BYTES = 256 * 1024
"""Bytes that the kernel buffers for a client that does not read; its default is megabytes."""
BACKLOG = 2048
"""Connections that wait in the kernel, also during a restart of the server."""
LEAVE_S = 1
"""Seconds that requests may take after everything else has ended; then they are answered with 503."""


def serve(
    settings: Settings,
    limits: Limits,
    make_executor: Callable[[PoolQueue], Executor],
    nice: int | None = None,
) -> int:
    """Serve until a signal arrives, and restart the server if it crashes; returns the exit status.

    ``nice``: the niceness of the workers, if that is known.

    Forks: the server is a child of this process. Raises InvalidInput (such as ``host``, ``port``, ``data``).
    """
    tokens = read_tokens(settings.token_file)
    allowed = allow_games(settings.allow_games or ())
    make_app = partial(
        create_app,
        tokens=tokens,
        origins=settings.cors_origin or (),
        root_path=read_root_path(settings.root_path),
        # Without a token only this machine has access.
        allow_speedup=not tokens if settings.allow_speedup is None else settings.allow_speedup,
    )
    check_host(settings.host, tokens)
    _log_lines()
    with _listen(settings.host, settings.port) as listener:
        run = partial(_serve, settings, limits, make_app, allowed, make_executor, listener, nice)
        return Supervisor(run).run()


def _serve(
    settings: Settings,
    limits: Limits,
    make_app: Callable[[Searches], FastAPI],
    allowed: AllowedGames,
    make_executor: Callable[[PoolQueue], Executor],
    listener: socket.socket,
    nice: int | None,
    ready: Callable[[], None],
    restarts: int,
) -> int:
    """Serve until a signal arrives, in the supervisor's child. Raises InvalidInput (such as ``data``)."""
    sys.setswitchinterval(SWITCH_S)
    WATCH.say = logging.getLogger("banyan.games").info
    give_memory_back()
    # Files written by the server are readable by its user only.
    os.umask(0o077)
    with ExitStack() as stack:
        limits = replace(limits, connections=affordable(limits.connections))
        store = Store(settings.data)
        stack.callback(store.close)
        pool = Pool(make_executor)
        stack.callback(pool.close)
        games = KnownGames(allowed, of_workers(nice))
        stack.callback(games.close)
        searches = Searches(store, pool, limits, settings.checkpoint_every, games=games)
        searches.figures.restarts = restarts
        searches.metrics.watch_executor(pool.executor)
        app = make_app(searches)
        pool.start()
        # From here on a crash causes a restart: a search that is opened next may crash the process.
        ready()
        searches.start(died=restarts > 0)
        app.state.analyses.start(died=restarts > 0)
        stack.callback(app.state.analyses.close)
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        line = f"banyan: serving at http://{shown}:{port}, data in {settings.data}\nbanyan: {games.workers}"
        server = _Server(_config(app, bounded(limits.connections, searches.figures)), searches, line)
        server.run(sockets=[listener.dup()])
        # The supervisor holds the socket too; shut it down, so that no client waits for a server.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        searches.close()
        # If this cannot be stored, the searches count as running when the server ended.
        with suppress(sqlite3.Error):
            store.put_away()
    return 0


def of_workers(nice: int | None) -> str:
    """How workers share their machines with other programs."""
    if nice is None:
        return "workers take what other programs on their machines leave"
    slow = ": beside other programs they may have a tenth of their speed (--nice N)" if nice > 4 else ""
    return f"workers run at nice {nice}{slow}"


class _Server(uvicorn.Server):
    """Ends in two steps: searches are suspended while requests are still answered, then listening stops."""

    def __init__(self, config: uvicorn.Config, searches: Searches, line: str) -> None:
        """``line`` is printed when requests are accepted, and signals handled."""
        super().__init__(config)
        self._searches, self._line = searches, line

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # asyncio also accepts as many connections at once as its own backlog says, which must be few.
            each.listen(BACKLOG)
        print(self._line, file=sys.stderr, flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """First signal: drain. Second signal: exit at once; nothing that was acknowledged is lost."""
        if self._searches.draining:
            self.should_exit = self.force_exit = True
            return
        # In a thread, because the interrupted thread may hold a lock that draining needs.
        threading.Thread(target=self._drain, name="drain").start()

    def _drain(self) -> None:
        self._searches.drain()
        self._searches.close()
        self.should_exit = True


def _config(app: object, protocol: type[PatientProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LEAVE_S,
        timeout_keep_alive=30,
        http=protocol,
        # Use the addresses of the peers: a proxy header can be sent by any client.
        proxy_headers=False,
        backlog=ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=64 * 1024,
        lifespan="off",
        ws="none",
    )


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. Raises InvalidInput (fields ``host``, ``port``)."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InvalidInput("host", host, f"an address of this machine ({error})") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput("port", port, f"a free port of {host} ({error})") from None
    return listener


class _Lines(logging.Formatter):
    """Log records as one line of JSON each, so that text from clients cannot forge a record."""

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
    # The server continues if the reader of its log ends.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
