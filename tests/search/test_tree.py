"""The arena: children keep their slots, blocks are used again, and a full arena stays within itself."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from games.compile.specialise import cached_njit
from games.rng import new_stream
from search.kernel.engine import engine_of
from search.kernel.workspace import PLAYOUTS
from search.tree.arena import (
    CAPACITIES,
    FULL,
    MAX_CHILDREN,
    NO_BLOCK,
    NODES,
    PLAIN_LAYOUT,
    ROOT,
    USED,
    Tree,
    add_child,
    children_of,
    clear,
    new_tree,
    tree_bytes,
)
from tests.games.common import JIT
from tests.search.common import KNOBS, assert_visits_add_up, grow, nodes_of
from tests.search.naive import Node

PAD = 64
MARK = 77


@cached_njit
def add(tree: Tree, node: int, move: int) -> int:
    """`add_child` for callers in Python."""
    return add_child(tree, node, move)


@dataclass
class Twin:
    """The tree as it ought to be, with what tells one node from another."""

    name: int
    children: list[Twin] = field(default_factory=list)


def padded_tree(capacity: int) -> tuple[Tree, list[np.ndarray[Any, Any]]]:
    """A tree whose arrays lie inside larger ones, filled with MARK."""
    columns = [np.full(capacity + 2 * PAD, MARK, dtype=column.dtype) for column in new_tree(2)[:6]]
    inside = [column[PAD:-PAD] for column in columns]
    tree = Tree(*inside, *new_tree(2)[6:])  # type: ignore[call-arg]
    clear(tree)
    return tree, columns


def assert_nothing_outside(columns: list[np.ndarray[Any, Any]]) -> None:
    for column in columns:
        assert (column[:PAD] == MARK).all()
        assert (column[-PAD:] == MARK).all()


def locate(tree: Tree, path: list[int]) -> int:
    node = ROOT
    for slot in path:
        node = children_of(tree, node)[slot]
    return node


def assert_same(tree: Tree, node: int, twin: Twin) -> None:
    """Names stand in the fields visits, total_value and unobserved."""
    assert tree.visits[node] == tree.total_value[node] == tree.unobserved[node] == twin.name
    children = children_of(tree, node)
    assert len(children) == len(twin.children)
    for child, expected in zip(children, twin.children, strict=True):
        assert tree.move[child] == expected.name % 65535
        assert_same(tree, child, expected)


def assert_no_overlap(tree: Tree) -> None:
    """Blocks in use and free blocks share no slot and keep within what was handed out."""
    taken = {ROOT}

    def take(first: int, count: int) -> None:
        size = int(CAPACITIES[np.searchsorted(CAPACITIES, count)])
        block = range(first, first + size)
        assert block.stop <= tree.counts[USED]
        assert taken.isdisjoint(block)
        taken.update(block)

    def walk(node: int) -> None:
        if children_of(tree, node):
            take(children_of(tree, node).start, len(children_of(tree, node)))
        for child in children_of(tree, node):
            walk(child)

    walk(ROOT)
    for size_class, block in enumerate(tree.free):
        while block != NO_BLOCK:
            take(int(block), int(CAPACITIES[size_class]))
            block = tree.children[block]
    assert len(taken) == tree.counts[USED]


@given(
    seed=st.integers(0, 2**32),
    capacity=st.one_of(st.integers(2, 60), st.just(3000)),
    wide=st.floats(0.0, 1.0),
)
@settings(max_examples=60 if JIT else 30)
def test_children_keep_their_slots_when_blocks_grow(seed: int, capacity: int, wide: float) -> None:
    draw = random.Random(seed)
    tree, columns = padded_tree(capacity)
    root = Twin(0)
    twins: list[tuple[Twin, list[int]]] = [(root, [])]
    refused = False
    for name in range(1, 250):
        twin, path = twins[0] if draw.random() < wide else draw.choice(twins)
        node = locate(tree, path)
        child = add(tree, node, name % 65535)
        if child == NO_BLOCK:
            refused = True
            continue
        assert tree.visits[child] == tree.total_value[child] == tree.unobserved[child] == 0
        assert tree.shape[child] == 0
        assert child == children_of(tree, node)[-1]
        tree.visits[child] = tree.total_value[child] = tree.unobserved[child] = name
        twins.append((Twin(name), [*path, len(twin.children)]))
        twin.children.append(twins[-1][0])
    assert_same(tree, ROOT, root)
    assert_no_overlap(tree)
    assert_nothing_outside(columns)
    assert tree.counts[NODES] == len(twins)
    assert tree.counts[USED] <= capacity
    assert bool(tree.counts[FULL]) == refused


def test_free_blocks_of_one_size_are_all_used_again() -> None:
    tree = new_tree(1000)
    for move in range(8):
        add(tree, ROOT, move)
    for slot in range(8):
        for move in range(3):
            add(tree, children_of(tree, ROOT)[slot], move)
    used = int(tree.counts[USED])
    free_pairs = []
    block = tree.free[0]
    while block != NO_BLOCK:
        free_pairs.append(int(block))
        block = tree.children[block]
    assert len(free_pairs) == len(set(free_pairs)) > 0
    for _ in free_pairs:
        grandchild = next(
            c for child in children_of(tree, ROOT) for c in children_of(tree, child) if not tree.children[c]
        )
        add(tree, grandchild, 0)
    assert tree.counts[USED] == used
    assert tree.free[0] == NO_BLOCK
    assert_no_overlap(tree)


def test_a_node_has_at_most_max_children() -> None:
    tree = new_tree(20_000)
    for move in range(MAX_CHILDREN):
        assert add(tree, ROOT, move) != NO_BLOCK
    assert add(tree, ROOT, MAX_CHILDREN) == NO_BLOCK
    assert [int(tree.move[child]) for child in children_of(tree, ROOT)] == list(range(MAX_CHILDREN))
    assert tree.counts[NODES] == MAX_CHILDREN + 1
    assert tree.shape[ROOT] == MAX_CHILDREN
    assert add(tree, children_of(tree, ROOT)[-1], 1) != NO_BLOCK


def test_clear_leaves_a_lone_root() -> None:
    tree = grow("tictactoe", 500, 1)
    clear(tree)
    assert nodes_of(tree) == Node()
    assert tree_bytes(tree) == PLAIN_LAYOUT.bytes_per_node
    fresh = grow("tictactoe", 500, 2)
    assert nodes_of(grow("tictactoe", 500, 2, tree=tree)) == nodes_of(fresh)
    np.testing.assert_array_equal(tree.counts, fresh.counts)


@pytest.mark.parametrize("spec", ["tictactoe", "gomoku:size=5"])
@pytest.mark.parametrize("capacity", [2, 3, 4, 7, 23, 60, 131])
@pytest.mark.parametrize("solver", [False, True])
@pytest.mark.parametrize("urgency", [float("inf"), 0.4])
def test_a_full_arena_is_searched_on(spec: str, capacity: int, solver: bool, urgency: float) -> None:
    simulations = 400 if JIT else 200
    tree, columns = padded_tree(capacity)
    game = games.load(spec)
    engine = engine_of(game)
    work = engine.new_workspace()
    params = KNOBS._replace(solver=solver, first_play_urgency=urgency)
    done = engine.simulate(tree, params, game.initial_state(), simulations, new_stream(1), work)
    assert done == simulations
    assert tree.counts[FULL] == 1
    assert tree.counts[USED] <= capacity
    assert work.tally[PLAYOUTS] > 0
    assert_nothing_outside(columns)
    assert_no_overlap(tree)
    root = nodes_of(tree)
    assert root.visits == simulations
    assert_visits_add_up(root)


@given(
    spec=st.sampled_from(["tictactoe", "gomoku:size=5", "gomoku:size=9", "gomoku:size=20"]),
    simulations=st.integers(1, 6000 if JIT else 150),
    exploration=st.sampled_from([0.0, 0.5, 2.0, 2000.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40 if JIT else 15)
def test_capacity_for_is_enough(spec: str, simulations: int, exploration: float, seed: int) -> None:
    tree = grow(spec, simulations, seed, params=KNOBS._replace(exploration=exploration))
    assert tree.counts[FULL] == 0
    assert tree.counts[NODES] <= simulations + 1


@pytest.mark.parametrize(("parents", "children"), [(144, 65), (300, 97), (60, 129), (1, 2049), (4, 1025)])
def test_capacity_for_is_enough_when_all_blocks_grow_together(parents: int, children: int) -> None:
    """Then no node has a use for the blocks that the others have left."""
    tree = new_tree(PLAIN_LAYOUT.capacity_for(2**40, parents * (children + 1)))
    for move in range(parents):
        add(tree, ROOT, move)
    for move in range(children):
        for node in children_of(tree, ROOT):
            add(tree, node, move)
    assert tree.counts[FULL] == 0
