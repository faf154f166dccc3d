"""Players by name: what they choose, what they refuse, and that a seed decides between equals."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import games
import search
from games import Game, InvalidInput
from games.game import FIRST, State
from search.players import Choice, Seen, describe, names, player_of
from tests.games.common import JIT, random_game, random_position

HERE = Path(search.__file__).parent
OPEN_GAMES = [
    "tictactoe",
    "connect_four",
    "othello:size=4",
    "hex:size=4",
    "breakthrough:rows=5,columns=4",
    "gomoku:size=6",
    "grundy:pile=9",
    "morris:variant=three",
    "thud:turns=60",
]
EVERYWHERE = [
    "random",
    "greedy",
    "minimax:depth=1",
    "negamax:depth=1",
    "alphabeta:depth=1",
    "alphabeta:seconds=0.01",
]


def seen_in(game: Game, state: State) -> Seen:
    """What the player to move is shown where nothing is hidden."""
    return Seen(game, state, game.calls.current_player(state), tuple(game.legal_moves(state)))


def chosen(spec: str, player: str, moves: str = "", seed: int = 1) -> tuple[str, Choice]:
    """The move as text, and the whole answer, after some moves."""
    game = games.load(spec)
    state = game.initial_state()
    game.play_text(state, moves.split())
    choice = player_of(player, game).choose(seen_in(game, state), seed)
    return game.format_move(state, choice.move), choice


@pytest.mark.parametrize("spec", OPEN_GAMES)
@pytest.mark.parametrize("name", EVERYWHERE)
def test_players_choose_legal_moves_and_repeat_themselves(spec: str, name: str) -> None:
    game = games.load(spec)
    player = player_of(name, game)
    assert not player.omniscient and player.spec == name
    for ply, (state, legal, _) in enumerate(random_game(game, 3, max_plies=40)):
        if len(legal) > 1 and ply % (1 if JIT else 8) == 0:
            before = state.copy()
            choice = player.choose(seen_in(game, state), ply)
            assert choice.move in legal
            assert np.array_equal(state, before)
            assert choice.value is None or -1.0 <= choice.value <= 1.0
            if "seconds" not in name:
                assert player.choose(seen_in(game, state), ply) == choice


@pytest.mark.parametrize("spec", OPEN_GAMES)
def test_minimax_negamax_and_alpha_beta_choose_alike(spec: str) -> None:
    game = games.load(spec)
    for ply, (state, legal, _) in enumerate(random_game(game, 5, max_plies=30)):
        if len(legal) > 1 and (ply % 4 == 0 if JIT else ply == 15):
            plain, other, pruned = (
                player_of(f"{name}:depth=2", game).choose(seen_in(game, state), ply)
                for name in ("minimax", "negamax", "alphabeta")
            )
            assert plain == other
            assert (pruned.move, pruned.value) == (plain.move, plain.value)
            assert pruned.nodes <= plain.nodes


@pytest.mark.slow
def test_a_seed_decides_between_equals() -> None:
    """A corner would lose: any edge is as good as the others."""
    moves = "a1 b2 c3"
    found = Counter(chosen("tictactoe", "minimax:depth=9", moves, seed)[0] for seed in range(80))
    assert set(found) == {"a2", "b1", "b3", "c2"}
    assert min(found.values()) >= 8
    assert found == Counter(chosen("tictactoe", "alphabeta:depth=9", moves, seed)[0] for seed in range(80))
    first = {chosen("tictactoe", "alphabeta:depth=9,ties=first", moves, seed)[0] for seed in range(9)}
    assert len(first) == 1 and first < set(found)


def test_a_value_is_the_players_own() -> None:
    for moves, move in (("a1 b1 a2 b2", "a3"), ("a1 b1 a2 b2 c1", "b3")):
        for player in ("minimax:depth=1", "alphabeta:depth=3", "alphabeta:seconds=5"):
            text, choice = chosen("tictactoe", player, moves)
            assert text == move and choice.value is not None and choice.value > 0.99


def test_minimax_and_alpha_beta_say_how_many_positions_they_visited() -> None:
    for depth, least, full in ((2, 24, 1 + 8 + 8 * 7), (3, 1, 1 + 8 + 8 * 7 + 8 * 7 * 6)):
        _, choice = chosen("tictactoe", f"alphabeta:depth={depth}", "a1")
        found = re.fullmatch(rf"depth {depth}, ([0-9,]+) positions", choice.thought)
        assert found is not None and int(found[1]) == choice.nodes
        assert least <= choice.nodes <= full
    assert re.fullmatch(r"depth 2, 65 positions", chosen("tictactoe", "minimax", "a1")[1].thought)
    assert "to the end" in chosen("tictactoe", "alphabeta:depth=9", "a1 b2 c3 a3")[1].thought


def test_a_budget_in_seconds_is_kept() -> None:
    game = games.load("gomoku:candidates=2")
    player, state = player_of("alphabeta:seconds=0.1", game), random_position(games.load("gomoku"), 1, 6)
    state = game.parse_position(game.format_position(state))
    player.choose(seen_in(game, state), 1)
    began = time.thread_time()
    choice = player.choose(seen_in(game, state), 1)
    took = time.thread_time() - began
    assert took < (0.1 + 0.02 if JIT else 3.0)
    assert took > 0.09 and choice.nodes > (10_000 if JIT else 10)


@pytest.mark.parametrize("player", ["alphabeta:depth=3", "minimax:depth=2"])
def test_gomoku_is_won_and_saved_when_it_can_be(player: str) -> None:
    """X has four in a row, open at one end: X wins there, O must close it."""
    if not JIT and player != "minimax:depth=2":
        pytest.skip("a deep search takes long uncompiled")
    four = "b3 a3 c3 a1 d3 a2 e3"
    assert chosen("gomoku:size=6", player, four)[0] == "f3"
    assert chosen("gomoku:size=6", player, f"{four} c1")[0] == "f3"


def test_the_printed_table_does_not_see_that_a_five_wins() -> None:
    """What the article's table says of finished games: the move that wins looks bad."""
    four = "b3 a3 c3 a1 d3 a2 e3 c1"
    assert chosen("gomoku", "minimax:depth=1", four)[0] == "f3"
    assert chosen("gomoku", "minimax:depth=1,evaluator=table_printed", four)[0] != "f3"


def test_greedy_takes_the_highest_priority_and_any_of_those() -> None:
    assert chosen("gomoku", "greedy", "b3 a3 c3 a1 d3 a2 e3")[0] == "f3"
    openings = {chosen("gomoku:size=6", "greedy", seed=seed)[0] for seed in range(60)}
    assert openings == {"b2", "b5", "e2", "e5", *(f"{c}{r}" for c in "bcde" for r in "2345")} & openings
    assert len(openings) > 1


def test_greedy_without_priorities_looks_one_move_ahead() -> None:
    game = games.load("tictactoe")
    assert game.rules.priority is None
    assert chosen("tictactoe", "greedy", "a1 b1 a2 b2")[0] == "a3"


@pytest.mark.parametrize("name", ["greedy", "minimax", "negamax", "alphabeta", "alphabeta:seconds=1"])
def test_players_that_look_ahead_refuse_what_is_hidden(name: str) -> None:
    with pytest.raises(InvalidInput, match="hidden information") as caught:
        player_of(name, games.load("battleship"))
    assert caught.value.field == "player"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("nobody", "player"),
        ("minimax:depth=0", "player option depth"),
        ("minimax:depth=65", "player option depth"),
        ("minimax:seconds=1", "player option"),
        ("minimax:ordering=none", "player option"),
        ("alphabeta:seconds=0", "player option seconds"),
        ("alphabeta:seconds=x", "player option seconds"),
        ("alphabeta:ties=last", "player option ties"),
        ("alphabeta:evaluator=nobody", "player option evaluator"),
        ("random:depth=2", "player option"),
        ("scripted", "player"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        player_of(spec, games.load("gomoku"))
    assert caught.value.field == field


@pytest.mark.parametrize("variant", ["three", "five", "six", "seven", "nine", "lasker", "twelve"])
@pytest.mark.parametrize("strategy", ["random", "own-mills", "blocker", "mixed"])
def test_scripted_players_play_all_mill_games(variant: str, strategy: str) -> None:
    game = games.load(f"morris:variant={variant}")
    player = player_of(f"scripted:strategy={strategy}", game)
    for ply, (state, legal, _) in enumerate(random_game(game, 7, max_plies=40)):
        if len(legal) > 1 and ply % (1 if JIT else 8) == 0:
            choice = player.choose(seen_in(game, state), ply)
            assert choice.move in legal
            assert player.choose(seen_in(game, state), ply) == choice


def test_what_scripted_players_do_first() -> None:
    # White can close a7-d7-g7, black a1-d1-g1.
    game = games.load("morris:repetition=none")
    state = game.parse_position("ww./.../.../....../.../.../bb. w 7 7 4")
    moves = {}
    for strategy in ("own-mills", "blocker", "mixed"):
        player = player_of(f"scripted:strategy={strategy}", game)
        moves[strategy] = game.format_move(state, player.choose(seen_in(game, state), 1).move)
    assert moves == {"own-mills": "g7", "blocker": "g1", "mixed": "g7"}


@pytest.mark.skipif(not JIT, reason="whole games take long uncompiled")
@pytest.mark.parametrize(
    ("spec", "stronger", "weaker"),
    [
        ("morris", "scripted:strategy=mixed", "scripted:strategy=own-mills"),
        ("morris:variant=three", "scripted:strategy=blocker", "random"),
        ("gomoku:size=9,candidates=1", "greedy", "random"),
        ("thud:ruleset=seed,turns=150", "minimax:depth=1", "random"),
    ],
)
def test_who_knows_more_wins_more(spec: str, stronger: str, weaker: str) -> None:
    game = games.load(spec)
    players = [player_of(stronger, game), player_of(weaker, game)]
    score = 0.0
    for number in range(12):
        state, ply = game.initial_state(), 0
        while not game.calls.is_terminal(state):
            seen = seen_in(game, state)
            player = players[seen.mover if number % 2 == 0 else 1 - seen.mover]
            move = player.choose(seen, 1000 * number + ply).move if len(seen.legal) > 1 else seen.legal[0]
            game.calls.play(state, move)
            ply += 1
        score += game.calls.returns(state) * (1 if number % 2 == FIRST else -1)
    assert score > 0


def test_every_player_is_described_here_and_in_the_readme() -> None:
    readme = (HERE / "README.md").read_text()
    for name in names():
        assert describe(name)
        assert f"`{name}" in readme, name
