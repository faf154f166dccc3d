"""A request that cannot be met is refused with the name of the field."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from games.errors import InvalidInput
from games.game import MAX_EXPLORATION
from search import request
from search.prepare import open_search
from search.request import MAX_LANES, MAX_SIMULATIONS, SearchRequest

GOOD = SearchRequest("tictactoe", simulations=10)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strategy", "forest"),
        ("final_move", "best"),
        ("in_flight", "ignored"),
        ("lanes", 0),
        ("lanes", -3),
        ("lanes", MAX_LANES + 1),
        ("lanes", 2.0),
        ("lanes", True),
        ("simulations", 0),
        ("simulations", -1),
        ("simulations", MAX_SIMULATIONS + 1),
        ("simulations", 1e3),
        ("memory_mb", 0),
        ("memory_mb", 1_000_001),
        ("seed", -1),
        ("seed", 2**63),
        ("rounds", 0),
        ("share_visits", 1),
        ("batch", 0),
        ("batch", 65_537),
        ("playouts_per_leaf", 0),
        ("exploration", -0.1),
        ("exploration", math.inf),
        ("exploration", math.nan),
        ("exploration", "much"),
        ("solver", "yes"),
        ("evaluator", 5),
        ("first_play_urgency", math.nan),
        # With minus infinity a node without children would never get one.
        ("first_play_urgency", -math.inf),
        ("hidden_information", "cheat"),
        ("playout_policy", "clever"),
        ("playout_policy", "greedy-"),
        ("playout_plies", -1),
        ("widening", 0),
        ("implicit_minimax", 1.5),
        ("exploration_scale", "wide"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        replace(GOOD, **{field: value})
    assert refusal.value.field == field
    assert refusal.value.value is value
    assert refusal.value.accepted
    assert str(refusal.value).startswith(refusal.value.field)


@pytest.mark.parametrize("seconds", [0, -1.0, 0.0001, 1e7, math.nan, math.inf])
def test_seconds_out_of_range_are_refused(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="seconds") as refusal:
        SearchRequest("tictactoe", seconds=seconds)
    assert refusal.value.field == "seconds"


def test_two_budgets_are_refused() -> None:
    with pytest.raises(InvalidInput, match="simulations=10, seconds=1") as refusal:
        SearchRequest("tictactoe", simulations=10, seconds=1.0)
    assert refusal.value.field == "budget"


@pytest.mark.parametrize("urgency", [-1e308, -1.0, 0, 1e308, math.inf])
def test_any_number_may_be_an_urgency(urgency: float) -> None:
    assert open_search(replace(GOOD, first_play_urgency=urgency)).request.first_play_urgency == urgency


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (SearchRequest("go", simulations=1), "game"),
        (SearchRequest("gomoku:size=4", simulations=1), "size"),
        (SearchRequest("gomoku:depth=4", simulations=1), "depth"),
        (SearchRequest("gomoku:size", simulations=1), "game"),
        (SearchRequest("tictactoe", moves=("d4",), simulations=1), "moves"),
        (SearchRequest("tictactoe", moves=("a1", "a1"), simulations=1), "moves"),
        (SearchRequest("tictactoe", moves=("a1", "b1", "a2", "b2", "a3"), simulations=1), "moves"),
        (SearchRequest("tictactoe", moves=("a1", "b1", "a2", "b2", "a3", "b3"), simulations=1), "moves"),
        (SearchRequest("tictactoe", position="nonsense", simulations=1), "position"),
        (SearchRequest("tictactoe", position="xxx/oo./... o", simulations=1), "position"),
        (replace(GOOD, allow="a1", avoid="b1"), "avoid"),
        (replace(GOOD, allow="d4"), "allow"),
        (replace(GOOD, allow=""), "allow"),
        (replace(GOOD, avoid="a1,b1,c1 a2,b2,c2 a3,b3,c3"), "avoid"),
        (replace(GOOD, least_visits="a1=ten"), "least_visits"),
        (replace(GOOD, least_visits="a1=2", avoid="a1"), "least_visits"),
        (replace(GOOD, least_visits="a1=5 b1=6"), "at most 10 visits"),
        (replace(GOOD, least_visits="a1=5 b1=4", strategy="root", lanes=3), "at most 5 visits"),
        (replace(GOOD, least_visits="a1=5", decisive=True), "decisive"),
        (SearchRequest("gomoku:size=20", strategy="root", lanes=64, memory_mb=1, simulations=1000), "memory"),
    ],
)
def test_a_search_that_cannot_be_opened_is_refused_by_name(request_: SearchRequest, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        open_search(request_)
    assert field in str(refusal.value)


def test_files_can_be_refused_before_one_is_touched(tmp_path: Path) -> None:
    trace, path = tmp_path / "trace", tmp_path / "game.py"
    path.write_text(f"from pathlib import Path\nPath({str(trace)!r}).touch()")
    request = SearchRequest(str(path), simulations=1)
    refusals = []
    for asked in (request, replace(request, game=str(tmp_path / "no_such_file.py"))):
        with pytest.raises(InvalidInput, match="not a file") as refusal:
            open_search(asked, files=False)
        refusals.append((refusal.value.field, refusal.value.accepted))
    assert refusals[0] == refusals[1], "it tells nobody which files there are"
    assert not trace.exists()
    with pytest.raises(InvalidInput, match="found: none"):
        open_search(request)
    assert trace.exists()
    assert open_search(GOOD, files=False).game.name == "tictactoe"


def test_a_request_travels() -> None:
    assert pickle.loads(pickle.dumps(GOOD)) == GOOD
    assert hash(GOOD) == hash(replace(GOOD))


def test_only_lanes_of_root_vote() -> None:
    assert replace(GOOD, strategy="root", final_move="vote").final_move == "vote"
    with pytest.raises(InvalidInput, match=r"strategy: 'tree' .* root with final_move=vote"):
        replace(GOOD, final_move="vote")


def test_requests_and_games_have_one_bound_of_exploration() -> None:
    """Two constants, for the help of the command line loads no game."""
    assert request.MAX_EXPLORATION == MAX_EXPLORATION
