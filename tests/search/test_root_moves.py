"""Searches of chosen moves of the root (`allow`, `avoid`) that give some of them least visits."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import games
from search.prepare import open_search
from search.request import SearchRequest
from tests.search.common import run_search, undisturbed
from tests.search.forms import problem
from tests.search.test_forms_agree import STRATEGIES
from tests.search.test_kept import run, same

SPECS = [
    "gomoku:size=5",
    "battleship:task=solo,announce_sunk=yes",
    *(problem(form, 3, plain=True) for form in ("one player", "three with chance", "open loop of two")),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("spec", SPECS)
def test_chosen_moves_have_all_visits_and_some_their_least_ones(spec: str, strategy: str) -> None:
    asked: dict[str, Any] = {"simulations": 251, "seed": 3, **STRATEGIES[strategy]}
    search = open_search(SearchRequest(spec, **asked))
    legal = [
        search.game.format_move(search.root_state, m) for m in games.load(spec).legal_moves(search.root_state)
    ]
    least = dict(zip(legal[1:3], (101, 60), strict=False))
    asked["least_visits"] = ",".join(f"{move}={visits}" for move, visits in least.items())
    request = SearchRequest(spec, avoid=legal[0], **asked)
    calm = undisturbed(request)
    visits = {child.move: child.visits for child in calm.children}
    assert sum(visits.values()) == 251
    assert visits.keys() <= set(legal[1:])
    assert all(visits[move] >= count for move, count in least.items())
    allowed = SearchRequest(spec, allow=" ".join(legal[1:]), **asked)
    assert run_search(allowed)[0].digest == calm.digest
    moved = run(open_search(request), random.Random(strategy))
    assert same(moved.strategy.state(), run(open_search(request)).strategy.state())


@pytest.mark.parametrize("options", [{"lanes": 5}, {"lanes": 5, "strategy": "leaf"}, {"lanes": 1}], ids=str)
def test_least_visits_may_be_the_whole_budget(options: dict[str, Any]) -> None:
    least = {"a1": 100, "c3": 350, "e5": 3}
    text = " ".join(f"{move}={visits}" for move, visits in least.items())
    result, _ = run_search(SearchRequest("gomoku:size=5", simulations=453, least_visits=text, **options))
    assert {child.move: child.visits for child in result.children} == least


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_root_is_proven_by_the_moves_that_are_searched(strategy: str) -> None:
    """Edges lose against the centre, and corners draw."""
    edges = SearchRequest("tictactoe", moves=("b2",), allow="a2 b1", solver=True, simulations=9000)
    result, _ = run_search(replace(edges, **STRATEGIES[strategy]))
    assert (result.stopped_by, result.value) == ("proven", -1.0)
