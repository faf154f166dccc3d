"""Elo, intervals and the sequential test, against values that others have published."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from cluster.matches.statistics import (
    PAIR_SCORES,
    Sprt,
    elo_of,
    freeman_halton,
    holm,
    pentanomial,
    score_interval,
    score_of,
    standard_error,
    student_95,
    wilson,
)

# Pull requests of official-stockfish/Stockfish of 2020, when the bounds of their tests were in
# logistic Elo: bounds, counts of pairs ("Ptnml"), and the log-likelihood ratio as printed there.
PUBLISHED = [
    ((-0.25, 1.25), (253, 4282, 17604, 4431, 286), 2.94),  # 3209, short
    ((0.25, 1.25), (58, 3302, 33130, 3518, 84), 2.97),  # 3209, long
    ((-0.25, 1.25), (491, 7345, 29693, 7670, 465), 2.96),  # 3098, short
    ((0.25, 1.25), (53, 2220, 21459, 2445, 47), 2.97),  # 3098, long
    ((-0.5, 1.5), (17, 253, 1042, 337, 39), 2.96),  # 2971, short
    ((0.25, 1.75), (11, 407, 3238, 513, 11), 2.93),  # 2971, long
    ((-0.5, 1.5), (133, 1751, 5094, 1849, 165), 2.94),  # 2950, short
    ((-1.25, 0.25), (293, 5085, 20082, 5070, 326), 2.95),  # 3103, short
]


@pytest.mark.parametrize(("bounds", "counts", "published"), PUBLISHED)
def test_the_ratio_is_the_one_that_was_published(
    bounds: tuple[float, float], counts: tuple[int, ...], published: float
) -> None:
    assert Sprt(*bounds).ratio(counts) == pytest.approx(published, abs=0.011)


def test_bounds_and_decisions() -> None:
    assert Sprt(0, 5).bounds == pytest.approx((-2.944, 2.944), abs=0.001)
    assert Sprt(0, 100).decision((0, 0, 0, 0, 0)) is None
    assert Sprt(0, 100).decision((0, 1, 2, 1, 0)) is None
    assert Sprt(0, 100).decision((0, 0, 5, 20, 40)) == "elo1"
    assert Sprt(0, 100).decision((10, 10, 40, 10, 10)) == "elo0"
    assert Sprt(0, 50).decision((0, 0, 0, 0, 60)) == "elo1", "no likelihood is zero"


def test_a_sequential_test_errs_as_seldom_as_it_says() -> None:
    """Pairs of fair coins: elo1 = 80 is accepted in about 5 % of tests."""
    draw, wrong = random.Random(5), 0
    for _ in range(100):
        test, counts, decided = Sprt(0, 80), [0] * 5, None
        while decided is None:
            counts[draw.randrange(2) * 2 + draw.randrange(2) * 2] += 1
            decided = test.decision(counts)
        wrong += decided == "elo1"
    assert wrong <= 13, "5 % of 100 are 5, and 13 is 4 standard errors more"


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_wilsons_interval_is_the_one_in_the_literature(
    successes: int, trials: int, expected: tuple[float, float]
) -> None:
    assert wilson(successes, trials) == pytest.approx(expected, abs=0.00006)


def test_elo_and_score_are_each_others_inverse() -> None:
    assert elo_of(0.5) == 0
    assert elo_of(0.75) == pytest.approx(190.85, abs=0.005)
    assert score_of(400) == pytest.approx(10 / 11)
    assert elo_of(score_of(123.4)) == pytest.approx(123.4)
    assert (elo_of(0.0), elo_of(1.0)) == (-math.inf, math.inf)


def test_pairs_that_always_split_tell_more_than_their_games_would() -> None:
    """The first player wins every game: 50 % for sure, though each game for itself is a coin."""
    split, coins = [0.5] * 90 + [0.25, 0.75] * 5, [0.0, 0.5, 0.5, 1.0] * 25
    assert standard_error(split) < standard_error(coins) / 3
    low, high = score_interval(split)
    assert low < 0.5 < high
    assert high - low < 0.04


def test_no_interval_is_narrower_than_the_pairs_can_tell() -> None:
    low, high = score_interval([1.0] * 10)
    assert (round(low, 4), high) == (0.7225, 1.0), "Wilson's interval of 10 in 10"
    assert score_interval([]) == (0.0, 1.0)
    low, high = score_interval([0.75])
    assert low < 0.25
    assert high > 0.9
    # Six pairs with squares of deviations of 1/4 in all; Student's quantile is 2.571 for 5 degrees.
    low, high = score_interval([0.25, 0.5, 0.75] * 2)
    assert high - 0.5 == pytest.approx(2.571 * math.sqrt(0.25 / 5 / 6)) == pytest.approx(0.5 - low)
    assert (student_95(31), student_95(1000)) == pytest.approx((2.042, 1.96), abs=1e-4)


def test_counts_of_pair_scores() -> None:
    assert pentanomial([0.0, 0.5, 0.5, 1.0, 0.25]) == (1, 1, 2, 0, 1)
    assert sum(pentanomial(list(PAIR_SCORES))) == 5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((8, 2), (1, 5)),
        ((3, 0, 2), (0, 6, 4)),
        ((5, 0, 5), (0, 0, 20)),
        ((1, 2, 3), (3, 2, 1)),
        ((4, 0, 0), (9, 0, 0)),
    ],
)
def test_the_exact_test_is_a_sum_over_all_tables(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Whole numbers of ways; of 8, 2 and 1, 5 scipy's fisher_exact has 0.034965."""
    columns = [a + b for a, b in zip(first, second, strict=True)]
    tables = [row for row in product(*(range(n + 1) for n in columns)) if sum(row) == sum(first)]
    ways = {row: math.prod(map(math.comb, columns, row)) for row in tables}
    likely = sum(n for n in ways.values() if n <= ways[first])
    assert freeman_halton(first, second) == pytest.approx(likely / sum(ways.values()))
    assert freeman_halton(second, first) == pytest.approx(likely / sum(ways.values()))


def test_holms_correction() -> None:
    """Four tests: 4 times the least, 3 times the second, 2 times the third; none below one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
