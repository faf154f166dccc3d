"""The form of a tree: what its layout says of arrays and bytes is what the tree has."""

from __future__ import annotations

from itertools import product

import pytest

from search.features import Features
from search.tree.arena import PLAIN_LAYOUT, USED, Tree, TreeLayout, layout_of, new_tree, tree_bytes
from search.tree.merge import lone_root

LAYOUTS = [TreeLayout(*flags) for flags in product((False, True), repeat=4)]


def slot_columns(tree: Tree) -> list[str]:
    return [name for name in tree._fields if len(getattr(tree, name)) == 100]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_has_the_arrays_of_its_layout(layout: TreeLayout) -> None:
    tree = new_tree(100, layout)
    assert sorted(slot_columns(tree)) == sorted(layout.columns)
    assert layout_of(tree) == layout
    assert layout.bytes_per_node == sum(getattr(tree, name).nbytes for name in slot_columns(tree)) // 100
    tree.counts[USED] = 100
    assert tree_bytes(tree) == sum(getattr(tree, name).nbytes for name in slot_columns(tree))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_statistics_count_as_their_trees_do(layout: TreeLayout) -> None:
    tree, row = new_tree(100, layout), lone_root(layout)
    assert row.visits.dtype == row.available.dtype == tree.visits.dtype == tree.available.dtype
    assert len(row.available) == layout.hidden


def test_features_say_which_layout_it_is() -> None:
    assert Features().layout == PLAIN_LAYOUT
    for layout in LAYOUTS:
        assert Features(**layout._asdict()).layout == layout


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tree_keeps_within_its_memory(layout: TreeLayout) -> None:
    slots = layout.capacity_for(10_000, 10**9)
    assert slots * layout.bytes_per_node <= 10_000 < (slots + 1) * layout.bytes_per_node
    assert layout.capacity_for(0, 10) == 2
    assert layout.capacity_for(10**9, 10) < 2000
