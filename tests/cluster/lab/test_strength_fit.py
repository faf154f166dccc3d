"""Ratings, the sequential curve and strength speedups, from games drawn by known ratings."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from cluster.lab.strength.fit import ELO, Fit, Scores, Side, bootstrap, fit
from cluster.matches.statistics import elo_of, score_of


def rating(log2_budget: float) -> float:
    """A sequential search, in Elo: a doubling adds 120 Elo at first, and 8 less for each that follows."""
    return 124 * log2_budget - 4 * log2_budget**2


def drawn(
    a: Side, b: Side, true: dict[Side, float], pairs: int, draw: np.random.Generator, draws: float = 0.0
) -> Scores:
    """A match by the ratings; ``draws``: how many of the games are drawn whatever the ratings say."""
    expected = score_of(true[a] - true[b])
    level = min(draws, 2 * min(expected, 1 - expected))
    games = draw.random((pairs, 2))
    scores = np.where(games < expected - level / 2, 1.0, np.where(games < expected + level / 2, 0.5, 0.0))
    return Scores(a, b, tuple(scores.mean(axis=1).tolist()))


def measured(
    speedups: dict[int, float], pairs: int, seed: int, samples: int = 200, draws: float = 0.0
) -> Fit:
    """What `banyan strength` would play with one simulation for each lane; speedups by lanes."""
    draw = np.random.default_rng(seed)
    doublings = math.ceil(math.log2(max(speedups))) + 3
    true: dict[Side, float] = {float(x): rating(x) for x in range(doublings + 1)}
    true |= {f"p{lanes}": rating(math.log2(speedup)) for lanes, speedup in speedups.items()}
    meetings: list[tuple[Side, Side]] = [(float(x + 2), float(x)) for x in range(doublings - 1)]
    for lanes in speedups:
        meetings += [(f"p{lanes}", 0.0), (f"p{lanes}", math.log2(lanes))]
    return fit([drawn(a, b, true, pairs, draw, draws) for a, b in meetings], samples, seed)


TRUE = {4: 3.4, 16: 6.0, 64: 40.0}


@pytest.mark.parametrize("draws", [0.0, 0.5])
def test_many_games_find_the_speedups_that_they_were_drawn_from(draws: float) -> None:
    found = measured(TRUE, 20_000, seed=1, samples=50, draws=draws)
    for lanes, speedup in TRUE.items():
        low, high = found.speedup(f"p{lanes}", 1).interval
        assert found.speedup(f"p{lanes}", 1).value == pytest.approx(speedup, rel=0.05)
        assert low < speedup * 1.05
        assert high > speedup / 1.05
        assert found.speedup(f"p{lanes}", 2).value == pytest.approx(speedup / 2, rel=0.05)
    assert found.elo(3.0, 0.0).value == pytest.approx(rating(3), rel=0.03)
    assert found.misfit < found.freedom + 4 * math.sqrt(2 * found.freedom)


@pytest.mark.parametrize("draws", [0.0, 0.5])
def test_intervals_cover_the_truth_about_as_often_as_they_say(draws: float) -> None:
    """95 %, somewhat less from 40 pairs a match: 114 of these 120, give or take 2.4."""
    covered, widths = 0, []
    for seed in range(40):
        found = measured(TRUE, 40, seed, draws=draws)
        for lanes, speedup in TRUE.items():
            low, high = found.speedup(f"p{lanes}", 1).interval
            covered += low <= speedup <= high
            widths.append(high / low)
    assert 105 <= covered <= 119
    assert 1.5 < statistics.median(widths) < 4, "they are no wider than they must be"


def test_one_match_of_sequential_searches_gives_chaslots_line() -> None:
    """Three quarters of the points for four times the budget: 190.8 Elo, so 95.4 for a doubling."""
    matches = [Scores(2.0, 0.0, (1.0, 0.5, 1.0, 0.5)), Scores("p", 0.0, (0.5, 1.0, 0.75, 0.5))]
    found = fit(matches, samples=20)
    assert found.elo(2.0, 0.0).value == pytest.approx(elo_of(0.75), rel=1e-6)
    assert found.elo(1.0, 0.0).value == pytest.approx(elo_of(0.75) / 2, rel=1e-6)
    assert found.speedup("p", 1).value == pytest.approx(2 ** (2 * elo_of(0.6875) / elo_of(0.75)), rel=0.01)


def test_both_opponents_of_a_parallel_search_count() -> None:
    """It beats 1 simulation as 2 do, and loses to 4 as 2 do."""
    edge = score_of(100)
    won = (edge,) * 40
    lost = (1 - edge,) * 40
    curve = [Scores(2.0, 0.0, (score_of(200),) * 40)]
    for matches in (
        [Scores("p", 0.0, won)],
        [Scores("p", 2.0, lost)],
        [Scores("p", 0.0, won), Scores("p", 2.0, lost)],
    ):
        assert fit(curve + matches, samples=5).speedup("p", 1).value == pytest.approx(2, rel=0.01)


def test_the_sides_of_a_match_may_be_swapped() -> None:
    matches = [Scores(2.0, 0.0, (1.0, 0.5, 1.0)), Scores("p", 0.0, (0.5, 1.0, 0.75))]
    swapped = [Scores(match.b, match.a, tuple(1 - score for score in match.pairs)) for match in matches]
    there, back = (fit(given, samples=0).speedup("p", 1).value for given in (matches, swapped))
    assert there == pytest.approx(back)


def test_what_is_beyond_all_sequential_searches_has_no_upper_end() -> None:
    curve = [Scores(x + 2.0, x, (0.5, 0.75, 0.5, 0.75) * 10) for x in (0.0, 1.0, 2.0)]
    best = fit([*curve, Scores("p", 4.0, (1.0,) * 40)]).speedup("p", 1)
    assert best.value == best.interval[1] == math.inf
    assert best.interval[0] > 16
    worst = fit([*curve, Scores("p", 0.0, (0.0,) * 40)]).speedup("p", 1)
    assert worst.value == worst.interval[0] == 0
    assert worst.interval[1] < 1


def test_a_match_that_is_won_entirely_is_not_certain() -> None:
    scores = bootstrap([(1.0,) * 10, (0.5,) * 10, (0.0, 1.0)], 400, np.random.default_rng(0))
    assert scores[0].tolist() == [0.975, 0.5, 0.5]
    assert np.quantile(scores[1:, 0], 0.025) < 0.9
    assert 0.05 < scores[1:, 1].std() < 0.25
    assert set(scores[1:, 2]) == {0.125, 0.5, 0.875}


def test_scores_that_contradict_each_other_are_a_misfit() -> None:
    """A beats B, B beats C, and C beats A."""
    won = (1.0, 1.0, 0.5, 1.0, 0.5, 0.75, 1.0, 0.5) * 8
    lost = tuple(1 - score for score in won)
    level = (0.25, 0.75, 0.5, 1.0, 0.0) * 13
    curve = [Scores(2.0, 0.0, won)]
    circle = fit([*curve, Scores("a", "b", won), Scores("b", "c", won), Scores("a", "c", lost)], samples=5)
    assert circle.freedom < circle.misfit / 10
    agreed = fit(
        [*curve, Scores("a", "b", level), Scores("b", "c", level), Scores("a", "c", level)], samples=5
    )
    assert agreed.misfit < 1e-6


def test_the_same_games_give_the_same_interval() -> None:
    one, other, third = (measured(TRUE, 20, seed=3).speedup("p16", 1) for _ in range(3))
    assert one == other == third
    found = measured(TRUE, 20, seed=3)
    assert found.rating(0.0)[0] * ELO + found.elo(3.0, 0.0).value == pytest.approx(found.rating(3.0)[0] * ELO)
