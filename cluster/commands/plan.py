"""`banyan plan`: episodes of problems of one player."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, PLACE, GamePlace, OutputOptions, option, with_groups
from cluster.planning.defaults import DEFAULT_EPISODES, MoveSearch


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("plan")(with_groups(plan))


@dataclass(frozen=True)
class EpisodePlace(GamePlace):
    """Where episodes are played."""

    executor: Annotated[
        str,
        option(
            "auto|ray|inline",
            "Play episodes in this process alone (inline), on workers of Ray (ray), or, if there are "
            "several, on workers (auto).",
            PLACE,
            "--executor",
        ),
    ] = "auto"
    job_timeout: Annotated[
        float | None,
        option(
            "S",
            "Seconds after which the worker of an episode counts as hung and the episode is played "
            "again (3600).",
            PLACE,
        ),
    ] = None


def plan(
    search: MoveSearch,
    place: EpisodePlace,
    output: OutputOptions,
    episodes: Annotated[int, option("N", "Number of episodes.")] = DEFAULT_EPISODES,
    steps: Annotated[
        int | None, option("N", "The most moves of an episode; without it, its own end.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "Keep every episode there, and the result as JSON, CSV and a picture; a plan that is "
            "started again plays only the missing episodes.",
            OUTPUT,
        ),
    ] = None,
) -> int:
    """Play a problem of one player: search, act, observe, and go on in the same tree, to the end."""
    from cluster.planning.plan import PlanRequest, run_plan

    return run_plan(PlanRequest(search, episodes, steps), place.placement(), output.output(), out)
