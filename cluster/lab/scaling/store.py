"""The store of results: a folder for each run, with the files of the command and a note about the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cluster.lab.scaling.part import KINDS, Run

NOTE, OUTPUT = "run.json", "output.txt"


@dataclass(frozen=True)
class Note:
    """Facts about a run; written when its command has succeeded."""

    command: str
    machine: str
    date: str
    elapsed_s: float
    """Duration in seconds; only of the last start, if the run was interrupted and started again."""
    code: str
    """Fingerprint of the code of rules and search: `code_of_searches`."""


class Store:
    """The results of one scale below a folder."""

    def __init__(self, folder: Path, scale: str) -> None:
        self.scale = scale
        self._folder = folder / scale

    def folder(self, run: Run) -> Path:
        return self._folder / run.part / run.name

    def note(self, run: Run) -> Note | None:
        """The note of a run; None if it has not succeeded, or if its command has changed since."""
        path = self.folder(run) / NOTE
        if not path.is_file() or not self.result(run).is_file():
            return None
        note = Note(**json.loads(path.read_text()))
        return note if note.command == " ".join(run.command(self.scale)) else None

    def keep(self, run: Run, note: Note) -> None:
        (self.folder(run) / NOTE).write_text(json.dumps(asdict(note), indent=2) + "\n")

    def result(self, run: Run) -> Path:
        """The file with the results of a run."""
        return self.folder(run) / KINDS[run.kind]

    def found(self, run: Run) -> Any:
        """The results of a run: the JSON value, or the printed text."""
        text = self.result(run).read_text()
        return text if run.prints else json.loads(text)

    def pictures(self, run: Run) -> list[Path]:
        """Plots that the command of a run wrote."""
        return sorted(self.folder(run).glob("*.png"))
