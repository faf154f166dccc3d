"""Whether a Ray cluster can be joined at an address, found out before this process tries to.

Ray takes up to two minutes to give up on an address where nobody answers, writes to
standard error all the while, and cannot be interrupted. So a process of its own joins
first: it can be ended, and nobody sees what it writes.
"""

from __future__ import annotations

import socket
import subprocess
import sys

from games.errors import InvalidInput

KNOCK_S = 3.0
"""How long a host may take to accept a connection: a closed port refuses at once, a firewall says nothing."""
JOIN_S = 9.0
"""How long joining may take: 1.5 s when nothing else runs, and a refused token is repeated for 20 s."""
JOIN = "import logging, sys, ray; ray.init(sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)"


def check_address(address: str, join_s: float = JOIN_S) -> None:
    """Returns if a Ray cluster lets this machine join at ``address``, ``host:port`` or ``auto``.

    Raises InvalidInput (address) within KNOCK_S + join_s.
    """
    if address != "auto":
        _knock(address)
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", JOIN, address],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=join_s,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        if b"InvalidAuthToken" in (expired.stderr or b""):
            raise _invalid(address, "the cluster does not accept the token of this process") from None
        raise _invalid(address, "no Ray let this machine join; it must be a node of the cluster") from None
    if child.returncode != 0:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        raise _invalid(address, lines[-1] if lines else f"joining ended with status {child.returncode}")


def _knock(address: str) -> None:
    """Whether anybody at all listens there."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise _invalid(address, "it is not of the form host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise _invalid(address, error.strerror or str(error)) from None


def _invalid(address: str, reason: str) -> InvalidInput:
    accepted = f"the address of a running Ray cluster, such as 10.0.0.1:6379 or auto ({reason})"
    return InvalidInput("address", address, accepted)
