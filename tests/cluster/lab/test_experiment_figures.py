"""Figures of experiments: intervals, agreement, and what is counted."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from html import unescape
from itertools import pairwise, product
from textwrap import wrap

import pytest

import games
from cluster.lab.sources import counts
from cluster.lab.sources.estimate import Estimate, SourceFigure
from cluster.lab.sources.measures import Measured
from cluster.lab.sources.pictures import NAME, pictures_of
from cluster.lab.sources.table import load, names, sources
from cluster.lab.sources.verdict import TableResult, Verdict, judge
from search.players import player_of
from tests.games.common import JIT

TEXTS = re.compile(r'(?:" y="|translate\([\d.]+ )([\d.]+)[^>]*>([^<]*)</text>')
"""Height and words of a text in an SVG."""
DRAWN = "explicit:(([1 3][2 8])([7 4][2 3])([-9 -1][-5 -2 -3][9][7]))"


def figure(value: str, number: int | None = None) -> SourceFigure:
    return SourceFigure(Decimal(value), number)


def test_the_interval_of_a_mean_is_students() -> None:
    """Ten measurements with mean 5 and deviation 2: 5 +- 2.262 * 2 / sqrt 10."""
    values = [5 + 2 * sign * math.sqrt(0.9) for sign in (-1, 1)] * 5
    ours = Estimate.mean(values, "ms")
    assert (ours.value, ours.spread) == (pytest.approx(5), pytest.approx(2))
    assert ours.high - 5 == pytest.approx(2.262 * 2 / math.sqrt(10))
    assert Estimate.mean([3.0], "ms").low == -math.inf
    assert math.isnan(Estimate.of_groups([[], []], "ms").value), "no observation"


def test_shares_differ_as_newcombe_has_it() -> None:
    """His example for method 10: 56 of 70 and 48 of 80 differ by 0.2, with the interval 0.0524 to 0.3339."""
    ours = Estimate.share(56, 70)
    low, high = figure("60", 80).interval(ours)
    assert ours.value - 60 - math.hypot(ours.value - ours.low, high - 60) == pytest.approx(5.24, abs=0.01)
    assert ours.value - 60 + math.hypot(ours.high - ours.value, 60 - low) == pytest.approx(33.39, abs=0.01)
    assert figure("60", 80).probability(ours) < 0.05 < figure("66", 80).probability(ours)
    # An interval that ends at zero: 5 % exactly.
    end = Decimal(80 - math.hypot(80 - ours.low, 0)).quantize(Decimal("1e-9"))
    assert SourceFigure(end).probability(ours) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(
    ("source", "ours", "differs", "equivalent"),
    [
        # A source without a number of games has the error of its last digit.
        (figure("62.4"), Estimate.exact(62.45), False, True),
        (figure("62.40"), Estimate.exact(62.45), True, True),
        (figure("62"), Estimate.exact(62.6), True, True),
        # A source has our deviation, here over 25 games.
        (figure("110", 25), Estimate(100.0, 99.0, 101.0, "ms", 50, 3.6), True, True),
        # One pair that was won: 20.7 to 100 %. Sixteen of sixteen: 80.6 to 100 %.
        (figure("100"), Estimate.share(1, 1), False, False),
        (figure("0"), Estimate.share(1, 1), True, False),
        (figure("100"), Estimate.share(16, 16), False, True),
        (figure("60"), Estimate.share(240, 400), False, True),
        (figure("60"), Estimate.share(12, 20), False, False),
        # Means are equivalent within a fifth of the source's.
        (figure("100"), Estimate(101.0, 90.0, 112.0, "plies", 9, 14.0), False, True),
        (figure("100"), Estimate(101.0, 70.0, 132.0, "plies", 9, 40.0), False, False),
        (figure("100"), Estimate.mean([100.0], "plies"), False, False),
    ],
)
def test_figures_differ_or_are_equivalent(
    source: SourceFigure, ours: Estimate, differs: bool, equivalent: bool
) -> None:
    assert (source.probability(ours) < 0.05) == differs
    assert source.equivalent(ours) == equivalent


def test_ten_games_can_never_show_that_shares_are_equal() -> None:
    """Wilson's interval of 5 of 10 is 23.7 to 76.3 %, of 0 of 10 0 to 27.8 %, of 0 of 16 0 to 19.4 %."""
    assert not figure("50", 10).decidable(Estimate.share(250, 500))
    assert not figure("0", 10).decidable(Estimate.share(0, 500))
    assert figure("0", 16).decidable(Estimate.share(0, 500))
    # A share is a whole number of games, however it is rounded: 0 of 15 is 0 to 20.4 %.
    for few in (figure("0", 15), figure("0.0", 15)):
        assert not few.decidable(Estimate.share(0, 16)) and not few.equivalent(Estimate.share(0, 16))


def test_arrangements_are_counted() -> None:
    """Against every way to write down 0 to 2 and 0 to 1 pieces on five cells."""
    boards = [board for board in product(".dt", repeat=5) if board.count("d") <= 2 and board.count("t") <= 1]
    assert counts.arrangements({"cells": 5, "dwarfs": 2, "trolls": 1})["positions"] == len(boards)
    whole = counts.arrangements({"cells": 164, "dwarfs": 32, "trolls": 8})["positions"]
    assert whole == pytest.approx(2.94e46, rel=0.002)


def test_a_players_thoughts_are_those_of_its_moves() -> None:
    watched = counts.thinking({"game": "tictactoe", "a": "uct:simulations=30", "b": "random", "seed": 2}, 1)
    # The first player is asked for five moves at most; the ninth is forced.
    assert watched["simulations"] in ([30] * 3, [30] * 4)
    again = counts.thinking({"game": "tictactoe", "a": "uct:simulations=30", "b": "random", "seed": 2}, 1)
    assert again["simulations"] == watched["simulations"]
    assert all(ms > 0 for ms in watched["ms"])


@pytest.mark.slow
def test_every_line_against_a_player_is_played() -> None:
    """A pile of three can be split once, one of four twice: whoever makes the last move wins."""
    for pile in (3, 4):
        found = counts.every_line({"game": f"grundy:pile={pile}", "a": "random", "seed": 1})
        assert (found["lines"], found["wins"], found["draws"], found["losses"]) == (2, 1, 0, 1)
    # The second player wins from seven, if it knows how; as the first it loses to some answers only.
    found = counts.every_line({"game": "grundy:pile=7", "a": "alphabeta:depth=6", "seed": 1})
    assert found["wins"] > found["losses"] > 0


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="takes minutes uncompiled")
@pytest.mark.parametrize("side", [games.FIRST, games.SECOND])
@pytest.mark.parametrize("player", ["preset=best,simulations=1000", "simulations=4000"])
def test_the_search_loses_no_line_of_tictactoe(player: str, side: int) -> None:
    """With the game's best settings, and with the settings of every search."""
    game = games.load("tictactoe")
    for seed in range(5):
        lines = counts.Opponents(game, player_of(f"uct:{player}", game), seed).lines(
            game.initial_state(), side
        )
        assert lines[1] > 0 and lines[0] > 0 and not lines[-1]


def invented(name: str) -> TableResult:
    """A table in which each figure of ours is twice the source's, and every score 50 %."""
    verdicts = []
    for row in load(name).rows_at["quick"]:
        match = row.measure == "results"
        values = {each: 2 * float(source.value) for each, source in row.figures.items()}
        ours = {each: Estimate(x, x - 1, x + 1, "%" * match, 10) for each, x in values.items()}
        histogram = {"both players": {5: 20, 64: 3}} if row.measure == "branching" else {}
        score = (0.5, 0.4, 0.6) if match else None
        verdicts.append(Verdict(row, Measured(ours, 1.0, "10 games", score, histogram=histogram)))
    return TableResult(load(name), "quick", tuple(verdicts))


@pytest.mark.parametrize("source", [*sources()])
def test_pictures_show_every_compared_row_and_are_small(source: str) -> None:
    results = [invented(name) for name in names() if name.partition("/")[0] == source]
    titles = {each.table.axis.get("title", each.table.title) for each in results}
    pictures = pictures_of(judge(results))
    assert pictures == pictures_of(judge(results)), "equal results have equal bytes"
    axes = {each.table.axis.get("beside", each.table.name) for each in results if each.table.axis}
    assert set(pictures) == axes | ({source} - {"claims"})
    for (picture,) in pictures.values():
        assert len(picture.svg) < 120_000
        title = re.findall("<title>([^<]+)</title>", picture.svg)[0]
        assert {unescape(title)} <= {*titles, f"The figures of source {source} and ours, row by row"}
    for picture in pictures.get(source, ()):
        texts = {unescape(text): float(y) for y, text in TEXTS.findall(picture.svg)}
        heights: set[float] = set()
        for row in (each.row for result in results for each in result.rows(ours=False)):
            names_of = (wrap(row.name, NAME), wrap(f"{row.name}: {next(iter(row.figures))}", NAME))
            assert row.not_comparable or any(texts.keys() >= {*lines} for lines in names_of), row.name
            heights.update(texts[line] for lines in names_of for line in lines if line in texts)
        assert min((low - high for high, low in pairwise(sorted(heights))), default=99) > 9.5, "names overlap"
