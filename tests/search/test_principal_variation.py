"""The line that a search shows: its best move, and what follows for as long as the search tells."""

from __future__ import annotations

import pytest

from search.prepare import Search
from search.result import answer
from search.summary import PV_VISITS, choose, principal_variation
from tests.search.common import nodes_of
from tests.search.naive import Node
from tests.search.test_top import searched


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "simulations"), [("gomoku:size=5", 4000), ("tictactoe", 900), ("morris", 1500)]
)
def test_it_ends_where_visits_are_few_or_shared(game: str, simulations: int) -> None:
    search = searched(game, simulations=simulations, lanes=2)
    first = answer(search).best_move
    line = _line(search)
    assert answer(search).pv[0] == first
    node = _child(nodes_of(search.strategy.tree), line[0])
    for move in line[1:]:
        assert _stands_out(node, move), (line, move)
        node = _child(node, move)
    assert len(line) > 1
    assert not node.children or not _stands_out(node, max(node.children, key=lambda child: child.visits).move)


def test_the_best_move_is_shown_however_few_visits_it_has() -> None:
    search = searched("gomoku", simulations=3, lanes=1)
    found = answer(search)
    assert found.pv == (found.best_move,)


def test_a_proven_win_is_shown_to_its_end() -> None:
    search = searched("tictactoe", moves=("a1", "b1"), simulations=20_000, lanes=1, solver=True)
    found = answer(search)
    assert found.value == 1.0
    state = search.root_state.copy()
    for move in _line(search):
        search.game.calls.play(state, move)
    assert search.game.calls.is_terminal(state)


def _line(search: Search) -> list[int]:
    best = choose([c for c in search.strategy.root_children() if c.visits], search.request.final_move)
    return principal_variation(search.strategy.tree, search.game, search.root_state, best.move)


def _child(node: Node, move: int) -> Node:
    return next(child for child in node.children if child.move == move)


def _stands_out(node: Node, move: int) -> bool:
    """Whether a child has enough visits, and more than any other."""
    visits = _child(node, move).visits
    others = [child.visits for child in node.children if child.move != move]
    return visits >= PV_VISITS and visits > max(others, default=0)
