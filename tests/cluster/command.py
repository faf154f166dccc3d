"""The command `banyan`, run by a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cluster.cli import run

BANYAN = (sys.executable, "-c", "from cluster.cli import main; main()")
ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, its output in pipes."""
    return subprocess.Popen(
        [*BANYAN, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def banyan(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    with start(*arguments) as process:
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


def here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The same without the time that a process takes to start."""
    status = run(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err
