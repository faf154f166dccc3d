"""Runs `banyan experiment`: lists tables, or runs missing units and prints tables that are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from cluster.front_door.placement import Placement
from cluster.lab.sources import claims, report
from cluster.lab.sources.table import SCALES, load, names
from cluster.lab.sources.units import Store, UnitWorker
from cluster.lab.sources.verdict import Laboratory, Study, judge
from cluster.launch import Launch, Output, launch
from cluster.report.table import Table, left, right, text
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from games.errors import InvalidInput, counted

LISTED = ("quick", "full")
"""Scales of the list of tables."""
NAMED = 46
"""Columns of a table's name in the list, which is then less than 100 columns wide."""
UNIT_TIMEOUT_S = 4 * 3600.0
"""Time limit of a unit in seconds: a game with a minute per move takes hours."""
FAILED = 1
UNITS = ("game or count", "games and counts")


@dataclass(frozen=True)
class ExperimentRequest:
    """The request of a run: tables, scale and seed."""

    tables: tuple[str, ...]
    scale: str = "quick"
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InvalidInput (scale, seed); table names are checked when tables are loaded."""
        if self.scale not in SCALES:
            raise InvalidInput("scale", self.scale, " or ".join(SCALES))
        if not 0 <= self.seed < 2**63:
            raise InvalidInput("seed", self.seed, "a whole number from 0 to 2**63 - 1")


def chosen(words: Sequence[str]) -> tuple[str, ...]:
    """Names of tables, in order. ``words``: table names, numbers of sources (all their tables), or ``all``.

    Raises InvalidInput (table).
    """
    there = names()
    found: list[str] = []
    for name in words:
        matching = there if name == "all" else [n for n in there if n == name or n.partition("/")[0] == name]
        if not matching:
            raise InvalidInput("table", name, "one of " + ", ".join(there) + "; a source such as 002; or all")
        found += matching
    return tuple(sorted(set(found), key=there.index))


def print_list(out: Path, seed: int, output: Output) -> None:
    """Print all tables with the numbers of done units and the CPU time of the others, as a table or JSON."""
    laboratories = {scale: Laboratory(map(load, names()), scale, seed, Store(out)) for scale in LISTED}
    found: list[dict[str, Any]] = []
    shown = Table([*left("table", width=NAMED), *right("quick", "CPU left", "full", "CPU left")])
    for table in map(load, names()):
        if not found or table.source != found[-1]["source"]:
            shown.add(text(table.source, "dim"))
        scales = {scale: laboratories[scale].left([table.name]) for scale in LISTED}
        found.append({"table": table.name, "title": table.title, "source": table.source})
        found[-1] |= {scale: each._asdict() for scale, each in scales.items()}
        cells = [(f"{each.done:,} of {each.units:,}", each.time) for each in scales.values()]
        shown.add(f"{table.name}: {table.title}", *chain(*cells))
    if output.json:
        terminal.print_json(found)
        return
    shown.add("all", *chain(*(("", laboratories[scale].left().time) for scale in LISTED)))
    console = terminal.stdout_console(output.colour)
    console.print(shown)
    said = f"Games and counts that are done, in {out}. banyan experiment TABLE runs the others."
    console.print(said, markup=False, highlight=False, soft_wrap=True)


def run_experiments(
    request: ExperimentRequest,
    place: Placement,
    output: Output,
    out: Path,
    reports: Sequence[Path],
) -> int:
    """Run missing units, print tables and write reports; returns the exit status.

    Raises InvalidInput, ConnectionError, OSError.
    """
    for path in reports:
        report.check(path)
    with launch(output) as started:
        store = started.stack.enter_context(Store(out))
        laboratory = Laboratory(map(load, request.tables), request.scale, request.seed, store)
        jobset = Jobset(laboratory)
        if laboratory.units:
            started.say(f"{counted(laboratory.units, *UNITS)} to run: {laboratory.left().time} of CPU time")
        studies = _run_tables(request, jobset, started, place, output)
        if jobset.cancelled:
            left = counted(laboratory.units - laboratory.done, *UNITS)
            started.say(
                f"interrupted with {left} left; finished ones are kept in {out}, and the "
                "same command continues from there"
            )
            started.status = INTERRUPTED
    if started.status == INTERRUPTED:
        return INTERRUPTED
    if output.json:
        terminal.print_json([result.to_json() for study in studies for result in study.results])
    if reports:
        # Imported here because matplotlib takes a second to import.
        from cluster.lab.sources.pictures import pictures_of

        pictures, of_sources = pictures_of(studies), [each for each in studies if each.name != claims.SOURCE]
        if of_sources:
            parts = list(report.parts(of_sources, request.scale, request.seed, pictures))
        else:
            parts = list(claims.parts(store, request.scale, request.seed, pictures))
        if 0 < len(of_sources) < len(studies):
            started.say("not in the report: claims; banyan experiment claims --report FILE.md writes them")
    for path in reports:
        report.write(path, parts)
        started.say(f"wrote {path}")
    return FAILED if laboratory.failures else 0


def _run_tables(
    request: ExperimentRequest,
    jobset: Jobset[Laboratory],
    started: Launch,
    place: Placement,
    output: Output,
) -> list[Study]:
    """Run units and return the studies; each is printed once its tables and those before it are complete."""
    laboratory = jobset.units
    console = terminal.stdout_console(output.colour)
    waiting = list(request.tables)
    studies: list[Study] = []
    doing = ""
    first: tuple[float, float] | None = None
    """Seconds and CPU seconds at the first look after a unit was done, before which kernels are compiled."""

    def in_short(_: Laboratory) -> list[str]:
        """What is done, in a few words."""
        parts = [f"{doing}: {terminal.count(laboratory.done)} of {counted(laboratory.units, *UNITS)}"]
        left = laboratory.left()
        nonlocal first
        spent_s = laboratory.spent_s
        if laboratory.done and first is None:
            first = jobset.elapsed_s, spent_s
        if first is not None and left.complete and spent_s > first[1]:
            left_s = left.cpu_s * (jobset.elapsed_s - first[0]) / (spent_s - first[1])
            parts.append(f"some {terminal.duration(left_s)} left")
        return parts

    def take_whole(_: Jobset[Laboratory]) -> None:
        nonlocal doing
        while waiting:
            source = waiting[0].partition("/")[0]
            own = [name for name in waiting if name.partition("/")[0] == source]
            doing = next((name for name in own if not laboratory.is_whole(name)), "")
            if doing:
                break
            studies.extend(judge(list(map(laboratory.result, own))))
            del waiting[: len(own)]
            if not output.json:
                report.show(report.of_study(studies[-1], {}), console)

    take_whole(jobset)
    if not laboratory.finished:
        progress = started.units_progress(in_short)
        started.run_units(place, jobset, UnitWorker, progress, UNIT_TIMEOUT_S, (take_whole,))
    return studies
