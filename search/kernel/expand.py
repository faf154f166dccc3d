"""Expansion: when a node may get another child, and which of its untried moves it is for.

Lanes with hidden information divide the moves. Progressive unpruning (Chaslot, Winands, van den Herik,
Uiterwijk and Bouzy 2008, "Progressive strategies for Monte-Carlo tree search", section 4.2): a node begins
with its moves of highest priority, and after A B**(k - k_init) visits it has k moves.
"""

from __future__ import annotations

import math

import numpy as np

from games.compile.rule_stubs import HIDDEN, decisive_moves, legal_moves, priorities, priority
from games.jit import Int, inner_njit
from games.rng import Stream, below
from games.rules import Moves
from search.kernel.logarithms import natural_log
from search.kernel.params import CHOSEN, DECIDES, FORCES, LEAF, RANKED, WIDENED, SearchParams
from search.kernel.playout import winning_move
from search.kernel.threads import lock, unlock
from search.kernel.workspace import COUNT, LOCK, NUMBER, Workspace
from search.tree.arena import COMPLETE, NO_BLOCK, ROOT, UNPROVEN, Tree, add_child, num_children, proof
from search.tree.merge import ABSENT, find_child

FIRST_VISITS = 50
"""A: a node has more than its first moves only after so many visits."""
GROWTH = 1.3
"""B: the factor by which visits grow for each further move."""
FEW = 16
"""Up to so many moves are ranked one by one (`Rules.priorities`)."""
_LN_A = math.log(FIRST_VISITS)
_PER_LN = 1.0 / math.log(GROWTH)


@inner_njit
def allowed(params: SearchParams, visits: Int) -> int:
    """The number of children that a node may have after so many visits."""
    if visits <= FIRST_VISITS:
        return params.widening
    return int(params.widening + np.int64((natural_log(params.table, visits) - _LN_A) * _PER_LN))


def may_expand(tree: Tree, params: SearchParams, node: Int, count: Int) -> bool:
    """Generic: whether a node with ``count`` children may get another. Visits in flight count as visits."""
    if not WIDENED:
        return True
    visits = np.int64(tree.visits[node]) + np.int64(tree.unobserved[node])
    return count < allowed(params, visits)  # type: ignore[return-value]


@inner_njit
def searched(params: SearchParams, node: Int, moves: Moves, num_legal: int) -> int:
    """Bring the legal moves of the node that are searched to the front of ``moves``; returns how many.

    These are all but at the root. If there none of them is legal in this determinization, all count.
    """
    if node != ROOT:
        return num_legal
    count = 0
    for i in range(num_legal):
        if params.wanted[moves[i]] >= 0:
            moves[count] = moves[i]
            count += 1
    return count if count > 0 else num_legal


def moves_to_try(params: SearchParams, node: Int, work: Workspace) -> int:
    """Generic: list in work.moves the legal moves of work.state, the node's position, that a search tries.

    Returns how many, or -1 if the only one wins by force. Where it FORCES, those are the moves that the game
    says matter; not at a root whose moves are CHOSEN.
    """
    num_legal = 0
    if FORCES and not (CHOSEN and node == ROOT):
        num_legal = decisive_moves(work.state, work.moves, work.frames.listed, work.kept)
    if num_legal == 0:
        num_legal = legal_moves(work.state, work.moves)
    return searched(params, node, work.moves, num_legal) if CHOSEN else num_legal


def moves_beside(tree: Tree, params: SearchParams, depth: Int, work: Workspace) -> int:
    """Generic: `moves_to_try` of work.nodes[depth], without the lock of the tree meanwhile; the priorities
    that `best_untried` needs are found as well."""
    node = np.int64(work.nodes[depth])
    step_out(tree, depth, work)
    listed = moves_to_try(params, node, work)
    if RANKED and abs(listed) > FEW:
        priorities(work.state, work.frames.looks[0])
    step_in(tree, depth, work)
    return listed


@inner_njit
def step_out(tree: Tree, depth: Int, work: Workspace) -> None:
    """Let other threads have the lock of the tree, which is modified in place: the visit of this one is in
    flight on the path down to work.nodes[depth]."""
    for d in range(depth + 1):
        tree.unobserved[work.nodes[d]] += 1
    unlock(work.marks, LOCK)


@inner_njit
def step_in(tree: Tree, depth: Int, work: Workspace) -> None:
    """Take the lock again after `step_out`. The nodes of the path are where blocks of children have moved,
    and work.place has how many children the last one has now."""
    lock(work.marks, LOCK, work.place[NUMBER])
    tree.unobserved[ROOT] -= 1
    for d in range(depth):
        work.nodes[d + 1] = np.int64(tree.children[work.nodes[d]]) + np.int64(work.slots[d])
        tree.unobserved[work.nodes[d + 1]] -= 1
    work.place[COUNT] = num_children(tree, work.nodes[depth])


@inner_njit
def make_up(tree: Tree, params: SearchParams, moves: Moves, num_legal: int) -> int:
    """The slot of the root's child whose move lacks most of its least visits; LEAF if none lacks any.

    params.wanted has an entry for every move. Legal moves alone count. Visits in flight are visits, and a
    proven move lacks none; of equal moves the first wins. If the child is missing it is added, unless the
    arena is full: the tree is modified in place.
    """
    chosen: Int = LEAF
    most: Int = 0
    for i in range(num_legal):
        lack = params.wanted[moves[i]]
        slot = find_child(tree, ROOT, np.int64(moves[i]), 0) if lack > most else ABSENT
        if slot != ABSENT:
            child = np.int64(tree.children[ROOT]) + slot
            made = np.int64(tree.visits[child]) + np.int64(tree.unobserved[child])
            lack = lack - made if proof(tree, child) == UNPROVEN else np.int64(0)
        if lack > most:
            chosen, most = np.int64(moves[i]), lack
    slot = find_child(tree, ROOT, chosen, 0)
    if chosen == LEAF or slot != ABSENT or add_child(tree, ROOT, chosen) == NO_BLOCK:
        return slot
    return num_children(tree, ROOT) - 1


def add_untried(
    tree: Tree, params: SearchParams, node: np.uint64, num_moves: Int, work: Workspace, stream: Stream
) -> bool:
    """Generic: add a child to ``node`` for one of the first ``num_moves`` of work.moves.

    These include all untried moves of the node; there is at least one. False where the arena is full. If
    a search DECIDES, a move that wins at once is the only one tried; if nodes are WIDENED, the move is one of
    highest priority; else it is uniformly random. With hidden information work.moves holds untried moves
    alone, which differ from one determinization to the next. At a node that was in the snapshot of the round,
    and so is known to all lanes, a lane draws from its share of the list: as many equal parts as there are
    shares. Tree, stream and workspace are modified in place.
    """
    if DECIDES and num_children(tree, node) == 0:
        winning = winning_move(work.state, work, num_moves)  # type: ignore[arg-type]
        if winning >= 0:
            if add_child(tree, node, winning) == NO_BLOCK:
                return False
            # No other move is of interest, so it is all of them.
            tree.shape[node] |= np.uint16(COMPLETE)
            return True
    if WIDENED:
        move = best_untried(tree, node, num_moves, work, stream)
    elif HIDDEN:
        index: Int = below(stream, num_moves)  # type: ignore[arg-type]
        if _in_snapshot(tree, params, node):
            index = (num_moves * params.share + index) // params.num_shares
        move = np.int64(work.moves[index])  # type: ignore[assignment]
    else:
        move = _any_untried(tree, node, work.moves, num_moves, stream)
    return add_child(tree, node, move) != NO_BLOCK


@inner_njit
def _in_snapshot(tree: Tree, params: SearchParams, node: Int) -> bool:
    """Whether the node was in the snapshot: one that this job made has nothing but its own visits."""
    if params.anticipated == 0:
        return False
    return node == ROOT or tree.unobserved[node] < params.anticipated * np.int64(tree.visits[node])


@inner_njit
def _any_untried(tree: Tree, node: Int, moves: Moves, num_legal: Int, stream: Stream) -> int:
    """A uniformly random untried move: legal moves are drawn until one has no child."""
    while True:
        move = np.int64(moves[below(stream, int(num_legal))])
        if not is_tried(tree, node, move):
            return move  # type: ignore[return-value]


@inner_njit
def is_tried(tree: Tree, node: Int, move: Int) -> bool:
    """Whether the node has a child for the move."""
    first = np.int64(tree.children[node])
    tried = False
    for child in range(first, first + num_children(tree, node)):
        tried |= tree.move[child] == move
    return tried


def best_untried(tree: Tree, node: Int, num_moves: Int, work: Workspace, stream: Stream) -> int:
    """Generic: of the first ``num_moves`` of work.moves that have no child (there is one) one of highest
    priority.

    Ties are broken uniformly at random. Stream and workspace are modified in place.
    """
    best = -math.inf
    found = 0
    chosen = np.int64(work.moves[0])
    looks = work.frames.looks[0]
    ranked = RANKED and num_moves > FEW
    if ranked and not (FORCES and work.place[NUMBER] != 0):
        priorities(work.state, looks)
    for i in range(num_moves):
        move = np.int64(work.moves[i])
        if (ranked and looks[move] < best) or is_tried(tree, node, move):
            continue
        score = looks[move] if ranked else priority(work.state, move)
        if score > best:
            best = score
            found = 0
        if score == best:
            found += 1
            if below(stream, found) == 0:
                chosen = move
    return chosen  # type: ignore[return-value]
