"""Values: what a leaf is worth, and how that goes up the path; and what implicit minimax notes of a leaf.

Of two players with a return at the end, a node's total value is the sum of the first player's returns. Of
other problems (SCORED) it is the sum of Q samples of the move that leads to it: the reward of that move, plus
the discount times what followed. Backing up goes from the leaf to the root,

    G = r + discount * G,    total_value[node] += G,

and the root gets what the first move got. With one player or two, G is the first player's. With three or more
each player maximises a score of its own (max^n, Luckhardt and Irani 1986): the total value of a node is that
of the player who moves at its parent, who alone compares it, and there is no discount. So merging stays a
sum, and trees keep their form. Where chance moves, nothing is compared, and nothing discounted.

Rewards are differences of scores (`Rules.returns`, `Rules.score`), which a descent notes on its way.

Implicit minimax (Lanctot, Winands, Pepels and Sturtevant 2014) keeps v of each node, the minimax of the
evaluations in the tree below it, and selects by (1 - a) Q + a v: see `search.kernel.uct.best_child`.

Proofs are wins, losses and draws that no further visit can change (MCTS-Solver: Winands, Bjornsson and Saito
2008, section 3; draws are proven as well).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import DISCOUNT, PLAYERS, REWARDS, evaluate, is_terminal, returns, score
from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from games.rng import Stream
from games.rules import State
from search.kernel.learning import back_up_learnt, place_of
from search.kernel.params import CHANCE_CODE, EVALUATED, LEARNT, LINES, SCORED, SearchParams
from search.kernel.playout import leaf_playout
from search.kernel.workspace import LENGTH, VALUE, Workspace
from search.tree.arena import (
    COMPLETE,
    DRAWN,
    FIRST_WINS,
    ROOT,
    SECOND_WINS,
    UNPROVEN,
    Tree,
    num_children,
    proof,
    set_proof,
)


def note_score(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """Generic: note in the workspace what the score is at work.nodes[depth], where ``player`` moves."""
    if PLAYERS > 2:
        work.scores[depth] = score(state, max(np.int64(player), np.int64(0))) if REWARDS else 0.0
    else:
        work.scores[depth] = returns(state) if REWARDS else 0.0
    if LEARNT:
        work.places[depth] = place_of(state, work)


def score_at_end(state: State, player: Int) -> float:
    """Generic: a player's score where a simulation ends; without rewards 0 where its playout was cut."""
    return score(state, player) if REWARDS or is_terminal(state) else 0.0


def value_of_leaf(tree: Tree, params: SearchParams, depth: Int, work: Workspace, stream: Stream) -> float:
    """Generic: what one visit to work.nodes[depth], whose position is in work.state, comes to.

    That is the first player's return or, if nodes are SCORED, the discounted rewards that follow; with three
    or more players 0, and work.ends holds each player's score at the end. If nodes are EVALUATED, the tree
    notes what the leaf's evaluation is.
    """
    if EVALUATED:
        note_heuristic(tree, params, work, depth)
    if not SCORED:
        known = proof(tree, work.nodes[depth])
        if known != UNPROVEN:
            return float(DRAWN - known)
        if is_terminal(work.state):
            return returns(work.state)
        return leaf_playout(params, work, stream)
    work.best[LENGTH] = 0.0
    if LEARNT:
        # A finished position has no cell.
        work.cells[0] = -1
    value = 0.0
    if is_terminal(work.state):
        work.scores[depth] = returns(work.state)
    else:
        work.scores[depth] = returns(work.state) if REWARDS else 0.0
        value = leaf_playout(params, work, stream)
    if PLAYERS > 2:
        for player in range(PLAYERS):
            work.ends[player] = score_at_end(work.state, player)
    return value


def back_up(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> None:
    """Generic: add one visit with this value of the leaf, work.nodes[depth], to the nodes of the path, in
    place, and carry a proof of the leaf up; the line is kept if none of this job was better."""
    if not SCORED:
        for d in range(depth + 1):
            node = np.uint64(work.nodes[d])
            tree.visits[node] += 1
            tree.total_value[node] += value
        if params.solver:
            spread_proof(tree, work.nodes, work.movers, depth)
        return
    sample = value
    if LEARNT:
        value, sample = back_up_learnt(tree, work, depth, value)
    else:
        if PLAYERS > 2:
            value = 0.0
        for d in range(depth, 0, -1):
            node = np.uint64(work.nodes[d])
            by_chance = work.movers[d - 1] == CHANCE_CODE
            if PLAYERS > 2:
                value = work.ends[0 if by_chance else np.int64(work.movers[d - 1])] - work.scores[d - 1]
            else:
                factor = 1.0 if by_chance else DISCOUNT
                value = (work.scores[d] - work.scores[d - 1]) + factor * value
            tree.visits[node] += 1
            tree.total_value[node] += value
        sample = value
    tree.visits[ROOT] += 1
    tree.total_value[ROOT] += sample
    if PLAYERS > 2:
        for player in range(PLAYERS):
            work.totals[player] += work.ends[player]
    if LINES and value > work.best[VALUE]:
        for d in range(depth):
            work.best_line[1 + d] = tree.move[work.nodes[d + 1]]
        keep_line(work, depth, value)


@inner_njit
def keep_line(work: Workspace, depth: Int, value: float) -> None:
    """Complete the best line of the job, worth ``value``: its first ``depth`` moves are in work.best_line,
    and the moves of the playout follow them. The workspace is modified in place."""
    plies = np.int64(work.best[LENGTH])
    work.best[VALUE] = value
    for k in range(plies):
        work.best_line[1 + depth + k] = work.line[k]
    work.best_line[0] = depth + plies


def reset_outlook(work: Workspace) -> None:
    """Forget the best line and the totals of the job before; the workspace is modified in place."""
    work.best[VALUE] = -math.inf
    work.totals[:] = 0.0


def note_heuristic(tree: Tree, params: SearchParams, work: Workspace, depth: Int) -> None:
    """Generic: evaluate a leaf without visits, at the end of the path, and note in the tree what was found.

    Its value is carried up by minimax as far as it changes anything.
    """
    leaf, state = work.nodes[depth], work.state
    if tree.visits[leaf] != 0:
        return
    tree.heuristic[leaf] = returns(state) if is_terminal(state) else evaluate(state)
    for d in range(depth - 1, -1, -1):
        node, sign, best = work.nodes[d], 1.0 - 2.0 * work.movers[d], -math.inf
        first = np.int64(tree.children[node])
        for child in range(first, first + num_children(tree, node)):
            best = max(best, sign * np.float64(tree.heuristic[child]))
        if tree.heuristic[node] == sign * best:
            return
        tree.heuristic[node] = sign * best


@inner_njit
def note_result(tree: Tree, node: Int, value: float) -> None:
    """Note a finished position as proven if its return is 1, -1 or 0; modifies the tree."""
    if value == 1.0:
        set_proof(tree, node, FIRST_WINS)
    elif value == -1.0:
        set_proof(tree, node, SECOND_WINS)
    elif value == 0.0:
        set_proof(tree, node, DRAWN)


@inner_njit
def proof_from_children(tree: Tree, node: Int, player: Int) -> int:
    """What the children prove of a node at which ``player`` moves (UNPROVEN where they do not).

    A win needs one child; a loss or draw needs every legal move to have a proven child.
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


@inner_njit
def spread_proof(tree: Tree, nodes: npt.NDArray[np.int32], movers: npt.NDArray[np.uint8], depth: Int) -> None:
    """Carry the proof of the leaf nodes[depth] up the path as far as it reaches; modifies the tree.

    ``movers[d]`` is who moves at nodes[d].
    """
    for d in range(depth - 1, -1, -1):
        if proof(tree, nodes[d + 1]) == UNPROVEN:
            return
        if proof(tree, nodes[d]) == UNPROVEN:
            result = proof_from_children(tree, nodes[d], movers[d])
            if result == UNPROVEN:
                return
            set_proof(tree, nodes[d], result)


@cached_njit
def prove_root(tree: Tree, player: Int, num_legal: Int) -> None:
    """Note what the root's children prove of it, from whichever lanes they come; modifies the tree.

    ``player`` moves at the root, which has ``num_legal`` legal moves.
    """
    if proof(tree, ROOT) != UNPROVEN:
        return
    if num_children(tree, ROOT) == num_legal:
        tree.shape[ROOT] |= np.uint16(COMPLETE)
    result = proof_from_children(tree, ROOT, player)
    if result != UNPROVEN:
        set_proof(tree, ROOT, result)
