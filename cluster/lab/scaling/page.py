"""The page about scaling: each part with its commands, its results, and the results of others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from cluster.lab.scaling.part import SCALES, Part, Run
from cluster.lab.scaling.runner import took
from cluster.lab.scaling.store import Note, Store
from cluster.lab.scaling.tables import render

TITLE = "Scaling: all measurements"
PAGE = "cluster/lab/scaling/REPORT.md"
"""Path of the page in the repository; SCALING.md has the conclusions."""


def write_page(parts: Sequence[Part], store: Store, path: Path, picture_folder: Path) -> None:
    """Write the page. Plots are copied to a folder beside it, because the store is not in the repository."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(_lines(parts, store, path.parent, picture_folder)) + "\n"
    path.write_text(text, encoding="utf-8")


def _lines(parts: Sequence[Part], store: Store, beside: Path, picture_folder: Path) -> Iterator[str]:
    notes = [note for part in parts for run in part.runs if (note := store.note(run)) is not None]
    machines = list(dict.fromkeys(note.machine for note in notes))
    yield f"# {TITLE}"
    yield ""
    scale = "" if store.scale == SCALES[0] else f" --scale {store.scale}"
    yield f"Written by `banyan report all{scale} --write {PAGE}`, which repeats all measurements."
    yield "Strength does not depend on the machine; throughput does. Simulated results are marked."
    yield ""
    for machine in machines:
        yield f"- Machine: {machine}"
    yield ""
    for part in parts:
        yield f"- [{part.title}](#{_anchor(part.title)})"
    for part in parts:
        yield ""
        yield f"## {part.title}"
        yield ""
        yield part.text
        for run in part.runs:
            yield ""
            yield from _run(run, store, beside, picture_folder, len(machines) > 1)
        if part.literature:
            yield ""
            yield "### Measured by others"
            yield ""
            yield part.literature


def _run(run: Run, store: Store, beside: Path, picture_folder: Path, tell_machine: bool) -> Iterator[str]:
    yield f"### {run.title}"
    yield ""
    command = " ".join(run.command(store.scale))
    yield f"    {command}" if run.is_script(store.scale) else f"    banyan {command}"
    yield ""
    note = store.note(run)
    if note is None:
        yield "Not measured."
        return
    yield from render(run.kind, store.found(run))
    for picture in store.pictures(run):
        copy = beside / picture_folder / f"{run.part}-{run.name}-{picture.name}"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, copy)
        yield ""
        yield f"![{run.title}]({(picture_folder / copy.name).as_posix()})"
    yield ""
    yield _measured(note, tell_machine)


def _measured(note: Note, tell_machine: bool) -> str:
    where = f" on {note.machine}" if tell_machine else ""
    return f"Measured on {note.date}{where}; the last start took {took(note)}."


def _anchor(title: str) -> str:
    """The anchor that GitHub makes of a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
