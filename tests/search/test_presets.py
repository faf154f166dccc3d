"""Settings that have a name, and who plays against people."""

from __future__ import annotations

import pytest

import games
from games.errors import InvalidInput
from search.players import player_of
from search.players.presets import BEST, NAMES, opponent_of, settings_of, with_preset
from search.prepare import check_request
from search.request import SearchRequest


@pytest.mark.parametrize("preset", NAMES)
def test_a_preset_fills_in_what_is_left_at_its_default(preset: str) -> None:
    for name in ("gomoku", "thud", "tictactoe", "grundy"):
        game = games.load(name)
        request = with_preset(SearchRequest(game.spec, simulations=100), preset, game)
        for field, value in settings_of(preset, game).items():
            assert getattr(request, field) == value
        check_request(request)


def test_what_a_request_says_goes_before_a_preset() -> None:
    game = games.load("gomoku")
    request = SearchRequest(game.spec, simulations=100, widening=3)
    found = with_preset(request, "best", game)
    assert (found.widening, found.playout_plies) == (3, BEST["gomoku"]["playout_plies"])


def test_a_preset_that_does_not_go_with_the_request_is_refused_by_name() -> None:
    game = games.load("thud")
    with pytest.raises(InvalidInput, match="root with implicit_minimax"):
        with_preset(SearchRequest(game.spec, strategy="leaf"), "best", game)
    with pytest.raises(InvalidInput, match="preset"):
        with_preset(SearchRequest(game.spec), "strongest", game)


@pytest.mark.parametrize(
    "name",
    [
        "battleship",
        "breakthrough",
        "connect_four",
        "gomoku",
        "grundy",
        "hex",
        "morris",
        "othello",
        "pig",
        "thud",
        "tictactoe",
    ],
)
def test_the_opponent_of_people_is_a_player_of_the_game(name: str) -> None:
    game = games.load(name)
    for preset in NAMES:
        spec = opponent_of(preset, game, 0.5)
        assert "seconds=0.5" in spec
        assert player_of(spec, game).spec == spec
    assert opponent_of("best", game).startswith("alphabeta" if name == "morris" else "uct:preset=best")
