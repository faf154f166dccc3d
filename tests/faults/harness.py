"""The harness of the fault campaigns: start, kill, watch, collect, report, clean up.

A campaign is a function that gets a `Campaign` and its options. It starts what it needs, disturbs it, and
calls `complain` for whatever is wrong. `main` runs it: whatever was started is ended, complaints are counted,
and the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.system.processes import descendants, kill

RAY = (sys.executable, "-m", "ray.scripts.scripts")
"""Ray's own command, run by this Python: workers have the Python of the raylet that starts them."""


class Campaign(contextlib.ExitStack):
    """One run: a folder of its own, the processes that it started, the faults it made, and complaints."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="banyan-faults-")))

    def complain(self, text: str) -> None:
        """Note that something is wrong; the campaign goes on."""
        self.complaints.append(text)
        print(f"WRONG: {text}", flush=True)

    def expect(self, holds: bool, text: str) -> None:
        """Complain unless a condition holds."""
        if not holds:
            self.complain(text)

    def start(self, *command: str, log: str, **environment: str) -> subprocess.Popen[bytes]:
        """A process that is killed at the end with all below it. ``log``: its output, in the folder."""
        with (self.folder / log).open("ab") as file:
            process = subprocess.Popen(command, env=os.environ | environment, stdout=file, stderr=file)
        self.callback(kill_tree, process)
        return process

    def send(self, pid: int, number: signal.Signals, name: str) -> bool:
        """Send a signal and count it as a fault of this name; False if the process has ended."""
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        self.faults[name] += 1
        return True


def main(prove: Callable[[Campaign, argparse.Namespace], None], parser: argparse.ArgumentParser) -> int:
    """Run a campaign with the options of the command line; the exit status."""
    # Terminated, a campaign ends as after Ctrl-C, also in a loop of asyncio.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    options = parser.parse_args()
    started_s = time.monotonic()
    with Campaign() as campaign:
        try:
            prove(campaign, options)
        except KeyboardInterrupt:
            campaign.complain("interrupted")
    made = ", ".join(f"{count} {name}" for name, count in sorted(campaign.faults.items()))
    took = f"{time.monotonic() - started_s:.0f} s"
    print(f"{took}{f'; faults: {made}' if made else ''}; {len(campaign.complaints)} things wrong", flush=True)
    return 1 if campaign.complaints else 0


def new_parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser that prints the first line of a module's docstring."""
    return argparse.ArgumentParser(description=(doc or "").splitlines()[0])


def kill_tree(process: subprocess.Popen[Any]) -> None:
    """End a process and all below it, as a power failure would."""
    kill(descendants(process.pid) | {process.pid})
    process.wait()


def name_of(pid: int) -> str:
    """The name of a process's program; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def resident_mb(pid: int) -> tuple[float, float]:
    """Megabytes of a process's own memory, and of what it shares: programs, and Ray's object store."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()
        resident, shared = (int(pages[k]) * os.sysconf("SC_PAGE_SIZE") / 2**20 for k in (1, 2))
    except (OSError, IndexError):
        return 0.0, 0.0
    return resident - shared, shared


def memory_of(pids: set[int]) -> int:
    """Bytes that processes have in memory; each has its part of what several share."""
    total = 0
    for each in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def print_fields(found: Mapping[str, Any]) -> None:
    """Print an object as JSON, one field in each line."""
    lines: Sequence[str] = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    print("{\n" + ",\n".join(lines) + "\n}", flush=True)
