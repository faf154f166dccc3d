"""What the tables of experiments say in their files; and the accuracy of a thesis' player, worked out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cluster.lab.sources import claims
from cluster.lab.sources.counts import COUNTS, distribution_of_misses, sampling_accuracy
from cluster.lab.sources.estimate import Estimate
from cluster.lab.sources.measures import Measured
from cluster.lab.sources.report import to_markdown
from cluster.lab.sources.table import PublishedRow, load, names
from cluster.lab.sources.units import UnitStore
from cluster.lab.sources.verdict import Verdict
from games.errors import InvalidInput


def test_every_row_says_whether_it_is_as_printed() -> None:
    """As printed, or with one sentence about what deviates, or a row of ours: one of the three."""
    silent = [
        f"{name}: {row.name}"
        for name in names()
        for row in load(name).rows_at["quick"]
        if row.as_printed + bool(row.deviates) + row.ours != 1
    ]
    assert "\n".join(silent) == ""


@pytest.mark.parametrize(
    "row",
    [row for name in names() if name.startswith("003") for row in load(name).rows_at["quick"]],
    ids=lambda row: row.name,
)
def test_the_games_own_rules_count_what_the_article_prints(row: PublishedRow) -> None:
    found = COUNTS[row.measure](row.details)
    assert {each: round(found[each]) for each in row.figures} == {
        each: figure.value for each, figure in row.figures.items()
    }


def test_a_game_of_illegal_moves_is_not_counted() -> None:
    with pytest.raises(InvalidInput, match="moves"):
        COUNTS["game tree"]({"game": "grundy:pile=7", "moves": ["7-2+5", "4-1+3"]})


@pytest.mark.parametrize(
    ("depth", "steps", "mean", "of_mean_shots", "worst"),
    [
        (1, 50, 90.05, 89.26, 65.4),
        (1, 80, 95.39, 95.04, 77.3),
        (2, 50, 96.44, 96.18, 81.0),
        (2, 80, 98.68, 98.59, 89.5),
        (3, 50, 98.37, 98.26, 85.0),
        (3, 80, 99.51, 99.48, 94.4),
    ],
)
def test_the_accuracy_of_the_printed_program_is_as_computed_elsewhere(
    depth: int, steps: int, mean: float, of_mean_shots: float, worst: float
) -> None:
    found = sampling_accuracy({"depth": depth, "steps": steps})
    assert (found["mean"], 1700 / found["shots"]) == pytest.approx((mean, of_mean_shots), abs=0.006)
    assert found["worst"] == pytest.approx(worst, abs=0.06)


def test_shooting_at_cells_again_costs_what_a_geometric_waiting_time_does() -> None:
    """Of one step, one cell: 100 / k shots for each hit while k cells are afloat."""
    shots = sampling_accuracy({"depth": 1, "steps": 1, "tries_again": True})["shots"]
    assert shots == pytest.approx(sum(100 / afloat for afloat in range(1, 18)), rel=1e-6)
    for chances in (distribution_of_misses(1, 1, True), distribution_of_misses(2, 50, False)):
        assert sum(chances.values()) == pytest.approx(1)


def figures_at(claim: Mapping[str, Any], score: float) -> claims.Figures:
    """The figures of a claim, if all its rows were measured with this score and figures of this size."""
    results = {}
    for name in claims.tables_of(claim):
        some = {
            each["figure"]: Estimate.exact(score) for each in claim["figures"].values() if "figure" in each
        }
        measured = Measured(some, 0.0, "2 games", score=(score, score, score))
        results[name] = [Verdict(row, measured) for row in load(name).rows_at["quick"]]
    return claims.figures_of(claim, results)


@pytest.mark.parametrize("claim", claims.read()["claims"], ids=lambda claim: claim["title"])
def test_every_claim_is_decided_by_figures_that_there_are(claim: Mapping[str, Any]) -> None:
    recorded = {name: each for name, each in claim.get("figures", {}).items() if "record" in each}
    assert {each["record"] for each in recorded.values()} <= {*claims.read()["records"]}
    assert pytest.approx(0.2, rel=0.02) not in [
        (each["high"] - each["low"]) / each["value"] for each in recorded.values() if "low" in each
    ], "10 % to both sides are no measured interval"
    truths = claims.truths_of(claim, figures_at(claim, 0.5)).items()
    fixed = [[truth] if recorded.keys() & {*rule.split()} else [True, False, None] for rule, truth in truths]
    possible = {claims.decided([*each, *[None] * ("open" in claim)]) for each in product(*fixed)}
    assert {*claim["because"]} <= possible - {claims.NOT_SHOWN}, "no sentence of what cannot be"
    assert {*claim["because"]} == possible or len(possible) > 1


@pytest.mark.parametrize(
    ("verdict", "rules"),
    [
        (claims.HOLDS, ["a > 50", "b < 50"]),
        (claims.IN_PART, ["a > 65", "a > b"]),
        (claims.FAILS, ["b > 50", "a > 65"]),
        (claims.NOT_SHOWN, ["a > 65", "65 > a"]),
        (claims.NOT_SHOWN, ["median > 1", "1 < one_run"]),
    ],
)
def test_a_verdict_is_computed_from_intervals(rules: list[str], verdict: str) -> None:
    figures = {"a": ("", Estimate(66, 60, 70)), "b": ("", Estimate.exact(40))}
    figures |= {
        **claims.figures_of({"figures": {"one_run": {"record": "r", "what": "", "value": 5}}}, {}),
        "median": ("", Estimate.alone(5, "ms", 9)),
    }
    assert claims.verdict_of({"holds_if": rules}, figures) == verdict
    assert claims.verdict_of({"holds_if": rules}, {**figures, "c": ("", None)}) == claims.NOT_RUN
    for wrong in ("a = 50", "a > c", "a >50", "", "1.2.3 > a", ". < a"):
        with pytest.raises(InvalidInput, match="rule"):
            claims.verdict_of({"holds_if": [wrong]}, figures)


def test_the_page_of_claims_says_what_was_not_run(tmp_path: Path) -> None:
    text = to_markdown(claims.parts(UnitStore(tmp_path), "smoke", 3, {}))
    said = (
        "`banyan experiment claims --scale smoke --seed 3`",
        "(two): 98 (85-106); needs >50: yes",
        "(cores): 88; needs >50: not decided",
        "Needs many > few: yes.",
        "## 3. Own copies, merged statistics: holds",
        "Independent simulations, combined at the end: not run",
    )
    assert not [each for each in said if each not in text]
    assert "one tree of as many simulations is stronger" not in text
