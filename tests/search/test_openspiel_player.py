"""OpenSpiel's search as a player: it plays our positions, keeps to its budget, and is refused elsewhere."""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import replace

import pytest

import games
from cluster.matches.game import MatchContext, play_game
from games import InvalidInput
from search.players import Observation, player_of
from tests.games.common import random_game
from tests.search.common import chosen, seen_in
from tests.search.test_players import SAME_RULES

installed = pytest.mark.skipif(
    importlib.util.find_spec("pyspiel") is None, reason="OpenSpiel is not installed"
)


def after(spec: str, plies: int) -> Observation:
    """What the player to move is shown after random plies."""
    history = list(random_game(games.load(spec), 0, plies + 1))
    return seen_in(games.load(spec), history[-1][0], tuple(move for _, _, move in history[:-1]))


@installed
@pytest.mark.parametrize(
    ("moves", "best", "value"), [("a1 b1 a2 b2", "a3", 1.0), ("a1 b1 a2 b2 c1", "b3", 1.0), ("b2", "", 0.0)]
)
def test_it_finds_wins_and_its_value_is_its_own(moves: str, best: str, value: float) -> None:
    text, choice = chosen("openspiel:simulations=20000,solve=yes", "tictactoe", moves)
    assert choice.value == pytest.approx(value, abs=0.1)
    assert best in ("", text)


@installed
def test_a_budget_in_seconds_is_cpu_time() -> None:
    """Measuring the rate comes on top: a few percent."""
    seen = after("morris:repetition=none", 6)
    player = player_of("openspiel:seconds=0.2", seen.game)
    player.choose(seen, 0)
    began = time.thread_time()
    for seed in range(3):
        assert player.choose(seen, seed).simulations > 50
    assert 0.8 * 0.2 < (time.thread_time() - began) / 3 < 1.3 * 0.2


@installed
@pytest.mark.parametrize("spec", [*SAME_RULES, "openspiel:connect_four"])
def test_it_plays_a_match_to_its_end(spec: str) -> None:
    game = games.load(spec)
    context = MatchContext(game.spec, None, ("openspiel:simulations=10", "random"), 3, 2)
    players = [player_of(player, game) for player in context.players]
    record = play_game(context, game, players, 1)
    state = game.initial_state()
    game.play_text(state, record.moves)
    assert game.calls.is_terminal(state)
    # Forced moves are nobody's; a random player makes no simulations.
    assert record.efforts[0].simulations == 0 < record.efforts[1].simulations


@installed
def test_a_position_that_came_from_nowhere_is_refused() -> None:
    seen = after("tictactoe", 2)
    player = player_of("openspiel:simulations=9", seen.game)
    with pytest.raises(InvalidInput, match="from its start"):
        player.choose(replace(seen, past=None), 1)
    with pytest.raises(InvalidInput, match="differ"):
        player.choose(replace(seen, past=seen.legal[:2]), 1)


@installed
@pytest.mark.parametrize(
    "spec", ["thud", "grundy", "gomoku:candidates=2", "morris", "morris:variant=six", "othello:size=6"]
)
def test_games_of_other_rules_are_refused(spec: str) -> None:
    with pytest.raises(InvalidInput, match="the same rules"):
        player_of("openspiel", games.load(spec))


@installed
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("seconds=0", "more than 0"),
        ("simulations=0", "from 1"),
        ("simulations=9,seconds=1", "not both"),
        ("c=-1", "from 0"),
        ("rollouts=0", "from 1"),
        ("solve=perhaps", "no or yes"),
        ("speed=9", "speed"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        player_of(f"openspiel:{options}", games.load("tictactoe"))


def test_without_openspiel_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)  # As if it were not installed.
    with pytest.raises(InvalidInput, match=r"pip install open_spiel"):
        player_of("openspiel", games.load("tictactoe"))
