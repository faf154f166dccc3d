"""Which child a simulation goes to, against the formula with the machine's own logarithm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.compile.specialise import cached_njit
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


def family(parent: Child, children: list[Child]) -> Tree:
    """A tree of a root and its children."""
    tree = new_tree(1 + len(children))
    tree.children[ROOT] = 1
    tree.shape[ROOT] = len(children) | COMPLETE
    for node, (visits, total, unobserved, proof) in enumerate([parent, *children]):
        tree.visits[node] = visits
        tree.total_value[node] = total
        tree.unobserved[node] = unobserved
        if node != ROOT:
            tree.shape[node] = 0
        plain(set_proof)(tree, node, proof)
    return tree


def documented_score(params: SearchParams, parent: Child, child: Child, player: int) -> float:
    """Q + 2 C sqrt(ln(N_s + O_s) / (N_i + O_i)), Q by the rule for visits in flight or what is proven."""
    sign = 1 if player == 0 else -1
    visits, total, unobserved, proof = child
    if params.solver and proof != UNPROVEN:
        value = sign * (DRAWN - proof)
        return value * math.inf if value else 0.0
    if params.virtual_loss:
        mean = (sign * total - unobserved) / (visits + unobserved)
    elif visits:
        mean = sign * total / visits
    else:
        mean = sign * parent[1] / parent[0] if parent[0] else 0.0
    return mean + params.exploration * math.sqrt(math.log(parent[0] + parent[2]) / (visits + unobserved))


def test_logarithms_are_those_of_the_machine() -> None:
    """In the table and beyond it; as close as they are, they rise."""
    numbers = [*range(1, 40_000 if JIT else 20_000), *(2**k + d for k in range(15, 41) for d in (-1, 0, 1))]
    found = [logarithm_of(TABLE, n) for n in numbers]
    np.testing.assert_allclose(found, np.log(numbers), rtol=1e-9, atol=1e-9)


def test_the_table_holds_logarithms_and_roots() -> None:
    inverse_roots, roots_of_logs, logs = TABLE.reshape(3, -1)
    counts = np.arange(1, len(logs))
    np.testing.assert_allclose(logs[1:], np.log(counts), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(roots_of_logs[1:], np.sqrt(np.log(counts)), rtol=1e-14)
    np.testing.assert_allclose(inverse_roots[1:], counts**-0.5, rtol=1e-15)


@st.composite
def families(draw: st.DrawFn) -> tuple[Child, list[Child]]:
    """With or without visits in flight and proofs."""
    in_flight, proofs = draw(st.booleans()), draw(st.booleans())
    largest = draw(st.sampled_from([3, 50, 5000, 10**6]))
    children = []
    for _ in range(draw(st.integers(1, 12))):
        visits = draw(st.integers(0 if in_flight else 1, largest))
        unobserved = draw(st.integers(0 if visits else 1, largest)) if in_flight else 0
        total = draw(st.integers(-visits, visits))
        proof = draw(st.sampled_from([UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS])) if proofs else UNPROVEN
        children.append((visits, total, unobserved, proof))
    visits = sum(child[0] for child in children) + draw(st.integers(0, 3))
    unobserved = sum(child[2] for child in children) + (draw(st.integers(0, 3)) if in_flight else 0)
    return (visits, draw(st.integers(-visits, visits)), unobserved, UNPROVEN), children


@given(families(), st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.integers(0, 1), st.booleans(), st.booleans())
@settings(max_examples=600 if JIT else 300)
def test_the_best_child_is_the_formulas(
    given_: tuple[Child, list[Child]], exploration: float, player: int, solver: bool, virtual_loss: bool
) -> None:
    """Of equal ones the first: tests/search/test_sequential.py compares trees slot by slot."""
    parent, children = given_
    params = KNOBS._replace(exploration=exploration, solver=solver, virtual_loss=virtual_loss)
    slot, score = pick(family(parent, children), params, ROOT, player)
    scores = [documented_score(params, parent, child, player) for child in children]
    best = max(scores)
    if math.isinf(best):
        # A win, or nothing but losses.
        assert (slot, score) == (scores.index(best), best)
    else:
        assert score == pytest.approx(best, rel=1e-8, abs=1e-7)
        assert scores[slot] == pytest.approx(best, rel=1e-8, abs=1e-7)
