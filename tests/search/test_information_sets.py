"""Search with hidden information: node for node the naive one's, honest, and the same for any placement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import games
from games import catalogue
from games.errors import InvalidInput
from games.rng import new_stream
from search.features import Features
from search.kernel.engine import engine_of
from search.kernel.params import SearchParams, params_of
from search.prepare import open_search
from search.request import SearchRequest
from search.summary import digest
from search.tree.arena import ROOT, children_of
from tests.games.common import JIT, random_game
from tests.search.common import KNOBS, agreed, digest_of_search, run_search, undisturbed
from tests.search.hidden_nim import HiddenNim

SIMULATIONS = 3000 if JIT else 300
GAME = HiddenNim()


@pytest.fixture(autouse=True)
def hidden_nim_by_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`games.load("hidden-nim")` gives the game of these tests."""
    monkeypatch.setitem(catalogue._BUILT_IN, GAME.name, SimpleNamespace(from_spec=lambda spec: GAME))
    catalogue._load.cache_clear()
    yield
    catalogue._load.cache_clear()


@pytest.mark.parametrize("exploration", [0.0, 1.4, 5.0])
@pytest.mark.parametrize("urgency", [math.inf, 0.3])
@pytest.mark.parametrize("moves", ["", "open-1 hidden-1", "hidden-1 open-3 open-1 hidden-1"])
def test_the_tree_is_the_naive_one(exploration: float, urgency: float, moves: str) -> None:
    compare(KNOBS._replace(exploration=exploration, first_play_urgency=urgency), moves, Features(hidden=True))


@pytest.mark.parametrize("paired", [1, 2, 3])
@pytest.mark.parametrize("widening", [0, 1, 2])
@pytest.mark.parametrize("urgency", [math.inf, 0.3])
@pytest.mark.parametrize("moves", ["", "open-1 hidden-1"])
def test_so_it_is_when_moves_come_in_by_priority_and_share_deals(
    paired: int, widening: int, urgency: float, moves: str
) -> None:
    features = Features(hidden=True, widened=widening > 0, paired=paired > 1)
    compare(KNOBS._replace(widening=widening, paired=paired, first_play_urgency=urgency), moves, features)


def compare(params: SearchParams, moves: str, features: Features) -> None:
    state = GAME.deal(3)
    GAME.play_text(state, moves.split())
    agreed(GAME, params, SIMULATIONS, 7, GAME.observation(state, 0), features)


def test_moves_that_share_deals_are_visited_alike() -> None:
    """With as many as the root has moves, every deal is searched by each of them once."""
    engine = engine_of(GAME, Features(hidden=True, paired=True))
    tree = engine.new_tree(50_000)
    view = GAME.observation(GAME.initial_state(), 0)
    params = KNOBS._replace(paired=4)
    engine.simulate(tree, params, view, SIMULATIONS, new_stream(1), engine.new_workspace())
    visits = [int(tree.visits[child]) for child in children_of(tree, ROOT)]
    assert len(visits) == 4
    assert max(visits) - min(visits) <= 4


def test_the_second_players_replies_are_available_less_often_than_the_parent_is_visited() -> None:
    """So the availability count is not the parent's visits in disguise."""
    engine = engine_of(GAME, Features(hidden=True))
    tree = engine.new_tree(50_000)
    view = GAME.observation(GAME.initial_state(), 0)
    engine.simulate(tree, KNOBS, view, SIMULATIONS, new_stream(1), engine.new_workspace())
    take_one = next(child for child in children_of(tree, ROOT) if tree.move[child] == 0)
    reply = {int(tree.move[child]): int(tree.available[child]) for child in children_of(tree, take_one)}
    # At least three stones in three of five deals. A child counts from its first visit on.
    assert reply[6] == pytest.approx(0.6 * tree.visits[take_one], rel=0.15)
    assert tree.visits[take_one] - 6 <= reply[4] < tree.visits[take_one]


@pytest.mark.parametrize(
    ("strategy", "treatment"),
    [("root", "ismcts"), ("tree", "ismcts"), ("leaf", "ismcts"), ("root", "determinized")],
)
@pytest.mark.parametrize(
    ("spec", "plies"),
    [
        ("hidden-nim", 0),
        ("battleship:task=solo,announce_sunk=yes", 24),
        ("battleship:size=6,fleet=3-2-2,placement=sequential", 24),
    ],
)
def test_no_search_knows_what_is_hidden(spec: str, plies: int, strategy: str, treatment: str) -> None:
    """Other deals that look the same change nothing."""
    game = games.load(spec)
    *_, (state, _, _) = random_game(game, 5, plies + 1)
    view, stream = game.observation(state, game.calls.current_player(state)), new_stream(9)
    positions, other = {game.format_position(state)}, state.copy()
    while len(positions) < 3:
        game.calls.determinize(view, other, stream)
        positions.add(game.format_position(other))
    asked: dict[str, Any] = {"strategy": strategy, "hidden_information": treatment, "lanes": 4, "seed": 3}
    simulations = SIMULATIONS if JIT or not plies else SIMULATIONS // 5
    results = [
        run_search(SearchRequest(spec, position=text, simulations=simulations, memory_mb=64, **asked))[0]
        for text in sorted(positions)
    ]
    assert len({result.digest for result in results}) == 1
    assert results[0].simulations == simulations


def test_a_search_finds_the_only_cell_that_is_left() -> None:
    """Three cells of a ship of three lie in a corner of the untried ones: one cell is hit for sure."""
    asked: dict[str, Any] = {"position": "4/4/o3/xx2", "strategy": "root", "lanes": 2}
    simulations = SIMULATIONS if JIT else SIMULATIONS // 5
    result, _ = run_search(
        SearchRequest("battleship:task=solo,size=4,fleet=3", simulations=simulations, **asked)
    )
    assert result.answer.best_move == "c1"


def test_a_search_waits_for_the_answer() -> None:
    with pytest.raises(InvalidInput) as caught:
        run_search(SearchRequest("battleship", moves=("e5",), simulations=9))
    assert caught.value.field == "moves"


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("root", {}),
        ("tree", {}),
        ("leaf", {}),
        ("root", {"widening": 2, "paired": 3}),
        ("tree", {"widening": 2, "paired": 3}),
        ("leaf", {"widening": 2}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_placement_does_not_change_a_search(strategy: str, options: dict[str, int], seed: int) -> None:
    simulations = 2111 if JIT else 151
    request: dict[str, Any] = {
        "game": "hidden-nim",
        "strategy": strategy,
        "lanes": 5,
        "simulations": simulations,
        "seed": seed,
        **options,
    }
    quiet = undisturbed(SearchRequest(**request), (seed,))
    assert digest_of_search(**{**request, "seed": seed + 10}) != quiet.digest


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_every_simulation_is_counted_and_available_moves_add_up(strategy: str) -> None:
    request = SearchRequest("hidden-nim", strategy=strategy, lanes=4, simulations=4000)
    result, session = run_search(request)
    tree = session.search.strategy.tree
    assert result.simulations == tree.visits[ROOT] == 4000
    assert sum(child.visits for child in result.answer.children) == 4000
    # All of the first player's moves at the root are legal in every determinization.
    for child in children_of(tree, ROOT):
        assert 4000 - 40 * len(list(children_of(tree, ROOT))) <= tree.available[child] <= 4000


def test_what_makes_no_sense_is_refused() -> None:
    for strategy in ("tree", "leaf"):
        with pytest.raises(InvalidInput, match="strategy"):
            open_search(
                SearchRequest(
                    "hidden-nim", strategy=strategy, hidden_information="determinized", simulations=9
                )
            )
    with pytest.raises(InvalidInput, match="solver"):
        open_search(SearchRequest("hidden-nim", solver=True, simulations=9))
    for wrong in (
        {"game": "tictactoe"},
        {"strategy": "leaf"},
        {"hidden_information": "determinized", "strategy": "root"},
        {"paired": 7},
    ):
        asked: dict[str, Any] = {"game": "hidden-nim", "paired": 2, "simulations": 9, **wrong}
        with pytest.raises(InvalidInput, match="paired"):
            open_search(SearchRequest(**asked))


def test_the_default_of_c_goes_by_the_treatment() -> None:
    for treatment, exploration in (("ismcts", 1.4), ("determinized", 0.7)):
        request = SearchRequest("hidden-nim", strategy="root", hidden_information=treatment, simulations=9)
        assert params_of(open_search(request).context).exploration == exploration


def test_a_request_has_the_c_that_it_names_or_that_of_its_game() -> None:
    for spec, exploration in (("tictactoe", 1.0), ("gomoku", 0.35), ("battleship", 0.7)):
        request = SearchRequest(spec, simulations=50)
        assert open_search(request).context.request.exploration == exploration
        named = SearchRequest(spec, simulations=50, exploration=0.2)
        assert open_search(named).context.request.exploration == 0.2


def test_a_digest_covers_availability() -> None:
    tree = engine_of(GAME, Features(hidden=True)).new_tree(100)
    before = digest(tree)
    tree.available[ROOT] += 1
    assert digest(tree) != before
