"""Search with hidden information: node for node the naive one's, honest, and the same for any placement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import games
from games import catalogue
from games.errors import InvalidInput
from games.rng import new_stream
from search.features import Features
from search.kernel.params import params_of
from search.prepare import open_search
from search.request import STRATEGIES, SearchRequest
from search.tree.arena import ROOT, children_of
from tests.games.common import JIT, random_game
from tests.search.common import KNOBS, agreed, run_search, undisturbed
from tests.search.hidden_nim import HiddenNim
from tests.search.test_sequential import WANTED

SIMULATIONS = 3000 if JIT else 300
GAME = HiddenNim()


@pytest.fixture(autouse=True)
def hidden_nim_by_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`games.load("hidden-nim")` gives the game of these tests."""
    monkeypatch.setitem(catalogue._BUILT_IN, GAME.name, "tests.search.hidden_nim:HiddenNim")
    catalogue._load.cache_clear()
    yield
    catalogue._load.cache_clear()


SETTINGS: list[dict[str, Any]] = [
    *({"exploration": exploration} for exploration in (0.0, 1.4, 5.0)),
    # Moves that come in by priority, and moves that share deals: four are all that the root has.
    *({"widening": widening, "paired": paired} for widening in (0, 1, 2) for paired in (1, 2, 4)),
    *({"wanted": WANTED, "widening": widening, "paired": 1 + widening} for widening in (0, 1)),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("urgency", [math.inf, 0.3])
@pytest.mark.parametrize("moves", ["", "open-1 hidden-1", "hidden-1 open-3 open-1 hidden-1"])
def test_the_tree_is_the_naive_one(settings: dict[str, Any], urgency: float, moves: str) -> None:
    params = KNOBS._replace(first_play_urgency=urgency, **settings)
    chosen = len(params.wanted) > 0
    features = Features(hidden=True, widened=params.widening > 0, paired=params.paired > 1, chosen=chosen)
    state = GAME.deal(3)
    GAME.play_text(state, moves.split())
    agreed(GAME, params, SIMULATIONS, 7, GAME.observation(state, 0), features)


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


@pytest.mark.parametrize("widened", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_placement_does_not_change_a_search(strategy: str, widened: bool, seed: int) -> None:
    """Leaves share no deals."""
    shared: dict[str, Any] = {"paired": 3} if widened and strategy != "leaf" else {}
    request = SearchRequest("hidden-nim", strategy=strategy, lanes=5, seed=seed, **shared)
    request = replace(request, simulations=2111 if JIT else 151, widening=2 if widened else None)
    quiet = undisturbed(request, (seed,))
    assert run_search(replace(request, seed=seed + 10))[0].digest != quiet.digest


@pytest.mark.parametrize("strategy", STRATEGIES)
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
