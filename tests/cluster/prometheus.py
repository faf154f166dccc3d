"""A real Prometheus with a deployed configuration, for tests."""

from __future__ import annotations

import re
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.waiting import PATIENCE_S, eventually

DEPLOY = Path(__file__).parents[2] / "deploy"

Query = Callable[[str], list[float]]
"""The values of a PromQL expression's series."""


def free_port() -> int:
    """A port that nobody listens on, of those that Linux does not give away by itself: another process would
    get it before it is used."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def need(tool: str) -> str:
    """Its path; the test is skipped where it is not installed."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


def promtool(*arguments: str, text: str | None = None) -> str:
    """What it says; fails if it finds a fault."""
    command = [need("promtool"), *arguments]
    checked = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return checked.stdout + checked.stderr


@contextmanager
def prometheus(folder: Path, changes: Mapping[str, str], port: int | None = None) -> Iterator[Query]:
    """Asks a Prometheus with the configuration and rules of one machine, each second. ``port``: its own.

    ``changes``: what to put for texts of the configuration, each of which must be in it exactly once.
    Targets that are not among them are down.
    """
    program = need("prometheus")
    config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    every_second = {"scrape_interval: 5s": "scrape_interval: 1s", "scrape_timeout: 4s": "scrape_timeout: 1s"}
    every_second["evaluation_interval: 5s"] = "evaluation_interval: 1s"
    for deployed, here in (every_second | dict(changes)).items():
        assert config.count(deployed) == 1, deployed
        config = config.replace(deployed, here)
    # Not what else may run on this machine.
    config = re.sub(r"127\.0\.0\.1:(8000|910[12])\b", lambda _: f"127.0.0.1:{free_port()}", config)
    (folder / "prometheus.yml").write_text(config)
    shutil.copytree(DEPLOY / "prometheus" / "rules", folder / "rules")
    port = port or free_port()
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def ask(expression: str) -> list[float]:
        url, query = f"http://127.0.0.1:{port}/api/v1/query", {"query": expression}
        answer = httpx.get(url, params=query, timeout=PATIENCE_S).raise_for_status().json()
        return [float(series["value"][1]) for series in answer["data"]["result"]]

    def answers() -> bool:
        assert process.poll() is None, "prometheus has ended"
        try:
            return ask("vector(1)") == [1]
        except httpx.HTTPError:
            return False

    try:
        eventually(answers, "prometheus does not answer")
        yield ask
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
