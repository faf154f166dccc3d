"""The picture of a plan: the returns of its episodes, and how their mean settles."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import matplotlib as mpl

from cluster.planning.result import PlanResult, interval_of
from cluster.report.plot_frame import COLOURS, dress, game_name, save

mpl.use("Agg")
from matplotlib import pyplot as plt

from games.errors import counted

POINTS = 200
"""The most episodes after which an interval is computed."""
RETURNS, MEAN = COLOURS["root"], COLOURS["tree"]


def plot(result: PlanResult, path: Path) -> None:
    """Plot the returns in ascending order, and the mean of the first episodes with its 95 % interval."""
    values = [episode.value for episode in result.episodes]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    share = [(place + 1) / len(values) for place in range(len(values))]
    left.step(
        sorted(values), share, where="post", color=RETURNS, label="share of episodes with at most this return"
    )
    left.set_ylim(0, 1.02)
    dress(left, "return of an episode", "share of episodes")
    numbers = range(1, len(values) + 1)
    right.plot(values, ".", color="#bbbbbb", label="return of an episode")
    right.plot(
        [total / number for total, number in zip(accumulate(values), numbers, strict=True)],
        color=MEAN,
        label="mean so far",
    )
    several = list(numbers)[1 :: max(1, len(values) // POINTS)]
    ends = [interval_of(values[:number]) or (0.0, 0.0) for number in several]
    right.fill_between(
        [number - 1 for number in several],
        [low for low, _ in ends],
        [high for _, high in ends],
        color=MEAN,
        alpha=0.2,
        label="its 95 % interval",
    )
    dress(right, "episode", "return")
    mean = result.mean_return or 0.0
    title = f"{game_name(result.problem)}: mean return {mean:,.4g} in {counted(len(values), 'episode')}"
    save(figure, path, title, f"{result.problem}, {result.budget} for each move")
