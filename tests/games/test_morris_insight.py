"""What the mill games' moves and positions look like, in positions made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import games
from games import Game
from games.compile.specialise import specialise
from games.game import State
from games.morris import insight
from games.morris.insight import look_of_blocker, look_of_own_mills

# White threatens a7-d7-g7 with g7, black threatens a1-d1-g1 with g1; both have stones in hand.
BOTH_THREATEN = "ww./.../.../....../.../.../bb. w 7 7 4"


def _position(text: str, spec: str = "morris:repetition=none") -> tuple[Game, State]:
    game = games.load(spec)
    return game, game.parse_position(text)


def _looks(game: Game, state: State) -> dict[str, float]:
    assert game.calls.priority is not None
    return {
        game.format_move(state, move): game.calls.priority(state, move) for move in game.legal_moves(state)
    }


def test_closing_a_mill_comes_before_blocking_one_and_all_else_is_alike() -> None:
    game, state = _position(BOTH_THREATEN)
    looks = _looks(game, state)
    assert (looks.pop("g7"), looks.pop("g1")) == (insight.CLOSES, insight.BLOCKS)
    assert set(looks.values()) == {0.0}


def test_stones_of_the_next_mill_are_removed_first() -> None:
    game, state = _position("www/.../.../....../..b/.../bb. wx 6 6 6")
    assert _looks(game, state) == {"xa1": insight.NEEDED, "xd1": insight.NEEDED, "xe3": 0.0}


@pytest.mark.parametrize(
    ("text", "look"),
    [
        (".b./b.b/.w./....../.../.../wwb w 0 0 20", insight.BLOCKS),
        ("b../b.b/.w./....../.../.../wwb w 0 0 20", 0.0),
        ("b../b.b/.w./....../.../.../ww. w 0 0 20", insight.BLOCKS),
        ("b../b.b/.w./....../.../.../ww. w 0 1 20", insight.BLOCKS),
    ],
    ids=["a stone beside it", "no stone that reaches it", "a stone that flies", "a stone in hand"],
)
def test_a_mill_is_blocked_where_a_stone_can_close_it(text: str, look: float) -> None:
    game, state = _position(text)
    assert _looks(game, state)["d5-d6"] == look


def test_more_stones_mills_and_ways_to_move_are_worth_more_to_whoever_has_them() -> None:
    values = []
    for board in ("w..", "ww.", "www"):
        game, state = _position(f"{board}/.../.../....../.../.../b.. w 5 5 6")
        values.append(game.calls.evaluate(state))
        theirs = board.replace("w", "b")
        twin = game.parse_position(f"w../.../.../....../.../.../{theirs} w 5 5 6")
        assert game.calls.evaluate(twin) == -values[-1]
    assert 0.0 == values[0] < values[1] < values[2] < 1.0


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
