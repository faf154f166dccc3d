"""Strategy subtree: the threads of one process grow different subtrees of one tree, each as one lane would.

A job is a node of the shared tree and a number of simulations, which one thread makes in the node's subtree.
Until they are made the subtree is *taken*: nobody else reads or changes it, and it grows in place. To begin a
job, a thread has the tree's lock. It backs up what an earlier job came to, selects the next node, and counts
the job's simulations as unobserved on the way there (Liu et al. 2020). Then it gives the lock back. So
threads meet once in a job, and not in every simulation; and the simulations of a job find its nodes in the
cache.

A job adds at most a half to the visits of its node: a search that is told nothing for longer would go on with
what few visits believe. If the way leads to a node that is taken, what would have been the job's simulations
is *postponed*: they count as unobserved until the results of who is there are in the tree, and the selection
begins again. So it goes elsewhere where UCT would go after so many more visits of that node. If it comes to
taken nodes again and again, the job has no simulations and *passes*.

Job j is selected when exactly the results of jobs 0 to j - lanes are in the tree. Of a node that is taken the
tree shows what was known of it before. So the tree is equal, bit for bit, for any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import current_player, determinize, is_terminal, legal_moves, play
from games.jit import Int, inner_njit
from games.rng import Stream
from games.rules import State
from search.kernel.backup import back_up, spread_proof, value_of_leaf
from search.kernel.expand import add_untried, may_expand
from search.kernel.loop import descend
from search.kernel.params import SearchParams
from search.kernel.turns import (
    ABSORBED,
    ENDED,
    LOCK,
    NEXT,
    READY,
    Marks,
    load,
    lock,
    store,
    stream_of,
    unlock,
    wait_for,
)
from search.kernel.uct import best_child
from search.kernel.workspace import PLAYOUTS, Workspace
from search.tree.arena import (
    CAPACITIES,
    CLASS_OF,
    COMPLETE,
    DRAWN,
    FULL,
    ROOT,
    UNPROVEN,
    USED,
    Tree,
    num_children,
    proof,
)

LEAST_SIMULATIONS, SIMULATIONS = 4, 64
"""Limits of the most simulations of a job. Fewer cost more turns at the lock, more keep others waiting.
Between them all lanes together have as many in flight as the root of the visits so far: search/LANES.md."""
AGE = 2
"""A job has at most one simulation for so many visits of its node."""
SMALL = 8
"""Where the best child would get a job of fewer simulations than this, or than half of the most, its parent
is taken whole, if nobody is below it: in games with many moves most nodes have few visits."""
TRIES = 8
"""How often a selection begins for one job."""

ISSUED, PASSED, IDLE, OVER, LOST = 0, 1, 2, 3, 4
"""Places in `Jobs.tally`."""


class Jobs(NamedTuple):
    """Jobs in flight: job j is in place j % lanes."""

    nodes: npt.NDArray[np.int32]
    """[lanes, max_plies + 1] the way from the root to the node of each job. These nodes keep their slots."""
    movers: npt.NDArray[np.uint8]
    """[lanes, max_plies + 1] who moves at each of these nodes."""
    depths: npt.NDArray[np.int64]
    """[lanes] the depth of the job's node."""
    visits: npt.NDArray[np.int64]
    """[lanes] how many simulations the job has; 0: it passes."""
    made: npt.NDArray[np.int64]
    """[lanes] how many of them were made: fewer if the node was proven meanwhile."""
    totals: npt.NDArray[np.float64]
    """[lanes] the sum of their returns, the first player's viewpoint."""
    playouts: npt.NDArray[np.int64]
    """[lanes + 1] number of playouts of each job; of all results in the tree."""
    taken: npt.NDArray[np.bool_]
    """[slots of the tree] whether the node's subtree is taken."""
    takes: npt.NDArray[np.int32]
    """[lanes] the node that each job has taken; -1: none."""
    postponed: npt.NDArray[np.int64]
    """[lanes] simulations that are postponed until the job's result is in the tree: unobserved, but of no
    job."""
    tops: npt.NDArray[np.int32]
    """[lanes] a slot for a copy of the job's node, which is the root of the subtree while it grows."""
    free: npt.NDArray[np.int32]
    """[lanes, len(CAPACITIES)] `Tree.free` for the jobs of each place."""
    counts: npt.NDArray[np.int64]
    """[lanes, 3] `Tree.counts` for them: the next slot of their room, the nodes that they made, FULL."""
    ends: npt.NDArray[np.int64]
    """[lanes] where their room ends."""
    room: npt.NDArray[np.int64]
    """[2] the first slot of the tree that is in no room, and how many slots a room has."""
    tally: npt.NDArray[np.int64]
    """[5] ISSUED: simulations that were begun. PASSED: 1 once a job has passed, until a result comes. IDLE:
    how many jobs before the next one found nothing left to begin. OVER: 1 once the root is proven, or the
    memory used up. LOST: slots of the tree that are in no block and no room: single ones."""
    marks: Marks
    """[READY + lanes] LOCK, NEXT, ABSORBED, ENDED, READY: as in search/kernel/turns.py."""


class Goal(NamedTuple):
    """What jobs are made until, and what they need to know of the request."""

    simulations: int
    """Number of simulations from the beginning of the search."""
    stop_when_full: bool
    """Whether the search ends when the memory is used up."""
    selecting: np.uint64
    """The streams of selections: what `stream_of` makes a job's stream from."""
    playing: np.uint64
    """The streams of simulations."""


@inner_njit
def room_of(tree: Tree, jobs: Jobs, place: int) -> Tree:
    """The tree with the room of a place for new nodes; it ends where ``visits`` does."""
    return Tree(
        tree.total_value,
        tree.visits[: jobs.ends[place]],
        tree.unobserved,
        tree.children,
        tree.move,
        tree.shape,
        jobs.free[place],
        jobs.counts[place],
        tree.available,
        tree.heuristic,
        tree.prior,
    )


@inner_njit
def make_room(tree: Tree, jobs: Jobs, place: int) -> None:
    """Give a place a new room if its own is used up, or was too small, and the tree has any left.

    What is left of the old one becomes free blocks.
    """
    counts, size = jobs.counts[place], jobs.room[1]
    left = jobs.ends[place] - counts[USED]
    if (left < size // 8 or counts[FULL] != 0) and jobs.room[0] + size <= len(tree.visits):
        for size_class in range(len(CAPACITIES) - 1, -1, -1):
            capacity = np.int64(CAPACITIES[size_class])
            while left >= capacity:
                left -= capacity
                tree.children[counts[USED]] = jobs.free[place, size_class]
                jobs.free[place, size_class] = counts[USED]
                counts[USED] += capacity
        jobs.tally[LOST] += left
        counts[USED] = jobs.room[0]
        counts[FULL] = 0
        jobs.room[0] += size
        jobs.ends[place] = jobs.room[0]


@inner_njit
def postpone(tree: Tree, jobs: Jobs, nodes: npt.NDArray[np.int32], depth: Int, simulations: int) -> None:
    """Count simulations below a node that is taken as unobserved, ``depth`` moves along the way ``nodes``."""
    for place in range(len(jobs.takes)):
        if jobs.takes[place] == nodes[depth]:
            jobs.postponed[place] += simulations
    for d in range(depth + 1):
        tree.unobserved[nodes[d]] += simulations


def select_subtree(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    jobs: Jobs,
    place: int,
    most: int,
    stream: Stream,
    work: Workspace,
) -> None:
    """Generic: write to a place which node gets a job of up to ``most`` simulations; its position is left in
    work.state.

    They are counted as unobserved on the way. jobs.visits stays 0 where that leads to a node that is taken,
    and they are postponed, or to one whose children cannot move.
    """
    nodes, movers = jobs.nodes[place], jobs.movers[place]
    state = work.state
    determinize(root_state, state, stream)
    # The types of the arguments here are those of calls elsewhere: each combination is compiled anew.
    node: Int = np.int64(ROOT)
    nodes[0] = ROOT
    depth: Int = np.int64(0)
    visits: Int = most
    fresh, takes = False, False
    while not takes and proof(tree, node) == UNPROVEN:
        visits_here = np.int64(tree.visits[node])
        # Of a job here.
        visits = min(most, max(1, int(visits_here) // AGE))
        if jobs.taken[node]:
            postpone(tree, jobs, nodes, depth, int(visits))
            return
        alone = tree.unobserved[node] == 0
        takes = fresh or bool(alone and (visits_here < AGE * most or is_terminal(state)))
        if takes:
            break
        player = current_player(state)
        movers[depth] = player & 255
        count = num_children(tree, node)
        if np.int64(tree.shape[node]) & COMPLETE == 0 and may_expand(tree, params, np.uint64(node), count):
            num_legal = legal_moves(state, work.moves)
            if count == num_legal:
                tree.shape[node] |= np.uint16(COMPLETE)
            else:
                score = -math.inf
                if count > 0 and params.first_play_urgency < math.inf:
                    score = best_child(tree, params, np.uint64(node), player)[1]
                if score < params.first_play_urgency:
                    if not alone and count == np.int64(CAPACITIES[CLASS_OF[count]]):
                        # The children would have to move to a larger block, and others are below them.
                        return
                    room = room_of(tree, jobs, place)
                    fresh = add_untried(room, params, np.uint64(node), num_legal, work, stream)
        slot: Int = count
        if not fresh:
            # Without children the memory is used up.
            takes = count == 0
            if not takes:
                slot = best_child(tree, params, np.uint64(node), player)[0]
                best = np.int64(tree.children[node]) + slot
                takes = bool(alone and np.int64(tree.visits[best]) < AGE * max(SMALL, most // 2))
        if not takes:
            node = np.int64(tree.children[node]) + slot
            play(state, np.int64(tree.move[node]))
            depth += 1
            nodes[depth] = node
    if takes:
        jobs.taken[node] = True
        jobs.takes[place] = node
    else:
        # The node is proven.
        visits = most
    jobs.visits[place] = visits
    jobs.depths[place] = depth
    for d in range(depth + 1):
        tree.unobserved[nodes[d]] += visits


def grow_subtree(
    tree: Tree, params: SearchParams, jobs: Jobs, place: int, stream: Stream, work: Workspace
) -> None:
    """Generic: make the simulations of a job, whose node has the position in work.state.

    The node itself, which others see, stays as it is: its copy is the root of the subtree.
    """
    node = jobs.nodes[place, jobs.depths[place]]
    visits = jobs.visits[place]
    jobs.made[place] = visits
    known = proof(tree, node)
    if known != UNPROVEN:
        jobs.totals[place] = float(visits * (DRAWN - known))
        return
    room = room_of(tree, jobs, place)
    top = jobs.tops[place]
    tree.total_value[top] = tree.total_value[node]
    tree.visits[top] = tree.visits[node]
    tree.children[top] = tree.children[node]
    tree.shape[top] = tree.shape[node]
    tree.unobserved[top] = 0
    for i in range(len(work.state)):
        work.leaf_state[i] = work.state[i]
    # A child that was added just now is itself the leaf of its first visit.
    fresh = tree.visits[node] == 0 and node != ROOT
    for made in range(visits):
        if proof(tree, top) != UNPROVEN:
            jobs.made[place] = made
            break
        for i in range(len(work.state)):
            work.state[i] = work.leaf_state[i]
        work.nodes[0] = top
        depth: Int = 0
        if not fresh:
            depth = descend(room, params, np.int64(0), np.int64(1), work, stream)
        value = value_of_leaf(room, params, depth, work, stream)
        back_up(room, params, work, depth, value)
    jobs.totals[place] = tree.total_value[top] - tree.total_value[node]


@inner_njit
def absorb_subtree(tree: Tree, params: SearchParams, jobs: Jobs, place: int) -> None:
    """Back up what a job came to; its subtree is no longer taken."""
    visits = jobs.visits[place]
    if visits == 0:
        return
    nodes, made, total = jobs.nodes[place], jobs.made[place], jobs.totals[place]
    depth = jobs.depths[place]
    for d in range(depth + 1):
        tree.visits[nodes[d]] += made
        tree.unobserved[nodes[d]] -= visits + jobs.postponed[place]
        tree.total_value[nodes[d]] += total
    jobs.postponed[place] = 0
    node = jobs.takes[place]
    if node >= 0:
        jobs.taken[node] = False
        jobs.takes[place] = -1
        top = jobs.tops[place]
        tree.total_value[node] = tree.total_value[top]
        tree.children[node] = tree.children[top]
        tree.shape[node] = tree.shape[top]
    jobs.tally[ISSUED] -= visits - made
    jobs.tally[PASSED] = 0
    jobs.playouts[len(jobs.depths)] += jobs.playouts[place]
    if params.solver:
        spread_proof(tree, nodes, jobs.movers[place], depth)


def take_subtrees(
    tree: Tree,
    params: SearchParams,
    root_state: State,
    jobs: Jobs,
    goal: Goal,
    work: Workspace,
    streams: npt.NDArray[np.uint64],
    number: int,
) -> int:
    """Generic: run jobs, beside other threads that do the same, until as many simulations as the goal has are
    in the tree, or the search is over. Then no job is in flight.

    Tree and jobs are common to all threads, ``work`` and ``streams`` ([2, 2]) are those of the thread with
    this ``number``, at least 1. Returns how many jobs it has played.
    """
    marks = jobs.marks
    lanes = len(jobs.depths)
    played = 0
    while True:
        lock(marks, LOCK, number)
        job = marks[NEXT]
        place = job % lanes
        if marks[ENDED] != 0 or jobs.tally[IDLE] >= lanes:
            unlock(marks, LOCK)
            return played
        if marks[ABSORBED] <= job - lanes:
            if load(marks, READY + place) == 0:
                unlock(marks, LOCK)
                wait_for(marks, place, job)
                continue
            absorb_subtree(tree, params, jobs, place)
            store(marks, READY + place, 0)
            marks[ABSORBED] += 1
        jobs.visits[place] = 0
        left = goal.simulations - jobs.tally[ISSUED]
        if left > 0:
            make_room(tree, jobs, place)
            if proof(tree, ROOT) != UNPROVEN or (goal.stop_when_full and jobs.counts[place, FULL] != 0):
                jobs.tally[OVER] = 1
        if left > 0 and jobs.tally[OVER] == 0:
            jobs.tally[IDLE] = 0
            if jobs.tally[PASSED] == 0:
                stream_of(streams[0], goal.selecting, job)
                few = int(math.sqrt(tree.visits[ROOT])) // lanes
                most = min(left, max(LEAST_SIMULATIONS, min(few, SIMULATIONS)))
                for _ in range(TRIES):
                    if jobs.visits[place] == 0:
                        select_subtree(tree, params, root_state, jobs, place, most, streams[0], work)
                jobs.tally[ISSUED] += jobs.visits[place]
            if jobs.visits[place] == 0:
                jobs.tally[PASSED] = 1
        else:
            jobs.tally[IDLE] += 1
        store(marks, NEXT, job + 1)
        if jobs.visits[place] == 0:
            store(marks, READY + place, 1)
            unlock(marks, LOCK)
            continue
        unlock(marks, LOCK)
        stream_of(streams[1], goal.playing, job)
        before = work.tally[PLAYOUTS]
        grow_subtree(tree, params, jobs, place, streams[1], work)
        jobs.playouts[place] = work.tally[PLAYOUTS] - before
        store(marks, READY + place, 1)
        played += 1
