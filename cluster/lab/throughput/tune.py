"""Which options make a search by the clock strongest: measured rates, times what lanes cost in strength.

A search in lanes is worth fewer simulations than it makes, because the lanes of a round do not hear of each
other. What they keep is a law with constants from the records of strength; rates are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from cluster.lab.throughput.ceiling import Ceiling
from cluster.lab.throughput.speedup import MeasuredRun, OwnWorkers, rounded
from cluster.report.machine import provenance, warn_of_others
from cluster.report.plot_frame import dress, game_name, look, new_figure, save
from cluster.report.table import Table, count, number, percent, rate, table_of, write_files
from cluster.system.terminal import in_minutes
from games.errors import counted
from search.request import SearchRequest
from search.strategies import strategy_of

SECONDS, SEARCH_S = 30.0, 1.0
"""Default time of the whole measurement, and of each search."""
WARM_S = 0.2
"""Length in seconds of the first searches, which are not timed."""
LANES_EACH = (1, 2, 4)
"""Lanes of strategy tree for each worker that are tried."""
ROUNDS_LOSE = (25.0, 4.0, 66.0)
"""A search of L lanes in R rounds is worth 1 / (1 + b (1 - 1 / L) / R) of its simulations: b, its least and
its greatest value in the games that were measured (search/LANES.md)."""
FLIGHT_LOSES = (0.13, 0.11, 0.16)
"""With F leaves in flight, T simulations of leaf are worth T / (1 + a F^2 / T): a, its least and its greatest
value (search/LANES.md)."""
AS_GOOD = 0.98
"""The default is taken if it is worth this share of the best."""
BAR_IN, FRAME_IN, WIDE_IN = 0.3, 1.6, 7.2
"""Inches: height of a bar, of what is around them, and width of the figure."""


@dataclass(frozen=True)
class Setting:
    """Options that are tried."""

    strategy: str
    workers: int
    lanes: int

    def __str__(self) -> str:
        """As options of `banyan search`."""
        strategy = "" if SearchRequest.strategy == self.strategy else f"--strategy {self.strategy} "
        return f"{strategy}--workers {self.workers} --lanes {self.lanes}"


ONE = Setting("tree", 1, 1)
"""One core that searches alone."""


@dataclass(frozen=True)
class TriedSetting:
    """What searches with a setting made. Intervals are the lowest and the highest of its runs."""

    setting: Setting
    runs: int
    rounds: int
    """Number of rounds of the run with the middle rate; 0 where the strategy has none."""
    simulations_per_s: float
    """Median over the runs."""
    spread: tuple[float, float]
    of_ceiling: float | None
    """Rate / rate of as many independent processes; None unless all workers are used, on this machine."""
    kept: tuple[float, float, float]
    """The share of its simulations that an equally strong sequential search would need, by the law: the
    middle, the lowest and the highest."""
    worth: tuple[float, float, float]
    """Rate x ``kept``, as a multiple of the rate of one core: the middle, and both ends of rates and law."""


@dataclass
class Tuning:
    """What was measured, the best setting first."""

    game: str
    search_s: float
    executor: str
    default: Setting
    trials: list[TriedSetting]
    others: list[float | None] = field(default_factory=list)
    """Share of other programs in the time of all cores, by run."""

    @property
    def take(self) -> Setting:
        """The setting to take: the default, unless another one is clearly worth more."""
        best = self.trials[0]
        default = next(trial for trial in self.trials if trial.setting == self.default)
        return self.default if default.worth[0] >= AS_GOOD * best.worth[0] else best.setting

    @property
    def warning(self) -> str | None:
        """A reason to doubt the figures."""
        return warn_of_others(self.others, "searches")

    def advice(self) -> str:
        """What to do, in a sentence."""
        if self.take == self.default:
            return f"Take the defaults: {self.take} is worth as much as the best, within {1 - AS_GOOD:.0%}."
        return f"Take {self.take}."

    def to_json(self) -> dict[str, Any]:
        """Plain values, with a description of the machine."""
        return asdict(self) | {"take": asdict(self.take), "measured_on": provenance()}


def settings(workers: Sequence[int]) -> list[Setting]:
    """The settings to try on these numbers of workers; not root, all of whose lanes are worth only a few."""
    several = [n for n in workers if n > 1]
    tried = [Setting("tree", n, n * each) for n in several for each in LANES_EACH]
    return [ONE, *tried, *(Setting("leaf", n, 2 * n) for n in several)]


def kept(setting: Setting, rounds: int, simulations: float) -> tuple[float, float, float]:
    """The share that lanes keep of ``simulations``: middle, lowest and highest; see `TriedSetting.kept`.

    Where there are no ``rounds``, threads grow one tree, and each has one simulation in flight.
    """
    by_leaves = strategy_of(setting.strategy).by_leaves
    if by_leaves or rounds == 0:
        in_flight = setting.lanes if by_leaves else setting.workers
        lost = [a * in_flight**2 / max(1.0, simulations) for a in FLIGHT_LOSES]
    else:
        lost = [b * (1 - 1 / setting.lanes) / max(1, rounds) for b in ROUNDS_LOSE]
    middle, least, most = (1 / (1 + each) for each in lost)
    return middle, most, least


def measure(
    request: SearchRequest,
    workers: Sequence[int],
    runner: OwnWorkers,
    seconds: float = SECONDS,
    report: Callable[[str], None] = print,
) -> Tuning:
    """Try settings for searches of ``request.seconds``, the better ones more often, in ``seconds``; closes
    the runner.

    ``request`` is searched with other strategies, lanes and workers. Each setting runs twice, the better half
    of them once more, and so on; it takes longer if the time is too short for one run of each.
    """
    assert request.seconds is not None
    end_s = time.monotonic() + seconds
    samples: dict[Setting, list[MeasuredRun]] = {}

    def run(setting: Setting, search_s: float) -> MeasuredRun:
        asked = replace(request, strategy=setting.strategy, lanes=setting.lanes, seconds=search_s)
        return runner.search(asked, setting.workers)

    most = max(workers)
    # As `search.strategies.for_workers` has it.
    default = Setting("tree", most, most if most == 1 or request.certain else 2 * most)
    with closing(runner):
        tried = settings(workers)
        # Kernels may be compiled, or loaded, for one lane, several, and leaf.
        for first in (ONE, default, tried[-1]):
            run(first, WARM_S)
        end_s = max(end_s, time.monotonic() + seconds / 2)
        ceilings = _ceilings(request, most, runner, run(default, WARM_S).simulations_per_s)
        takes_s = max(seconds, len(tried) * request.seconds)
        report(f"{counted(len(tried), 'setting')}, searches of {request.seconds:g} s, {in_minutes(takes_s)}")
        running = list(tried)
        while not samples or (len(running) > 1 and time.monotonic() + request.seconds < end_s):
            for setting in running:
                if setting in samples and time.monotonic() + request.seconds > end_s:
                    break
                sample = run(setting, request.seconds)
                samples.setdefault(setting, []).append(sample)
                report(f"{setting}: {sample.simulations_per_s:,.0f} simulations/s")
            # One run may have been disturbed.
            if len(samples[running[-1]]) > 1:
                trials = _trials({each: samples[each] for each in [ONE, *running]}, request.seconds, ceilings)
                better = [trial.setting for trial in trials[: max(2, len(running) // 2)]]
                # What all others are measured by runs as often as the best.
                running = list(dict.fromkeys([ONE, *better]))
    found = _trials(samples, request.seconds, ceilings)
    others = [sample.others for each in samples.values() for sample in each]
    return Tuning(request.game, request.seconds, runner.executor, default, found, others)


def _ceilings(request: SearchRequest, most: int, runner: OwnWorkers, per_s: float) -> dict[int, float]:
    """Simulations/s of as many independent processes as there are workers, by their number; of none where
    workers are elsewhere."""
    if not runner.here:
        return {}
    # As long as the searches, so that trees are as large.
    simulations = rounded(per_s * (request.seconds or 0.0), 2 * most)
    fixed = replace(request, seconds=None, simulations=simulations, lanes=2 * most)
    with closing(Ceiling(fixed, most, runner.workers)) as ceiling:
        return {most: ceiling.measure(most)}


def _trials(
    samples: dict[Setting, list[MeasuredRun]], search_s: float, ceilings: dict[int, float]
) -> list[TriedSetting]:
    """The trials, those that are worth most first."""
    # On a busy machine a short search may end without a result.
    one = max(1.0, median(sample.simulations_per_s for sample in samples[ONE]))
    found = []
    for setting, runs in samples.items():
        ordered = sorted(runs, key=lambda sample: sample.simulations_per_s)
        rates = [sample.simulations_per_s for sample in ordered]
        rounds = ordered[len(runs) // 2].round_costs.rounds
        shares = kept(setting, rounds, median(rates) * search_s)
        ends = (median(rates), rates[0], rates[-1])
        middle, low, high = (per_s * share / one for per_s, share in zip(ends, shares, strict=True))
        ceiling = ceilings.get(setting.workers)
        found.append(
            TriedSetting(
                setting=setting,
                runs=len(runs),
                rounds=rounds,
                simulations_per_s=round(median(rates), 1),
                spread=(round(rates[0], 1), round(rates[-1], 1)),
                of_ceiling=None if ceiling is None else round(median(rates) / ceiling, 4),
                kept=shares,
                worth=(middle, low, high),
            )
        )
    return sorted(found, key=lambda trial: trial.worth[0], reverse=True)


def table(tuning: Tuning) -> Table:
    """The settings, the best first."""
    rows = [
        {
            "strategy": trial.setting.strategy,
            "workers": count(trial.setting.workers),
            "lanes": count(trial.setting.lanes),
            "rounds": count(trial.rounds),
            "runs": count(trial.runs),
            "rate": rate(trial.simulations_per_s),
            "of\nceiling": percent(trial.of_ceiling),
            "lanes\nkeep": percent(trial.kept[0]),
            "worth": number(trial.worth[0], ".2f", trial.worth[1:]),
        }
        for trial in tuning.trials
    ]
    title = f"{tuning.game}: searches of {tuning.search_s:g} s, workers are {tuning.executor}"
    caption = (
        "Worth: the rate times what lanes keep, as times one core, with the lowest and the highest of runs "
        "and law. What lanes keep is a law from other games (search/LANES.md), not measured here: "
        "banyan strength measures it."
    )
    return table_of(rows, title, caption, ["strategy"])


def write(tuning: Tuning, folder: Path, picture: str = "png") -> list[Path]:
    """Write tune.json, .csv and a figure in the format ``picture`` into the folder, created if missing."""
    records = [
        {name: value for name, value in (asdict(trial.setting) | asdict(trial)).items() if name != "setting"}
        for trial in tuning.trials
    ]
    return write_files(folder, "tune", tuning.to_json(), records, partial(plot, tuning), picture)


def plot(tuning: Tuning, path: Path) -> Any:
    """What each setting is worth, the best at the top, and its rate as a grey bar. Returns the figure."""
    trials = tuning.trials[::-1]
    figure = new_figure(WIDE_IN, FRAME_IN + BAR_IN * len(trials))
    panel = figure.subplots()
    places = range(len(trials))
    rates = [trial.worth[0] / trial.kept[0] for trial in trials]
    panel.barh(places, rates, color="#dddddd", label="rate, as times one core")
    for place, trial in zip(places, trials, strict=True):
        worth, low, high = trial.worth
        style = {"linestyle": "none", "capsize": 3, **look(trial.setting.strategy)}
        ends = [[worth - low], [high - worth]]
        weight = "bold" if trial.setting == tuning.take else "normal"
        panel.errorbar(worth, place, xerr=ends, label="worth in strength", **style)
        panel.text(0.01 * max(rates), place, str(trial.setting), va="center", weight=weight)
    dress(panel, "times one core")
    panel.set_yticks([])
    title = f"A {game_name(tuning.game)} search is worth most with {tuning.take}"
    details = f"searches of {tuning.search_s:g} s, workers are {tuning.executor}; in bold: what to take"
    save(figure, path, title, details, warnings=[tuning.warning] if tuning.warning else [])
    return figure
