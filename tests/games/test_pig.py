"""Pig against positions set by hand, and its optimal play against published numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

import games
from games import pig as rules
from tests.games.common import JIT
from tests.games.naive_pig import win_probabilities


@pytest.mark.skipif(not JIT, reason="says nothing of rules")
def test_optimal_play_to_a_hundred_wins_as_often_as_published() -> None:
    """The first player wins 53.06 % (Neller and Presser 2004)."""
    values = win_probabilities(100, error=1e-5)
    assert np.isclose(values[0, 0, 0], 0.5306, atol=5e-4)


@pytest.mark.skipif(not JIT, reason="says nothing of rules")
def test_the_worth_of_positions_is_near_the_probability_to_win() -> None:
    """It is set by hand, and here compared with optimal play to 100 points: on average 2 % off."""
    game, values, draw, errors = games.load("pig"), win_probabilities(100, error=1e-5), random.Random(1), []
    assert game.calls.evaluate is not None
    for _ in range(2000):
        state = game.initial_state()
        state[0], state[1], state[rules.MOVER] = draw.randrange(100), draw.randrange(100), draw.randrange(2)
        own, other = (int(state[each]) for each in (state[rules.MOVER], 1 - state[rules.MOVER]))
        state[rules.TURN] = draw.randrange(100 - own)
        worth = game.calls.evaluate(state) * (1 - 2 * int(state[rules.MOVER]))
        errors.append(abs((1.0 + worth) / 2 - float(values[own, other, int(state[rules.TURN])])))
        state[rules.ROLLING] = 1
        assert -1.0 <= game.calls.evaluate(state) * (1 - 2 * int(state[rules.MOVER])) <= worth + 1e-12
    assert np.mean(errors) < 0.02
    assert max(errors) < 0.2


def test_the_probability_to_reach_a_number_of_points() -> None:
    assert rules.REACHING[:4].tolist() == pytest.approx([1.0, 5 / 6, 5 / 6, 4 / 6 + 1 / 6 * 5 / 6])


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("0 0 19 first 9", "roll"),
        ("0 0 20 first 9", "hold"),
        ("40 60 21 first 30", "roll"),
        ("40 60 22 first 30", "hold"),
        ("60 40 17 first 30", "roll"),
        ("60 40 18 first 30", "hold"),
        ("75 0 24 first 30", "roll"),
        ("0 80 40 first 30", "roll"),
        ("80 60 20 first 30", "hold"),
    ],
)
def test_what_looks_better(text: str, best: str) -> None:
    """Hold at 20, a little later if behind and sooner if ahead, and go for the goal near the end."""
    game = games.load("pig")
    state = game.parse_position(text)
    assert game.calls.priority is not None
    worth = {game.format_move(state, move): game.calls.priority(state, move) for move in (7, 8)}
    assert worth == {"roll": 0.0, "hold": 0.0} | {best: 1.0}
