"""`banyan plan`: episodes of problems of one player."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cluster.commands.options import OUTPUT, PLACE, GamePlace, option, timeout_option
from cluster.planning.defaults import DEFAULT_EPISODES, MoveSearch
from cluster.system.terminal import Output


@dataclass(frozen=True)
class EpisodePlace(GamePlace):
    """Where episodes are played."""

    executor: str = option(
        "auto",
        "auto|ray|inline",
        "Play episodes in this process alone (inline), on workers of Ray (ray), or, if there are "
        "several, on workers (auto).",
        PLACE,
    )
    job_timeout: float | None = timeout_option("an episode", "the episode is played", 3600)


def plan(
    search: MoveSearch,
    place: EpisodePlace,
    output: Output,
    episodes: int = option(DEFAULT_EPISODES, "N", "Number of episodes."),
    steps: int | None = option(None, "N", "The most moves of an episode; without it, its own end."),
    out: Path | None = option(
        None,
        "DIR",
        "Keep every episode there, and the result as JSON, CSV and a picture; a plan that is "
        "started again plays only the missing episodes.",
        OUTPUT,
    ),
) -> int:
    """Play a problem of one player: search, act, observe, and go on in the same tree, to the end."""
    from cluster.planning.plan import run_plan

    return run_plan(search, episodes, steps, place.placement(), output, out)
