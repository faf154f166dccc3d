"""Trees that are written down: what is read, what is refused, and what they are as a game."""

from __future__ import annotations

import numpy as np
import pytest

import games
from games import FIRST, SECOND, InvalidInput
from games.analysis.perft import perft
from games.analysis.solving import solve
from games.board import draw
from tests.games.common import states_of

FIGURE_9 = "([(1 3)(2 8)(7 4)] [(2 3)(-9 -1)] [(-5 -2 -3)(9)(7)])"


def test_blanks_and_commas_divide_alike() -> None:
    spec = "explicit:([(1,3),(2,8),(7,4)],[(2,3),(-9,-1)],[(-5,-2,-3),(9),(7)])"
    assert games.load(f"explicit:{FIGURE_9}").spec == games.load("explicit").spec == spec
    assert games.load("explicit: ( [1, 3]\t[ 2 -8 ] ) ").options == {"tree": "([1,3],[2,-8])"}


@pytest.mark.parametrize(
    "text",
    [
        *("3", "()", "(", ")", "(1", "1)", "(1]", "[1)", "(1)(2)", "(1)2", "([])", "(1-2)", "(a)", "(--1)"),
        *("(10000)", "(1.5)", "(\u0663)", "(" * 2000, "(" + "1 " * 1000 + ")", "tree=(1 2)"),
    ],
)
def test_what_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"tree such as \(\[1 3\]\[2 8\]\)") as caught:
        games.load(f"explicit:{text}")
    assert (caught.value.field, caught.value.value) == ("game option tree", text)


def test_the_brackets_say_who_chooses() -> None:
    game = games.load("explicit:((1 [2 3]) 4)")
    state = game.initial_state()
    assert (game.max_moves, game.max_plies, game.points) == (2, 3, 4)
    assert game.rules.current_player(state) == FIRST
    game.play_text(state, ["1"])
    assert game.rules.current_player(state) == FIRST
    game.play_text(state, ["2"])
    assert game.rules.current_player(state) == SECOND
    game.play_text(state, ["1"])
    assert game.rules.is_terminal(state)
    assert game.rules.returns(state) == 0.5
    assert (game.format_position(state), game.outcome_text(state)) == ("1.2.1", "ends with 2")


def test_levels_of_a_drawn_tree() -> None:
    game = games.load(f"explicit:{FIGURE_9}")
    assert [perft(game, game.initial_state(), depth) for depth in range(5)] == [1, 3, 8, 15, 0]


def test_the_largest_and_deepest_trees() -> None:
    wide = games.load("explicit:(" + "1 " * 999 + ")")
    assert len(wide.legal_moves(wide.initial_state())) == 999
    deep = games.load("explicit:" + "(" * 999 + "0" + ")" * 999)
    state = deep.initial_state()
    deep.play_text(state, ["1"] * 999)
    assert deep.rules.is_terminal(state)
    assert deep.rules.returns(state) == 0.0
    assert np.array_equal(deep.parse_position(deep.format_position(state)), state)


def test_solving_asks_who_wins() -> None:
    game = games.load("explicit:([1 0][(-1 1)(0 -1)])")
    solution = solve(game, game.initial_state())
    assert solution.num_positions == 11
    assert [solution.value_of(state) for state in states_of(solution)] == [0, 0, 0, 1, 0, 1, 0, -1, 1, 0, -1]


def test_board_shows_the_way() -> None:
    game = games.load(f"explicit:{FIGURE_9}")
    state = game.initial_state()
    game.play_text(state, ["3", "1"])
    rows = [line.split() for line in draw(game.board(state, 0), colour=False).splitlines()]
    assert rows == [
        ["max", ".", ".", "v"],
        ["min", "[v]", ".", "."],
        ["max", "-5", "-2", "-3"],
        ["1", "2", "3"],
    ]
