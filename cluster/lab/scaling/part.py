"""The parts of the report and the commands of each part. The data are in parts.toml."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from games.errors import InvalidInput

SCALES = ("quick", "full")
KINDS = {
    "strength": "strength.json",
    "exact": "strength.json",
    "speedup": "speedup.json",
    "predict": "predict.json",
    "proof": "output.txt",
}
"""Kinds of runs, and the name of the file with the results of each kind."""


@dataclass(frozen=True)
class Run:
    """One command of a part."""

    part: str
    name: str
    kind: str
    title: str
    """What its table shows."""
    quick: str
    full: str
    """The command at each scale, without `banyan`; or ``python -m ...`` in a checkout."""
    minutes: tuple[float, float]
    """Approximate duration at each scale, in minutes on two cores."""

    def command(self, scale: str) -> list[str]:
        """The words of the command, without its output options."""
        return shlex.split(self.quick if scale == "quick" else self.full)

    def is_script(self, scale: str) -> bool:
        """Whether the command is ``python -m ...`` instead of ``banyan ...``."""
        return self.command(scale)[:2] == ["python", "-m"]

    @property
    def prints(self) -> bool:
        """Whether the result is the printed text instead of a JSON file."""
        return KINDS[self.kind].endswith(".txt")

    def minutes_of(self, scale: str) -> float:
        return self.minutes[SCALES.index(scale)]


@dataclass(frozen=True)
class Part:
    """A section of the page."""

    name: str
    title: str
    text: str
    """What is measured and how to read it, as Markdown."""
    literature: str
    """Measurements of others, as Markdown; may be empty."""
    runs: tuple[Run, ...]


@cache
def load() -> tuple[Part, ...]:
    """All parts, in the order of the page."""
    text = resources.files("cluster.lab.scaling").joinpath("parts.toml").read_text()
    return tuple(_part(entry) for entry in tomllib.loads(text)["part"])


def chosen(names: list[str]) -> list[Part]:
    """The parts with these names; ``all`` stands for every part. Raises InvalidInput (part)."""
    parts = {part.name: part for part in load()}
    for name in names:
        if name not in (*parts, "all"):
            raise InvalidInput("part", name, "all, or some of " + ", ".join(parts))
    return [part for part in load() if "all" in names or part.name in names]


def _part(entry: dict[str, object]) -> Part:
    name = str(entry["name"])
    runs = entry["run"]
    assert isinstance(runs, list)
    return Part(
        name=name,
        title=str(entry["title"]),
        text=str(entry["text"]).strip(),
        literature=str(entry.get("literature", "")).strip(),
        runs=tuple(_run(name, run) for run in runs),
    )


def _run(part: str, entry: dict[str, object]) -> Run:
    minutes = entry["minutes"]
    assert isinstance(minutes, list)
    assert entry["kind"] in KINDS
    return Run(
        part=part,
        name=str(entry["name"]),
        kind=str(entry["kind"]),
        title=str(entry["title"]),
        quick=str(entry["quick"]),
        full=str(entry["full"]),
        minutes=(float(minutes[0]), float(minutes[1])),
    )
