"""Optional features of the search kernels; names and codes of playout policies.

Each combination of features is compiled separately, so that a search pays only for what it uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from search.tree.arena import TreeLayout

RANDOM, GREEDY, DECISIVE, MINIMAX, FIRST_MINIMAX, LEARNT = 0, 1, 2, 3, 5, 7
"""RANDOM: a uniformly random legal move. GREEDY: a move with the highest priority. DECISIVE: an immediately
winning move if there is one, else a random move (Teytaud and Teytaud 2010, "On the Huge Benefit of
Decisive Moves"). MINIMAX and the next code: a best move by minimax of depth ``code - MINIMAX + 1``.
FIRST_MINIMAX and the next code: the first of these moves, in the order of the rules. LEARNT: the move worth
most by what earlier simulations met (search/kernel/learning.py). Ties of others are broken uniformly at
random."""
POLICIES = {
    "random": RANDOM,
    "greedy": GREEDY,
    "decisive": DECISIVE,
    "minimax1": MINIMAX,
    "minimax2": MINIMAX + 1,
    "minimax1_first": FIRST_MINIMAX,
    "minimax2_first": FIRST_MINIMAX + 1,
    "learnt": LEARNT,
}
DEEPEST = 2
"""The largest depth of minimax in playouts, in plies."""


class Features(NamedTuple):
    """The features of the kernels of one search; all False: plain UCT."""

    hidden: bool = False
    """Hidden information: the root is an information set; each simulation starts with a determinization."""
    steered: bool = False
    """Playouts with a limit of plies, or with a policy other than uniformly random moves
    (search/kernel/playout.py)."""
    thinking: bool = False
    """Playout policies that use minimax; requires ``steered``."""
    widened: bool = False
    """Progressive unpruning: a node considers more moves, in order of priority, the more often it is visited
    (search/kernel/expand.py)."""
    paired: bool = False
    """Each determinization is used for simulations of several root moves (search/kernel/select.py); requires
    ``hidden``."""
    evaluated: bool = False
    """Nodes store the game's static evaluation of their positions (search/kernel/backup.py)."""
    decisive: bool = False
    """Decisive moves: in a position with a move that wins at once, or as `Rules.decisive_moves` says by
    force, no other move is searched."""
    wide: bool = False
    """Visit counts of 64 bits instead of 32, which makes a node 4 bytes larger."""
    learnt: bool = False
    """Playouts whose moves are learnt (search/kernel/learning.py)."""
    priors: bool = False
    """Selection by PUCT with the priors of an evaluator (search/kernel/puct.py)."""
    chosen: bool = False
    """Moves of the root that are not searched, or get visits before others (search/kernel/expand.py)."""

    @property
    def layout(self) -> TreeLayout:
        """The arrays that the trees and snapshots of such a search have."""
        # The command line describes its options without NumPy.
        from search.tree.arena import TreeLayout

        return TreeLayout(self.hidden, self.evaluated, self.priors, self.wide)


PLAIN = Features()
