"""`banyan strength --judge exact`: positions, what is read from losses, and whole small measurements."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from cluster.lab.strength.exact import MOVES, POSITIONS, ByValues, Row, budgets_of, falling_fit
from cluster.lab.strength.moves import (
    KEEPING,
    MAX_POSITIONS,
    Move,
    SharpPosition,
    numbers_of,
    sharp_positions,
)
from cluster.lab.strength.request import Cell, Searches, StrengthRequest
from cluster.matches.game import ask
from games.analysis.solving import solve
from games.analysis.table import judge_of
from games.errors import InvalidInput
from games.spec import Spec
from search.players import player_of
from tests.cluster.command import Here
from tests.search.test_evaluator import BODY

SMALL = ("strength", "tictactoe", "--judge", "exact", "--lanes", "4", "--simulations", "8")
INLINE = ("--executor", "inline", "--no-progress")


def measured(here: Here, *more: str) -> Any:
    return here.json(*SMALL, *INLINE, *more)


def without_times(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "cpu_ms"} for row in found["rows"]]


def test_positions_are_sharp_and_their_values_exact() -> None:
    game = games.load("tictactoe")
    solution = solve(game, game.initial_state())
    found = sharp_positions(game, judge_of(game), 60, seed=3)
    assert len({position.text for position in found}) == 60
    for position in found:
        state = game.parse_position(position.text)
        sign = 1 - 2 * int(game.calls.current_player(state))
        exact = {
            game.format_move(state, outcome.move): sign * outcome.value
            for outcome in solution.outcomes(state)
        }
        assert position.values == exact
        losses = [position.loss(move) for move in exact]
        assert min(losses) == 0
        assert losses.count(0) <= KEEPING * len(losses)
    assert sharp_positions(game, judge_of(game), 20, seed=3) == found[:20]
    assert sharp_positions(game, judge_of(game), 20, seed=4) != found[:20]


def test_hard_positions_are_those_in_which_a_short_search_loses() -> None:
    game = games.load("tictactoe")
    short = player_of("uct:simulations=2", game)
    hard = sharp_positions(game, judge_of(game), 25, seed=3, short_search=short)
    assert sharp_positions(game, judge_of(game), 10, seed=3, short_search=short) == hard[:10]
    easy = sharp_positions(game, judge_of(game), 25, seed=3)

    def lost(positions: list[SharpPosition]) -> int:
        """How much the short search loses with seeds that did not choose the positions."""
        states = [(each, game.parse_position(each.text)) for each in positions]
        return sum(
            each.loss(game.format_move(state, ask(short, game, state, seed)[0].move))
            for each, state in states
            for seed in range(20)
        )

    assert lost(hard) > lost(easy)


def test_more_positions_than_there_are_is_refused() -> None:
    game = games.load("grundy:pile=9")
    with pytest.raises(InvalidInput) as refused:
        sharp_positions(game, judge_of(game), 10_000, seed=1)
    assert refused.value.field == "positions"


@pytest.mark.parametrize("seed", range(5))
def test_the_falling_fit_is_the_nearest_falling_sequence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=7))[::-1] + rng.normal(scale=0.7, size=7)
    fitted = falling_fit(values)
    assert all(high >= low for high, low in pairwise(fitted))
    best = float(((fitted - values) ** 2).sum())
    for _ in range(2000):
        other = np.sort(fitted + rng.normal(scale=0.3, size=7))[::-1]
        assert float(((other - values) ** 2).sum()) >= best - 1e-12


def test_a_loss_is_read_on_the_curve() -> None:
    budgets = np.arange(5.0)
    curve = np.array([2.0**-budgets])
    for at in (0.0, 0.25, 3.5):
        assert budgets_of(budgets, curve, np.array([2.0**-at])) == pytest.approx([at])
    assert budgets_of(budgets, curve, np.array([2.0])) == [-np.inf]
    assert budgets_of(budgets, curve, np.array([0.01])) == [np.inf]


def judged(
    budgets: list[int],
    cell: Cell,
    positions: list[SharpPosition],
    moves: list[dict[int, Move]],
    tries: int = 1,
) -> list[Row]:
    """The rows of sequential searches with these budgets and of one parallel search, for invented moves."""
    request = StrengthRequest("tictactoe", "tree", (4,), (100,), seed=1, judge="exact", tries=tries)
    judge = ByValues(Searches(request))
    judge.budgets, judge.cells = budgets, [cell]
    judge.found, judge.moves = positions, moves
    return judge.rows


def invented(share_lost: dict[int, float], cell: Cell, share: float, count: int = 4000) -> list[Row]:
    """Rows of players that lose 1 in a share of the positions: the easiest for a player are so for all."""
    positions = [SharpPosition(str(n), {"good": 1, "bad": 0}) for n in range(count)]
    hard = np.random.default_rng(1).random(count)

    def moves(share: float) -> dict[int, Move]:
        return {n: Move("bad" if hard[n] < share else "good", 0.001) for n in range(count)}

    return judged([*share_lost], cell, positions, [moves(each) for each in (*share_lost.values(), share)])


def test_a_search_that_plays_like_a_sequential_one_is_worth_its_budget() -> None:
    cell = Cell(Spec("tree", {}), 4, 100, 400)
    curve = {100: 0.4, 200: 0.2, 400: 0.1, 800: 0.05}
    *sequential, row = invented(curve, cell, curve[200])
    assert [each.loss.value for each in sequential] == pytest.approx([*curve.values()], rel=0.1)
    assert row.strength.value == pytest.approx(2.0)
    # The two lose in the same positions, so that the interval has no width at all.
    assert row.strength.interval == pytest.approx((2.0, 2.0))
    assert row.beside_total.value == pytest.approx(row.loss.value - sequential[2].loss.value)
    assert row.kept.value == pytest.approx(1 - row.loss.value)


def test_a_measurement_says_what_every_search_loses(here: Here) -> None:
    found = measured(here, "--positions", "40", "--strategies", "tree,root", "--hard", "4")
    assert found["hard"] == 4
    assert found["judge"] == "exact"
    assert found["positions"] == 40
    rows = {(row["strategy"], row["total_simulations"]): row for row in found["rows"]}
    assert set(rows) == {("sequential", n) for n in (8, 16, 32, 64)} | {("tree", 32), ("root", 32)}
    assert rows["sequential", 64]["loss"] < rows["sequential", 8]["loss"]
    for row in found["rows"]:
        assert row["loss_low"] <= row["loss"] <= row["loss_high"]
        assert 1 - 2 * row["kept"] <= row["loss"] + 1
    assert rows["tree", 32]["loss_beside_total"] is not None


@pytest.mark.slow
def test_it_is_taken_up_again_and_extended(tmp_path: Path, here: Here) -> None:
    out = ("--out", str(tmp_path))
    whole = measured(here, "--positions", "24")
    measured(here, "--positions", "12", *out)
    moves = tmp_path / MOVES
    text = moves.read_text()
    # What a process that was killed leaves.
    moves.write_text(text[: len(text) - 25])
    again = measured(here, "--positions", "24", *out)
    assert without_times(again) == without_times(whole)
    for name in ("strength.json", "strength.csv", "strength.png"):
        assert (tmp_path / name).stat().st_size > 0
    error = here.refusal(*SMALL, *INLINE, "--seed", "5", *out)
    assert "--out" in error


@pytest.mark.slow
def test_more_tries_go_on_from_fewer(tmp_path: Path, here: Here) -> None:
    out = ("--out", str(tmp_path))
    whole = measured(here, "--positions", "20", "--tries", "3")
    assert whole["tries"] == 3
    once = measured(here, "--positions", "20", *out)
    again = measured(here, "--positions", "20", "--tries", "3", *out)
    assert without_times(again) == without_times(whole)
    players = [json.loads(line) for line in (tmp_path / MOVES).read_text().splitlines()]
    made = [(each["player"], number) for each in players for number, *_ in each["moves"]]
    assert len(made) == len(set(made)) == 60 * len(whole["rows"])
    # The first try is that of a measurement without the option; the kept positions are those that were found.
    assert without_times(measured(here, "--positions", "20", *out)) == without_times(once)
    (tmp_path / POSITIONS).write_text("[]\n")
    error = here.refusal(*SMALL, *INLINE, *out)
    assert POSITIONS in error


def test_a_bootstrap_resamples_positions_and_not_tries() -> None:
    count, tries = 200, 8
    positions = [SharpPosition(str(n), {"good": 1, "bad": 0}) for n in range(count)]
    # Every try in a position ends alike: they tell no more than one.
    lost = np.random.default_rng(2).random(count) < 0.4
    moves = {n: Move("bad" if lost[n % MAX_POSITIONS] else "good", 0.001) for n in numbers_of(count, tries)}
    cell = Cell(Spec("tree", {}), 4, 100, 400)
    once, often = (judged([400], cell, positions, [moves, moves], number)[0] for number in (1, tries))
    assert once.loss.value == pytest.approx(often.loss.value)
    assert once.loss.interval == pytest.approx(often.loss.interval)


@pytest.mark.slow
def test_several_budgets_are_a_map(tmp_path: Path, here: Here) -> None:
    budgets = ("--lanes", "2,4", "--simulations", "32,8,8", "--positions", "40", "--out", str(tmp_path))
    found = measured(here, *budgets, "--format", "svg")
    assert found["simulations_per_lane"] == [8, 32]
    parallel = [row for row in found["rows"] if row["strategy"] != "sequential"]
    cells = [(row["strategy"], row["lanes"], row["simulations_per_lane"]) for row in parallel]
    assert cells == [(s, lanes, n) for s in ("root", "tree", "leaf") for n in (8, 32) for lanes in (2, 4)]
    assert [row["total_simulations"] for row in found["rows"]][:6] == [8, 16, 32, 64, 128, 256]
    # A search's moves do not depend on the other budgets of the measurement.
    alone = measured(here, "--lanes", "2,4", "--simulations", "32", "--positions", "40")
    losses = {(row["strategy"], row["total_simulations"]): row["loss"] for row in alone["rows"]}
    for row in found["rows"]:
        key = (row["strategy"], row["total_simulations"])
        if row["simulations_per_lane"] == 32 or key[0] == "sequential":
            assert losses.get(key, row["loss"]) == row["loss"]
    assert (tmp_path / "strength.svg").read_text().count("simulations a lane") == 2


def test_searches_with_an_evaluator_are_measured(tmp_path: Path, here: Here) -> None:
    net = tmp_path / "net.py"
    net.write_text(BODY.format("np.zeros(B), np.zeros((B, 9))"))
    options = ("--strategies", "leaf", "--options", f"evaluator={net},batch=1", "--positions", "5")
    found = measured(here, *options)
    assert [row["strategy"] for row in found["rows"]][-1] == "leaf"
