"""The search loop: select, expand, evaluate, back up. Written once, for every game and every strategy.

These are generic functions: the rules that they call are the ones of `games.unbound`, which
only raise. `games.specialise` makes from each of them a function of one game, compiled when
the game's rules are. So this file is never called as it stands; `search.engine` hands out
what is made from it.

One simulation of a sequential search is descend, value_of_leaf, back up. Leaf parallelisation
makes many descents first (`select_leaves`), has the leaves evaluated elsewhere
(`evaluate_leaves`), and backs the results up when they return (`absorb_leaves`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import Stream
from games.rules import State
from games.unbound import (
    HIDDEN,
    current_player,
    determinize,
    is_terminal,
    legal_moves,
    play,
    playout,
    returns,
)
from search.alphabeta import Frames
from search.expansion import ALL_TRIED, own_share, untried_move
from search.features import DECISIVE, EVALUATED, PAIRED, PRIORS, WIDENED
from search.heuristics import note_heuristic
from search.information_sets import best_available, deal, unused
from search.playouts import leaf_playout, winning_move
from search.puct import best_by_prior
from search.selection import Knobs, best_child, proof_from_children
from search.tree import (
    COMPLETE,
    COUNT_MASK,
    DRAWN,
    FIRST_WINS,
    NO_BLOCK,
    PROOF_SHIFT,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    add_child,
    proof,
    set_proof,
)
from search.unfolding import Base, unfold
from search.widening import allowed, best_untried


class Workspace(NamedTuple):
    """Scratch of one running kernel; all of it is overwritten."""

    state: npt.NDArray[np.generic]
    """[state length] the position that a simulation has reached."""
    leaf_state: npt.NDArray[np.generic]
    """[state length] the position from which several playouts start."""
    moves: npt.NDArray[np.uint16]
    """[max_moves]"""
    slot_of: npt.NDArray[np.uint16]
    """[65,536] by move, whether it is tried, or the slot of a node's child + 1; all zero between uses."""
    used: npt.NDArray[np.int64]
    """[max_moves + 1] how many of the root's moves have searched this determinization, and which."""
    draw: npt.NDArray[np.uint64]
    """[2] the random stream of a leaf's determinization."""
    nodes: npt.NDArray[np.int32]
    """[max_plies + 1] the path: nodes from the root down."""
    slots: npt.NDArray[np.uint16]
    """[max_plies + 1] the path: slots[d] is the place of nodes[d + 1] among its siblings."""
    movers: npt.NDArray[np.uint8]
    """[max_plies + 1] the path: who moves at nodes[d]."""
    frames: Frames
    """For players in playouts who look ahead (search/alphabeta.py)."""
    tally: npt.NDArray[np.int64]
    """[2] playouts and plies played by them; counted up, never reset here."""
    base: Base
    """The snapshot that the tree began with, and of which folded nodes are rows; not scratch."""


_ONE = np.uint64(1)


class Leaves(NamedTuple):
    """A batch of B leaves on their way: selected, and not yet backed up."""

    moves: npt.NDArray[np.uint16]
    """[B, max_plies + 1] the way from the root to each leaf, as moves..."""
    slots: npt.NDArray[np.uint16]
    """[B, max_plies + 1] ...and as the places of its nodes among their siblings."""
    movers: npt.NDArray[np.uint8]
    """[B, max_plies + 1] who moves on that way."""
    depths: npt.NDArray[np.int32]
    """[B]"""
    visits: npt.NDArray[np.int32]
    """[B] how many visits the leaf stands for: its number of playouts."""
    draws: npt.NDArray[np.uint64]
    """[B, 2] the random stream that a leaf's determinization was drawn from."""


def descend(tree: Tree, knobs: Knobs, visits: int, work: Workspace, stream: Stream) -> int:
    """Go from the root (whose position is in work.state) to a leaf; returns its depth.

    ``visits`` is how many the leaf will stand for.

    The path is left in work.nodes, slots and movers, the leaf's position in work.state.
    A leaf is a new child, a finished position, a proven node, or, when the arena is full, a
    node without children. With priors any node without children is one: they come with its
    evaluation. Beside what is unfolded on the way, the tree may gain one node.
    """
    state = work.state
    # Indices are unsigned, so that no access asks whether they are negative.
    node = np.uint64(ROOT)
    depth = np.uint64(0)
    work.nodes[depth] = ROOT
    while True:
        shape = np.int64(tree.shape[node])
        if shape >> PROOF_SHIFT != UNPROVEN:
            known = proof(tree, node) != UNPROVEN
            if known or not unfold(tree, node, work.base, knobs, stream):
                return np.int64(depth)  # type: ignore[return-value]
            shape = np.int64(tree.shape[node])
        if is_terminal(state):
            if knobs.solver:
                _note_result(tree, node, returns(state))
            return np.int64(depth)  # type: ignore[return-value]
        player = current_player(state)
        work.movers[depth] = player
        slot = -1
        if HIDDEN:
            num_legal = legal_moves(state, work.moves)
            num_used = 0
            if PAIRED and depth == 0:
                num_used = work.used[0]
                num_legal = unused(work.used, work.moves, num_legal)
            slot, score, num_untried = best_available(
                tree, knobs, node, player, visits, work.moves, num_legal, work.slot_of
            )
            # Of the children only those count that are legal here: an answer always comes in.
            full = (
                WIDENED
                and slot >= 0
                and num_legal - num_untried + num_used
                >= allowed(knobs, np.int64(tree.visits[node]) + tree.unobserved[node])
            )
            if num_untried > 0 and score < knobs.first_play_urgency and not full:
                count = shape & COUNT_MASK
                if WIDENED:
                    move = best_untried(tree, node, state, work.moves, num_untried, stream)
                else:
                    move = own_share(tree, knobs, node, work.moves, num_untried, stream)
                child = add_child(tree, node, move)
                if child != NO_BLOCK:
                    tree.available[child] = visits
                    play(state, move)
                    work.slots[depth] = count
                    depth += _ONE
                    work.nodes[depth] = child
                    return np.int64(depth)  # type: ignore[return-value]
                if slot < 0:
                    return np.int64(depth)  # type: ignore[return-value]
        elif PRIORS:
            if shape & COUNT_MASK == 0:
                # Not evaluated yet, or in flight: one more visit of the same leaf.
                return np.int64(depth)  # type: ignore[return-value]
            slot = best_by_prior(tree, knobs, node, player)
        elif shape & COMPLETE == 0 and not (
            WIDENED
            and (shape & COUNT_MASK) >= allowed(knobs, np.int64(tree.visits[node]) + tree.unobserved[node])
        ):
            count = shape & COUNT_MASK
            num_legal = legal_moves(state, work.moves)
            if count == num_legal:
                tree.shape[node] |= np.uint16(COMPLETE)
            else:
                score = -math.inf
                if count > 0 and knobs.first_play_urgency < math.inf:
                    slot, score = best_child(tree, knobs, node, player)
                if score < knobs.first_play_urgency:
                    won = winning_move(state, work, num_legal) if DECISIVE and count == 0 else -1
                    if won >= 0:
                        move = won
                    elif WIDENED:
                        move = best_untried(tree, node, state, work.moves, num_legal, stream)
                    else:
                        move = untried_move(
                            tree, knobs, work.nodes, depth, work.moves, num_legal, work.slot_of, stream
                        )
                    child = NO_BLOCK if move == ALL_TRIED else add_child(tree, node, move)
                    if child != NO_BLOCK:
                        if won >= 0:
                            # No other move is of interest, so it is all of them.
                            tree.shape[node] |= np.uint16(COMPLETE)
                        play(state, move)
                        work.slots[depth] = count
                        depth += _ONE
                        work.nodes[depth] = child
                        return np.int64(depth)  # type: ignore[return-value]
                    if count == 0:
                        return np.int64(depth)  # type: ignore[return-value]
        if slot < 0:
            slot, score = best_child(tree, knobs, node, player)
        work.slots[depth] = slot
        node = np.uint64(tree.children[node]) + np.uint64(slot)
        play(state, np.int64(tree.move[node]))
        depth += _ONE
        work.nodes[depth] = node


def value_of_leaf(tree: Tree, knobs: Knobs, leaf: Int, work: Workspace, stream: Stream) -> float:
    """The first player's return of one visit to the leaf whose position is in work.state."""
    known = proof(tree, leaf)
    if known != UNPROVEN:
        return float(DRAWN - known)
    if is_terminal(work.state):
        return returns(work.state)
    return leaf_playout(knobs, work, stream)


def simulate(
    tree: Tree, knobs: Knobs, root_state: State, simulations: int, stream: Stream, work: Workspace
) -> int:
    """Grow the tree by that many simulations; returns how many were made.

    Fewer are made only when the root is proven. Tree, stream and workspace are modified in place.
    """
    for done in range(simulations):
        if proof(tree, ROOT) != UNPROVEN:
            return done
        if PAIRED:
            deal(tree, knobs, root_state, done, stream, work)
        else:
            determinize(root_state, work.state, stream)
        depth = descend(tree, knobs, 1, work, stream)
        if PAIRED and depth > 0:
            work.used[0] += 1
            work.used[work.used[0]] = tree.move[work.nodes[1]]
        if EVALUATED:
            note_heuristic(tree, knobs, work.state, work.nodes, work.movers, depth)
        value = value_of_leaf(tree, knobs, work.nodes[depth], work, stream)
        for d in range(depth + 1):
            node = np.uint64(work.nodes[d])
            tree.visits[node] += 1
            tree.total_value[node] += value
        if knobs.anticipated != 0:
            for d in range(depth + 1):
                tree.unobserved[work.nodes[d]] += knobs.anticipated
        if knobs.solver:
            _spread_proof(tree, work.nodes, work.movers, depth)
    return simulations


def select_leaves(
    tree: Tree,
    knobs: Knobs,
    root_state: State,
    leaves: Leaves,
    stream: Stream,
    work: Workspace,
) -> None:
    """Fill the batch: one descent for each leaf, its visits counted as in flight on its whole path.

    ``leaves.visits`` is read, the other fields are written; tree and stream are modified in place.
    """
    for b in range(len(leaves.depths)):
        leaves.draws[b, 0], leaves.draws[b, 1] = stream[0], stream[1]
        determinize(root_state, work.state, stream)
        depth = descend(tree, knobs, int(leaves.visits[b]), work, stream)
        leaves.depths[b] = depth
        for d in range(depth + 1):
            tree.unobserved[work.nodes[d]] += leaves.visits[b]
            if d > 0:
                leaves.moves[b, d - 1] = tree.move[work.nodes[d]]
            leaves.slots[b, d] = work.slots[d]
            leaves.movers[b, d] = work.movers[d]


def evaluate_leaves(
    root_state: State,
    knobs: Knobs,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    visits: npt.NDArray[np.int32],
    draws: npt.NDArray[np.uint64],
    sums: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Play visits[b] playouts from the leaf that the first depths[b] of moves[b] lead to, for each b.

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
            total += returns(work.state) if is_terminal(work.state) else leaf_playout(knobs, work, stream)
        sums[b] = total


def absorb_leaves(
    tree: Tree, knobs: Knobs, leaves: Leaves, sums: npt.NDArray[np.float64], work: Workspace
) -> None:
    """Back the batch up: its visits are in flight no more. Tree and workspace are modified in place.

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
        if knobs.solver:
            _spread_proof(tree, work.nodes, work.movers, depth)


def play_out(
    root_state: State, playouts: int, results: npt.NDArray[np.int64], stream: Stream, work: Workspace
) -> int:
    """Play that many random games from a position; returns their plies.

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


@njit
def _note_result(tree: Tree, node: Int, value: float) -> None:
    """Note a finished position as proven where its value is the best, the worst, or a draw."""
    if value == 1.0:
        set_proof(tree, node, FIRST_WINS)
    elif value == -1.0:
        set_proof(tree, node, SECOND_WINS)
    elif value == 0.0:
        set_proof(tree, node, DRAWN)


@njit
def _spread_proof(
    tree: Tree, nodes: npt.NDArray[np.int32], movers: npt.NDArray[np.uint8], depth: int
) -> None:
    """Carry a proof from the leaf at the end of the path as far up as it reaches."""
    for d in range(depth - 1, -1, -1):
        if proof(tree, nodes[d + 1]) == UNPROVEN:
            return
        if proof(tree, nodes[d]) == UNPROVEN:
            result = proof_from_children(tree, nodes[d], movers[d])
            if result == UNPROVEN:
                return
            set_proof(tree, nodes[d], result)
