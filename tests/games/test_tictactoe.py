"""Tic-tac-toe against its known numbers: positions, games, random play, value."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import games
from tests.games.common import JIT, sample

GAME = games.load("tictactoe")
Outcome = tuple[Fraction, Fraction, Fraction, Fraction]


def _children(text: str) -> list[str]:
    state = GAME.parse_position(text)
    children = []
    for move in GAME.legal_moves(state):
        child = state.copy()
        GAME.rules.play(child, move)
        children.append(GAME.format_position(child))
    return children


@cache
def _return(text: str) -> float | None:
    state = GAME.parse_position(text)
    return GAME.rules.returns(state) if GAME.rules.is_terminal(state) else None


START = GAME.format_position(GAME.initial_state())


@cache
def _reachable() -> dict[str, list[str]]:
    """Each reachable position with the positions after it."""
    found: dict[str, list[str]] = {}
    queue = [START]
    while queue:
        text = queue.pop()
        if text not in found:
            found[text] = _children(text)
            queue += found[text]
    return found


@cache
def _num_games(text: str) -> tuple[int, int, int]:
    """Complete games from a position: won by first, won by second, drawn."""
    result = _return(text)
    if result is not None:
        return int(result == 1), int(result == -1), int(result == 0)
    wins, losses, draws = zip(*(_num_games(child) for child in _reachable()[text]), strict=True)
    return sum(wins), sum(losses), sum(draws)


@cache
def _random_play(text: str) -> Outcome:
    """Under uniformly random play: chances of first, second, draw, and the mean number of plies left."""
    result = _return(text)
    if result is not None:
        return Fraction(result == 1), Fraction(result == -1), Fraction(result == 0), Fraction(0)
    children = _reachable()[text]
    first, second, draw, plies = (
        sum(values, Fraction(0)) / len(children)
        for values in zip(*(_random_play(child) for child in children), strict=True)
    )
    return first, second, draw, plies + 1


@cache
def _value(text: str) -> float:
    result = _return(text)
    if result is not None:
        return result
    best = max if text.endswith("x") else min
    return best(_value(child) for child in _reachable()[text])


def test_reachable_and_terminal_positions() -> None:
    assert len(_reachable()) == 5_478
    assert sum(not children for children in _reachable().values()) == 958


def test_complete_games() -> None:
    assert _num_games(START) == (131_184, 77_904, 46_080)


def test_value_is_a_draw() -> None:
    assert _value(START) == 0


def test_random_play_exactly() -> None:
    assert _random_play(START) == (
        Fraction(737, 1260),
        Fraction(121, 420),
        Fraction(8, 63),
        Fraction(3203, 420),
    )


@pytest.mark.parametrize(("move", "mean"), [("b2", 0.75), ("a1", 0.6714), ("b1", 0.6)])
def test_random_play_after_the_first_move(move: str, mean: float) -> None:
    state = GAME.initial_state()
    GAME.play_text(state, [move])
    first, _, draw, _ = _random_play(GAME.format_position(state))
    assert float(first + draw / 2) == pytest.approx(mean, abs=5e-5)


@pytest.mark.parametrize("moves", ["", "b2", "a1 b2 c3", "a1 b1 c1 a2 b2 c2"])
def test_playouts_have_the_exact_chances(moves: str) -> None:
    state = GAME.initial_state()
    GAME.play_text(state, moves.split())
    *chances, plies = _random_play(GAME.format_position(state))
    number = 1_000_000 if JIT else 1_000
    lengths, results = sample(GAME, state, number, 37, own=True)
    for result, chance in zip((1, -1, 0), chances, strict=True):
        error = np.sqrt(float(chance * (1 - chance)) / number)
        assert abs(np.mean(results == result) - float(chance)) <= 5 * error
    assert abs(lengths.mean() - float(plies)) <= 5 * lengths.std() / np.sqrt(number)


def test_position_text() -> None:
    state = GAME.initial_state()
    assert START == ".../.../... x"
    GAME.play_text(state, ["a3", "b2"])
    assert GAME.format_position(state) == "x../.o./... x"
