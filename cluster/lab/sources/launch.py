"""Runs `banyan experiment`: lists tables, or runs missing units and prints tables that are complete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, filterfalse, groupby
from pathlib import Path
from typing import Any

from cluster.lab.sources import claims, report
from cluster.lab.sources.table import SCALES, load, names
from cluster.lab.sources.units import ExperimentWorker, UnitStore
from cluster.lab.sources.verdict import Laboratory, Study, judge
from cluster.launch import Launch, Output, launch
from cluster.report.table import Table, left, right, text
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from cluster.system.interruption import FAILED, INTERRUPTED
from cluster.workers.placement import Placement
from games.errors import InvalidInput, counted

LISTED = ("quick", "full")
"""Scales of the list of tables."""
NAMED = 46
"""Columns of a table's name in the list, which is then less than 100 columns wide."""
UNIT_TIMEOUT_S = 4 * 3600.0
"""Time limit of a unit in seconds: a game with a minute per move takes hours."""
UNITS = ("game or count", "games and counts")


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
    laboratories = {scale: Laboratory(map(load, names()), scale, seed, UnitStore(out)) for scale in LISTED}
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
    tables: Sequence[str],
    scale: str,
    seed: int,
    place: Placement,
    output: Output,
    out: Path,
    reports: Sequence[Path],
) -> int:
    """Run missing units, print tables and write reports; returns the exit status.

    Raises InvalidInput (scale, seed, report, out), ConnectionError, OSError.
    """
    if scale not in SCALES:
        raise InvalidInput("scale", scale, " or ".join(SCALES))
    if not 0 <= seed < 2**63:
        raise InvalidInput("seed", seed, "a whole number from 0 to 2**63 - 1")
    for path in reports:
        report.check(path)
    with launch(output) as started:
        store = started.stack.enter_context(UnitStore(out))
        laboratory = Laboratory(map(load, tables), scale, seed, store)
        jobset = Jobset(laboratory)
        if laboratory.units:
            started.say(
                f"{counted(laboratory.units, *UNITS)} to run: {laboratory.left().time} of CPU time; "
                f"each is kept in {out} (--out)"
            )
        studies = _run_tables(jobset, started, place, output)
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
            parts = list(report.parts(of_sources, scale, seed, pictures))
        else:
            parts = list(claims.parts(store, scale, seed, pictures))
        if 0 < len(of_sources) < len(studies):
            started.say("not in the report: claims; banyan experiment claims --report FILE.md writes them")
    for path in reports:
        report.write(path, parts)
        started.say(f"wrote {path}")
    return FAILED if laboratory.failures else 0


def _run_tables(jobset: Jobset[Laboratory], started: Launch, place: Placement, output: Output) -> list[Study]:
    """Run units and return the studies; each is printed once its tables and those before it are complete."""
    laboratory = jobset.units
    console = terminal.stdout_console(output.colour)
    tables = (table.name for table in laboratory.tables)
    waiting = [list(own) for _, own in groupby(tables, lambda name: name.partition("/")[0])]
    """Names of the tables that are not printed, by source."""
    studies: list[Study] = []

    def in_short(_: Laboratory) -> list[str]:
        """What is done, in a few words."""
        doing = next(filterfalse(laboratory.is_whole, chain(*waiting)), "")
        parts = [f"{doing}: {terminal.count(laboratory.done)} of {counted(laboratory.units, *UNITS)}"]
        left = laboratory.left()
        if left.complete and laboratory.spent_s:
            left_s = left.cpu_s * jobset.elapsed_s / laboratory.spent_s
            parts.append(f"some {terminal.duration(left_s)} left")
        return parts

    def take_whole(_: Jobset[Laboratory]) -> None:
        while waiting and all(map(laboratory.is_whole, waiting[0])):
            studies.extend(judge(list(map(laboratory.result, waiting.pop(0)))))
            if not output.json:
                report.show(report.of_study(studies[-1], {}), console)

    take_whole(jobset)
    if not laboratory.finished:
        progress = started.units_progress(in_short)
        started.run_units(place, jobset, ExperimentWorker, progress, UNIT_TIMEOUT_S, (take_whole,))
    return studies
