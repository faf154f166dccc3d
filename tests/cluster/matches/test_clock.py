"""Clocks of games: a move takes never longer than its limit, and never all that is left; late is lost."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.matches.clock import (
    LEAST_S,
    LEAST_TO_GO,
    MOST_TO_GO,
    OVERHEAD_S,
    Clock,
    Limit,
    moves_to_go,
    seconds_for_move,
)
from cluster.matches.record import read_file
from games.errors import InvalidInput
from tests.cluster.command import Here
from tests.cluster.searches import compiled_only

SECONDS = st.floats(0.1, 1e6)


def test_without_a_limit_there_are_no_seconds() -> None:
    assert seconds_for_move(Limit(), 10) is None
    assert seconds_for_move(Limit(increment_s=1.0), 10) is None


@pytest.mark.parametrize("limit", [Limit(move_s=0.0), Limit(left_s=-3.0), Limit(move_s=5.0, left_s=0.0)])
def test_without_time_a_move_is_made_at_once(limit: Limit) -> None:
    assert seconds_for_move(limit, 10) == LEAST_S


def test_the_smallest_of_all_limits_counts() -> None:
    alone = seconds_for_move(Limit(move_s=1.0), 10)
    assert alone == pytest.approx(1.0 - OVERHEAD_S - 0.04)
    assert seconds_for_move(Limit(move_s=1.0, left_s=1000.0), 10) == alone
    assert seconds_for_move(Limit(move_s=1000.0, left_s=10.0), 10) == alone
    assert seconds_for_move(Limit(left_s=8.0, increment_s=0.2), 10) == alone
    # An increment comes after the move.
    assert seconds_for_move(Limit(left_s=1.0, increment_s=60.0), 10) == alone


@given(move_s=SECONDS, left_s=SECONDS, increment_s=st.floats(0, 100), to_go=st.integers(LEAST_TO_GO, 60))
def test_a_move_keeps_a_margin_from_every_limit(
    move_s: float, left_s: float, increment_s: float, to_go: int
) -> None:
    seconds = seconds_for_move(Limit(move_s, left_s, increment_s), to_go)
    assert seconds is not None
    assert LEAST_S <= seconds <= max(LEAST_S, min(move_s, left_s) - OVERHEAD_S)


@given(left_s=st.floats(5, 1e4), increment_s=st.floats(0, 10), most=st.integers(1, 200))
def test_a_game_of_any_length_is_over_before_its_time(left_s: float, increment_s: float, most: int) -> None:
    """Each move takes half of what is kept for what is no search; a whole game, with moves to its last."""
    given_s = left_s
    for plies in range(0, most, 2):
        seconds = seconds_for_move(Limit(None, left_s, increment_s), moves_to_go(plies, most))
        assert seconds is not None
        left_s -= seconds + OVERHEAD_S / 2
        assert left_s > 0
        left_s += increment_s
    assert left_s < given_s + most * increment_s


def test_moves_to_go_follow_the_longest_game() -> None:
    assert moves_to_go(0, 1000) == moves_to_go(900, 1000) == MOST_TO_GO
    assert moves_to_go(0, 9) == 5
    assert moves_to_go(30, 42) == 6
    assert moves_to_go(42, 42) == moves_to_go(50, 42) == LEAST_TO_GO
    assert not math.isinf(moves_to_go(0, 2**40))


@pytest.mark.parametrize("text", ["0", "-1", "60+", "60+-1", "x", "1e3", "99999+0", "", "5 + 1", "٣"])
def test_what_is_no_clock_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^clock: .*such as 60\+0\.5"):
        Clock.read(text)


@pytest.mark.parametrize("text", ["60", "60+0.5", "0.25+0.001"])
def test_a_clock_is_read(text: str) -> None:
    base, _, increment = text.partition("+")
    assert Clock.read(text) == Clock(float(base), float(increment or 0))


@compiled_only
@pytest.mark.slow
def test_a_match_by_the_clock(here: Here, tmp_path: Path) -> None:
    """A player that thinks in playouts alone runs out of time; one by the clock does not."""
    out = tmp_path / "out"
    arguments = (
        "match",
        "connect_four",
        "uct:reuse=yes,early_stop=yes",
        "flat:work=800000000",
        "--games",
        "4",
    )
    arguments += ("--clock", "0.3+0.01", "--executor", "inline", "--out", str(out))
    found = here.json(*arguments)
    assert found["clock"] == "0.3+0.01"
    assert found["a_results"]["wins"] == 4
    for record in read_file(out / "games.txt"):
        assert record.leg is not None
        # B has lost, wherever it sat, and by nothing but the clock.
        assert record.overtime == 3 - record.leg
        assert record.result == (1.0 if record.leg == 1 else -1.0)
        mine, other = record.efforts if record.leg == 1 else record.efforts[::-1]
        assert mine.cpu_s < 0.3 + 0.01 * mine.moves
        assert other.cpu_s > 0.3
    # All games are there by now.
    text = here.text(*arguments)
    assert "lost by it: A 0 games, B 4 games" in " ".join(text.split())


def test_three_players_have_no_clock(here: Here) -> None:
    status, _, err = here(
        "match", "chinese_checkers", "random", "random", "--clock", "5", "--executor", "inline"
    )
    assert status == 2
    assert "--clock" in err
