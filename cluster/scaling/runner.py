"""Runs the commands of the report, each in a process of its own, as a user would."""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster import terminal
from cluster.checkpoint import code_of_searches
from cluster.scaling.machine import describe
from cluster.scaling.part import Part, Run
from cluster.scaling.store import OUTPUT, Note, Store

ROOT = Path(__file__).parents[2]
"""Of the checkout, if it is one."""
_BANYAN = "from cluster.cli import main; main()"


class RunFailed(RuntimeError):
    """A command of the report did not end well."""


def run_missing(parts: Sequence[Part], store: Store, say: Callable[[str], None]) -> None:
    """Run what the store lacks, one after the other; raises RunFailed, after which it may be started again.

    What the commands say on standard error goes to ours.
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
    """Why it cannot run here, or nothing."""
    if run.is_script(scale) and not (ROOT / "tests").is_dir():
        return "it is part of the tests, and this is not a checkout"
    return ""


def _run(run: Run, store: Store) -> None:
    folder = store.folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    words = run.command(store.scale)
    started = time.monotonic()
    with (folder / OUTPUT).open("w") as output:
        # A Ctrl-C comes to it as well as to us; it keeps what it has, and so do we.
        where = ROOT if run.is_script(store.scale) else None
        done = subprocess.run(_process(run, store, words), stdout=output, cwd=where, check=False)
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
    """How long a run took, for people."""
    return terminal.duration(note.elapsed_s)
