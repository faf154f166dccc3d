"""Runs the commands of the report, each in its own process."""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.lab.scaling.part import Part, Run
from cluster.lab.scaling.store import OUTPUT, Note, Store
from cluster.report.machine import describe
from cluster.runtime.code_version import code_of_searches
from cluster.system import terminal

ROOT = Path(__file__).parents[3]
"""The folder of the packages. Commands run there: paths of games and names of modules start from it."""
_BANYAN = "from cluster.cli import main; main()"


class RunFailed(RuntimeError):
    """A command of the report has failed."""


def run_missing(parts: Sequence[Part], store: Store, say: Callable[[str], None]) -> None:
    """Run the missing commands one after the other; raises RunFailed (another call continues from there).

    The standard error of the commands goes to that of this process.
    """
    missing = [run for part in parts for run in part.runs if store.note(run) is None]
    for number, run in enumerate(missing, 1):
        reason = cannot_run(run, store.scale)
        label = f"{run.part}/{run.name} ({number} of {len(missing)})"
        if reason:
            say(f"{label}: left out, {reason}")
            continue
        say(f"{label}: banyan {' '.join(run.command(store.scale))}, some {run.minutes_of(store.scale):g} min")
        _run(run, store)


def cannot_run(run: Run, scale: str) -> str:
    """The reason why a command cannot run here; empty if it can."""
    words = run.command(scale)
    if run.is_script(scale) and words[2].startswith("tests.") and not (ROOT / "tests").is_dir():
        return "it is part of the tests, and this is not a checkout"
    return ""


def _run(run: Run, store: Store) -> None:
    folder = store.folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    words = run.command(store.scale)
    started = time.monotonic()
    with (folder / OUTPUT).open("w") as output:
        # Ctrl-C reaches the command too; both keep finished work.
        done = subprocess.run(_process(run, store, words), stdout=output, cwd=ROOT, check=False)
    if done.returncode:
        raise RunFailed(f"{run.part}/{run.name} ended with status {done.returncode}: {' '.join(words)}")
    if not store.result(run).is_file():
        raise RunFailed(f"{run.part}/{run.name} wrote no {store.result(run).name}")
    note = Note(
        command=" ".join(words),
        machine=describe(),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        elapsed_s=round(time.monotonic() - started, 1),
        code=code_of_searches(),
    )
    store.keep(run, note)


def _process(run: Run, store: Store, words: list[str]) -> list[str]:
    folder = str(store.folder(run).resolve())
    if run.is_script(store.scale):
        return [sys.executable, *words[1:], *([] if run.prints else ["--out", folder])]
    return [sys.executable, "-c", _BANYAN, *words, "--out", folder, "--no-color"]


def took(note: Note) -> str:
    """The duration of a run as text."""
    return terminal.duration(note.elapsed_s)
