"""The top of a search tree: the most visited nodes with their values, and the line that a search shows."""

from __future__ import annotations

import random

import pytest

import games
from games.game import FIRST
from games.rng import new_stream
from search.features import Features
from search.kernel.engine import engine_of
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import answer
from search.run_inline import run_inline
from search.summary import PV_VISITS, choose, principal_variation
from search.tree.view import Extent, TopNode, top_of
from tests.games.common import JIT
from tests.search.common import KNOBS, grow, nodes_of
from tests.search.hidden_nim import HiddenNim
from tests.search.naive import Node

ALL = Extent(nodes=10**6, depth=10**6, width=10**6, min_visits=1)


def flat(node: TopNode, level: int = 0) -> list[tuple[int, TopNode]]:
    return [(level, node)] + [each for child in node.children for each in flat(child, level + 1)]


def searched(game: str, **request: object) -> Search:
    search = open_search(SearchRequest(game=game, **request))  # type: ignore[arg-type]
    run_inline(search, lambda: 0.0)
    return search


def same(shown: TopNode, node: Node, sign: int) -> None:
    """The node and all below it; ``sign`` of who moves there."""
    assert shown.visits == node.visits
    assert shown.first_value == pytest.approx(node.total_value / node.visits)
    children = sorted((c for c in node.children if c.visits), key=lambda c: (-c.visits, c.move))
    assert len(shown.children) == shown.num_children == len(children)
    for child, expected in zip(shown.children, children, strict=True):
        assert child.value == pytest.approx(sign * expected.total_value / expected.visits)
        assert child.share == pytest.approx(expected.visits / sum(c.visits for c in children))
        same(child, expected, -sign)


@pytest.mark.parametrize("moves", ["", "b2", "b2 a1 c3"])
def test_without_limits_it_is_the_whole_tree(moves: str) -> None:
    game = games.load("tictactoe")
    state = game.initial_state()
    game.play_text(state, moves.split())
    tree = grow("tictactoe", 500, moves=moves)
    top = top_of(tree, game, state, ALL)
    sign = 1 if game.calls.current_player(state) == FIRST else -1
    assert top.value == pytest.approx(sign * top.first_value)
    same(top, nodes_of(tree), sign)


@pytest.mark.parametrize("seed", range(8))
def test_within_limits_it_is_what_was_visited_most(seed: int) -> None:
    draw = random.Random(seed)
    game = games.load("tictactoe")
    tree = grow("tictactoe", 800, seed)
    extent = Extent(draw.randint(1, 60), draw.randint(1, 5), draw.randint(1, 6), draw.randint(1, 30))
    shown = flat(top_of(tree, game, game.initial_state(), extent))
    # What might be shown: the whole tree, cut to the width, the depth and the visits.
    within = Extent(10**6, extent.depth, extent.width, extent.min_visits)
    allowed = flat(top_of(tree, game, game.initial_state(), within))
    assert len(shown) == min(extent.nodes, len(allowed))
    visits = sorted((node.visits for _, node in allowed), reverse=True)
    assert sorted((node.visits for _, node in shown), reverse=True) == visits[: len(shown)]
    for level, node in shown:
        assert level <= extent.depth
        assert len(node.children) <= extent.width
        assert level == 0 or node.visits >= extent.min_visits
        assert [child.visits for child in node.children] == sorted(
            (child.visits for child in node.children), reverse=True
        )
        assert node.left_out == node.num_children - len(node.children)


def test_proofs_are_of_who_made_the_move() -> None:
    search = searched("tictactoe", moves=("a1", "b1", "a2", "b2"), simulations=500, solver=True)
    top = top_of(search.strategy.tree, search.game, search.root_state, ALL)
    assert (top.proof, top.value) == ("won", 1.0)
    wins = next(child for child in top.children if child.move == "a3")
    assert (wins.proof, wins.value, wins.children, wins.player) == ("won", 1.0, [], None)
    for _, node in flat(top):
        assert not node.proof or node.proof == {1: "won", 0: "drawn", -1: "lost"}[int(node.value)]


def test_where_something_is_hidden_what_only_some_deals_allow_is_shown_but_not_played() -> None:
    """The second player may take two hidden stones at once if there are as many; the view cannot know."""
    game = HiddenNim()
    engine = engine_of(game, Features(hidden=True))
    tree = engine.new_tree(50_000)
    start = game.initial_state()
    engine.simulate(tree, KNOBS, start, 2000, new_stream(1), engine.new_workspace())
    top = top_of(tree, game, start, ALL)
    replies = {node.move: node for node in top.children[0].children}
    assert replies["hidden-1"].visits > replies["hidden-2"].visits
    assert replies["hidden-1"].children and replies["hidden-1"].left_out == 0
    assert replies["hidden-2"].children == [] and replies["hidden-2"].left_out > 0


def test_answers_to_shots_are_moves_like_others() -> None:
    search = searched("battleship", simulations=3000 if JIT else 200, lanes=4)
    top = top_of(search.strategy.tree, search.game, search.root_state, Extent(60, 3, 4, 2))
    answers = {child.move for shot in top.children for child in shot.children}
    assert {"miss"} <= answers <= {"miss", "hit"}
    assert all(node.player is not None for _, node in flat(top))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "simulations"), [("gomoku:size=5", 4000), ("tictactoe", 900), ("morris", 1500)]
)
def test_the_line_ends_where_visits_are_few_or_shared(game: str, simulations: int) -> None:
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
