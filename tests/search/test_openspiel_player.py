"""OpenSpiel's search as a player: it plays our positions, keeps to its budget, and is refused elsewhere."""

from __future__ import annotations

import importlib.util
import random
import sys
import time

import pytest

import games
from cluster.matches.game import MatchContext, play_game
from games import InvalidInput
from games.openspiel import name_of
from search.players import Choice, Seen, player_of

installed = pytest.mark.skipif(
    importlib.util.find_spec("pyspiel") is None, reason="OpenSpiel is not installed"
)
SAME_RULES = ("tictactoe", "gomoku:size=9", "morris:repetition=none", "othello", "breakthrough", "hex:size=6")


def after(spec: str, plies: int, seed: int = 0) -> Seen:
    """What the player to move is shown after random plies."""
    game = games.load(spec)
    draw, state, past = random.Random(seed), game.initial_state(), list[int]()
    while len(past) < plies and (legal := game.legal_moves(state)):
        past.append(draw.choice(legal))
        game.calls.play(state, past[-1])
    legal = game.legal_moves(state)
    return Seen(game, state, int(game.calls.current_player(state)), tuple(legal), tuple(past))


def chosen(player: str, seen: Seen, seed: int = 1) -> Choice:
    return player_of(player, seen.game).choose(seen, seed)


@installed
@pytest.mark.parametrize("spec", SAME_RULES)
@pytest.mark.parametrize("options", ["simulations=60", "simulations=60,solve=yes,c=0.5,rollouts=2"])
def test_it_plays_positions_of_ours_and_repeats_itself(spec: str, options: str) -> None:
    for plies in (0, 3, 30, 60):
        seen = after(spec, plies, seed=plies)
        if len(seen.legal) > 1:
            choice = chosen(f"openspiel:{options}", seen)
            assert choice.move in seen.legal
            assert 1 <= choice.simulations <= 60
            assert choice.value is not None and -1.0 <= choice.value <= 1.0
            assert chosen(f"openspiel:{options}", seen) == choice


@installed
def test_it_finds_wins_and_its_value_is_its_own() -> None:
    game = games.load("tictactoe")
    for moves, best, value in (("a1 b1 a2 b2", "a3", 1.0), ("a1 b1 a2 b2 c1", "b3", 1.0), ("b2", "", 0.0)):
        state = game.initial_state()
        past = tuple(game.play_text(state, moves.split()))
        seen = Seen(game, state, len(past) % 2, tuple(game.legal_moves(state)), past)
        choice = chosen("openspiel:simulations=20000,solve=yes", seen)
        assert choice.value == pytest.approx(value, abs=0.1)
        assert game.format_move(state, choice.move) == best or best == ""


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
    with pytest.raises(InvalidInput, match="from its start"):
        chosen("openspiel:simulations=9", Seen(seen.game, seen.state, seen.mover, seen.legal))
    elsewhere = Seen(seen.game, seen.state, seen.mover, seen.legal, (seen.legal[0], seen.legal[1]))
    with pytest.raises(InvalidInput, match="differ"):
        chosen("openspiel:simulations=9", elsewhere)


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


def test_openspiel_has_only_games_of_the_same_rules() -> None:
    assert name_of(games.load("tictactoe")) == "tic_tac_toe"
    assert name_of(games.load("gomoku:size=9")) == "gomoku(size=9)"
    assert name_of(games.load("gomoku:size=9,candidates=2")) is None
    assert name_of(games.load("gomoku:overline=not")) is None
    assert name_of(games.load("morris:repetition=none")) == "nine_mens_morris"
    assert name_of(games.load("morris")) is None
