"""Clocks of games: how time is shared out, and what becomes of who has none left."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cluster.matches.clock import LEAST_S, Clock, Limit, moves_to_go, seconds_for_move
from cluster.matches.record import read_file
from games.errors import InvalidInput
from tests.cluster.command import Here
from tests.cluster.searches import compiled_only


def test_whoever_takes_what_a_move_is_given_is_never_late() -> None:
    draw = random.Random(2)
    for _ in range(400):
        left = base = draw.choice([0.05, 0.5, 5.0, 300.0])
        increment, overhead = draw.choice([0.0, 0.005, 0.1, 3.0]), draw.choice([0.0, 0.002])
        plies, most = 0, draw.randrange(10, 400)
        while plies < most:
            limit = Limit(left_s=left, increment_s=increment)
            given = seconds_for_move(limit, moves_to_go(plies, most), overhead)
            assert given is not None
            spent = min(given, left)
            assert spent <= left - overhead or given == LEAST_S
            left += increment - spent
            plies += 2
        # Nor is it kept for nobody: all but a share of what there was is used.
        assert left < 0.5 * base + 30 * increment + 30 * overhead


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
