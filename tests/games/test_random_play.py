"""Playouts against the exact probabilities of uniformly random play, and known numbers of games."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import pytest

import games
from games import Game, State
from tests.games.common import JIT, random_position, sample


class Means(NamedTuple):
    """Of uniformly random play to the end: the means of length and return, and of their squares."""

    length: Fraction
    square: Fraction
    result: Fraction
    decided: Fraction


def exact_means(game: Game, state: State, known: dict[bytes, Means]) -> Means:
    """Computed by all games that are left; ``known`` is filled with the means of their positions."""
    key = state.tobytes()
    if key not in known:
        after = [exact_means(game, child, known) for _, child in game.successors(state)]
        if after:
            n, n2, result, decided = (
                sum(each, Fraction(0)) / len(after) for each in zip(*after, strict=True)
            )
            known[key] = Means(1 + n, 1 + 2 * n + n2, result, decided)
        else:
            won = Fraction(game.calls.returns(state))
            known[key] = Means(Fraction(0), Fraction(0), won, won**2)
    return known[key]


def tictactoe(moves: str) -> tuple[Game, State]:
    game = games.load("tictactoe")
    state = game.initial_state()
    game.play_text(state, moves.split())
    return game, state


def late(spec: str, free: int) -> tuple[Game, State]:
    """A position of a random game of connect four with so many free cells."""
    game = games.load(spec)
    for seed in range(1_000):
        state = random_position(game, seed, game.max_plies - free)
        if int((game.owners(state[None]) == 0).sum()) == free:
            return game, state
    raise AssertionError("no random game lasts so long")


def piles(text: str) -> tuple[Game, State]:
    game = games.load(f"grundy:pile={sum(map(int, text.split(' ')[0].split('+')))}")
    return game, game.parse_position(text)


LATE = ("connect_four", "connect_four:rows=4,columns=4", "connect_four:rows=5,columns=4")


@pytest.mark.parametrize(
    ("begin", "given"),
    [
        *((tictactoe, [moves]) for moves in ("", "b2", "a1 b2 c3", "a1 b1 c1 a2 b2 c2")),
        *((late, [spec, free]) for spec in LATE for free in (1, 2, 5, 8, 9, 10)),
        *((piles, [text]) for text in ("3+3+1 first", "4+3 first", "5+2 second", "7 first")),
        *((piles, [text]) for text in ("10+9+1 first", "15+5+3+3+4 second")),
    ],
)
def test_playouts_have_the_exact_means(
    begin: Callable[..., tuple[Game, State]], given: list[str | int]
) -> None:
    game, state = begin(*given)
    exact = exact_means(game, state, {})
    number = 200_000 if JIT and game.name != "connect_four" else 20_000 if JIT else 500
    lengths, results = sample(game, state, number, 37, own=True)
    spread = float(exact.square - exact.length**2) ** 0.5
    assert abs(lengths.mean() - float(exact.length)) <= 5 * spread / number**0.5
    spread = float(exact.decided - exact.result**2) ** 0.5
    assert abs(results.mean() - float(exact.result)) <= 5 * spread / number**0.5
    spread = float(exact.decided * (1 - exact.decided)) ** 0.5
    assert abs((results**2).mean() - float(exact.decided)) <= 5 * spread / number**0.5


def test_random_play_of_tic_tac_toe_exactly() -> None:
    """The first player wins 737 of 1,260, the second 121 of 420, and 8 of 63 are drawn."""
    game, state = tictactoe("")
    exact = exact_means(game, state, {})
    assert exact.length == Fraction(3203, 420)
    assert (exact.result, exact.decided) == (Fraction(737, 1260) - Fraction(121, 420), 1 - Fraction(8, 63))
