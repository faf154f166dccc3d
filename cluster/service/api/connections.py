"""Limits of connections: time to send a request and to read an answer, and the number of waiting connections.

A connection *waits* while none of its requests is being answered: it has sent nothing, or a part of a header,
or it is kept open for another request. The number of waiting connections is limited in total and by address.
Above the limit, the connection that has waited longest is closed in favour of the newest. So clients
that open connections without sending requests cannot exclude others, even from their own address: a
request that is sent at once is read at once. The number of requests answered at a time is limited in
middleware.py.
"""

from __future__ import annotations

import asyncio
import resource
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any, ClassVar, Generic, TypeVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from cluster.service.limits import of_one
from cluster.service.service_figures import ServiceFigures

ACCEPTED_AT_ONCE = 128
"""Connections that are accepted before open connections are read again."""
OTHER_FILES = 300
"""Open files other than connections, such as those of the store and of Ray."""
UNREAD_BYTES = 16 * 1024
"""Unsent bytes of a connection above which its answer, or event stream, waits for the client to read."""
_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 27\r\n\r\nThe request took too long.\n"
)
C = TypeVar("C")


class Waiting(Generic[C]):
    """The waiting connections by address, in order of waiting time."""

    def __init__(self, most: int) -> None:
        self._most, self._most_of_one = most, of_one(most)
        self._of: dict[str, dict[C, None]] = {}
        self._count = 0

    def add(self, connection: C, address: str) -> C | None:
        """Add a connection unless it is waiting already; returns the connection to close for it, if any."""
        own = self._of.setdefault(address, {})
        if connection in own:
            return None
        own[connection] = None
        self._count += 1
        if len(own) > self._most_of_one:
            return next(iter(own))
        if self._count > self._most:
            crowd = max(self._of, key=lambda each: len(self._of[each]))
            return next(iter(self._of[crowd]))
        return None

    def remove(self, connection: C, address: str) -> None:
        """Remove a connection if it is waiting."""
        own = self._of.get(address, {})
        if connection in own:
            del own[connection]
            self._count -= 1
            if not own:
                del self._of[address]


@dataclass(frozen=True)
class Patience:
    """Time limits for clients, in seconds."""

    head_s: float = 10.0
    """For a request's header, from its first byte or from the opening of the connection."""
    request_s: float = 35.0
    """For a request's body after its header; middleware.py refuses slow bodies a little earlier."""
    stalled_s: float = 30.0
    """Without reading any byte of an answer that is ready to be sent."""
    leave_s: float = 5.0
    """For reading the last bytes of a connection that is being closed."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 on one connection, with time limits; `bounded` makes the class that a server uses."""

    waiting: ClassVar[Waiting[Any]]
    figures: ClassVar[ServiceFigures]
    patience: ClassVar[Patience]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(UNREAD_BYTES)
        self._address = address_of(self.client)
        self._timer: asyncio.TimerHandle | None = None
        self._timed: object = None
        """The state of the client, in h11's terms, that the running timer limits."""
        self._stalled: asyncio.TimerHandle | None = None
        self._heard = False
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._read_again()
        self.waiting.remove(self, self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard = True
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._heard = False
        # uvicorn's own timer limits a client that sends no further request.
        self._look(silent=True)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._leave()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_again()

    def _look(self, *, silent: bool = False) -> None:
        """Update whether the connection waits, and start the timer for what the client must send next."""
        if self.transport.is_closing():
            self._leave()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting.remove(self, self._address)
        elif (crowded_out := self.waiting.add(self, self._address)) is not None:
            self.figures.refused("too_many_connections")
            crowded_out.drop()
        state = self.conn.their_state
        limit_s = self._limit_s(silent)
        if limit_s is None or state is not self._timed:
            self._stop_timer()
        if limit_s is not None and self._timer is None:
            self._timed = state
            self._timer = self.loop.call_later(limit_s, self._too_slow)

    def _limit_s(self, silent: bool) -> float | None:
        """The time limit for the present state of the client; None: no limit."""
        if self.conn.their_state is h11.SEND_BODY:
            return self.patience.request_s
        return self.patience.head_s if self.conn.their_state is h11.IDLE and not silent else None

    def drop(self) -> None:
        """Close the connection at once."""
        self.waiting.remove(self, self._address)
        self.transport.abort()

    def _too_slow(self) -> None:
        self._timer = None
        self.figures.refused("too_slow")
        if self._heard and self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
        self._leave()

    def _leave(self) -> None:
        """Close the connection, and abort it if the client does not read the remaining bytes in time."""
        self._stop_timer()
        self.waiting.remove(self, self._address)
        self.transport.close()
        self.loop.call_later(self.patience.leave_s, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timed = None

    def _expect_reading(self) -> None:
        """Close the connection if the client reads nothing for `Patience.stalled_s`."""
        before = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < before:
                self._expect_reading()
            else:
                self.figures.refused("too_slow")
                self.transport.abort()

        self._read_again()
        self._stalled = self.loop.call_later(self.patience.stalled_s, look)

    def _read_again(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def bounded(most: int, figures: ServiceFigures, patience: Patience = Patience()) -> type[PatientProtocol]:
    """The protocol class of a server with at most ``most`` waiting connections."""
    shared = {"waiting": Waiting[PatientProtocol](most), "figures": figures, "patience": patience}
    return type("BoundedProtocol", (PatientProtocol,), shared)


def address_of(client: tuple[str, int] | None) -> str:
    """The client's IPv4 address, or the first 64 bits of its IPv6 address: a client has many of these."""
    host = "" if client is None else client[0]
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped or address.packed[:8].hex())


def affordable(most: int) -> int:
    """The number of waiting connections, and of connections being answered, for which there are enough files.

    At most ``most``. Raises the process's limit of open files as far as it is allowed to.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * most + ACCEPTED_AT_ONCE + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        most = min(most, max(8, (soft - ACCEPTED_AT_ONCE - OTHER_FILES) // 2))
    return most
