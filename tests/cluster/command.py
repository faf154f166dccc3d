"""The command `banyan`, run by a test."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from typing import Any

import pytest

from cluster.cli import run
from tests.cluster import strangers
from tests.cluster.strangers import ROOT
from tests.waiting import PATIENCE_S

BANYAN = (sys.executable, "-c", "from cluster.cli import main; main()")


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """The command in a process of its own, its output in pipes; ``environment`` is added to ours."""
    everything = {**os.environ, **environment}
    return strangers.start(*arguments, cwd=ROOT, environment=everything, command=BANYAN)


def banyan(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    with start(*arguments, **environment) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, without_compilations(err)


def without_compilations(err: str) -> str:
    """Standard error without the lines that say that kernels are compiled.

    They depend on the machine's speed, and on what has run before.
    """
    return re.sub(r"^banyan: compiling .*\n", "", err, flags=re.MULTILINE)


SEARCHES = r"[1-9]\S* simulations"
"""The progress of a search that has got results."""


def interrupted(
    process: subprocess.Popen[str], pattern: str, number: int = signal.SIGINT
) -> tuple[int, str, str]:
    """Signal a command once there is such a line on standard error; what `banyan` gives."""
    with process:
        assert process.stderr is not None
        assert any(re.search(pattern, line) for line in process.stderr), "it has ended before"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err


class Here:
    """The command in this process: without the time that a process takes to start."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        status = run(arguments)
        captured = self._capsys.readouterr()
        return status, captured.out, without_compilations(captured.err)

    def text(self, *arguments: str) -> str:
        """What the command prints, which has nothing to complain of."""
        status, out, err = self(*arguments)
        assert status == 0, err
        return out

    def json(self, *arguments: str) -> Any:
        """The answer as an object."""
        return json.loads(self.text(*arguments, "--json"))

    def refusal(self, *arguments: str) -> str:
        """The one line in which wrong input is refused."""
        status, out, err = self(*arguments)
        assert (status, out) == (2, ""), err
        assert err.startswith("banyan: error: ") and err.count("\n") == 1 and err.endswith("\n"), err
        return err


def on_terminal(columns: int, *arguments: str, typed: Sequence[str] = ()) -> tuple[int, str]:
    """Exit status, and what `drawn_on_terminal` returns of standard output, without its escapes."""
    status, drawn = drawn_on_terminal(columns, *arguments, typed=typed)
    return status, re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", drawn).replace("\r\n", "\n")


def drawn_on_terminal(
    columns: int, *arguments: str, rows: int = 24, stream: str = "stdout", typed: Sequence[str] = ()
) -> tuple[int, str]:
    """Exit status, and what a terminal of this size gets on standard output or standard error (``stream``).

    ``typed``: what is typed after each prompt.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [*BANYAN, *arguments],
        cwd=ROOT,
        env={**environment, "TERM": "xterm-256color"},
        stdout=theirs if stream == "stdout" else subprocess.DEVNULL,
        stderr=theirs if stream == "stderr" else subprocess.DEVNULL,
        stdin=theirs if typed else subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        shown = b""
        # Linux says that the other end has been closed by an error.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                shown += part
                if typed and shown.endswith(b"> "):
                    os.write(ours, typed[0].encode())
                    typed = typed[1:]
        os.close(ours)
        process.wait(timeout=PATIENCE_S)
    return process.returncode, shown.decode()
