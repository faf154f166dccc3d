"""What all plots of measurements have: title, legend and foot."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

from cluster.report.plot_frame import game_name, save, span


def test_legend_and_foot_lie_on_nothing_else(tmp_path: Path) -> None:
    """The foot is below the legend, and the legend below all panels."""
    figure, panel = plt.subplots(layout="constrained")
    for number in range(9):
        panel.plot([1, 2], [number, number], label=f"a line of the name {number}")
    panel.set_xlabel("workers")
    save(figure, tmp_path / "picture.png", "A title", "and details", columns=3)
    drawn = FigureCanvasAgg(figure).get_renderer()
    legend, foot = figure.legends[0].get_window_extent(drawn), figure.texts[-1].get_window_extent(drawn)
    assert foot.y0 >= 0 and foot.y1 <= legend.y0
    assert legend.y1 <= panel.get_tightbbox(drawn).y0 + 1


@pytest.mark.parametrize(
    ("spec", "name"),
    [("gomoku:size=15", "gomoku"), ("tictactoe", "tictactoe"), ("./slow.py:wait_ms=20", "slow")],
)
def test_titles_name_the_game_and_not_its_options(spec: str, name: str) -> None:
    assert game_name(spec) == name


def test_titles_say_which_numbers_there_are() -> None:
    assert span([4, 1, 2], "worker") == "1 to 4 workers"
    assert span([1], "lane") == "1 lane"
