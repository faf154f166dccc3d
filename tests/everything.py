"""The test suite on two cores: what `make test` runs (--quick), and what `make test-all` does.

Pytest runs in several processes side by side: tests of the cluster mostly wait, for Ray to start or for a
worker to be missed, and tests of games and of search compute in the time that they leave, at a lower
priority. Games and search run a second time as plain Python, where an index out of bounds raises; with
--quick only as plain Python, which saves compiling their kernels. These begin first: meanwhile the kernels
are compiled that several of the other runs need at once. What they print follows that of the others.

What failed is run once more when all runs have ended: beside other tests, on two cores, a wait may be too
long for its limit. A test that fails alone as well has failed; one that passes is told of, by name.

The exit status is 0 when every run passed, 1 when one did not, 130 after Ctrl-C, which leaves nothing
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
import time
from pathlib import Path
from typing import IO

from tests.quick import TESTS, ignores

PARTS: tuple[tuple[str, ...], ...] = (
    ("cluster/service/test_[a-l]*",),
    ("cluster/test_names*", "cluster/test_own_games*", "cluster/test_plain_cluster*", "cluster/test_ray_e*"),
    ("cluster/service/*", "deploy/*"),
    ("cluster/test_elasticity*", "cluster/test_evaluators*", "cluster/test_resume*"),
    ("cluster/test_[p-r]*",),
    ("cluster/test_[s-z]*",),
    ("*",),
)
"""The other tests, by patterns of their files, of which the first that fits counts. Those that wait most come
first: for servers, Ray, browsers, and machines that join."""
QUICK_PARTS = ((1,), (0, 2, 3), (4, 5), (6,))
"""Which parts run together with --quick."""
AT_ONCE = 7
"""The number of runs side by side on two cores."""
KERNELS = ("tests/games", "tests/search")
"""The folders whose tests run as plain Python as well."""
UNCOMPILED = {"NUMBA_DISABLE_JIT": "1"}
BACKGROUND = 5
"""Niceness: a third of the time of a process that has none, where there is not enough for all."""
PATIENCE = ("-o", "timeout=600")
"""A test that outlasts this ends its whole run: more than alone, for AT_ONCE runs share the cores."""
COMMON = """
import sys
import search
from search.request import STRATEGIES, SearchRequest
for game in sys.argv[1:]:
    for strategy in STRATEGIES:
        search.run(SearchRequest(game, strategy=strategy, lanes=2, simulations=100))
"""
"""A program that compiles the kernels of games: side by side, each run would compile its own."""
RANK = {"RAY_worker_niceness": "0"}
"""Workers that Ray ranks below all others would get a thirtieth of the time of what runs beside them."""
TESTS_FAILED = 1
"""Pytest's exit status after tests that failed."""
END_S = 20.0
"""Seconds that a run has to clean up after Ctrl-C, before it is killed."""


class Run:
    """A pytest in a session of its own: Ctrl-C comes to this process alone, which passes it on once."""

    def __init__(
        self,
        *arguments: str,
        cache: Path,
        later: IO[str] | None = None,
        niceness: int = 0,
        **environment: str,
    ) -> None:
        """``cache`` is an empty folder, ``later`` keeps what it prints until it has been waited for."""
        self.later = later
        self._command = [sys.executable, "-m", "pytest", *PATIENCE, "-o", f"cache_dir={cache}"]
        self._command += arguments
        self._environment = {**os.environ, **environment}
        self._failed = cache / "v" / "cache" / "lastfailed"
        self.process = subprocess.Popen(
            ["nice", "-n", str(niceness), *self._command],
            env=self._environment,
            stdout=later,
            stderr=None if later is None else subprocess.STDOUT,
            start_new_session=True,
        )
        # Linux may share the time among sessions first; niceness counts within a session then.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.process.pid}/autogroup").write_text(str(niceness))

    def passed(self) -> bool:
        """Wait for its end, and print what it kept."""
        status = self.process.wait()
        if self.later is not None:
            self.later.seek(0)
            shutil.copyfileobj(self.later, sys.stdout)
            sys.stdout.flush()
        return status == 0

    def passes_again(self) -> bool:
        """Whether what failed passes alone. A run that did not come to its end has no list of that."""
        if self.process.returncode != TESTS_FAILED or not self._failed.exists():
            return False
        names = "\n    ".join(json.loads(self._failed.read_text(encoding="utf-8")))
        print(f"\nfailed beside others, and run once more alone:\n    {names}", flush=True)
        self.process = subprocess.Popen(
            [*self._command, "--last-failed"], env=self._environment, start_new_session=True
        )
        return self.process.wait() == 0

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


def parts(quick: bool) -> list[list[str]]:
    """The files of each run, without those of KERNELS."""
    found: list[list[str]] = [[] for _ in PARTS]
    for file in sorted(TESTS.rglob("test_*.py")):
        name = file.relative_to(TESTS)
        if name.parts[0] not in ("games", "search") and not (quick and ignores(file)):
            fits = (any(name.match(each) for each in patterns) for patterns in PARTS)
            found[list(fits).index(True)].append(str(file))
    return [[each for part in joined for each in found[part]] for joined in QUICK_PARTS] if quick else found


def main(quick: bool) -> int:
    """Run the suite; the exit status."""
    # In the background of a shell, Ctrl-C is ignored, here and in what is started from here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    choice = ["--quick"] if quick else []
    runs: list[Run] = []
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, niceness: int = 0, at_once: bool = False, **environment: str) -> None:
            later = None if at_once else stack.enter_context(tempfile.TemporaryFile("w+"))
            cache = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            while sum(run.process.poll() is None for run in runs) >= AT_ONCE:
                time.sleep(0.2)
            run = Run(*choice, *arguments, cache=cache, later=later, niceness=niceness, **environment)
            runs.append(run)

        try:
            start(*KERNELS, niceness=BACKGROUND, **UNCOMPILED)
            common = ("tictactoe",) if quick else ("tictactoe", "gomoku:size=9")
            subprocess.run([sys.executable, "-c", COMMON, *common], check=False)
            for number, files in enumerate(parts(quick)):
                start(*files, at_once=number == 0, **RANK)
            if not quick:
                for folder in KERNELS:
                    start(folder, niceness=BACKGROUND)
            # What began first prints last.
            failed = [run for run in (*runs[1:], runs[0]) if not run.passed()]
            still = [run for run in failed if not run.passes_again()]
        finally:
            for run in runs:
                run.call_off()
            for run in runs:
                run.end()
    return 1 if still else 0


if __name__ == "__main__":
    try:
        sys.exit(main("--quick" in sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
