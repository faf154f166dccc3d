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


@pytest.mark.parametrize(
    ("spec", "changes", "value", "positions", "bounds"),
    [
        # Figure 8: the highest and the lowest of some moves.
        ("explicit:(3 -2 0 5)", {}, 5, 5, []),
        ("explicit:[8 -2 6 3 -1]", {}, -2, 6, []),
        # Figures 9 and 11: 27 nodes; 19 with alpha-beta, or 22 if equals are not cut.
        (FIGURE_9, {"prunes": False}, 3, 27, None),
        (FIGURE_9, {}, 3, 19, None),
        (FIGURE_9, {"cuts_equals": False}, 3, 22, None),
        # Figure 12, an alpha cut: the parent has 9 for certain; the node, a minimum, has found 4.
        (FIGURE_12, {}, 9, 4, [(9, 4)]),
        # Figure 13, a beta cut: the parent, a minimum, is at most 1; the node has found 8.
        (FIGURE_13, {}, 1, 4, [(8, 1)]),
        # Figure 14: 57 percent are cut.
        (FIGURE_14, {"prunes": False}, 8, 35, None),
        (FIGURE_14, {}, 8, 15, [(10, 8), (10, 8), (8, -10), (8, -10), (8, -10)]),
    ],
)
def test_a_search_visits_and_cuts_what_the_figure_shows(
    spec: str, changes: dict[str, bool], value: float, positions: int, bounds: list[tuple[int, int]] | None
) -> None:
    found_value, found = searched(spec, **changes)
    assert (found_value, found.positions) == (value, positions)
    if changes == {"prunes": False}:
        assert found.complete and found.cuts == 0
    if spec == FIGURE_9:
        assert found.line == (0, 0, 1)
    if bounds is not None:
        assert cuts(traced(spec, "alphabeta:depth=3,ties=first").root, games.load(spec).points) == bounds
        assert found.cuts == len(bounds)


def test_the_values_of_figure_9() -> None:
    assert levels(traced(FIGURE_9, "minimax:depth=3,ties=first"), 9) == [
        [3],
        [3, -1, -2],
        [3, 8, 7, 3, -1, -2, 9, 7],
        [1, 3, 2, 8, 7, 4, 2, 3, -9, -1, -5, -2, -3, 9, 7],
    ]


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
        bounds = cuts(trace.root, games.load(spec).points)
        assert all(alpha >= beta for alpha, beta in bounds)
        assert bool(bounds) == (expected < nodes)


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
