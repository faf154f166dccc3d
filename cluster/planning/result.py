"""The result of a plan: as Python, as JSON, as text, and as files with a picture."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from rich.console import Console

from cluster.matches.statistics import standard_error, student_95, wilson
from cluster.report.plot_frame import COLOURS, dress, game_name, new_figure, save
from cluster.report.table import Table, count, duration, html, number, table_of, write_files
from cluster.system import terminal as words
from games.errors import counted
from search.episode import Episode
from search.result import facts_html

SHOWN = 20
"""The most episodes of the table on the screen."""
SHOWN_MOVES = 12
POINTS = 200
"""The most episodes after which an interval is plotted."""


@dataclass(frozen=True)
class PlanResult:
    """Episodes that were planned and played, in the fields of ``banyan plan --json``."""

    problem: str
    """The problem with all its options."""
    episodes: tuple[Episode, ...]
    """The episodes, ordered by seed."""
    budget: str
    """The budget of each move, such as ``500 simulations``."""
    state_handling: str
    """How positions are copied: clone, copy (of what changes), deepcopy or replay."""
    clairvoyant: bool
    """Whether simulations saw what chance would bring."""
    examined: tuple[int, int] | None
    """Of places in random play, the number at which it was tested whether simulations see what is hidden, and
    the number of all; None if nothing was tested, as in problems whose rules say what is drawn."""
    workers: int
    executor: str
    elapsed_s: float

    @property
    def mean_return(self) -> float | None:
        """The mean of the returns; None without episodes."""
        return _mean([episode.value for episode in self.episodes])

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean return: Student's, or Wilson's if each return is 0 or 1.

        None with fewer than two episodes, and where all have the same return.
        """
        return interval_of([episode.value for episode in self.episodes])

    @property
    def simulations(self) -> int:
        """Number of simulations of all moves of all episodes."""
        return sum(episode.simulations for episode in self.episodes)

    @property
    def simulations_per_s(self) -> float | None:
        """Simulations per second of CPU time."""
        seconds = sum(episode.seconds for episode in self.episodes)
        return self.simulations / seconds if seconds > 0 else None

    @property
    def digest(self) -> str:
        """SHA-256 of seeds, returns, actions and simulations: equal digests mean equal episodes."""
        rows = [(each.seed, each.value.hex(), each.actions, each.simulations) for each in self.episodes]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The object that ``banyan plan --json`` prints."""
        rate = self.simulations_per_s
        return {
            "problem": self.problem,
            "budget": self.budget,
            "episodes": [
                {
                    "seed": each.seed,
                    "return": each.value,
                    "steps": each.steps,
                    "actions": list(each.actions),
                    "terminated": each.terminated,
                    "truncated": each.truncated,
                }
                for each in self.episodes
            ],
            "mean_return": self.mean_return,
            "interval": None if self.interval is None else list(self.interval),
            "simulations": self.simulations,
            "simulations_per_s": None if rate is None else round(rate, 1),
            "state_handling": self.state_handling,
            "clairvoyant": self.clairvoyant,
            "examined": self.examined and dict(zip(("places", "of"), self.examined, strict=True)),
            "workers": self.workers,
            "executor": self.executor,
            "elapsed_s": round(self.elapsed_s, 6),
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        mean = "" if self.mean_return is None else f", mean return {self.mean_return:g}"
        return f"<PlanResult {self.problem}: {counted(len(self.episodes), 'episode')}{mean}>"

    def __str__(self) -> str:
        console = Console(width=110, color_system=None, force_jupyter=False)
        with console.capture() as shown:
            console.print(self.table())
        lines = [f"{name:<{words.NAME_WIDTH}}{text}" for name, text in self.facts()]
        return "\n".join([*lines, *map(str.rstrip, shown.get().strip("\n").splitlines())])

    def _repr_html_(self) -> str:
        """For notebooks: facts, and a table of episodes."""
        return facts_html(self.facts()) + html(self.table())

    def facts(self) -> list[tuple[str, str]]:
        """[(name, text)] of what the episodes say."""
        values = [episode.value for episode in self.episodes]
        rate, ends = self.simulations_per_s, sum(episode.truncated for episode in self.episodes)
        cut = f", {ends} of them cut off at the limit of their length" if ends else ""
        rows = [
            ("problem", self.problem),
            ("a move", self.budget),
            ("episodes", f"{len(values)}{cut}"),
            ("mean return", mean_text(values)),
        ]
        if values:
            rows.append(("returns", f"{min(values):g} to {max(values):g}"))
            simulations = f"{self.simulations:,}" + (f", {rate:,.0f} per CPU second" if rate else "")
            rows.append(("simulations", simulations))
        rows.append(("positions", self.state_handling))
        if self.clairvoyant:
            seen = "yes: simulations saw what chance would bring, so the return is too high"
            rows.append(("clairvoyant", seen))
        if self.examined is not None:
            rows.append(("examined", "{} of {} places, for what is hidden".format(*self.examined)))
        workers = f"{counted(self.workers, 'worker')}, {self.executor}"
        return [
            *rows,
            ("ran on", f"{workers}, {words.duration(self.elapsed_s)}"),
            ("digest", self.digest[:16]),
        ]

    def table(self) -> Table:
        """The first episodes, one a line."""
        lines = [
            {
                "seed": count(episode.seed),
                "return": number(episode.value, "g"),
                "steps": count(episode.steps),
                "end": "cut off" if episode.truncated else "",
                "simulations": count(episode.simulations),
                "CPU time": duration(episode.seconds),
                "actions": " ".join(episode.actions[:SHOWN_MOVES])
                + (" ..." if len(episode.actions) > SHOWN_MOVES else ""),
            }
            for episode in self.episodes[:SHOWN]
        ]
        shown = table_of(lines, words=["end", "actions"])
        if len(self.episodes) > SHOWN:
            shown.caption = f"and {len(self.episodes) - SHOWN} more"
        return shown


def write(result: PlanResult, folder: Path) -> list[Path]:
    """Write result.json, result.csv and result.png into the folder; returns their paths."""
    value = result.to_json()
    records = [
        {name: entry[name] for name in ("seed", "return", "steps", "terminated", "truncated")}
        | {"simulations": each.simulations, "cpu_s": each.seconds}
        for entry, each in zip(value["episodes"], result.episodes, strict=True)
    ]
    return write_files(folder, "result", value, records, partial(plot, result), "png")


def plot(result: PlanResult, path: Path) -> None:
    """Plot the returns in ascending order, and the mean of the first episodes with its 95 % interval."""
    returns_colour, mean_colour = COLOURS["root"], COLOURS["tree"]
    values = [episode.value for episode in result.episodes]
    figure = new_figure(12, 4.5)
    left, right = figure.subplots(1, 2)
    share = [(place + 1) / len(values) for place in range(len(values))]
    left.step(
        sorted(values),
        share,
        where="post",
        color=returns_colour,
        label="share of episodes with at most this return",
    )
    left.set_ylim(0, 1.02)
    dress(left, "return of an episode", "share of episodes")
    numbers = range(1, len(values) + 1)
    right.plot(values, ".", color="#bbbbbb", label="return of an episode")
    right.plot(
        [total / number for total, number in zip(accumulate(values), numbers, strict=True)],
        color=mean_colour,
        label="mean so far",
    )
    several = list(numbers)[1 :: max(1, len(values) // POINTS)]
    ends = [interval_of(values[:number]) or (0.0, 0.0) for number in several]
    right.fill_between(
        [number - 1 for number in several],
        [low for low, _ in ends],
        [high for _, high in ends],
        color=mean_colour,
        alpha=0.2,
        label="its 95 % interval",
    )
    dress(right, "episode", "return")
    mean = result.mean_return or 0.0
    title = f"{game_name(result.problem)}: mean return {mean:,.4g} in {counted(len(values), 'episode')}"
    save(figure, path, title, f"{result.problem}, {result.budget} for each move")


def mean_text(values: Sequence[float]) -> str:
    """The mean with its interval."""
    mean, interval = _mean(values), interval_of(values)
    if mean is None:
        return "unknown: no episode has ended"
    return (
        f"{mean:g}" if interval is None else f"{mean:,.4g} (95 %: {interval[0]:,.4g} to {interval[1]:,.4g})"
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def interval_of(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a mean; see `PlanResult.interval`."""
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return None
    if all(value in (0.0, 1.0) for value in values):
        return wilson(int(sum(values)), len(values))
    half = student_95(len(values) - 1) * standard_error(values)
    return (mean - half, mean + half) if half else None
