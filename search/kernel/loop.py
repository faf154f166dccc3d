"""The search loop: selection, expansion, playout, backup, written once for every game and every algorithm.

These are generic functions. They call the rules of a game by the names in `games.compile.rule_stubs`, and
what differs between algorithms by the names in `search.kernel.stubs`. `search.kernel.engine` makes from each
of them a function of one game and one algorithm, compiled when the game's rules are.

One simulation of a sequential search is deal, descend, value_of_leaf, and the backup. Leaf parallelisation
makes many descents first (`select_leaves`), has the leaves played out elsewhere (`evaluate_leaves`), and
backs the results up when they return (`absorb_leaves`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    HIDDEN,
    PLAYERS,
    current_player,
    determinize,
    is_terminal,
    play,
    playout,
    returns,
)
from games.jit import Int, inner_njit
from games.rng import Stream
from games.rules import State
from search.kernel.lazy_snapshot import unfold
from search.kernel.params import SearchParams
from search.kernel.solver import note_result, spread_proof
from search.kernel.stubs import (
    LEAF,
    asked_for,
    back_up,
    deal,
    keep_path,
    leaf_playout,
    note_leaf,
    note_score,
    select_or_expand,
)
from search.kernel.workspace import Leaves, Workspace
from search.tree.arena import DRAWN, PROOF_SHIFT, ROOT, UNPROVEN, Tree, num_children, proof

_ONE = np.uint64(1)
# All callers give `descend` these types: it is compiled anew for any others.
_AT_ROOT, _ONE_VISIT = np.int64(0), np.int64(1)


def descend(
    tree: Tree, params: SearchParams, begin: Int, visits: Int, work: Workspace, stream: Stream
) -> int:
    """Generic: go from work.nodes[begin], whose position is in work.state, to a leaf; returns its depth.

    ``visits`` is how many visits the leaf will stand for.

    The path is left in work.nodes, slots and movers, the leaf's position in work.state. A leaf is a new
    child, a finished position, a proven node, or a node at which `select_or_expand` ends: with priors one
    that waits for its evaluation, and where the arena is full one without children. Beside the children of
    lazy nodes on the path the tree gains at most one node.
    """
    state = work.state
    # Indices are unsigned, so that no access asks whether they are negative.
    depth = np.uint64(begin)
    node = np.uint64(work.nodes[depth])
    while True:
        if np.int64(tree.shape[node]) >> PROOF_SHIFT != UNPROVEN:
            known = proof(tree, node) != UNPROVEN
            if known or not unfold(tree, node, work.base, params):
                return np.int64(depth)  # type: ignore[return-value]
        if is_terminal(state):
            if params.solver:
                note_result(tree, node, returns(state))
            return np.int64(depth)  # type: ignore[return-value]
        player = current_player(state)
        work.movers[depth] = player & 255
        note_score(state, work, depth, player)
        if PLAYERS > 2:
            # Every player maximises.
            player = min(player, 0)
        count = num_children(tree, node)
        slot = select_or_expand(tree, params, node, depth, player, visits, work, stream)
        if slot == LEAF:
            return np.int64(depth)  # type: ignore[return-value]
        work.slots[depth] = slot
        node = np.uint64(tree.children[node]) + np.uint64(slot)
        depth += _ONE
        work.nodes[depth] = node
        if slot == count:
            # A call of its own: inlined once for both cases, Thud's rules cost 3 % of its simulations.
            play(state, np.int64(tree.move[node]))
            return np.int64(depth)  # type: ignore[return-value]
        play(state, np.int64(tree.move[node]))


def deal_alone(
    tree: Tree, params: SearchParams, root_state: State, done: int, stream: Stream, work: Workspace
) -> None:
    """Generic: `search.kernel.stubs.deal` that gives each simulation a determinization of its own.

    Where nothing is hidden that is the position of the root.
    """
    determinize(root_state, work.state, stream)


def value_of_leaf(tree: Tree, params: SearchParams, depth: Int, work: Workspace, stream: Stream) -> float:
    """Generic: the first player's return of one visit to work.nodes[depth], whose position is in
    work.state."""
    known = proof(tree, work.nodes[depth])
    if known != UNPROVEN:
        return float(DRAWN - known)
    if is_terminal(work.state):
        return returns(work.state)
    return leaf_playout(params, work, stream)


@inner_njit
def back_up_return(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> None:
    """`search.kernel.stubs.back_up` where a return comes at the end."""
    for d in range(depth + 1):
        node = np.uint64(work.nodes[d])
        tree.visits[node] += 1
        tree.total_value[node] += value


@inner_njit
def no_score(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """`search.kernel.stubs.note_score` where a return comes at the end."""


@inner_njit
def keep_nothing(leaves: Leaves, b: int, depth: Int, work: Workspace) -> None:
    """`search.kernel.stubs.keep_path` where the path has no rewards."""


def simulate(
    tree: Tree, params: SearchParams, root_state: State, simulations: int, stream: Stream, work: Workspace
) -> int:
    """Generic: grow the tree by that many simulations; returns how many were made.

    Fewer are made only when the root is proven. Tree, stream and workspace are modified in place.
    """
    for done in range(simulations):
        if proof(tree, ROOT) != UNPROVEN:
            return done
        deal(tree, params, root_state, done, stream, work)
        work.nodes[0] = ROOT
        depth = descend(tree, params, _AT_ROOT, _ONE_VISIT, work, stream)
        note_leaf(tree, params, work.state, work.nodes, work.movers, depth)
        value = value_of_leaf(tree, params, depth, work, stream)
        back_up(tree, params, work, depth, value)
        if params.anticipated != 0:
            for d in range(depth + 1):
                tree.unobserved[work.nodes[d]] += params.anticipated
        if params.solver:
            spread_proof(tree, work.nodes, work.movers, depth)
    return simulations


def select_leaves(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    leaves: Leaves,
    begin: Int,
    stream: Stream,
    work: Workspace,
) -> int:
    """Generic: fill the batch from leaf ``begin`` on, one descent for each; returns the number of leaves.

    The visits of a leaf count as in flight on its whole path. ``leaves.visits`` is read, the other fields are
    written; tree and stream are modified in place. Where a position is asked for (`search.kernel.stubs`), the
    index of the leaf is returned whose path leads to that position: the batch is to be filled from there on.
    """
    for b in range(begin, len(leaves.depths)):
        leaves.draws[b, 0], leaves.draws[b, 1] = stream[0], stream[1]
        determinize(root_state, work.state, stream)
        work.nodes[0] = ROOT
        depth = descend(tree, params, _AT_ROOT, np.int64(leaves.visits[b]), work, stream)
        leaves.depths[b] = depth
        for d in range(depth + 1):
            if d > 0:
                leaves.moves[b, d - 1] = tree.move[work.nodes[d]]
            leaves.slots[b, d] = work.slots[d]
            leaves.movers[b, d] = work.movers[d]
        keep_path(leaves, b, depth, work)
        if asked_for(work.state):
            return b
        for d in range(depth + 1):
            tree.unobserved[work.nodes[d]] += leaves.visits[b]
    return len(leaves.depths)


def evaluate_leaves(
    root_state: State,
    params: SearchParams,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    visits: npt.NDArray[np.int32],
    draws: npt.NDArray[np.uint64],
    sums: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: play visits[b] playouts from leaf b, to which the first depths[b] of moves[b] lead.

    The sums of the first player's returns are written to ``sums`` ([B]); stream and workspace
    are modified in place.
    """
    for b in range(len(visits)):
        if HIDDEN:
            work.draw[0], work.draw[1] = draws[b, 0], draws[b, 1]
        determinize(root_state, work.leaf_state, work.draw)
        for d in range(depths[b]):
            play(work.leaf_state, np.int64(moves[b, d]))
        total = 0.0
        for _ in range(visits[b]):
            for i in range(len(work.state)):
                work.state[i] = work.leaf_state[i]
            total += returns(work.state) if is_terminal(work.state) else leaf_playout(params, work, stream)
        sums[b] = total


def absorb_leaves(
    tree: Tree, params: SearchParams, leaves: Leaves, sums: npt.NDArray[np.float64], work: Workspace
) -> None:
    """Generic: back the batch up; its visits are in flight no more. Tree and workspace are modified in place.

    A leaf that has been proven meanwhile counts with its proven value.
    """
    for b in range(len(leaves.depths)):
        depth = leaves.depths[b]
        node: Int = ROOT
        work.nodes[0] = ROOT
        for d in range(depth):
            node = np.int64(tree.children[node]) + np.int64(leaves.slots[b, d])
            work.nodes[d + 1] = node
            work.movers[d] = leaves.movers[b, d]
        visits = leaves.visits[b]
        total = sums[b]
        known = proof(tree, node)
        if known != UNPROVEN:
            total = float(visits * (DRAWN - known))
        for d in range(depth + 1):
            node = work.nodes[d]
            tree.visits[node] += visits
            tree.unobserved[node] -= visits
            tree.total_value[node] += total
        if params.solver:
            spread_proof(tree, work.nodes, work.movers, depth)


def play_out(
    root_state: State, playouts: int, results: npt.NDArray[np.int64], stream: Stream, work: Workspace
) -> int:
    """Generic: play that many random games from a position; returns their plies.

    ``results`` ([3], the first player's wins, draws, losses) is counted up in place.
    """
    plies = 0
    for _ in range(playouts):
        determinize(root_state, work.state, stream)
        plies += playout(work.state, work.moves, stream)
        value = returns(work.state)
        if value > 0.0:
            results[0] += 1
        elif value < 0.0:
            results[2] += 1
        else:
            results[1] += 1
    return plies
