"""What all plots of measurements have: title, legend and foot."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from cluster.lab.predict.launch import Prediction, write_prediction
from cluster.lab.predict.prediction import Predicted
from cluster.report.plot_frame import dress, game_name, label_rates, new_figure, save
from cluster.system.terminal import span


def test_legend_and_foot_lie_on_nothing_else(tmp_path: Path) -> None:
    """The foot is below the legend, and the legend below all panels."""
    figure = new_figure(6.4, 4.8)
    panel = figure.subplots()
    for number in range(9):
        panel.plot([1, 2], [number, number], label=f"a line of the name {number}")
    panel.set_xlabel("workers")
    save(figure, tmp_path / "picture.png", "A title", "and details", columns=3)
    drawn = FigureCanvasAgg(figure).get_renderer()
    legend, foot = figure.legends[0].get_window_extent(drawn), figure.texts[-1].get_window_extent(drawn)
    assert foot.y0 >= 0 and foot.y1 <= legend.y0
    assert legend.y1 <= panel.get_tightbbox(drawn).y0 + 1


def test_warnings_stand_on_the_figure_and_are_not_cut(tmp_path: Path) -> None:
    figure = new_figure(5, 4)
    panel = figure.subplots()
    panel.plot([1, 2], [1, 2], label="a line")
    save(figure, tmp_path / "a.svg", "A title", "details", warnings=["a reason to doubt the figures " * 6])
    (warning,) = [text for text in figure.texts if text.get_text().startswith("Warning: a reason")]
    place, whole = warning.get_window_extent(), figure.bbox
    assert 0 <= place.x0 < place.x1 <= whole.x1
    assert panel.get_tightbbox().y1 <= place.y0 < place.y1 <= whole.y1


def test_a_prediction_has_its_warning_on_the_figure_in_the_wanted_format(tmp_path: Path) -> None:
    row = Predicted("tictactoe", "root", 4, 1, 1000, 1e5, 1.0, 1.0, 0.9, 0.1, 0.01, {})
    paths = write_prediction(Prediction({}, [row], others=0.41), tmp_path, "svg")
    assert [path.name for path in paths] == ["predict.json", "predict.csv", "predict.svg"]
    assert "<!-- Warning: other programs used 41% of the cores" in paths[-1].read_text()


@pytest.mark.parametrize("ticks", [[1, 2], [1, 2, 4, 8, 16], [2**k for k in range(11)], [*range(1, 12), 96]])
def test_labels_of_ticks_do_not_overlap(ticks: list[int], tmp_path: Path) -> None:
    figure = new_figure(2.5, 3)
    panel = figure.subplots()
    panel.plot(ticks, ticks, label="a line")
    dress(panel, "workers", doublings=ticks)
    save(figure, tmp_path / "a.png", "A title", "details")
    shown = [label.get_window_extent() for label in panel.get_xticklabels() if label.get_visible()]
    assert len(shown) >= min(len(ticks), 4)
    assert all(one.x1 < other.x0 for one, other in pairwise(shown))


@pytest.mark.parametrize(
    ("rates", "scale", "labels"),
    [
        ((0, 3e6), "linear", {"0", "1 M", "3 M"}),
        ((0, 900), "linear", {"0", "200", "800"}),
        ((9e5, 2e9), "log", {"1 M", "1,000 M"}),
        ((800, 2e6), "log", {"1 k", "1,000 k"}),
    ],
)
def test_rates_on_an_axis_have_one_unit(rates: tuple[float, float], scale: str, labels: set[str]) -> None:
    panel = new_figure(6.4, 4.8).subplots()
    panel.set_yscale(scale)
    panel.set_ylim(*rates)
    label_rates(panel.yaxis)
    assert labels <= {label.get_text() for label in panel.get_yticklabels()}


@pytest.mark.parametrize(
    ("spec", "name"),
    [("gomoku:size=15", "gomoku"), ("tictactoe", "tictactoe"), ("./slow.py:wait_ms=20", "slow")],
)
def test_titles_name_the_game_and_not_its_options(spec: str, name: str) -> None:
    assert game_name(spec) == name


def test_titles_say_which_numbers_there_are() -> None:
    assert span([4, 1, 2], "worker") == "1 to 4 workers"
    assert span([1], "lane") == "1 lane"


def test_a_command_draws_whatever_backend_a_notebook_has_set() -> None:
    code = """if True:
        import sys
        from contextlib import suppress
        from cluster.cli import main
        sys.argv = ["banyan", "--version"]
        with suppress(SystemExit):
            main()
        import matplotlib
    """
    environment = os.environ | {"MPLBACKEND": "module://missing.backend"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
