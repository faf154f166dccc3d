"""The test suite on two cores: what `make test` runs (--quick), and what `make test-all` does.

Two or three pytests run side by side. Tests of the cluster mostly wait, for Ray to start or for a lost worker
to be noticed, so pytest-xdist gives their files to several processes. Tests of games and of search compute in
the time that those leave, at a lower priority, in two processes, because compiling kernels takes longest, and
run a second time as plain Python, where an index out of bounds raises; with --quick only as plain Python,
which saves compiling their kernels.

What failed is run once more when all have ended: beside other tests, on two cores, a wait may be too long for
its limit. A test that fails alone as well has failed; the names of the others are printed as flaky.

The exit status is 0 when every test passed, 1 when one did not, 130 after Ctrl-C, which leaves nothing
running.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = ("tests/games", "tests/search")
"""The folders whose tests run as plain Python as well."""
TWICE_ALIKE = "tests/games/test_gym.py"
"""Steps environments, which are plain Python in either run."""
OTHERS = ("tests", "--ignore=tests/games", "--ignore=tests/search")
SIDE_BY_SIDE = ("--dist", "loadfile", "-n")
UNCOMPILED = {"NUMBA_DISABLE_JIT": "1"}
RANK = {"RAY_worker_niceness": "0"}
"""Workers that Ray ranks below all others would get a thirtieth of the time of what runs beside them."""
BACKGROUND = 5
"""Niceness: a third of the time of a process that has none, where there is not enough for all."""
COMMON = """
import sys
import search
from search.request import STRATEGIES, SearchRequest
for game in sys.argv[1:]:
    for strategy in STRATEGIES:
        search.run(SearchRequest(game, strategy=strategy, lanes=2, simulations=100))
"""
"""A program that compiles the kernels of games: side by side, each process would compile its own."""
TESTS_FAILED = 1
"""Pytest's exit status after tests that failed."""
END_S = 20.0
"""Seconds that a run has to clean up after Ctrl-C, before it is killed."""


class Run:
    """A pytest in a session of its own: Ctrl-C comes to this process alone, which passes it on once."""

    def __init__(self, folder: Path, *arguments: str, niceness: int = 0, **environment: str) -> None:
        """``folder``: for its cache and, with a niceness, for what it prints until it has been waited for."""
        self._failed = folder / "v" / "cache" / "lastfailed"
        self._output = (folder / "output").open("w+") if niceness else None
        self._command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={folder}", *arguments]
        self._environment = {**os.environ, **environment}
        self.process = subprocess.Popen(
            ["nice", "-n", str(niceness), *self._command],
            env=self._environment,
            stdout=self._output,
            stderr=self._output and subprocess.STDOUT,
            start_new_session=True,
        )
        # Linux may share the time among sessions first; niceness counts within a session then.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.process.pid}/autogroup").write_text(str(niceness))

    def passed(self) -> bool:
        """Wait for its end, and print what it kept."""
        status = self.process.wait()
        if self._output is not None:
            self._output.seek(0)
            shutil.copyfileobj(self._output, sys.stdout)
            sys.stdout.flush()
        return status == 0

    def passes_again(self) -> bool:
        """Whether what failed passes alone. A run that did not come to its end has no list of that."""
        if self.process.returncode != TESTS_FAILED or not self._failed.exists():
            print(f"\nended without its summary: {' '.join(self._command)}", flush=True)
            return False
        names = "\n    ".join(json.loads(self._failed.read_text(encoding="utf-8")))
        print(f"\nfailed beside others, and run once more alone:\n    {names}", flush=True)
        again = [*self._command, "--last-failed", "-n", "0"]
        self.process = subprocess.Popen(again, env=self._environment, start_new_session=True)
        passed = self.process.wait() == 0
        if passed:
            print(f"\nflaky, to be mended:\n    {names}", flush=True)
        return passed

    def end(self) -> None:
        """End it as Ctrl-C does, and kill what does not end then."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(END_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def main(quick: bool) -> int:
    """Run the suite; the exit status."""
    # In the background of a shell, Ctrl-C is ignored, here and in what is started from here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    # Several hundred processes import the same modules: what one has compiled is kept for the others.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    choice = ("--quick",) if quick else ()
    runs: list[Run] = []
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, niceness: int = 0, **environment: str) -> None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            run = Run(folder, *choice, *arguments, niceness=niceness, **environment)
            stack.callback(run.end)
            runs.append(run)

        alike = () if quick else (f"--ignore={TWICE_ALIKE}",)
        # Plain Python hears a signal: what takes too long fails, and does not end all that come after it.
        start(*KERNELS, *alike, "-o", "timeout_method=signal", niceness=BACKGROUND, **UNCOMPILED)
        common = ("tictactoe",) if quick else ("tictactoe", "gomoku:size=9")
        subprocess.run([sys.executable, "-c", COMMON, *common], check=False)
        start(*OTHERS, *SIDE_BY_SIDE, "5", **RANK)
        if not quick:
            start(*KERNELS, *SIDE_BY_SIDE, "2", niceness=BACKGROUND)
        # The first to print is that whose output is not kept.
        failed = [run for run in (*runs[1:], runs[0]) if not run.passed()]
        still = [run for run in failed if not run.passes_again()]
    return 1 if still else 0


if __name__ == "__main__":
    try:
        sys.exit(main("--quick" in sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
