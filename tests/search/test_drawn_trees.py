"""The trees that an article on two-player games draws for minimax, negamax and alpha-beta, as games."""

from __future__ import annotations

from typing import Any

from search.lookahead import Foresight, Lookahead
from tests.search.tree_game import TreeGame

UNIT = 100.0
"""The article's values are whole numbers; a game's are in [-1, 1]."""

FIGURE_9 = [
    [[1, 3], [2, 8], [7, 4]],
    [[2, 3], [-9, -1]],
    [[-5, -2, -3], [9], [7]],
]
"""Three levels below the root, whose values are 3 8 7 3 -1 -2 9 7, then 3 -1 -2, and 3 at the root."""


def _scaled(tree: Any) -> Any:
    return [_scaled(each) for each in tree] if isinstance(tree, list) else tree / UNIT


def searched(tree: Any, depth: int = 3, **changes: bool) -> Foresight:
    """The tree searched from left to right; the first best move is enough, as in the article."""
    game = TreeGame(_scaled(tree))
    lookahead = Lookahead(game, None)
    limits = lookahead.limits(depth, **{"ordered": False, "finds_ties": False, **changes})
    return lookahead.search(game.initial_state(), limits)


def _value(found: Foresight) -> int:
    return round(found.value * UNIT)


def test_figure_8_the_highest_and_the_lowest_of_some_moves() -> None:
    assert _value(searched([3, -2, 0, 5])) == 5
    assert _value(searched([[8, -2, 6, 3, -1]])) == -2


def test_figures_9_and_11_minimax_of_27_nodes() -> None:
    found = searched(FIGURE_9, prunes=False)
    assert (_value(found), found.positions, found.leaves, found.cuts) == (3, 27, 15, 0)
    assert found.complete and found.line == (0, 0, 1)
    for subtree, value in zip(FIGURE_9, (3, -1, -2), strict=True):
        assert _value(searched([subtree], prunes=False)) == value


def test_figure_9_with_alpha_beta_visits_19_nodes_or_22_if_equals_are_not_cut() -> None:
    found = searched(FIGURE_9)
    assert (_value(found), found.positions) == (3, 19)
    wide = searched(FIGURE_9, cuts_equals=False)
    assert (_value(wide), wide.positions) == (3, 22)
    assert found.line == wide.line == (0, 0, 1)


def test_figure_12_an_alpha_cut() -> None:
    """The parent has 9 for certain; the node, a minimum, has found 4: its other moves are left out."""
    found = searched([9, [4, 1, 2]])
    assert (_value(found), found.positions, found.cuts) == (9, 4, 1)


def test_figure_13_a_beta_cut() -> None:
    """The parent, a minimum, is at most 1; the node has found 8: its other moves are left out."""
    found = searched([[1, [8, 3, 9]]])
    assert (_value(found), found.positions, found.cuts) == (1, 5, 1)


def test_figure_14_needs_15_nodes_and_cuts_57_percent() -> None:
    """The figure shows the 15 nodes; where the other 20 of 35 lie is not drawn, and has no say."""
    unseen = [[0, 0], [0, 0]]
    tree = [[[7, 8], [10, 0], [10, 0]], *[[-10, *unseen] for _ in range(3)]]
    full = searched(tree, prunes=False)
    found = searched(tree)
    assert (full.positions, found.positions) == (35, 15)
    assert _value(full) == _value(found) == 8
    game = TreeGame(_scaled(tree))
    share = Lookahead(game, None).share_cut(game.initial_state(), found)
    assert share == 20 / 35 and f"{100 * share:.0f} %" == "57 %"


def test_moves_that_are_as_good_as_the_best_are_found_if_asked_for() -> None:
    tree = [[2, 5], [3, 4], [3, 9], [1, 8], [3]]
    assert searched(tree).best_moves == (1,)
    assert searched(tree, finds_ties=True).best_moves == (1, 2, 4)
    assert searched(tree, finds_ties=True, prunes=False).best_moves == (1, 2, 4)
