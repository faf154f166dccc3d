"""What has been run: a folder for each run, with what the command wrote and a note of how it went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cluster.scaling.part import KINDS, Run

NOTE, OUTPUT = "run.json", "output.txt"


@dataclass(frozen=True)
class Note:
    """How a run went. It is written when the command has ended well."""

    command: str
    machine: str
    date: str
    elapsed_s: float
    """Of the last start only, if it was broken off and started again."""
    code: str
    """Of rules and search: `code_of_searches`."""


class Store:
    """The results of one scale below a folder."""

    def __init__(self, folder: Path, scale: str) -> None:
        self.scale = scale
        self._folder = folder / scale

    def folder(self, run: Run) -> Path:
        return self._folder / run.part / run.name

    def note(self, run: Run) -> Note | None:
        """None if it has not ended well, or was another command than now."""
        path = self.folder(run) / NOTE
        if not path.is_file() or not self.result(run).is_file():
            return None
        note = Note(**json.loads(path.read_text()))
        return note if note.command == " ".join(run.command(self.scale)) else None

    def keep(self, run: Run, note: Note) -> None:
        (self.folder(run) / NOTE).write_text(json.dumps(asdict(note), indent=2) + "\n")

    def result(self, run: Run) -> Path:
        """The file that holds what it found."""
        return self.folder(run) / KINDS[run.kind]

    def found(self, run: Run) -> Any:
        """What is in that file: JSON, or the text that was printed."""
        text = self.result(run).read_text()
        return text if run.prints else json.loads(text)

    def pictures(self, run: Run) -> list[Path]:
        """Plots that the command wrote."""
        return sorted(self.folder(run).glob("*.png"))
