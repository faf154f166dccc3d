"""The trees that an article on two-player games draws for minimax, negamax and alpha-beta, as games."""

from __future__ import annotations

import pytest

import games
from search.minimax.lookahead import Foresight, Trace, Traced, lookahead_of
from search.players import player_of
from search.players.minimax import Minimax

FIGURE_9 = "explicit:([(1 3)(2 8)(7 4)] [(2 3)(-9 -1)] [(-5 -2 -3)(9)(7)])"
FIGURE_12, FIGURE_13 = "explicit:(9 [4 1 2])", "explicit:[1 (8 3 9)]"
FIGURE_14 = "explicit:([(7 8)(10 0)(10 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)])"
"""The figure shows the 15 nodes that are visited; the other 20 are not drawn, and have no say."""


def searched(spec: str, depth: int = 3, **changes: bool) -> tuple[float, Foresight]:
    """The root's value (a hair less where it lies deeper), and the rest, of a search from left to right."""
    game = games.load(spec)
    lookahead = lookahead_of(game, "default")
    limits = lookahead.limits(depth, **{"ordered": False, "finds_ties": False, **changes})
    found = lookahead.search(game.initial_state(), limits)
    return round(found.value * game.points, 2), found


def traced(spec: str, player: str) -> Trace:
    game = games.load(spec)
    looks = player_of(player, game)
    assert isinstance(looks, Minimax)
    return looks.trace(game, game.initial_state())


def levels(trace: Trace, points: int) -> list[list[int]]:
    """The values level by level, from left to right; nothing of what was cut."""
    found: list[list[int]] = []
    row = [trace.root]
    while row:
        found.append([round(node.value * points) for node in row if node.value is not None])
        row = [child for node in row for child in node.children]
    return found


def cuts(node: Traced, points: int) -> list[tuple[float, float]]:
    """The bounds, alpha and beta, of all nodes that left out moves."""
    own = [(round(node.alpha * points, 6), round(node.beta * points, 6))] if node.cuts else []
    return own + [each for child in node.children for each in cuts(child, points)]


def size(node: Traced, *, visited: bool) -> int:
    return (node.visited or not visited) + sum(size(child, visited=visited) for child in node.children)


def test_figure_8_the_highest_and_the_lowest_of_some_moves() -> None:
    assert searched("explicit:(3 -2 0 5)")[0] == 5
    assert searched("explicit:[8 -2 6 3 -1]")[0] == -2


def test_figures_9_and_11_minimax_of_27_nodes() -> None:
    value, found = searched(FIGURE_9, prunes=False)
    assert (value, found.positions, found.leaves, found.cuts) == (3, 27, 15, 0)
    assert found.complete and found.line == (0, 0, 1)
    assert levels(traced(FIGURE_9, "minimax:depth=3,ties=first"), 9) == [
        [3],
        [3, -1, -2],
        [3, 8, 7, 3, -1, -2, 9, 7],
        [1, 3, 2, 8, 7, 4, 2, 3, -9, -1, -5, -2, -3, 9, 7],
    ]


def test_figure_9_with_alpha_beta_visits_19_nodes_or_22_if_equals_are_not_cut() -> None:
    value, found = searched(FIGURE_9)
    assert (value, found.positions) == (3, 19)
    value, wide = searched(FIGURE_9, cuts_equals=False)
    assert (value, wide.positions) == (3, 22)
    assert found.line == wide.line == (0, 0, 1)


@pytest.mark.parametrize(
    ("spec", "visited", "above", "nodes"),
    [(FIGURE_9, 19, 22, 27), (FIGURE_12, 4, 4, 6), (FIGURE_13, 4, 4, 6), (FIGURE_14, 15, 15, 35)],
)
def test_a_trace_has_all_that_minimax_visits_and_says_what_was_cut(
    spec: str, visited: int, above: int, nodes: int
) -> None:
    for player, expected in (
        ("minimax:depth=3", nodes),
        ("alphabeta:depth=3,ties=first", visited),
        ("alphabeta:depth=3,ties=first,cuts=above", above),
    ):
        trace = traced(spec, player)
        assert (trace.visited, trace.total) == (expected, nodes)
        assert (size(trace.root, visited=True), size(trace.root, visited=False)) == (expected, nodes)
        points = games.load(spec).points
        assert all(alpha >= beta for alpha, beta in cuts(trace.root, points))
        assert bool(cuts(trace.root, points)) == (expected < nodes)


def test_figure_12_an_alpha_cut() -> None:
    """The parent has 9 for certain; the node, a minimum, has found 4: its other moves are left out."""
    value, found = searched(FIGURE_12)
    assert (value, found.positions, found.cuts) == (9, 4, 1)
    assert cuts(traced(FIGURE_12, "alphabeta:depth=3,ties=first").root, 9) == [(9, 4)]


def test_figure_13_a_beta_cut() -> None:
    """The parent, a minimum, is at most 1; the node has found 8: its other moves are left out."""
    value, found = searched(FIGURE_13)
    assert (value, found.positions, found.cuts) == (1, 4, 1)
    assert cuts(traced(FIGURE_13, "alphabeta:depth=3,ties=first").root, 9) == [(8, 1)]


def test_figure_14_needs_15_nodes_and_cuts_57_percent() -> None:
    value, full = searched(FIGURE_14, prunes=False)
    least, found = searched(FIGURE_14)
    assert (full.positions, found.positions) == (35, 15)
    assert value == least == 8
    trace = traced(FIGURE_14, "alphabeta:depth=3,ties=first")
    assert cuts(trace.root, 10) == [(10, 8), (10, 8), (8, -10), (8, -10), (8, -10)]


def test_moves_that_are_as_good_as_the_best_are_found_if_asked_for() -> None:
    spec = "explicit:([2 5] [3 4] [3 9] [1 8] [3])"
    assert searched(spec)[1].best_moves == (1,)
    assert searched(spec, finds_ties=True)[1].best_moves == (1, 2, 4)
    assert searched(spec, finds_ties=True, prunes=False)[1].best_moves == (1, 2, 4)


@pytest.mark.parametrize("spec", ["tictactoe", "grundy:pile=9", "morris:variant=three"])
@pytest.mark.parametrize("player", ["alphabeta:depth=2", "alphabeta:depth=2,ties=first", "minimax:depth=2"])
def test_a_trace_of_any_game_sees_what_the_search_sees(spec: str, player: str) -> None:
    game = games.load(spec)
    state = game.initial_state()
    looks = player_of(player, game)
    assert isinstance(looks, Minimax)
    trace = looks.trace(game, state)
    lookahead = lookahead_of(game, next(iter(game.evaluators), "default"))
    limits = lookahead.limits(2, prunes=looks.prunes, finds_ties="first" not in player)
    found = lookahead.search(state, limits)
    assert trace.visited == found.positions == size(trace.root, visited=True)
    best = [child.move for child in trace.root.children if child.best]
    assert best[0] in found.best_moves and len(best) == 1
