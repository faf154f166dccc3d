"""The command `banyan plan`: from its options to the returns on the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.launch import Output, Placement, launch
from cluster.planning.defaults import DEFAULT_EPISODE_TIMEOUT_S
from cluster.planning.episodes import Episodes, PlanWorker
from cluster.planning.plan import PlanRequest, executor_for, make_plan
from cluster.planning.result import PlanResult, mean_text
from cluster.report.files import write_files
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from cluster.system.status_line import StatusLine
from games.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

BEFORE_ANY = "banyan: interrupted before any episode was played"
LINE_S = 2.0
"""Where there is no terminal: least seconds between two lines of progress."""


def run_plan(request: PlanRequest, place: Placement, output: Output, out: Path | None) -> int:
    """Play the episodes and print their returns; the exit status.

    Raises InvalidInput, PlanFailed, ConnectionError, OSError.
    """
    with launch(output, BEFORE_ANY) as started:
        plan = make_plan(request)
        jobset = started.stack.enter_context(plan.opened(out))
        place = replace(place, executor=executor_for(place.executor, place.address, request.episodes))
        progress = PlanProgress(started.errors, enabled=output.progress)
        make_worker: Callable[[], PlanWorker] = PlanWorker
        if place.executor == "inline":
            # Nothing else can show progress while an episode is played in this process.
            make_worker = partial(PlanWorker, noticed=partial(progress, jobset))
        executor = started.start_units(place, jobset, make_worker, DEFAULT_EPISODE_TIMEOUT_S)
        with progress:
            drive(jobset, executor, (progress,))
        if jobset.cancelled:
            started.status = INTERRUPTED
        result = plan.result(jobset, executor)
        _print(result, output)
        if out is not None and result.episodes:
            for path in write(result, out):
                started.say(f"wrote {path}")
    return started.status


class PlanProgress(StatusLine):
    """An observer of the episodes, to be used as a context manager around `drive`."""

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        super().__init__(console, "playing episodes ...", LINE_S, enabled=enabled)

    def __call__(self, jobset: Jobset[Episodes]) -> None:
        """Update the line, if it is due."""
        episodes = jobset.units
        if not episodes.finished:
            self.show(len(episodes.played), lambda: jobset.elapsed_s, lambda now: line(episodes, now))


def _print(result: PlanResult, output: Output) -> None:
    if output.json:
        terminal.print_json(result.to_json())
        return
    from rich.text import Text

    console = terminal.stdout_console(output.colour)
    for name, text in result.facts():
        console.print(Text.assemble((name.ljust(13), "dim"), text), soft_wrap=True)
    if result.episodes:
        console.print()
        console.print(result.table())


def line(episodes: Episodes, elapsed_s: float) -> str:
    """The progress as one line of text."""
    done = episodes.done
    if not done:
        return f"no episode has ended yet, {terminal.duration(elapsed_s)}"
    parts = [f"{terminal.count(len(done))} of {counted(len(episodes.seeds), 'episode')}"]
    parts.append(f"mean return {mean_text([episode.value for episode in done])}")
    if episodes.retried:
        parts.append(f"{episodes.retried} played again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])


def write(result: PlanResult, folder: Path) -> list[Path]:
    """Write result.json, result.csv and result.png into the folder; returns their paths."""
    records = [
        {
            "seed": each.seed,
            "return": each.value,
            "steps": each.steps,
            "terminated": each.terminated,
            "truncated": each.truncated,
            "simulations": each.simulations,
            "cpu_s": each.seconds,
        }
        for each in result.episodes
    ]

    def draw(path: Path) -> None:
        from cluster.planning.plot import plot

        plot(result, path)

    return write_files(folder, "result", result.to_json(), records, draw)
