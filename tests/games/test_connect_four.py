"""Connect four in positions set by hand, and its solver against a slow twin and published values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, partial

import pytest

import games
from games import Game, InvalidInput
from games.analysis.solving import solve
from games.analysis.table import judge_of
from games.connect_four import ConnectFour, rules
from games.connect_four.solver import Solver
from games.game import State
from tests.games.common import JIT, SPECS, best_value, loaded, random_game, states_of

NAMES = [spec for spec in SPECS if spec.startswith("connect_four")]
SIZES = [
    *NAMES,
    "connect_four:rows=4,columns=4",
    "connect_four:rows=6,columns=9",
    "connect_four:rows=14,columns=4",
]


_load = partial(loaded, ConnectFour)


@pytest.mark.parametrize("spec", SIZES)
def test_every_four_wins_and_no_line_runs_over_an_edge(spec: str) -> None:
    game = _load(spec)
    height = game.rows + 1
    cells = [(row, column) for row in range(game.rows) for column in range(game.columns)]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for row, column in cells:
            line = [(row + k * down, column + k * right) for k in range(4)]
            inside = [cell for cell in line if cell in cells]
            mask = sum(1 << c * height + r for r, c in inside)
            assert rules.has_four(mask, height) == (len(inside) == 4)
    full_but_fours = sum(1 << c * height + r for r, c in cells if (c // 2 + r) % 2)
    assert not rules.has_four(full_but_fours, height)
    # The last three cells of each column and the first of the next one are neighbours but for a bit.
    for column in range(game.columns - 1):
        ends = [(row, column) for row in range(game.rows - 3, game.rows)] + [(0, column + 1)]
        assert not rules.has_four(sum(1 << c * height + r for r, c in ends), height)


PUBLISHED = [
    # From the test sets of Pascal Pons, "Solving Connect 4" (2015): columns from 1, and a score, whose sign
    # is the value for the player to move.
    ("2252576253462244111563365343671351441", -1),
    ("23163416124767223154467471272416755633", 0),
    ("7422341735647741166133573473242566", 1),
    ("3575316255751336464276636772271112", -1),
    ("34441157374153736716346556774311552222", 0),
    ("326615663752621323655335514271", 1),
    ("12514726155174536522772517671", -1),
    ("2737772244262123677516643354", 0),
    ("5554224333234511764415115", 4),
    ("24617524315172127", 1),
    ("274552224131661", 0),
    ("555317266147361", -1),
    ("43745416472735", -13),
    ("17516442226766", 8),
    ("1626434452343", 13),
    ("427631264721", 10),
    ("165746146225", -11),
    ("65444437612", 13),
    ("265756512", -12),
]


@cache
def solver_of(spec: str) -> Solver:
    judge = judge_of(games.load(spec))
    assert isinstance(judge, Solver)
    return judge


def positions(game: Game, number: int, low: int, high: int) -> Iterator[State]:
    """Positions of random games, with ``low`` to ``high`` free cells."""
    draw = random.Random(7)
    found = seed = 0
    while found < number:
        free, seed = draw.randint(low, high), seed + 1
        for plies, (state, _, _) in enumerate(random_game(game, seed)):
            if game.max_plies - plies == free:
                yield state
                found += 1


@pytest.mark.parametrize(
    "spec",
    [
        "connect_four",
        "connect_four:rows=5,columns=5",
        "connect_four:rows=4,columns=8",
        "connect_four:rows=7,columns=4",
    ],
)
def test_late_positions_have_the_values_of_trying_everything(spec: str) -> None:
    game, solver = games.load(spec), solver_of(spec)
    values = set()
    for state in positions(game, 25 if JIT else 4, 0, 6 if JIT else 5):
        value = best_value(game, state, {})
        assert solver.value_of(state) == value
        values.add(value)
    assert values == {1, 0, -1} or not JIT


@pytest.mark.skipif(not JIT, reason="too slow uncompiled")
def test_values_are_those_of_retrograde_analysis() -> None:
    game, solver = games.load("connect_four:rows=4,columns=4"), solver_of("connect_four:rows=4,columns=4")
    solution = solve(game, game.initial_state())
    # The number that John Tromp has published.
    assert solution.num_positions == 161_029
    for place, state in enumerate(states_of(solution)):
        if place % 20 == 0:
            assert solver.value_of(state) == solution.value_of(state)
            ours = [(outcome.move, outcome.value) for outcome in solver.outcomes(state)]
            assert ours == [(outcome.move, outcome.value) for outcome in solution.outcomes(state)]


@pytest.mark.parametrize(("moves", "score"), PUBLISHED)
def test_published_values(moves: str, score: int) -> None:
    if not JIT and len(moves) < 34:
        pytest.skip("too slow uncompiled")
    game, solver = games.load("connect_four"), solver_of("connect_four")
    state = game.initial_state()
    game.play_text(state, ["abcdefg"[int(digit) - 1] for digit in moves])
    assert solver.value_of(state) * (1 - 2 * (len(moves) % 2)) == (score > 0) - (score < 0)


@pytest.mark.skipif(not JIT, reason="too slow uncompiled")
@pytest.mark.parametrize(
    ("rows", "columns", "value"), [(4, 4, 0), (4, 5, 0), (5, 4, 0), (4, 6, -1), (6, 4, 0)]
)
def test_small_boards_have_their_known_values(rows: int, columns: int, value: int) -> None:
    """Those of a separate program, negamax with a table of all positions and none of the solver's rules."""
    game = games.load(f"connect_four:rows={rows},columns={columns}")
    assert solver_of(game.spec).value_of(game.initial_state()) == value


def test_finished_games_have_no_outcomes_and_their_value() -> None:
    game, solver = games.load("connect_four"), solver_of("connect_four")
    state = game.initial_state()
    game.play_text(state, ["a", "b", "a", "b", "a", "b", "c", "b"])
    assert (solver.value_of(state), solver.outcomes(state)) == (-1, [])


def test_a_win_at_once_is_seen_and_one_that_is_not_met() -> None:
    game, solver = games.load("connect_four:rows=4,columns=4"), solver_of("connect_four:rows=4,columns=4")
    state = game.initial_state()
    game.play_text(state, ["a", "b", "a", "b", "a", "b"])
    values = {outcome.move: outcome.value for outcome in solver.outcomes(state)}
    assert (values[0], values[2], values[3]) == (1, -1, -1)
    assert {outcome.plies for outcome in solver.outcomes(state)} == {None}


def test_boards_of_another_size_are_refused() -> None:
    game = games.load("connect_four:rows=5,columns=7")
    with pytest.raises(InvalidInput, match="a position of connect_four:rows=6,columns=7"):
        solver_of("connect_four").value_of(game.initial_state())
