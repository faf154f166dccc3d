"""The mill games: known statistics of random play, and positions made by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import games
from games import Game
from games.compile.specialise import specialise
from games.game import State
from games.morris import worth
from games.morris.play import BLOCKS, CLOSES, NEEDED, look_of_blocker, look_of_own_mills, rating
from games.morris.rules import HANDS, LAYOUTS, MOVER, NINE, SEVEN, SIX, STONES, THREE, TWELVE
from tests.games.common import JIT, SPECS, random_game, sample


@pytest.mark.parametrize(
    ("board", "points", "mills", "edges"),
    [(THREE, 9, 8, 12), (SIX, 16, 8, 20), (SEVEN, 17, 14, 24), (NINE, 24, 16, 32), (TWELVE, 24, 20, 40)],
)
def test_boards_have_as_many_points_mills_and_edges_as_they_should(
    board: int, points: int, mills: int, edges: int
) -> None:
    layout = LAYOUTS[board]
    assert (len(layout.cells), len(set(layout.mills)), len(set(layout.edges))) == (points, mills, edges)


@pytest.mark.skipif(not JIT, reason="40,000 games take too long uncompiled")
@pytest.mark.parametrize(
    ("spec", "own", "drawn"),
    [
        # Shares of draws of separate programs, to the percent: by the cap, and by the first repetition.
        ("morris:repetition=none", True, 0.30),
        ("morris:variant=six,repetition=none", True, 0.25),
        ("morris:cap=1000", False, 0.66),
        ("morris:variant=six,cap=1000", False, 0.86),
    ],
)
def test_random_play_draws_as_often_as_is_known(spec: str, own: bool, drawn: float) -> None:
    game = games.load(spec)
    _, results = sample(game, game.initial_state(), 40_000, 3, own=own)
    assert (results == 0).mean() == pytest.approx(drawn, abs=0.012)


def play(spec: str, moves: str) -> tuple[games.Game, games.State]:
    game = games.load(spec)
    state = game.initial_state()
    game.play_text(state, moves.split())
    return game, state


def moves_of(game: games.Game, state: games.State) -> set[str]:
    return {game.format_move(state, move) for move in game.legal_moves(state)}


def test_a_mill_spares_mills_unless_all_stones_are_in_one() -> None:
    game, state = play("morris", "a1 g1 d1 g4 b2 g7 xb2")[0:2]
    assert game.rules.current_player(state) == games.FIRST
    game.play_text(state, ["b4", "f2", "f6", "b6", "a4", "b2", "a7"])
    # Black's mill on the g file is safe, the other three stones are not.
    assert moves_of(game, state) == {"xf2", "xb6", "xb2"}
    assert game.rules.current_player(state) == games.FIRST
    all_in_mills = game.parse_position("www/.../.../....../.../.../bbb wx 0 0 30")
    assert moves_of(game, all_in_mills) == {"xa1", "xd1", "xg1"}


@pytest.mark.parametrize("turned", range(4))
@pytest.mark.parametrize(
    "rows",
    [("w b .", " b.. ", "bw...", " b.. ", "w b ."), ("w b .", " .b. ", "b.wb.", " .b. ", "w b .")],
    ids=["to the centre", "from the centre"],
)
def test_playouts_take_every_step_of_the_cross(rows: tuple[str, ...], turned: int) -> None:
    """It is white's only move; without it white would lose, with it the cap ends the game."""
    game = games.load("morris:variant=seven,repetition=none,cap=21")
    board = np.rot90([list(row) for row in rows], turned)
    state = game.parse_position("/".join("".join(row).replace(" ", "") for row in board) + " w 0 0 20")
    assert len(game.legal_moves(state)) == 1
    lengths, results = sample(game, state, 1, 3, own=True)
    assert (lengths[0], results[0]) == (1, 0.0)


def test_lasker_s_start_is_read_back_as_it_is() -> None:
    game = games.load("morris:variant=lasker")
    start = game.initial_state()
    assert np.array_equal(game.parse_position(game.format_position(start)), start)


# White threatens a7-d7-g7 with g7, black threatens a1-d1-g1 with g1; both have stones in hand.
BOTH_THREATEN = "ww./.../.../....../.../.../bb. w 7 7 4"


def _position(text: str, spec: str = "morris:repetition=none") -> tuple[Game, State]:
    game = games.load(spec)
    return game, game.parse_position(text)


def _looks(game: Game, state: State) -> dict[str, float]:
    return {game.format_move(state, move): rating(state, move) for move in game.legal_moves(state)}


def test_closing_a_mill_comes_before_blocking_one_and_all_else_is_alike() -> None:
    game, state = _position(BOTH_THREATEN)
    looks = _looks(game, state)
    assert (looks.pop("g7"), looks.pop("g1")) == (CLOSES, BLOCKS)
    assert set(looks.values()) == {0.0}


def test_stones_of_the_next_mill_are_removed_first() -> None:
    game, state = _position("www/.../.../....../..b/.../bb. wx 6 6 6")
    assert _looks(game, state) == {"xa1": NEEDED, "xd1": NEEDED, "xe3": 0.0}


@pytest.mark.parametrize(
    ("text", "look"),
    [
        (".b./b.b/.w./....../.../.../wwb w 0 0 20", BLOCKS),
        ("b../b.b/.w./....../.../.../wwb w 0 0 20", 0.0),
        ("b../b.b/.w./....../.../.../ww. w 0 0 20", BLOCKS),
        ("b../b.b/.w./....../.../.../ww. w 0 1 20", BLOCKS),
    ],
    ids=["a stone beside it", "no stone that reaches it", "a stone that flies", "a stone in hand"],
)
def test_a_mill_is_blocked_where_a_stone_can_close_it(text: str, look: float) -> None:
    game, state = _position(text)
    assert _looks(game, state)["d5-d6"] == look


@pytest.mark.parametrize("name", ["odds", "counts"])
def test_more_stones_and_mills_are_worth_more_to_whoever_has_them(name: str) -> None:
    values = []
    for board in ("w..", "ww.", "www"):
        game, state = _position(f"{board}/.../.../....../.../.../b.. w 5 5 6")
        rule = game.evaluators[name].rule
        values.append(rule(state))
        theirs = board.replace("w", "b")
        twin = game.parse_position(f"w../.../.../....../.../.../{theirs} b 5 5 6")
        assert rule(twin) == -values[-1]
    assert 0.0 <= values[0] < values[1] < values[2] < 1.0


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.startswith("morris")])
def test_positions_are_worth_as_much_with_players_swapped(spec: str) -> None:
    game = games.load(spec)
    for state, _, _ in random_game(game, seed=5):
        twin = state.copy()
        twin[MOVER] = 1 - state[MOVER]
        twin[STONES], twin[STONES + 1] = state[STONES + 1], state[STONES]
        twin[HANDS], twin[HANDS + 1] = state[HANDS + 1], state[HANDS]
        assert worth.evaluate(twin) == -worth.evaluate(state)
        for move in game.legal_moves(state):
            assert worth.priority(twin, move) == worth.priority(state, move)


def test_whoever_is_to_move_gains_by_a_mill_that_can_be_closed() -> None:
    board = "ww./.../.../....../.../.../b.."
    about_to_close, later = (_position(f"{board} {mover} 5 5 6")[1] for mover in "wb")
    assert worth.evaluate(about_to_close) > worth.evaluate(later)


def best(look: Callable[..., float], text: str) -> set[str]:
    """The moves that look best to a strategy."""
    game, state = _position(text)
    rule = specialise([look], game)[look.__name__]
    looks = {game.format_move(state, move): rule(state, move) for move in game.legal_moves(state)}
    return {move for move, value in looks.items() if value == max(looks.values())}


def test_own_mills_closes_its_mill_and_the_blocker_blocks_first() -> None:
    assert best(look_of_own_mills, BOTH_THREATEN) == {"g7"}
    assert best(look_of_blocker, BOTH_THREATEN) == {"g1"}


def test_own_mills_takes_any_stone_and_the_blocker_one_of_the_next_mill() -> None:
    text = "www/.../.../....../..b/.../bb. wx 6 6 6"
    assert best(look_of_own_mills, text) == {"xa1", "xd1", "xe3"}
    assert best(look_of_blocker, text) == {"xa1", "xd1"}


def test_where_nothing_threatens_stones_go_beside_ones_own_or_beside_the_others() -> None:
    text = "w../.../.../....../.../.../..b w 8 8 2"
    assert best(look_of_own_mills, text) <= {"d7", "g7", "a4", "a1"}
    assert best(look_of_blocker, text) <= {"d1", "a1", "g4", "g7"}
