"""Increments hold what was added and nothing else, and merging them loses nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.summary import digest, digest_of
from search.tree.arena import FULL, NODES, ROOT, Tree, new_tree
from search.tree.merge import (
    CREATED,
    PROOF_BITS,
    Statistics,
    all_rows,
    increments,
    lone_root,
    merge,
    snapshot,
)
from tests.games.common import JIT
from tests.search.common import KNOBS, grow, nodes_of, restored
from tests.search.naive import UNPROVEN, Node

SPECS = st.sampled_from(["tictactoe", "gomoku:size=5"])
SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 600 if JIT else 120)
EXAMPLES = settings(max_examples=40 if JIT else 15)
ALL_ROWS = 10**6


def lane(spec: str, base: Statistics, simulations: int, seed: int) -> Statistics:
    """The increments of a lane that starts from the snapshot."""
    tree = restored(base)
    grow(spec, simulations, seed, tree=tree)
    return increments(tree, base, 0, ALL_ROWS)[0]


def add(tree: Tree, added: Statistics) -> tuple[int, int]:
    """Merge one list of increments."""
    return merge(tree, added, all_rows(len(added.visits)))


def find(node: Node, statistics: Statistics) -> list[Node]:
    """The tree's node for each row."""
    rows, following = [node], 1
    for row in range(len(statistics.visits)):
        children = {child.move: child for child in rows[row].children}
        end = following + int(statistics.num_children[row])
        rows += [children[int(move)] for move in statistics.move[following:end]]
        following = end
    assert len(rows) == len(statistics.visits) == following
    return rows


@given(SPECS, SEEDS, SIZES, st.booleans())
@EXAMPLES
def test_a_snapshot_is_restored_as_it_was_and_grows_as_its_original_does(
    spec: str, seed: int, simulations: int, solver: bool
) -> None:
    tree = grow(spec, simulations, seed, params=KNOBS._replace(solver=solver))
    statistics, min_visits = snapshot(tree, 0, ALL_ROWS)
    assert min_visits == 0
    assert len(statistics.visits) == tree.counts[NODES]
    copy = restored(statistics)
    assert nodes_of(copy) == nodes_of(tree)
    assert copy.counts[NODES] == tree.counts[NODES]
    assert digest(copy) == digest(tree)
    for each in (tree, copy):
        grow(spec, 100, seed + 1, tree=each)
    assert nodes_of(copy) == nodes_of(tree)


@given(SPECS, SEEDS, SIZES, st.just(0) | SIZES, st.booleans(), st.sampled_from([0, 1, 2]))
@EXAMPLES
def test_base_and_increments_are_the_grown_tree(
    spec: str, seed: int, before: int, more: int, solver: bool, min_visits: int
) -> None:
    """Up to min_visits=2, as a node gets its first child with its second visit."""
    params = KNOBS._replace(solver=solver)
    tree = grow(spec, before, seed, params=params)
    base, _ = snapshot(tree, min_visits, ALL_ROWS)
    copy = restored(base)
    grow(spec, more, seed + 1, tree=tree, params=params)
    added, _ = increments(tree, base, min_visits, ALL_ROWS)
    created, duplicates = add(copy, added)
    assert nodes_of(copy).by_moves() == nodes_of(tree).by_moves()
    assert digest(copy) == digest(tree)
    assert duplicates == 0
    assert created == tree.counts[NODES] - len(base.visits)


@given(SPECS, SEEDS, SIZES, SIZES, st.integers(3, 60))
@EXAMPLES
def test_a_pruned_base_and_increments_lose_no_visit_of_the_nodes_they_name(
    spec: str, seed: int, before: int, more: int, min_visits: int
) -> None:
    """As a lane of `root` reports: the base is pruned, and its tree lives on unpruned."""
    tree = grow(spec, before, seed)
    shared = restored(snapshot(tree, min_visits, ALL_ROWS)[0])
    for step in range(3):
        base, _ = snapshot(tree, min_visits, ALL_ROWS)
        grow(spec, more, seed + step, tree=tree)
        add(shared, increments(tree, base, min_visits, ALL_ROWS)[0])
    statistics, _ = snapshot(shared, 0, ALL_ROWS)
    for row, node in enumerate(find(nodes_of(tree), statistics)):
        assert (statistics.visits[row], statistics.total_value[row]) == (node.visits, node.total_value)
    assert digest_of(statistics) == digest_of(snapshot(tree, min_visits, ALL_ROWS)[0])


@given(SPECS, SEEDS, SIZES, st.permutations(range(4)))
@EXAMPLES
def test_the_order_of_merges_does_not_matter_and_what_several_made_is_counted(
    spec: str, seed: int, simulations: int, order: list[int]
) -> None:
    """Two of the lanes made the same."""
    base, _ = snapshot(grow(spec, simulations, seed), 2, ALL_ROWS)
    lanes = [lane(spec, base, simulations, seed + k) for k in (1, 2, 3, 3)]
    made = sum(int(((added.marks & CREATED) != 0).sum()) for added in lanes)
    in_turn, shuffled = restored(base), restored(base)
    for tree, places in ((in_turn, range(4)), (shuffled, order)):
        created, duplicates = np.sum([add(tree, lanes[k]) for k in places], axis=0).tolist()
        assert created == made
        assert tree.counts[NODES] == len(base.visits) + created - duplicates
        assert tree.visits[ROOT] == 5 * simulations
    assert nodes_of(in_turn).by_moves() == nodes_of(shuffled).by_moves()
    assert digest(in_turn) == digest(shuffled)


@given(SPECS, SEEDS, SIZES, st.sampled_from([0, 7, 50, 10**6]), st.integers(1, 60))
@EXAMPLES
def test_pruning_keeps_the_totals_of_what_is_left(
    spec: str, seed: int, simulations: int, min_visits: int, max_rows: int
) -> None:
    tree = grow(spec, simulations, seed)
    statistics, used = snapshot(tree, min_visits, max_rows)
    assert 1 <= len(statistics.visits) <= max_rows
    assert used >= min_visits
    root = nodes_of(tree)
    for row, node in enumerate(find(root, statistics)):
        assert statistics.visits[row] == node.visits
        assert statistics.total_value[row] == node.total_value
        has_children = node.visits >= used or (row == 0 and len(node.children) < max_rows)
        assert statistics.num_children[row] == (len(node.children) if has_children else 0)
        assert statistics.marks[row] & PROOF_BITS == node.proof


@given(SPECS, SEEDS, SIZES, st.integers(2, 200))
@EXAMPLES
def test_a_full_arena_loses_no_visit_of_what_it_holds(
    spec: str, seed: int, simulations: int, capacity: int
) -> None:
    whole, small = new_tree(100_000), new_tree(capacity)
    for k in range(3):
        added = lane(spec, lone_root(), simulations, seed + k)
        add(whole, added)
        add(small, added)
    assert small.visits[ROOT] == 3 * simulations
    assert small.total_value[ROOT] == whole.total_value[ROOT]
    assert len(small.visits) == capacity
    if small.counts[FULL] == 0:
        assert nodes_of(small).by_moves() == nodes_of(whole).by_moves()
    assert_part_of(nodes_of(small), nodes_of(whole))


def assert_part_of(part: Node, whole: Node) -> None:
    """A node that was refused at first and made later lacks what came before."""
    assert part.visits <= whole.visits
    assert sum(child.visits for child in part.children) <= part.visits
    children = {child.move: child for child in whole.children}
    for child in part.children:
        assert_part_of(child, children[child.move])


def test_proofs_travel_and_stay() -> None:
    params = KNOBS._replace(solver=True)
    tree = grow("tictactoe", 400, 1, moves="a1 b1", params=params)
    added, _ = increments(tree, lone_root(), 0, ALL_ROWS)
    unproven = added._replace(marks=added.marks & np.uint8(CREATED))
    shared = new_tree(10_000)
    for one in (unproven, added, unproven):
        add(shared, one)
    proofs = [node.proof for node in find(nodes_of(shared), added)]
    assert proofs == (added.marks & PROOF_BITS).tolist()
    assert set(proofs) > {UNPROVEN}


def test_a_new_proof_without_a_visit_is_sent() -> None:
    tree = grow("tictactoe", 30, 1)
    base, _ = snapshot(tree, 0, ALL_ROWS)
    child = int(tree.children[ROOT]) + 2
    tree.shape[child] |= 1 << 13
    added, _ = increments(tree, base, 0, ALL_ROWS)
    assert added.visits.tolist() == [0, 0]
    assert added.marks.tolist() == [0, 1]
    assert added.move[1] == tree.move[child]


@pytest.mark.parametrize("field", Statistics._fields)
def test_any_difference_changes_a_digest(field: str) -> None:
    statistics, _ = snapshot(grow("tictactoe", 40, 1), 0, ALL_ROWS)
    statistics = statistics._replace(available=statistics.visits)
    column = getattr(statistics, field).copy()
    if field == "num_children":
        # The first grandchild becomes a child of the root's second child.
        column[1] -= 1
        column[2] += 1
    else:
        column[5] += 1
    assert digest_of(statistics._replace(**{field: column})) != digest_of(statistics)
