"""Every test, on two cores: what `make test` runs, and with --uncompiled what `make test-uncompiled` does.

Tests of the cluster come first, for some of them watch the clock; but they mostly wait, for Ray to start
or for a worker to be missed. So they are two runs: those of the service and of deployment, and some more, run
beside the others. In the time that they leave, those of games and of search run, at a lower priority, in one
process, which compiles what both use once.

Uncompiled, an index out of bounds raises: then games and search run side by side, as plain Python.

The exit status is 0 when every run passed, 1 when one did not, 130 after Ctrl-C, which leaves nothing
running.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import IO, Any

BESIDE_CLUSTER = (
    "tests/cluster/service",
    "tests/deploy",
    "tests/cluster/test_elasticity.py",
    "tests/cluster/test_evaluators.py",
    "tests/cluster/test_resume.py",
)
"""Half of what waits for others most of the time: for servers, browsers, machines that join."""
KERNELS = ("tests/games", "tests/search")
"""The folders whose tests run twice."""
BESIDE = 5
"""Niceness: a third of the time of what has none, where there is not enough for all."""
RANK = {"RAY_worker_niceness": "0"}
"""Workers that Ray ranks below all others would get a thirtieth of the time of what runs beside them."""
END_S = 20.0
"""How long a run that was called off may take to put away what it started."""


class Run:
    """A pytest in a session of its own: Ctrl-C comes to this process alone, which passes it on once."""

    def __init__(
        self, *arguments: str, later: IO[str] | None = None, niceness: int = 0, **environment: str
    ) -> None:
        """``later`` keeps what it prints until it has been waited for."""
        self.later = later
        self.process = subprocess.Popen(
            ["nice", "-n", str(niceness), sys.executable, "-m", "pytest", *arguments],
            env={**os.environ, **environment},
            stdout=later,
            stderr=None if later is None else subprocess.STDOUT,
            start_new_session=True,
        )

    def passed(self) -> bool:
        """Wait for its end, and print what it kept."""
        status = self.process.wait()
        if self.later is not None:
            self.later.seek(0)
            shutil.copyfileobj(self.later, sys.stdout)
            sys.stdout.flush()
        return status == 0

    def call_off(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Wait until what was called off has ended, and then no longer."""
        try:
            self.process.wait(END_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def main(uncompiled: bool) -> int:
    # Of both: in the background of a shell, Ctrl-C is ignored, here and in what is started from here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    runs: list[Run] = []

    def start(*arguments: str, **options: Any) -> None:
        runs.append(Run(*arguments, **options))

    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
        try:
            if uncompiled:
                first, second = KERNELS
                start(first, NUMBA_DISABLE_JIT="1")
                start(second, later=kept[0], NUMBA_DISABLE_JIT="1")
            else:
                start("tests", *(f"--ignore={folder}" for folder in (*BESIDE_CLUSTER, *KERNELS)), **RANK)
                start(*BESIDE_CLUSTER, later=kept[0], **RANK)
                start(*KERNELS, later=kept[1], niceness=BESIDE)
            results = [run.passed() for run in runs]
        finally:
            for run in runs:
                run.call_off()
            for run in runs:
                run.end()
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main("--uncompiled" in sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
