"""Every test, on two cores: what `make test` runs.

Tests of the cluster go first and alone, for some of them watch the clock. Then those of games and
search go compiled and, beside that, uncompiled, where an index out of bounds raises. The exit status
is 0 when every run passed, 1 when one did not, 130 after Ctrl-C, which leaves nothing running.
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

KERNELS = ("tests/games", "tests/search")
"""The folders whose tests run twice."""
END_S = 20.0
"""How long a run that was called off may take to put away what it started."""


def start(*paths: str, output: IO[Any] | None = None, **environment: str) -> subprocess.Popen[bytes]:
    """A pytest in a session of its own: Ctrl-C comes to this process alone, which passes it on once."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *paths],
        env={**os.environ, **environment},
        stdout=output,
        stderr=output and subprocess.STDOUT,
        start_new_session=True,
    )


def passed(run: subprocess.Popen[bytes]) -> bool:
    """Waits for the end of a run."""
    try:
        return run.wait() == 0
    finally:
        end(run)


def end(run: subprocess.Popen[bytes]) -> None:
    if run.poll() is not None:
        return
    run.send_signal(signal.SIGINT)
    try:
        run.wait(END_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryFile("w+") as later:
        results = [passed(start("tests", *(f"--ignore={folder}" for folder in KERNELS)))]
        uncompiled = start(*KERNELS, output=later, NUMBA_DISABLE_JIT="1")
        try:
            results.append(passed(start(*KERNELS)))
            print("\nand uncompiled, where an index out of bounds raises", flush=True)
            results.append(passed(uncompiled))
        finally:
            end(uncompiled)
            later.seek(0)
            shutil.copyfileobj(later, sys.stdout)
            sys.stdout.flush()
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
