"""The limits of links between namespaces are what the kernel lets through."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.faults.hosts import Network, why_not

SECONDS_OF_A_MEGABYTE = 0.8
"""With 10 Mbit/s."""
RECEIVE = """
import socket
server = socket.create_server(("10.77.0.2", 5000))
print(flush=True)
connection, _ = server.accept()
while connection.recv(65536): pass
"""
SEND = """
import socket
with socket.create_connection(("10.77.0.2", 5000)) as connection:
    connection.sendall(bytes(10**6))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
"""


def test_a_limited_link_takes_its_time_and_one_without_limit_does_not() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    network = Network(f"banyan{os.getpid()}", (1, 2))

    def seconds() -> float:
        python = (sys.executable, "-c")
        on = [["ip", "netns", "exec", network.host(number), *python] for number in (1, 2)]
        with subprocess.Popen([*on[1], RECEIVE], stdout=subprocess.PIPE) as receiver:
            assert receiver.stdout is not None
            receiver.stdout.readline()
            began_s = time.monotonic()
            subprocess.run([*on[0], SEND], check=True)
            return time.monotonic() - began_s

    try:
        network.build()
        network.limit(10)
        limited_s = seconds()
        network.limit(0)
        assert min(seconds() for _ in range(3)) < limited_s - SECONDS_OF_A_MEGABYTE / 2
        assert limited_s > SECONDS_OF_A_MEGABYTE * 0.95
    finally:
        network.remove()
