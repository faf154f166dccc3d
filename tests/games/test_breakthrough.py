"""Breakthrough in positions set by hand."""

from __future__ import annotations

from functools import partial

import pytest

from games import InvalidInput
from games.breakthrough import Breakthrough
from tests.games.common import loaded

_load = partial(loaded, Breakthrough)


def test_captures_may_be_written_with_a_cross() -> None:
    game = _load()
    state = game.parse_position("bb6/8/8/2bb4/3w4/8/8/w7 w")
    assert (
        game.parse_move(state, "d4xc5") == game.parse_move(state, "d4-c5") == game.parse_move(state, "d4c5")
    )


@pytest.mark.parametrize(
    ("position", "move", "returns"),
    [
        ("8/w6b/8/8/8/8/8/8 w", "a7a8", 1.0),
        ("8/w6b/8/8/8/8/8/8 w", "a7b8", 1.0),
        ("7w/8/8/8/8/8/b7/7w b", None, 1.0),
        ("8/7b/8/8/8/8/b7/7w b", "a2b1", -1.0),
        ("8/8/8/4b3/3w4/8/8/8 w", "d4e5", 1.0),
        ("8/8/8/4b3/3w4/8/8/8 b", "e5d4", -1.0),
        ("8/w6b/8/8/8/8/7b/w7 w", "a7b8", 1.0),
    ],
)
def test_the_last_row_or_the_last_piece_wins(position: str, move: str | None, returns: float) -> None:
    game = _load()
    state = game.parse_position(position)
    if move is not None:
        assert not game.rules.is_terminal(state)
        game.play_text(state, [move])
    assert game.rules.is_terminal(state)
    assert game.rules.returns(state) == returns
    assert game.rules.returns(game.parse_position(game.format_position(state))) == returns


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("a7a6", "a move of a piece of white, such as a2a3"),
        ("a2a4", "from a2 to a3 or b3"),
        ("a2", "a move of a piece of white, such as a2a3"),
        ("a2-a3-a4", "such as a2a3"),
    ],
)
def test_wrong_moves_are_refused(text: str, accepted: str) -> None:
    with pytest.raises(InvalidInput, match=accepted) as caught:
        _load().parse_move(_load().initial_state(), text)
    assert (caught.value.field, caught.value.value) == ("moves", text)
