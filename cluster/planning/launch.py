"""The command `banyan plan`: from its options to the returns on the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from cluster.launch import Output, Placement, launch
from cluster.planning.defaults import DEFAULT_EPISODE_TIMEOUT_S
from cluster.planning.episodes import Episodes, PlanWorker
from cluster.planning.plan import PlanRequest, executor_for, make_plan
from cluster.planning.result import PlanResult, mean_text
from cluster.report.files import write_files
from cluster.runtime.drive import drive
from cluster.runtime.progress import UnitsProgress
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from games.compile.watch import notes
from games.errors import counted

BEFORE_ANY = "banyan: interrupted before any episode was played"


def run_plan(request: PlanRequest, place: Placement, output: Output, out: Path | None) -> int:
    """Play the episodes and print their returns; the exit status.

    Raises InvalidInput, PlanFailed, ConnectionError, OSError.
    """
    with launch(output, BEFORE_ANY) as started:
        plan = make_plan(request)
        jobset = started.stack.enter_context(plan.opened(out))
        place = replace(place, executor=executor_for(place.executor, place.address, request.episodes))
        progress = UnitsProgress(started.errors, in_short, enabled=output.progress)
        make_worker: Callable[[], PlanWorker] = PlanWorker
        if place.executor == "inline":
            # Nothing else can show progress while an episode is played in this process.
            make_worker = partial(PlanWorker, noticed=partial(progress, jobset))
        executor = started.start_units(place, jobset, make_worker, DEFAULT_EPISODE_TIMEOUT_S)
        with progress:
            drive(jobset, executor, (progress,))
        if jobset.cancelled:
            started.status = INTERRUPTED
            for begun in (each.partition(", at most ")[0] for each in notes() if each.startswith("episode ")):
                started.say(f"interrupted, and left out of the result: {begun}")
        result = plan.result(jobset, executor)
        _print(result, output)
        if out is not None and result.episodes:
            for path in write(result, out):
                started.say(f"wrote {path}")
    return started.status


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


def in_short(episodes: Episodes) -> list[str]:
    """What is done, in a few words."""
    if not episodes.done:
        return ["no episode has ended yet"]
    done = f"{terminal.count(episodes.done)} of {counted(len(episodes.seeds), 'episode')}"
    return [done, f"mean return {mean_text([episode.value for episode in episodes.in_order])}"]


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

    return write_files(folder, "result", result.to_json(), records, draw, "png")
