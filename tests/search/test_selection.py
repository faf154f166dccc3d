"""Which child a simulation goes to, against the formula with the machine's own logarithm."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.compile.specialise import cached_njit
from search.kernel.backup import proof_from_children
from search.kernel.logarithms import TABLE, Table, natural_log
from search.kernel.params import SearchParams
from search.tree.arena import (
    COMPLETE,
    DRAWN,
    FIRST_WINS,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    new_tree,
    set_proof,
)
from tests.games.common import JIT, plain
from tests.search.common import KNOBS, pick

Child = tuple[int, int, int, int]
"""Visits, sum of returns, unobserved, proof."""


@cached_njit
def logarithm_of(table: Table, n: int) -> float:
    """`natural_log` for callers in Python."""
    return natural_log(table, n)


@cached_njit
def prove(tree: Tree, node: int, player: int) -> int:
    """`proof_from_children` for callers in Python."""
    return proof_from_children(tree, node, player)


def family(parent: Child, children: list[Child], complete: bool = True) -> Tree:
    """A tree of a root and its children."""
    tree = new_tree(1 + len(children))
    tree.children[ROOT] = 1
    tree.shape[ROOT] = len(children) | (COMPLETE if complete else 0)
    for node, (visits, total, unobserved, proof) in enumerate([parent, *children]):
        tree.visits[node] = visits
        tree.total_value[node] = total
        tree.unobserved[node] = unobserved
        if node != ROOT:
            tree.shape[node] = 0
        plain(set_proof)(tree, node, proof)
    return tree


def documented_score(params: SearchParams, parent: Child, child: Child, player: int) -> float:
    """Q + 2 C sqrt(ln(N_s + O_s) / (N_i + O_i)), Q by the rule for visits in flight."""
    sign = 1 if player == 0 else -1
    visits, total, unobserved, proof = child
    if params.solver and proof == DRAWN:
        return 0.0
    if params.virtual_loss:
        mean = (sign * total - unobserved) / (visits + unobserved)
    elif visits:
        mean = sign * total / visits
    else:
        mean = sign * parent[1] / parent[0] if parent[0] else 0.0
    return mean + params.exploration * math.sqrt(math.log(parent[0] + parent[2]) / (visits + unobserved))


@given(st.one_of(st.integers(1, 10_000), st.integers(1, 2**40)))
@settings(max_examples=500)
def test_natural_log(n: int) -> None:
    assert logarithm_of(TABLE, n) == pytest.approx(math.log(n), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 4095, 4096, 4097, 8191, 8192, 16383, 16384, 2**31 - 1, 2**31, 2**32 + 1])
def test_natural_log_where_the_table_ends(n: int) -> None:
    assert logarithm_of(TABLE, n) == pytest.approx(math.log(n), rel=1e-9, abs=1e-9)


def test_natural_log_rises() -> None:
    values = [logarithm_of(TABLE, n) for n in range(1, 40_000 if JIT else 20_000)]
    assert all(low < high for low, high in pairwise(values))


def test_the_table() -> None:
    inverse_roots, roots_of_logs, logs = TABLE.reshape(3, -1)
    counts = np.arange(1, len(logs))
    np.testing.assert_allclose(logs[1:], np.log(counts), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(roots_of_logs[1:], np.sqrt(np.log(counts)), rtol=1e-14)
    np.testing.assert_allclose(inverse_roots[1:], counts**-0.5, rtol=1e-15)


@st.composite
def families(draw: st.DrawFn, in_flight: bool, proofs: bool) -> tuple[Child, list[Child]]:
    largest = draw(st.sampled_from([3, 50, 5000, 10**6]))
    children = []
    for _ in range(draw(st.integers(1, 12))):
        visits = draw(st.integers(0 if in_flight else 1, largest))
        unobserved = draw(st.integers(0, largest)) if in_flight else 0
        if visits + unobserved == 0:
            unobserved = 1
        total = draw(st.integers(-visits, visits))
        proof = draw(st.sampled_from([UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS])) if proofs else UNPROVEN
        children.append((visits, total, unobserved, proof))
    visits = sum(child[0] for child in children) + draw(st.integers(0, 3))
    unobserved = sum(child[2] for child in children) + (draw(st.integers(0, 3)) if in_flight else 0)
    total = draw(st.integers(-visits, visits))
    return (max(visits, 1) if not in_flight else visits, total, unobserved, UNPROVEN), children


def assert_best(params: SearchParams, parent: Child, children: list[Child], player: int) -> None:
    slot, score = pick(family(parent, children), params, ROOT, player)
    won, lost = (FIRST_WINS, SECOND_WINS) if player == 0 else (SECOND_WINS, FIRST_WINS)
    if params.solver and any(child[3] == won for child in children):
        assert score == math.inf
        assert slot == [child[3] for child in children].index(won)
        return
    scores = [
        -math.inf if params.solver and child[3] == lost else documented_score(params, parent, child, player)
        for child in children
    ]
    best = max(scores)
    if best == -math.inf:
        assert (slot, score) == (0, -math.inf)
        return
    assert score == pytest.approx(best, rel=1e-8, abs=1e-7)
    assert scores[slot] == pytest.approx(best, rel=1e-8, abs=1e-7)


EXPLORATIONS = st.sampled_from([0.0, 0.3, 1.0, 4.0])
EXAMPLES = 200 if JIT else 100


@st.composite
def cases(draw: st.DrawFn) -> tuple[bool, tuple[Child, list[Child]]]:
    """Whether there are proofs, and a family; nothing or something in flight."""
    in_flight = draw(st.booleans())
    proofs = in_flight and draw(st.booleans())
    return proofs, draw(families(in_flight=in_flight, proofs=proofs))


@given(cases(), EXPLORATIONS, st.integers(0, 1), st.booleans())
@settings(max_examples=3 * EXAMPLES)
def test_best_child(
    case: tuple[bool, tuple[Child, list[Child]]], exploration: float, player: int, virtual_loss: bool
) -> None:
    proofs, family = case
    params = KNOBS._replace(exploration=exploration, solver=proofs, virtual_loss=virtual_loss)
    assert_best(params, *family, player)


@given(families(in_flight=True, proofs=True), st.integers(0, 1))
@settings(max_examples=50)
def test_proofs_mean_nothing_without_the_solver(case: tuple[Child, list[Child]], player: int) -> None:
    parent, children = case
    unproven = [(visits, total, unobserved, UNPROVEN) for visits, total, unobserved, _ in children]
    assert pick(family(parent, children), KNOBS, ROOT, player) == pick(
        family(parent, unproven), KNOBS, ROOT, player
    )


def test_of_equal_scores_the_first_wins() -> None:
    twins = [(5, 1, 0, UNPROVEN)] * 4
    assert pick(family((20, 4, 0, UNPROVEN), twins), KNOBS, ROOT, 0)[0] == 0
    assert pick(family((20, 4, 0, UNPROVEN), [(5, 0, 0, UNPROVEN), *twins]), KNOBS, ROOT, 0)[0] == 1


def test_the_players_want_opposite_values() -> None:
    tree = family((20, 0, 0, UNPROVEN), [(10, 8, 0, UNPROVEN), (10, -8, 0, UNPROVEN)])
    assert [pick(tree, KNOBS, ROOT, player)[0] for player in (0, 1)] == [0, 1]


def test_visits_in_flight_move_exploration_and_not_the_mean() -> None:
    quiet, busy = (8, 4, 0, UNPROVEN), (8, 4, 24, UNPROVEN)
    parent = (16, 8, 24, UNPROVEN)
    assert pick(family(parent, [busy, quiet]), KNOBS, ROOT, 0)[0] == 1
    greedy = KNOBS._replace(exploration=0.0)
    assert pick(family(parent, [busy, quiet]), greedy, ROOT, 0)[0] == 0
    assert pick(family(parent, [busy, quiet]), greedy._replace(virtual_loss=True), ROOT, 0)[0] == 1
    assert pick(family(parent, [busy]), greedy, ROOT, 0)[1] == pytest.approx(0.5)
    assert pick(family(parent, [quiet]), greedy, ROOT, 0)[1] == pytest.approx(0.5)


def test_virtual_losses_are_the_choosers() -> None:
    greedy = KNOBS._replace(exploration=0.0, virtual_loss=True)
    tree = family((4, 0, 4, UNPROVEN), [(4, 0, 4, UNPROVEN)])
    assert pick(tree, greedy, ROOT, 0)[1] == pick(tree, greedy, ROOT, 1)[1] == -0.5


def test_a_first_visit_in_flight_is_believed_to_be_like_the_parent() -> None:
    greedy = KNOBS._replace(exploration=0.0)
    tree = family((10, 6, 1, UNPROVEN), [(0, 0, 1, UNPROVEN)])
    assert pick(tree, greedy, ROOT, 0)[1] == pytest.approx(0.6)
    assert pick(tree, greedy, ROOT, 1)[1] == pytest.approx(-0.6)
    assert pick(family((0, 0, 2, UNPROVEN), [(0, 0, 2, UNPROVEN)]), greedy, ROOT, 0)[1] == 0.0


def test_a_proven_child_is_taken_or_left() -> None:
    params = KNOBS._replace(solver=True)
    children = [(1, 1, 0, SECOND_WINS), (50, -50, 0, UNPROVEN), (1, -1, 0, FIRST_WINS)]
    parent = (52, -50, 0, UNPROVEN)
    assert pick(family(parent, children), params, ROOT, 0) == (2, math.inf)
    assert pick(family(parent, children[:2]), params, ROOT, 0)[0] == 1
    assert pick(family(parent, children[:1]), params, ROOT, 0) == (0, -math.inf)
    assert pick(family(parent, children), params, ROOT, 1) == (0, math.inf)


@given(
    st.lists(st.sampled_from([UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS]), min_size=1, max_size=6),
    st.booleans(),
    st.integers(0, 1),
)
@settings(max_examples=EXAMPLES)
def test_what_children_prove(proofs: list[int], complete: bool, player: int) -> None:
    """A proven value is DRAWN - proof; the mover takes the best, if all are known or one is a win."""
    sign = 1 - 2 * player
    values = [sign * (DRAWN - proof) for proof in proofs if proof != UNPROVEN]
    expected = UNPROVEN
    if 1 in values or (complete and len(values) == len(proofs)):
        expected = DRAWN - sign * max(values)
    children = [(1, 0, 0, proof) for proof in proofs]
    tree = family((len(proofs), 0, 0, UNPROVEN), children, complete)
    assert prove(tree, ROOT, player) == expected
