"""Chinese checkers side by side with OpenSpiel's rules, and in positions set by hand."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import games
from games import InvalidInput, State
from games.board import board_svg, draw
from games.chinese_checkers import ChineseCheckers, rules
from games.openspiel import name_of
from games.rng import new_stream
from tests.games.common import JIT, loaded, random_game

SPECS = [f"chinese_checkers:players={players},turns=60" for players in rules.HOMES]


_load = partial(loaded, ChineseCheckers)


def _greedy_game(game: ChineseCheckers, seed: int, noise: float) -> list[tuple[State, list[int], int]]:
    """A game to its end of moves of the highest priority, and a share of random ones."""
    draw, stream, moves = random.Random(seed), new_stream(seed), np.zeros(game.max_moves, np.uint16)
    state, played = game.initial_state(), []
    while not game.calls.is_terminal(state):
        legal = game.legal_moves(state)
        greedy = draw.random() >= noise
        move = int(game.calls.greedy_move(state, moves, stream)) if greedy else draw.choice(legal)
        played.append((state.copy(), legal, move))
        game.calls.play(state, move)
    played.append((state, [], 0))
    return played


@pytest.mark.parametrize("players", rules.HOMES)
@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_games_agree_with_openspiel(players: int, noise: float) -> None:
    """Legal moves, turns, ends and returns, in games that are won and in random ones, which nobody wins."""
    pyspiel = pytest.importorskip("pyspiel")
    game = _load(f"chinese_checkers:players={players}{'' if JIT else ',turns=40'}")
    other = pyspiel.load_game(name_of(game))
    for seed in range(4 if JIT else 1):
        twin = other.new_initial_state()
        for state, legal, move in _greedy_game(game, seed, noise):
            assert game.calls.is_terminal(state) == twin.is_terminal()
            assert legal == sorted(twin.legal_actions())
            if legal:
                assert game.calls.current_player(state) == twin.current_player()
                twin.apply_action(move)
            else:
                assert [game.rules.score(state, each) for each in range(players)] == twin.returns()  # type: ignore[misc]
                assert any(twin.returns()) == (noise < 1.0 and JIT)


def test_the_star_is_regular() -> None:
    """Steps and hops lead back, each triangle has ten cells, and opposite points are as far apart."""
    for table in (rules.NEAR, rules.FAR):
        for move, end in enumerate(table):
            if end != rules.WALL:
                back = 6 * int(end) + 5 - move % 6
                assert table[back] == move // 6
    assert all(len(cells) == rules.EACH for cells in rules.TRIANGLES)
    for triangle, point in enumerate(rules.POINTS):
        assert rules.DISTANCE[rules.CELLS * triangle + rules.POINTS[(triangle + 3) % 6]] == 16
        assert rules.DISTANCE[rules.CELLS * triangle + point] == 0


@pytest.mark.parametrize("spec", SPECS)
def test_what_a_state_counts_follows_from_its_board(spec: str) -> None:
    game = _load(spec)
    for state, _, _ in random_game(game, 5):
        for number in range(rules.EACH * game.num_players):
            assert state[rules.BOARD + state[rules.PIECES + number]] == number
        assert (state[rules.BOARD : rules.PIECES] >= 0).sum() == rules.EACH * game.num_players
        again = game.parse_position(game.format_position(state))
        assert np.array_equal(state[rules.LEFT : rules.BOARD], again[rules.LEFT : rules.BOARD])


def test_a_series_of_hops_may_be_ended() -> None:
    """Blue hops from l3 over l4 to l5, from where k5 can be hopped over; l3 may not be visited again."""
    game = _load("chinese_checkers:players=2")
    state = game.initial_state()
    game.play_text(state, ["k3k5", "g14g13", "l3l5"])
    text = game.format_position(state)
    assert text == "b/bb/2b/bbbb/6bb5/12/11/10/9/10/11/12/6y6/yy1y/yyy/yy/y b 2 l3,l5"
    assert game.rules.current_player(state) == games.FIRST
    assert [game.format_move(state, move) for move in game.legal_moves(state)] == ["l5j5", "pass"]
    ended, gone_on = state.copy(), state.copy()
    game.play_text(ended, ["pass"])
    assert game.format_position(ended) == text.replace(" b 2 l3,l5", " y 3")
    # No further hop is possible, so the turn is over.
    game.play_text(gone_on, ["l5j5"])
    assert game.format_position(gone_on).endswith(" y 3")
    assert np.array_equal(game.parse_position(text), game.canonical(state))
    for wrong in ("l3,j5", "l5", "l5,l3", "l3,l3,l5", "a1,l5"):
        with pytest.raises(InvalidInput, match="hops from which another hop is possible"):
            game.parse_position(text.replace("l3,l5", wrong))


@pytest.mark.skipif(not JIT, reason="takes a minute without compilation")
@pytest.mark.parametrize("players", rules.HOMES)
def test_greedy_players_come_to_an_end(players: int) -> None:
    """So playouts by priority have winners, where random ones have none."""
    game = _load(f"chinese_checkers:players={players}")
    for seed in range(5):
        state = _greedy_game(game, seed, 0.0)[-1][0]
        assert 0 < state[rules.TURNS] < 100 * players
        scores = [game.rules.score(state, player) for player in range(players)]  # type: ignore[misc]
        assert sorted(scores) == [-1.0] * (players - 1) + [players - 1.0]
        assert game.outcome_text(state) == f"{game.player_names[scores.index(players - 1.0)]} wins"


@pytest.mark.parametrize("spec", SPECS)
def test_scores_of_unfinished_positions_add_up_to_nothing(spec: str) -> None:
    """They are alike at the start, and a player who has fewer steps left has a higher one."""
    game = _load(spec)
    score = game.rules.score
    assert score is not None
    assert [score(game.initial_state(), player) for player in range(game.num_players)] == [
        0.0
    ] * game.num_players
    for state, _, _ in random_game(game, 8):
        scores = [score(state, player) for player in range(game.num_players)]
        assert abs(sum(scores)) < 1e-12
        assert game.rules.returns(state) == scores[0]
        left = state[rules.LEFT : rules.LEFT + game.num_players]
        assert [*np.argsort(-left, kind="stable")] == [*np.argsort(scores, kind="stable")]


def test_six_players_have_six_colours_and_the_star_no_edges() -> None:
    game = _load("chinese_checkers:players=6")
    board = game.board(game.initial_state())
    assert {cell.owner for row in board.rows for cell in row} == {None, 0, 1, 2, 3, 4, 5}
    assert all(f"\x1b[1;{code}m" in draw(board, colour=True) for code in (31, 32, 33, 35, 37, 94))
    drawn = board_svg(board)
    assert drawn.count("<circle") == rules.CELLS + 6 * rules.EACH and "<poly" not in drawn
    # As wide as the longest row, with names at both sides.
    assert (
        'viewBox="0 0 433 ' in drawn
        and len({part.split('"')[0] for part in drawn.split('r="12.0" fill="')[1:]}) == 6
    )


def test_the_last_move_is_marked_where_it_began_and_ended() -> None:
    game = _load()
    state = game.initial_state()
    (move,) = game.play_text(state, ["j4i5"])
    board = game.board(state, move)
    marked = {(r, c) for r, row in enumerate(board.rows) for c, cell in enumerate(row) if cell.last}
    assert marked == {(3, 9), (4, 8)} and game.cells_of(move) == (3, 9)
    assert game.cells_of(rules.PASS) is None
