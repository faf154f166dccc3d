"""Whatever the solver proves is what exhaustive play says, and a proven position ends the search."""

from __future__ import annotations

import pytest

import games
from games.game import State
from search.request import STRATEGIES, SearchRequest
from search.tree.arena import DRAWN, UNPROVEN
from tests.games.common import JIT, best_value, random_game
from tests.search.common import KNOBS, grow, nodes_of, position, run_search
from tests.search.naive import Node

GAME = games.load("tictactoe")
KNOWN: dict[str, float] = {}
"""What positions are worth."""


def check_proofs(node: Node, state: State) -> int:
    """Compare each proven node with exhaustive play; how many there are."""
    proven = int(node.proof != UNPROVEN)
    assert not proven or DRAWN - node.proof == best_value(GAME, state, KNOWN)
    for child in node.children:
        after = state.copy()
        GAME.calls.play(after, child.move)
        proven += check_proofs(child, after)
    return proven


@pytest.mark.parametrize("seed", range(120 if JIT else 25))
@pytest.mark.parametrize("urgency", [float("inf"), 0.3])
def test_what_is_proven_is_right(seed: int, urgency: float) -> None:
    line = [GAME.format_move(state, move) for state, _, move in random_game(GAME, seed, seed % 8)]
    state = GAME.initial_state()
    GAME.play_text(state, line)
    if GAME.calls.is_terminal(state):
        state, line = position(GAME, " ".join(line[:-1])), line[:-1]
    params = KNOBS._replace(solver=True, first_play_urgency=urgency)
    tree = grow("tictactoe", 300, seed, moves=" ".join(line), params=params)
    assert check_proofs(nodes_of(tree), state) > 0 or len(line) < 2


@pytest.mark.parametrize("moves", ["a1 b2 c3", "b2 a1 a2"])
def test_a_draw_is_proven(moves: str) -> None:
    params = KNOBS._replace(solver=True, exploration=4.0)
    root = nodes_of(grow("tictactoe", 100_000, 1, moves=moves, params=params))
    assert root.proof == DRAWN
    assert root.visits < 100_000
    assert check_proofs(root, position(GAME, moves)) > 50


def test_nothing_is_proven_without_the_solver() -> None:
    assert check_proofs(nodes_of(grow("tictactoe", 500, 1, moves="a1 b1")), position(GAME, "a1 b1")) == 0


WON = [
    # One move wins.
    ("tictactoe", "a1 b1 a2 b2", {"a3"}),
    ("tictactoe", "a1 b1 a2 b2 c3", {"a3", "b3"}),
    ("gomoku:size=5", "a1 a5 b1 b5 c1 c5 d1 d5", {"e1"}),
    # Two threats at once, two moves on.
    ("tictactoe", "a1 b1", {"a2", "a3", "b2"}),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("game", "moves", "winning"), WON)
def test_a_won_position_ends_the_search(strategy: str, game: str, moves: str, winning: set[str]) -> None:
    asked = 40_000
    request = SearchRequest(
        game, moves=tuple(moves.split()), strategy=strategy, lanes=4, simulations=asked, solver=True, seed=1
    )
    result, session = run_search(request)
    assert result.stopped_by == "proven"
    assert 0 < result.simulations < asked
    assert result.answer.best_move in winning
    assert result.answer.value == 1.0
    assert session.outcome == "proven"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("final_move", ["robust", "max", "robust-max", "secure"])
def test_a_lost_position_ends_the_search_too(strategy: str, final_move: str) -> None:
    """The second player can stop one of two threats."""
    moves = "a1 b1 a2 a3 b2"
    request = SearchRequest(
        "tictactoe",
        moves=tuple(moves.split()),
        strategy=strategy,
        lanes=3,
        simulations=30_000,
        solver=True,
        final_move=final_move,
        seed=2,
    )
    result, _ = run_search(request)
    assert result.stopped_by == "proven"
    assert result.answer.value == -1.0
    assert result.simulations < 30_000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_the_solver_a_won_position_is_searched_to_the_end(strategy: str) -> None:
    request = SearchRequest(
        "tictactoe", moves=("a1", "b1", "a2", "b2"), strategy=strategy, lanes=4, simulations=501, seed=1
    )
    result, _ = run_search(request)
    assert (result.stopped_by, result.simulations, result.answer.best_move) == ("simulations", 501, "a3")
