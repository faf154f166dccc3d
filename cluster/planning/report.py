"""What a plan shows while it runs, and the files that it writes."""

from __future__ import annotations

from pathlib import Path

from cluster.planning.episodes import Episodes
from cluster.planning.result import PlanResult, mean_text
from cluster.report.files import write_files
from cluster.system import terminal
from games.errors import counted


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
