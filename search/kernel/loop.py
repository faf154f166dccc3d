"""The search loop: selection, expansion, playout, backup, written once for every game and every algorithm.

These are generic functions. They call the rules of a game by the names in `games.compile.rule_stubs`, and
branch by the constants in `search.kernel.params`. `search.kernel.wiring` makes from each of them a function
of one game and one algorithm, compiled when the game's rules are.

One simulation of a sequential search is a start, descend, value_of_leaf, and the backup. Leaf parallelisation
makes many descents first (`select_leaves`), has the leaves played out elsewhere (`play_out_leaves`), and
backs the results up when they return (`absorb_leaves`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    CHANCES,
    DISCOUNT,
    HIDDEN,
    PLAYERS,
    REWARDS,
    current_player,
    determinize,
    is_terminal,
    legal_moves,
    play,
    playout,
    random_move,
    returns,
    score,
)
from games.jit import Int
from games.rng import Stream
from games.rules import CHANCE, MAX_MOVE_CODE, Moves, State
from search.kernel.backup import (
    back_up,
    keep_line,
    note_result,
    note_score,
    score_at_end,
    spread_proof,
    value_of_leaf,
)
from search.kernel.known import is_missing
from search.kernel.lazy_snapshot import unfold
from search.kernel.params import CHANCE_CODE, FORCES, KNOWN, LEAF, PAIRED, SCORED, SearchParams
from search.kernel.playout import leaf_playout
from search.kernel.select import deal_paired, select_or_expand
from search.kernel.workspace import COUNT, LENGTH, NUMBER, VALUE, Leaves, Workspace
from search.tree.arena import DRAWN, PROOF_SHIFT, ROOT, UNPROVEN, Tree, num_children, proof

ANY_MOVE = MAX_MOVE_CODE + 1
"""In place of a move for `play_flat`: a random one."""
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
        if SCORED:
            note_score(state, work, depth, player)
        if PLAYERS > 2:
            # Every player maximises.
            player = min(player, 0)
        count = num_children(tree, node)
        if FORCES and work.place[NUMBER] != 0:
            work.place[COUNT] = count
        slot = select_or_expand(tree, params, node, depth, player, visits, work, stream)
        if FORCES and work.place[NUMBER] != 0:
            node, count = np.uint64(work.nodes[depth]), work.place[COUNT]
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


def simulate(
    tree: Tree, params: SearchParams, root_state: State, simulations: int, stream: Stream, work: Workspace
) -> int:
    """Generic: grow the tree by that many simulations; returns how many were made.

    Fewer are made only when the root is proven. Tree, stream and workspace are modified in place.
    """
    for done in range(simulations):
        if proof(tree, ROOT) != UNPROVEN:
            return done
        if PAIRED:
            deal_paired(tree, params, root_state, done, stream, work)
        else:
            determinize(root_state, work.state, stream)
        work.nodes[0] = ROOT
        depth = descend(tree, params, _AT_ROOT, _ONE_VISIT, work, stream)
        value = value_of_leaf(tree, params, depth, work, stream)
        back_up(tree, params, work, depth, value)
        if params.anticipated != 0:
            for d in range(depth + 1):
                tree.unobserved[work.nodes[d]] += params.anticipated
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
    written; tree and stream are modified in place. Where positions are KNOWN ones and one is missing, returns
    the index of the leaf whose path leads to it: the batch is to be filled from that leaf on.
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
            if SCORED and d < depth:
                leaves.scores[b, d] = work.scores[d]
        if KNOWN and is_missing(work.state):
            return b
        for d in range(depth + 1):
            tree.unobserved[work.nodes[d]] += leaves.visits[b]
    return len(leaves.depths)


def play_out_leaves(
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

    To ``sums`` ([B], or [B x players] from three players on) are written the sums of the first player's
    returns; with rewards those of the Q samples of the leaf's last move; from three players on those of each
    player's score at the end. The best line of the batch is kept in the workspace, which is modified in place
    as the stream is.
    """
    values = PLAYERS if PLAYERS > 2 else 1
    for b in range(len(visits)):
        if HIDDEN:
            work.draw[0], work.draw[1] = draws[b, 0], draws[b, 1]
        determinize(root_state, work.leaf_state, work.draw)
        depth = np.int64(depths[b])
        before = returns(work.leaf_state) if REWARDS else 0.0
        came, weight, reward, factor = 0.0, 1.0, 0.0, 1.0
        for d in range(depth):
            chosen = not CHANCES or current_player(work.leaf_state) != CHANCE
            play(work.leaf_state, np.int64(moves[b, d]))
            if SCORED:
                after = returns(work.leaf_state) if REWARDS or is_terminal(work.leaf_state) else 0.0
                factor = DISCOUNT if chosen else 1.0
                reward = after - before
                before = after
                came += weight * reward
                weight *= factor
        for player in range(values):
            sums[b * values + player] = 0.0
        for _ in range(visits[b]):
            for i in range(len(work.state)):
                work.state[i] = work.leaf_state[i]
            work.best[LENGTH] = 0.0
            if is_terminal(work.state):
                future = 0.0 if SCORED else returns(work.state)
            else:
                future = leaf_playout(params, work, stream)
            if PLAYERS > 2:
                for player in range(PLAYERS):
                    sums[b * values + player] += score_at_end(work.state, player)
                continue
            sums[b] += reward + factor * future
            if SCORED and came + weight * future > work.best[VALUE]:
                for d in range(depth):
                    work.best_line[1 + d] = moves[b, d]
                keep_line(work, depth, came + weight * future)


def absorb_leaves(
    tree: Tree, params: SearchParams, leaves: Leaves, sums: npt.NDArray[np.float64], work: Workspace
) -> None:
    """Generic: back the batch up; its visits are in flight no more. Tree and workspace are modified in place.

    ``sums`` as `play_out_leaves` writes them. A leaf that has been proven meanwhile counts with its proven
    value.
    """
    for b in range(len(leaves.depths)):
        depth = np.int64(leaves.depths[b])
        visits = np.int64(leaves.visits[b])
        node: Int = ROOT
        work.nodes[0] = ROOT
        for d in range(depth):
            node = np.int64(tree.children[node]) + np.int64(leaves.slots[b, d])
            work.nodes[d + 1] = node
            work.movers[d] = leaves.movers[b, d]
        value = sums[b] if PLAYERS <= 2 else 0.0
        if not SCORED:
            known = proof(tree, node)
            if known != UNPROVEN:
                value = float(visits * (DRAWN - known))
        for d in range(depth, -1, -1):
            if SCORED and d > 0:
                mover = np.int64(leaves.movers[b, d - 1])
                if PLAYERS > 2:
                    player = 0 if mover == CHANCE_CODE else mover
                    value = sums[b * PLAYERS + player] - visits * leaves.scores[b, d - 1]
                elif d < depth:
                    factor = 1.0 if mover == CHANCE_CODE else DISCOUNT
                    value = visits * (leaves.scores[b, d] - leaves.scores[b, d - 1]) + factor * value
            node = np.int64(work.nodes[d])
            tree.visits[node] += visits
            tree.unobserved[node] -= visits
            tree.total_value[node] += value
        if params.solver:
            spread_proof(tree, work.nodes, work.movers, depth)


def reach_leaves(
    root_state: State,
    moves: npt.NDArray[np.uint16],
    depths: npt.NDArray[np.int32],
    states: npt.NDArray[Any],
    movers: npt.NDArray[np.uint8],
    scores: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int32],
    legal: npt.NDArray[np.uint16],
    scratch: Moves,
) -> None:
    """Generic: play the first depths[b] of moves[b] from the root, for each b, and describe where they lead.

    These are written: ``states`` [B, state length]; ``movers``, ``scores`` and ``counts`` [B] as in
    `search.job.Positions`; ``legal`` [B, max_moves]: the legal moves.
    """
    for b in range(len(depths)):
        state = states[b]
        for i in range(len(root_state)):
            state[i] = root_state[i]
        for d in range(depths[b]):
            play(state, np.int64(moves[b, d]))
        movers[b], scores[b], counts[b] = 0, 0.0, 0
        if is_terminal(state):
            scores[b] = returns(state)
            continue
        player = current_player(state)
        movers[b] = player & 255
        if REWARDS:
            scores[b] = score(state, player) if PLAYERS > 2 else returns(state)
        counts[b] = legal_moves(state, scratch)
        for k in range(counts[b]):
            legal[b, k] = scratch[k]


def play_flat(
    root_state: State,
    params: SearchParams,
    moves: npt.NDArray[np.uint16],
    values: npt.NDArray[np.float64],
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: set ``values[i]`` to what a playout after ``moves[i]`` comes to, its rewards discounted.

    ``values`` is float64[n], with one player or two the first player's, from three on those of the player who
    moves. After ANY_MOVE a random move is played. Stream and workspace are modified in place. With hidden
    information each playout has a determinization of its own.
    """
    for i in range(len(moves)):
        determinize(root_state, work.state, stream)
        player = current_player(work.state)
        before = 0.0
        if REWARDS:
            before = score(work.state, player) if PLAYERS > 2 else returns(work.state)
        move = np.int64(moves[i])
        if move == ANY_MOVE:
            move = np.int64(random_move(work.state, work.moves, stream))
        play(work.state, move)
        after = returns(work.state) if REWARDS or is_terminal(work.state) else 0.0
        future = 0.0 if is_terminal(work.state) else leaf_playout(params, work, stream)
        if PLAYERS > 2:
            values[i] = score_at_end(work.state, player) - before
        else:
            values[i] = (after - before) + DISCOUNT * future


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
