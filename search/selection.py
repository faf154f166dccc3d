"""Selection: which child a simulation goes to (UCB1, with visits in flight counted in exploration).

The score of child i of node s for the player who moves at s is

    Q_i + 2 C sqrt(ln(N_s + O_s) / (N_i + O_i))

UCT (Kocsis and Szepesvari 2006) with unobserved samples O (Liu et al. 2020, equation 4).
Q is the mean in [-1, 1]; C is on the scale of rewards in [0, 1], hence the 2.

Logarithms and roots come from IEEE-exact operations alone, never from a machine's math
library, so that a worker on another machine chooses the same child.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.specialise import cached_njit
from search.features import EVALUATED
from search.tree import (
    COMPLETE,
    COUNT_MASK,
    DRAWN,
    FIRST_WINS,
    PROOF_SHIFT,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    num_children,
    proof,
    set_proof,
)


class Knobs(NamedTuple):
    """What the loop is told about the algorithm; plain numbers, so that a kernel takes it as it is."""

    exploration: float
    """2 C."""
    first_play_urgency: float
    """The score of an untried move on the scale of Q; infinity tries every move before any twice."""
    solver: bool
    """Whether proven wins, losses and draws are propagated (MCTS-Solver)."""
    anticipated: int
    """Unobserved samples added for each visit of one's own: what the other lanes are expected to do."""
    virtual_loss: bool
    """Whether visits in flight count as lost for the player who chose them, instead of as unobserved."""
    perturbation: float
    """tree: by how many standard errors the means of a snapshot are moved."""
    share: int
    """Which of the visits that a round makes of a node are this lane's (search/unfolding.py)..."""
    num_shares: int
    """...if each of so many lanes makes one."""
    order: int
    """What the order of untried moves begins with, the same for all lanes; at least 0."""
    implicit: float
    """Implicit minimax (search/heuristics.py): the share a of the evaluations in what a child is worth."""
    bias: float
    """Progressive bias: b."""
    widening: int
    """Progressive unpruning (search/widening.py): the moves that a node begins with."""
    paired: int
    """Hidden information: the root's moves that search each determinization, one after the other."""
    playout_plies: int
    """Steered playouts (search/playouts.py): the plies after which they are cut."""
    first_policy: int
    """Steered playouts: how the first player moves, one of search.playouts.POLICIES..."""
    second_policy: int
    """...and the second."""
    exploration_base: float
    """PUCT (search/puct.py): c_base."""
    urgency_reduction: float
    """PUCT: how much less than its parent a child without visits is worth, if the policy liked the
    visited ones."""


_LN_2 = 0.6931471805599453
_TABLE_SIZE = 65_536
"""Counts below this are looked up: half a megabyte a table, of which a search touches the front."""
_LARGEST = np.uint64(_TABLE_SIZE)
_TWO = np.uint64(2)


def _exact_logs(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """ln n by 2 artanh((m - 1) / (m + 1)) + e ln 2, n = m 2**e, summed in a fixed order."""
    mantissas, exponents = np.frexp(counts.astype(np.float64))
    s = (mantissas - 1.0) / (mantissas + 1.0)
    z = s * s
    series = np.zeros_like(s)
    for k in range(41, 0, -2):
        series = series * z + 1.0 / k
    return 2.0 * s * series + exponents * _LN_2


_COUNTS = np.arange(1, _TABLE_SIZE)
LOG = np.concatenate(([0.0], _exact_logs(_COUNTS)))
"""[n] ln n."""
LOG[1] = 0.0
SQRT_LOG = np.sqrt(LOG)
"""[n] sqrt(ln n)."""
INVERSE_SQRT = np.concatenate(([1.0], 1.0 / np.sqrt(_COUNTS)))
"""[n] 1 / sqrt(n)."""


@njit
def natural_log(n: Int) -> float:
    """ln n for n >= 1, to 1e-9 or better, from exact operations alone.

    ln n = ln m + k ln 4 + ln(1 + d), where m = n >> 2 k is small enough for the table of logarithms.
    """
    m = np.uint64(n)
    shifted = np.uint64(0)
    while m >= _LARGEST:
        m >>= _TWO
        shifted += _TWO
    d = float(np.uint64(n) - (m << shifted)) / float(m << shifted)
    return LOG[m] + float(shifted) * _LN_2 + d * (1.0 - d * (0.5 - d * 0.3333333333333333))  # type: ignore[no-any-return]


@njit
def sqrt_log(n: Int) -> float:
    if n < _TABLE_SIZE:
        return SQRT_LOG[np.uint64(n)]  # type: ignore[no-any-return]
    return math.sqrt(natural_log(n))


@njit
def inverse_sqrt(n: Int) -> float:
    if n < _TABLE_SIZE:
        return INVERSE_SQRT[np.uint64(n)]  # type: ignore[no-any-return]
    return 1.0 / math.sqrt(n)


@njit
def best_child(tree: Tree, knobs: Knobs, node: Int, player: Int) -> tuple[int, float]:
    """The slot (among its siblings) and score of the child that ``player``, who moves here, goes to.

    The node has at least one child. With the solver, a child that is proven lost for the
    player is taken only if there is no other, one that is proven won at once, and one that is
    a proven draw scores its value, with nothing left to explore. Of equal scores the first wins.
    """
    sign = 1.0 - 2.0 * player
    # Unsigned, so that no access asks whether the index is negative.
    here = np.uint64(node)
    first = np.uint64(tree.children[here])
    count = np.int64(tree.shape[here]) & COUNT_MASK
    visits_here = np.int64(tree.visits[here])
    in_flight_here = np.int64(tree.unobserved[here])
    explore = knobs.exploration * sqrt_log(visits_here + in_flight_here)
    # Where nothing is in flight here, nothing is below, unless a lane expects it there; the compiler makes
    # this a loop of its own.
    plain = in_flight_here == 0 and knobs.anticipated == 0 and not knobs.solver and not EVALUATED
    won = FIRST_WINS if player == 0 else SECOND_WINS
    lost = SECOND_WINS if player == 0 else FIRST_WINS
    best_slot = 0
    best_score = -math.inf
    for slot in range(count):
        child = first + np.uint64(slot)
        visits = np.int64(tree.visits[child])
        value = sign * tree.total_value[child]
        if plain:
            scale = inverse_sqrt(visits)
            score = scale * (value * scale + explore)
        else:
            if knobs.solver:
                known = (np.int64(tree.shape[child]) >> PROOF_SHIFT) & 3
                if known == won:
                    return slot, math.inf
                if known == lost:
                    continue
                if known == DRAWN:
                    # Its value is known: only a sibling that may be better is worth a visit.
                    if best_score < 0.0:
                        best_score = 0.0
                        best_slot = slot
                    continue
            in_flight = np.int64(tree.unobserved[child])
            scale = inverse_sqrt(visits)
            mean = value * scale * scale
            if knobs.virtual_loss and in_flight > 0:
                mean = (value - in_flight) / (visits + in_flight)
            elif visits == 0 and visits_here > 0:
                # A child whose first visit is still in flight is believed to be as good as its parent.
                mean = sign * tree.total_value[here] / visits_here
            if EVALUATED:
                # A constant: asked of the knobs, in this loop, it would cost `tree` a quarter of its speed.
                mean += knobs.implicit * (sign * np.float64(tree.heuristic[child]) - mean)
            score = mean + explore * inverse_sqrt(visits + in_flight)
            if EVALUATED:
                score += knobs.bias * sign * np.float64(tree.heuristic[child]) / (visits + in_flight + 1)
        if score > best_score:
            best_score = score
            best_slot = slot
    return best_slot, best_score


@njit
def proof_from_children(tree: Tree, node: Int, player: Int) -> int:
    """What the children prove of a node at which ``player`` moves (UNPROVEN where they do not).

    A win needs one child; a loss or draw needs every legal move to have a proven child.
    MCTS-Solver (Winands, Bjornsson, Saito 2008, section 3).
    """
    won = FIRST_WINS if player == 0 else SECOND_WINS
    result = SECOND_WINS if player == 0 else FIRST_WINS
    all_proven = (np.int64(tree.shape[node]) & COMPLETE) != 0
    first = np.int64(tree.children[node])
    for child in range(first, first + num_children(tree, node)):
        known = proof(tree, child)
        if known == won:
            return won
        if known == UNPROVEN:
            all_proven = False
        elif known == DRAWN:
            result = DRAWN
    return result if all_proven else UNPROVEN


@cached_njit
def prove_root(tree: Tree, player: Int, num_legal: Int) -> None:
    """Note what the root's children prove of it, from whichever lanes they come; modified in place."""
    if proof(tree, ROOT) != UNPROVEN:
        return
    if num_children(tree, ROOT) == num_legal:
        tree.shape[ROOT] |= np.uint16(COMPLETE)
    result = proof_from_children(tree, ROOT, player)
    if result != UNPROVEN:
        set_proof(tree, ROOT, result)
