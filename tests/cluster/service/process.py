"""`banyan serve` in a process of its own, for tests."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import httpx

from cluster.client.client import Client
from tests.cluster.command import BANYAN, ROOT, banyan
from tests.waiting import PATIENCE_S

http = httpx.Client(timeout=PATIENCE_S, limits=httpx.Limits(max_keepalive_connections=0))
"""Waits for an answer as long as it takes, and has a connection for each request, as `httpx.get` has."""


class Server:
    """A server that runs, on a port of its own."""

    def __init__(
        self,
        data: Path,
        *options: str,
        executor: str = "inline",
        port: int = 0,
        environment: dict[str, str] | None = None,
        program: Sequence[str] = BANYAN,
    ) -> None:
        self.data = data
        self._clients: list[Client] = []
        arguments = ["serve", "--data", str(data), "--port", str(port), "--executor", executor, *options]
        self.process = subprocess.Popen(
            [*program, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        assert self.process.stderr is not None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        if not self._ready.wait(PATIENCE_S) or not self.url:
            self.kill()
            raise AssertionError(self.lines)
        self.port = int(self.url.rsplit(":", 1)[1])

    url = ""

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line)
            if match := re.search(r"serving at (http://\S+),", line):
                self.url = match[1]
                self._ready.set()
        self._ready.set()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if error is not None:
            print("".join(self.lines), file=sys.stderr)

    def client(self, token: str | None = None) -> Client:
        """A client, closed with the server if it is not before."""
        self._clients.append(Client(self.url, token))
        return self._clients[-1]

    def count(self, sample: str = "banyan_server_restarts_total", **headers: str) -> float:
        """The value of a sample of the metrics, such as how many servers have died."""
        lines = http.get(f"{self.url}/metrics", headers=headers).text.splitlines()
        return float(next(line for line in lines if line.startswith(f"{sample} ")).rpartition(" ")[2])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(PATIENCE_S)
        for client in self._clients:
            client.close()
        self.process.stderr.close()
        return status

    def kill(self) -> None:
        """End it as a power cut would."""
        self.end(signal.SIGKILL)


def refused(*options: str) -> tuple[int, Sequence[str]]:
    """A server that does not start: its exit status and what it says."""
    status, _, err = banyan("serve", *options)
    return status, err.splitlines()


def searching(client: Client, search_id: str, simulations: int = 0) -> None:
    """Wait until a search has made more simulations than these."""
    progress = (event.data for event in client.events(search_id) if event.name == "progress")
    assert any(each["simulations"] > simulations for each in progress), "it ended before"
