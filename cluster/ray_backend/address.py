"""Checks that something listens at the address of a cluster before Ray tries to join it.

Ray needs up to two minutes to give up on an address where nothing answers.
"""

from __future__ import annotations

import socket

from games.errors import InvalidInput

KNOCK_S = 3.0
"""Time limit in seconds for accepting a connection: a closed port refuses at once, a firewall never does."""


class NotJoined(InvalidInput):
    """The cluster at an address could not be joined."""

    def __init__(self, address: str, reason: str) -> None:
        other = "the address of a running Ray cluster, such as 10.0.0.1:6379"
        here = "a Ray cluster that runs on this machine, for auto; or host:port"
        accepted = f"{here if address == 'auto' else other} ({reason})"
        super().__init__("address", address, accepted)
        self.reason = reason


def knock(address: str) -> None:
    """Connect to ``host:port`` and disconnect. Raises NotJoined (address) within KNOCK_S if that fails."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise NotJoined(address, "it is not of the form host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise NotJoined(address, error.strerror or str(error)) from None
