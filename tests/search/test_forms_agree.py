"""Problems beyond two players and a return at the end: equal answers however they are written, placed or
kept, and those of exact solutions."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import games
from games.game import CHANCE, Game, State
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES
from search.tree.arena import ROOT, Tree, children_of
from tests.games.common import JIT
from tests.search.common import run_search, undisturbed
from tests.search.forms import COMPILED, FILE, FORMS, problem
from tests.search.goldens import FILE as GOLDEN_FILE
from tests.search.goldens import PROBLEMS as GOLDEN_PROBLEMS
from tests.search.goldens import golden_digest_of_problem
from tests.search.test_kept import run, same

SIMULATIONS = 120
STRATEGIES = {
    "root": {"strategy": "root", "lanes": 3},
    "tree": {"strategy": "tree", "lanes": 3, "rounds": 6},
    "leaf": {"strategy": "leaf", "lanes": 6, "playouts_per_leaf": 2},
}
assert STRATEGIES.keys() == STRATEGY_CLASSES.keys()


def request_for(strategy: str, spec: str, **others: Any) -> SearchRequest:
    asked: dict[str, Any] = {"simulations": SIMULATIONS, "seed": 4, **STRATEGIES[strategy], **others}
    return SearchRequest(spec, **asked)


def visits_of(tree: Tree, node: int = ROOT) -> dict[int, Any]:
    """The tree without values: by move, visits and what is below."""
    return {
        int(tree.move[child]): (int(tree.visits[child]), visits_of(tree, child))
        for child in children_of(tree, node)
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", COMPILED)
def test_compiled_and_in_plain_python_the_answers_are_equal(form: str, strategy: str) -> None:
    """Objects that are copied about, whose best lines are noted as they play, and arrays."""
    compiled, _ = run_search(request_for(strategy, problem(form, 3)))
    plain, _ = run_search(request_for(strategy, problem(form, 3, plain=True)))
    assert plain.digest == compiled.digest
    assert plain.best_line == compiled.best_line
    assert plain.values == compiled.values
    assert (plain.move, plain.value, plain.playouts) == (compiled.move, compiled.value, compiled.playouts)


@pytest.mark.parametrize("name", GOLDEN_PROBLEMS)
def test_the_digest_is_the_one_that_is_written_down(name: str) -> None:
    """Compiled and uncompiled code are held together by this. See tests/search/goldens.py."""
    assert golden_digest_of_problem(name) == json.loads(GOLDEN_FILE.read_text())[name]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
def test_chaos_changes_nothing(form: str, strategy: str) -> None:
    request = request_for(strategy, problem(form, 3, plain=form not in COMPILED))
    calm = undisturbed(request, (5,))
    game = games.load(request.game)
    assert (calm.best_line is not None) == game.has_lines
    assert (calm.values is not None) == (game.num_players > 2)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_search_that_was_carried_elsewhere_ends_as_it_would_have(form: str, strategy: str) -> None:
    request = request_for(strategy, problem(form, 3, plain=form not in COMPILED))
    calm = run(open_search(request))
    moved = run(open_search(request), random.Random(form))
    assert same(moved.strategy.state(), calm.strategy.state())


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("options", ["players=1", "players=2", "players=3"])
def test_rewards_may_come_at_once_or_at_the_end(options: str, seed: int) -> None:
    """Without a discount what was won before a node is the same for all its children."""
    found = []
    for rewards in (1, 0):
        spec = f"{FILE}:{options},seed={seed},rewards={rewards},zero=1,plain=1"
        if options == "players=1":
            spec = spec.replace(",zero=1", "")
        request = request_for("tree", spec, exploration=0.2, exploration_scale="fixed")
        result, session = run_search(request)
        found.append((visits_of(session.search.strategy.tree), result.best_line, result.move, result.values))
    assert found[0] == found[1]


@pytest.mark.parametrize("chance", [0, 1])
@pytest.mark.parametrize("strategy", ["root", "tree"])
def test_a_game_of_two_is_one_of_three_of_whom_one_never_moves(strategy: str, chance: int) -> None:
    """Whether the second player's score is known as the first's negative, or for itself."""
    trees = []
    for players in ("players=2,rewards=0", "players=2", "players=3,movers=2"):
        spec = f"{FILE}:{players},zero=1,seed=3,chance={chance},plain=1"
        request = request_for(strategy, spec, exploration=0.2, exploration_scale="fixed")
        result, session = run_search(request)
        trees.append((visits_of(session.search.strategy.tree), result.move))
        if result.values is not None:
            assert result.values[0] == -result.values[1] != 0.0
            assert result.values[2] == 0.0
    assert trees[0] == trees[1] == trees[2]


def solved(game: Game, state: State) -> tuple[np.ndarray[Any, Any], int | None]:
    """Everybody's rewards still to come when all play as well as they can, and the move."""
    calls = game.calls
    assert calls.score is not None
    players = range(game.num_players)
    if calls.is_terminal(state):
        return np.zeros(len(players)), None
    mover = int(calls.current_player(state))
    before = np.array([calls.score(state, player) for player in players])
    following = {}
    for move, after in game.successors(state):
        reward = np.array([calls.score(after, player) for player in players]) - before
        factor = 1.0 if mover == CHANCE else game.discount
        following[move] = reward + factor * solved(game, after)[0]
    if mover == CHANCE:
        weights = game.chance_weights(state)
        return sum((weights[move] * value for move, value in following.items()), np.zeros(len(players))), None
    if game.num_players == 2 and mover == 1:
        mover, following = 0, {move: -value for move, value in following.items()}
        best = max(following, key=lambda move: following[move][0])
        return -following[best], best
    best = max(following, key=lambda move: following[move][mover])
    return following[best], best


@pytest.mark.skipif(not JIT, reason="many simulations")
@pytest.mark.parametrize("seed", [2, 4, 5])
@pytest.mark.parametrize("form", ["discount", "rewards of two", "three with chance"])
def test_a_small_problem_is_solved(form: str, seed: int) -> None:
    """With seeds in which no player is indifferent: then there may be several solutions for three."""
    spec = problem(form, seed, more=",plies=4")
    game = games.load(spec)
    request = SearchRequest(spec, strategy="root", lanes=1, simulations=60_000, exploration=0.1)
    request = replace(request, exploration_scale="fixed")
    result, _ = run_search(request)
    state = game.initial_state()
    values, best = solved(game, state)
    assert best is not None
    assert result.move == game.format_move(state, best)
    view = int(game.calls.current_player(state))
    sign = -1.0 if game.num_players == 2 and view == 1 else 1.0
    expected = sign * values[view if game.num_players > 2 else 0]
    assert result.value == pytest.approx(expected, abs=0.002)
    if game.has_lines:
        assert result.best_line is not None
        assert result.best_line.value == values[0]


def test_a_request_for_the_spread_is_that_of_the_rewards_to_come() -> None:
    """Where there are rewards the exploration is scaled, unless it is asked otherwise."""
    for form in FORMS:
        search = open_search(SearchRequest(problem(form, 3, plain=True), simulations=10))
        scaled = search.context.exploration_scale
        assert (scaled == 1.0) == search.game.is_two_player
        asked = replace(search.request, exploration_scale="fixed")
        assert open_search(asked).context.exploration_scale == 1.0
