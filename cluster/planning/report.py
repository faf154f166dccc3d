"""The report of a plan: facts, a table of episodes, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cluster.planning.episodes import Episodes
from cluster.planning.result import PlanResult, interval_of
from cluster.report.files import write_files
from cluster.report.table import Table, count, duration, left, number, right
from cluster.system import terminal
from search.episode import Episode

SHOWN = 20
"""The most episodes of the table on the screen."""
SHOWN_MOVES = 12


def line(episodes: Episodes, elapsed_s: float) -> str:
    """The progress as one line of text."""
    done = episodes.done
    if not done:
        waiting = "no episode has ended yet (kernels are compiled once on a machine)"
        return f"{waiting}, {terminal.duration(elapsed_s)}"
    parts = [f"{terminal.count(len(done))} of {terminal.count(len(episodes.seeds))} episodes"]
    parts.append(f"mean return {_mean_text([episode.value for episode in done])}")
    if episodes.retried:
        parts.append(f"{episodes.retried} played again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])


def facts(result: PlanResult) -> list[tuple[str, str]]:
    """[(name, text)] of what the episodes say."""
    values = [episode.value for episode in result.episodes]
    rate = result.simulations_per_s
    ends = sum(episode.truncated for episode in result.episodes)
    rows = [
        ("problem", result.problem),
        ("a move", result.budget),
        (
            "episodes",
            f"{len(values)}" + (f", {ends} of them cut off at the limit of their length" if ends else ""),
        ),
        ("mean return", _mean_text(values)),
    ]
    if values:
        rows.append(("returns", f"{min(values):g} to {max(values):g}"))
    rows.append(
        ("simulations", f"{result.simulations:,}" + (f", {rate:,.0f} per CPU second" if rate else ""))
    )
    rows.append(
        (
            "positions",
            result.state_handling,
        )
    )
    if result.clairvoyant:
        rows.append(
            ("clairvoyant", "yes: simulations saw what chance would bring, so the return is too high")
        )
    workers = f"{result.workers} worker{'s' * (result.workers != 1)}, {result.executor}"
    return [
        *rows,
        ("ran on", f"{workers}, {terminal.duration(result.elapsed_s)}"),
        ("digest", result.digest[:16]),
    ]


def table(episodes: Sequence[Episode], most: int = SHOWN) -> Table:
    """The first episodes, one a line."""
    shown = Table(
        [*right("seed", "return", "steps"), *left("end"), *right("simulations", "CPU time"), *left("actions")]
    )
    for episode in episodes[:most]:
        more = " ..." if len(episode.actions) > SHOWN_MOVES else ""
        shown.add(
            count(episode.seed),
            number(episode.value, "g"),
            count(episode.steps),
            "cut off" if episode.truncated else "",
            count(episode.simulations),
            duration(episode.seconds),
            " ".join(episode.actions[:SHOWN_MOVES]) + more,
        )
    if len(episodes) > most:
        shown.caption = f"and {len(episodes) - most} more"
    return shown


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


def _mean_text(values: Sequence[float]) -> str:
    if not values:
        return "unknown: no episode has ended"
    mean = sum(values) / len(values)
    interval = interval_of(values)
    if interval is None:
        return f"{mean:g}"
    return f"{mean:,.4g} (95 %: {interval[0]:,.4g} to {interval[1]:,.4g})"
