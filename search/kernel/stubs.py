"""The functions in which searches differ, by the names under which the loop calls them.

`search.kernel.engine` binds a function of the search's algorithm to each of these names before it compiles
the loop. As they stand these functions only raise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int
from games.rng import Stream
from games.rules import State
from search.kernel.params import SearchParams
from search.kernel.workspace import Leaves, Workspace
from search.tree.arena import Tree

LEAF = -1
"""The answer of `select_or_expand` where a simulation goes no further."""

EVALUATED = False
"""Whether nodes have heuristics, which selection takes into account (search/kernel/heuristics.py)."""
SCORED = False
"""Whether the values of a node have the reward of the move that leads to it, or are another player's than its
children's (search/kernel/rewards.py)."""
THINKS = False
"""Whether a player in playouts moves by minimax."""

_UNBOUND = "a generic function was called as it stands; search.kernel.engine makes one of a search from it"


def deal(
    tree: Tree, params: SearchParams, root_state: State, done: int, stream: Stream, work: Workspace
) -> None:
    """Write to work.state the position in which simulation number ``done`` of a job starts.

    ``stream`` and the workspace are modified in place.
    """
    raise NotImplementedError(_UNBOUND)


def select_or_expand(
    tree: Tree,
    params: SearchParams,
    node: np.uint64,
    depth: np.uint64,
    player: int,
    visits: Int,
    work: Workspace,
    stream: Stream,
) -> int:
    """The slot of the child of ``node`` that a simulation goes on to, or LEAF if it ends at the node.

    The slot is the number of children that the node had before the call exactly if the child is new: then
    this call has added it. ``node`` is work.nodes[depth], work.state its position, an unfinished one in which
    ``player`` moves, and ``visits`` the number of visits that the simulation stands for. Tree, stream and
    workspace are modified in place.
    """
    raise NotImplementedError(_UNBOUND)


def select_move(
    tree: Tree,
    params: SearchParams,
    node: np.uint64,
    depth: np.uint64,
    player: int,
    visits: Int,
    work: Workspace,
    stream: Stream,
) -> int:
    """`select_or_expand` at nodes where a player moves, in games in which chance moves at others."""
    raise NotImplementedError(_UNBOUND)


def note_score(state: State, work: Workspace, depth: np.uint64, player: Int) -> None:
    """Note in the workspace what the score is at work.nodes[depth], where ``player`` moves."""
    raise NotImplementedError(_UNBOUND)


def back_up(tree: Tree, params: SearchParams, work: Workspace, depth: Int, value: float) -> None:
    """Add one visit with this value of the leaf, work.nodes[depth], to the nodes of the path, in place."""
    raise NotImplementedError(_UNBOUND)


def keep_path(leaves: Leaves, b: int, depth: Int, work: Workspace) -> None:
    """Keep with leaf b of a batch what the backup of its path will need beside its moves."""
    raise NotImplementedError(_UNBOUND)


def steered_move(params: SearchParams, work: Workspace, stream: Stream) -> int:
    """The move of the player to move in work.state by that player's policy in playouts."""
    raise NotImplementedError(_UNBOUND)


def may_expand(tree: Tree, params: SearchParams, node: np.uint64, count: Int) -> bool:
    """Whether a node that has ``count`` children may get another."""
    raise NotImplementedError(_UNBOUND)


def add_untried(
    tree: Tree,
    params: SearchParams,
    node: np.uint64,
    depth: np.uint64,
    num_moves: Int,
    work: Workspace,
    stream: Stream,
) -> bool:
    """Add a child to ``node``, which is work.nodes[depth], for one of the first ``num_moves`` of work.moves.

    These include all untried moves of the node; there is at least one. False where no child was added: the
    arena is full, or the untried moves are left to other lanes. Tree, stream and workspace are modified in
    place.
    """
    raise NotImplementedError(_UNBOUND)


def asked_for(state: State) -> bool:
    """Whether the descent that has just ended at this position did so only because nothing is known of it.

    Then it has changed nothing (search/kernel/known.py). Never so where the rules are those of the game.
    """
    raise NotImplementedError(_UNBOUND)


def note_leaf(
    tree: Tree,
    params: SearchParams,
    state: State,
    nodes: npt.NDArray[np.int32],
    movers: npt.NDArray[np.uint8],
    depth: Int,
) -> None:
    """Note in the tree what is known of the leaf at the end of the path before it is played out."""
    raise NotImplementedError(_UNBOUND)


def leaf_playout(params: SearchParams, work: Workspace, stream: Stream) -> float:
    """The first player's return of a playout from work.state, an unfinished position; with rewards, their
    discounted sum (search/kernel/rewards.py).

    Workspace and stream are modified in place.
    """
    raise NotImplementedError(_UNBOUND)
