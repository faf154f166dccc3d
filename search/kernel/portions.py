"""Strategy tree: which subtrees of the shared tree each lane grows in a round, and by how many simulations.

Before a round the coordinator makes the selections of all its simulations in the shared tree, without
their results: each counts as unobserved (`plan_visits`). A *portion* is a subtree with the simulations that
are planned in it. The tree is cut into portions, from left to right, and each lane gets consecutive ones
(`divide`). A lane makes the simulations of a portion one after the other, from its first node on, as a
sequential search would (`grow_portions`). A subtree with fewer visits than are planned in it is not cut,
however large: it tells too little of where these should go. If it has more than a lane's visits, several
lanes grow it, each from the same statistics; all other subtrees are grown by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import PLAYERS, current_player, determinize, is_terminal, legal_moves, play
from games.compile.specialise import cached_njit
from games.jit import Int, inner_njit
from games.rng import Stream
from games.rules import CHANCE, State
from search.job import Portions
from search.kernel.backup import back_up, note_score, value_of_leaf
from search.kernel.expand import make_up, may_expand, moves_to_try
from search.kernel.lazy_snapshot import begin_tree, unfold
from search.kernel.learning import look_back
from search.kernel.loop import descend
from search.kernel.params import CHOSEN, COMPILED, LEAF, LEARNT, SCORED, SearchParams
from search.kernel.threads import THREAD_CPU, Marks, count_up, seconds_by, stream_of
from search.kernel.uct import best_child
from search.kernel.workspace import Workspace
from search.tree.arena import (
    COMPLETE,
    FULL,
    NO_BLOCK,
    NODES,
    PROOF_SHIFT,
    ROOT,
    UNPROVEN,
    USED,
    Tree,
    add_child,
    num_children,
    proof,
)
from search.tree.merge import ABSENT, Statistics, collect, find_child

NOWHERE = -1
TAKEN, STOPPED = 0, 8
"""Places of a batch's marks, a cache line each: how many portions were taken; whether no more should be."""
ROWS, MADE, GROWN, SLOTS, IS_FULL = range(5)
"""Columns of a batch's results: rows of increments, simulations; of the tree its nodes, the slots that it
used, and whether it was full."""
PLACE = 2**32 - 1
"""The bits of a portion's number that hold its place among the portions of its lane; those above hold the
lane."""


class Batch(NamedTuple):
    """P portions of a round, and what comes of them."""

    portions: Portions
    numbers: npt.NDArray[np.int64]
    """[P] (PLACE + 1) times the lane, plus the place among its portions. It decides the random stream."""
    begun: np.uint64
    """`games.rng.begin_stream` of what the streams of a round have in common."""
    order: npt.NDArray[np.int64]
    """[P] the portions in the order in which they are taken."""
    least: int
    """The visits of a node from which on its children are reported."""
    begin: npt.NDArray[np.int64]
    """[P + 1] the row where the increments of each portion begin; as many as fit before the next are kept."""
    rows: Statistics
    """The increments."""
    results: npt.NDArray[np.int64]
    """[P, 5] ROWS, MADE, GROWN, SLOTS, IS_FULL."""
    seconds: npt.NDArray[np.float64]
    """[P] CPU time, where rules are compiled."""
    marks: Marks
    """[16] TAKEN, STOPPED."""


@inner_njit
def next_outcome(tree: Tree, node: Int) -> int:
    """The slot of the outcome of chance that lags most behind its share of the visits made so far."""
    first = np.int64(tree.children[node])
    visits_here = np.int64(tree.visits[node])
    total = float(visits_here + np.int64(tree.unobserved[node]))
    best_slot, best = 0, -math.inf
    for slot in range(num_children(tree, node)):
        visits = np.int64(tree.visits[first + slot])
        lack = visits * total / visits_here - visits - np.int64(tree.unobserved[first + slot])
        if lack > best:
            best_slot, best = slot, lack
    return best_slot


def plan_visits(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    total: int,
    quantum: int,
    work: Workspace,
    stream: Stream,
) -> None:
    """Generic: add ``total`` visits, ``quantum`` at a time, to the unobserved ones of nodes, in place.

    Each descent selects as a search does, and ends at a node with fewer than ``quantum`` visits, or where a
    search would add a child. First, moves of the root get exactly what they lack of their least visits, by a
    new child if they have none. The unobserved visits are all 0 before.
    """
    planned = 0
    while planned < total:
        visits = min(quantum, total - planned)
        determinize(root_state, work.state, stream)
        node = np.uint64(ROOT)
        slot: Int = LEAF
        if CHOSEN:
            slot = make_up(tree, params, work.moves, legal_moves(work.state, work.moves))
        if slot != LEAF:
            node = np.uint64(tree.children[ROOT]) + np.uint64(slot)
            made = np.int64(tree.visits[node]) + np.int64(tree.unobserved[node])
            visits = min(visits, params.wanted[tree.move[node]] - made)
            tree.unobserved[ROOT] += visits
            play(work.state, np.int64(tree.move[node]))
        planned += visits
        tree.unobserved[node] += visits
        while True:
            count = num_children(tree, node)
            if count == 0 or np.int64(tree.visits[node]) < quantum or proof(tree, node) != UNPROVEN:
                break
            if is_terminal(work.state):
                break
            player = current_player(work.state)
            if player == CHANCE:
                slot = next_outcome(tree, node)
            else:
                if PLAYERS > 2:
                    player = min(player, 0)
                slot, score = best_child(tree, params, node, player)
                if np.int64(tree.shape[node]) & COMPLETE == 0 and may_expand(tree, params, node, count):
                    if abs(moves_to_try(params, node, work)) == count:
                        tree.shape[node] |= np.uint16(COMPLETE)
                    elif score < params.first_play_urgency:
                        break
            node = np.uint64(tree.children[node]) + np.uint64(slot)
            tree.unobserved[node] += visits
            play(work.state, np.int64(tree.move[node]))


@cached_njit
def divide(
    tree: Tree,
    sizes: npt.NDArray[np.int64],
    most: int,
    cuts_root: bool,
    stack: npt.NDArray[np.int32],
    lanes: npt.NDArray[np.int32],
    portions: Portions,
) -> int:
    """Write the portions of all lanes, and return their number; ``portions`` must have enough rows.

    Lane i gets ``sizes[i]`` visits. A subtree is cut into those of its children if more than ``most`` visits
    are planned in it, and it has at least as many visits already; with ``cuts_root`` the root is in any case.
    A portion that does not fit into what is
    left of a lane goes to the next ones as well. The lane of each portion is written to ``lanes`` ([P]). The
    unobserved visits of the tree, which are those planned, become 0. ``stack`` ([longest path + 1, 2]) is
    scratch: node and next slot of each node on the path.
    """
    count = 0
    lane = 0
    left = sizes[0]
    depth = 0
    stack[0, 0] = ROOT
    stack[0, 1] = 0
    # The depth of the portion in whose subtree the walk is: what is planned there is in it.
    within = NOWHERE
    while depth >= 0:
        node = np.int64(stack[depth, 0])
        slot = np.int64(stack[depth, 1])
        first = np.int64(tree.children[node])
        children = num_children(tree, node)
        if slot == 0:
            here = np.int64(tree.unobserved[node])
            tree.unobserved[node] = 0
            below: Int = 0
            known = np.int64(tree.visits[node]) >= here
            if within == NOWHERE and ((here > most and known) or (cuts_root and depth == 0)):
                for child in range(first, first + children):
                    below += np.int64(tree.unobserved[child])
            here = here - below if within == NOWHERE else np.int64(0)
            while here > 0:
                while left == 0:
                    lane += 1
                    left = sizes[lane]
                taken = min(here, left)
                lanes[count] = lane
                portions.visits[count] = taken
                portions.depths[count] = depth
                for d in range(depth):
                    portions.moves[count, d] = tree.move[stack[d + 1, 0]]
                count += 1
                here -= taken
                left -= taken
            if within == NOWHERE and below == 0:
                within = depth
        while slot < children and tree.unobserved[first + slot] == 0:
            slot += 1
        if slot == children:
            if depth == within:
                within = NOWHERE
            depth -= 1
            continue
        stack[depth, 1] = slot + 1
        depth += 1
        stack[depth, 0] = first + slot
        stack[depth, 1] = 0
    return count


@cached_njit
def are_paths(tree: Tree, moves: npt.NDArray[np.uint16], depths: npt.NDArray[np.int32]) -> bool:
    """Whether each row's first moves, as many as its depth, lead from the root to a node of the tree."""
    for row in range(len(depths)):
        node: Int = ROOT
        for d in range(depths[row]):
            slot = find_child(tree, node, moves[row, d], 0)
            if slot == ABSENT:
                return False
            node = np.int64(tree.children[node]) + slot
    return True


def go_to(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    moves: npt.NDArray[np.uint16],
    length: Int,
    work: Workspace,
    stream: Stream,
) -> int:
    """Generic: follow the first ``length`` of ``moves`` from the root; returns how many were followed.

    They are fewer if a node on the way is proven, or the arena is full. Nodes that are missing are made. The
    path is left in work.nodes, slots and movers, the position in work.leaf_state.
    """
    state = work.leaf_state
    determinize(root_state, state, stream)
    node: Int = ROOT
    work.nodes[0] = ROOT
    for depth in range(length):
        marked = np.int64(tree.shape[node]) >> PROOF_SHIFT != UNPROVEN
        if marked and (proof(tree, node) != UNPROVEN or not unfold(tree, node, work.base, params)):
            return depth
        player = current_player(state)
        work.movers[depth] = player & 255
        if SCORED:
            note_score(state, work, np.uint64(depth), player)
        slot = find_child(tree, node, moves[depth], 0)
        if slot == ABSENT:
            slot = num_children(tree, node)
            if add_child(tree, node, moves[depth]) == NO_BLOCK:
                return depth
        work.slots[depth] = slot
        node = np.int64(tree.children[node]) + slot
        work.nodes[depth + 1] = node
        play(state, np.int64(moves[depth]))
    return int(length)


def grow_portion(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    moves: npt.NDArray[np.uint16],
    depth: Int,
    visits: Int,
    work: Workspace,
    stream: Stream,
) -> int:
    """Generic: make ``visits`` simulations in the subtree to which the first ``depth`` of ``moves`` lead;
    returns how many were made.

    They are fewer than asked for only when the root is proven. Tree, stream and workspace are modified in
    place; what was in the tree is forgotten, and it begins with the snapshot ``work.base``.
    """
    begin_tree(tree, work.base, params)
    top = go_to(tree, params, root_state, moves, depth, work, stream)
    for made in range(visits):
        if proof(tree, work.nodes[top]) != UNPROVEN:
            while top > 0 and proof(tree, work.nodes[top]) != UNPROVEN:
                top -= 1
            if proof(tree, work.nodes[top]) != UNPROVEN:
                return made
            # Nothing is left to learn there: the node above it gets the other simulations.
            top = go_to(tree, params, root_state, moves, top, work, stream)
        for i in range(len(work.state)):
            work.state[i] = work.leaf_state[i]
        below = descend(tree, params, top, np.int64(1), work, stream)
        value = value_of_leaf(tree, params, below, work, stream)
        back_up(tree, params, work, below, value)
    return int(visits)


def grow_portions(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    batch: Batch,
    work: Workspace,
    stream: Stream,
    clock: Marks,
    scratch: npt.NDArray[np.int32],
) -> int:
    """Generic: grow one portion after the other until none is left, or ``batch.marks[STOPPED]`` is set.

    Several threads may do that side by side, each with arguments of its own but for the batch: who grows a
    portion changes nothing. ``stream`` ([2]), ``clock`` ([2]) and ``scratch`` ([2, the most rows of a
    portion]) are overwritten. Returns how many first portions of a lane this thread has taken.
    """
    portions, base = batch.portions, work.base
    lanes = 0
    place = -1
    while True:
        place = count_up(batch.marks, TAKEN) if COMPILED else place + 1
        if place >= len(batch.order) or batch.marks[STOPPED] != 0:
            return lanes
        began_s = seconds_by(THREAD_CPU, clock) if COMPILED else 0.0
        p = batch.order[place]
        stream_of(stream, batch.begun, batch.numbers[p])
        moves, depth, visits = portions.moves[p], np.int64(portions.depths[p]), portions.visits[p]
        made = grow_portion(tree, params, root_state, moves, depth, visits, work, stream)
        if LEARNT:
            look_back(tree, base.statistics, base.first_children, work)
        begin, least = batch.begin[p], batch.least
        limit = batch.begin[p + 1] - begin
        rows = limit + 1
        known = base.statistics, base.first_children
        while rows > limit:
            rows = collect(tree, *known, least, batch.rows, begin, limit, scratch[0], scratch[1])
            least = max(2 * least, 2)
        results = batch.results[p]
        results[ROWS] = rows
        results[MADE] = made
        results[GROWN] = tree.counts[NODES]
        results[SLOTS] = tree.counts[USED]
        results[IS_FULL] = tree.counts[FULL]
        lanes += batch.numbers[p] & PLACE == 0
        batch.seconds[p] = (seconds_by(THREAD_CPU, clock) if COMPILED else 0.0) - began_s
