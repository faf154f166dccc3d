"""Root parallelisation with synchronisation: slow root parallelisation (Bourki et al. 2010).

Every lane grows a tree of its own, as in strategy root. Before one in ``every`` of its jobs it hears what all
lanes together have found of the root's moves, and goes on with these statistics as if they were its own.

    banyan check search/examples/slow_root.py:SlowRoot
    banyan search gomoku --strategy search/examples/slow_root.py:SlowRoot --simulations 1M --rounds 32
"""

from search.packing.arrays import Arrays
from search.strategies import RootRunner, RootStrategy
from search.tree.arena import Tree
from search.tree.merge import Statistics, all_rows, merge, snapshot

NEVER = 2**62
"""More visits than any node has."""


def top_of(tree: Tree) -> Statistics:
    """The root, and its children in their order."""
    return snapshot(tree, NEVER, 2**16)[0]


class SlowRootRunner(RootRunner):
    """The part of a worker."""

    def heed(self, tree: Tree, told: Arrays) -> None:
        """Add what all lanes have found, without what this one has found itself, to its tree."""
        found, own = Statistics(**told), top_of(tree)
        own_rows = {move: row for row, move in enumerate(own.move.tolist()) if row > 0}
        for row, move in enumerate(found.move.tolist()):
            own_row = own_rows.get(move) if row > 0 else 0
            for name in ("visits", "total_value", "available"):
                column, own_column = getattr(found, name), getattr(own, name)
                if len(column) and own_row is not None:
                    column[row] -= own_column[own_row]
        merge(tree, found, all_rows(len(found.move)))


class SlowRoot(RootStrategy):
    """The part of the coordinator."""

    runner = SlowRootRunner
    every = 4

    @property
    def synchronises(self) -> bool:
        """Whether the next job hears of the other lanes."""
        return self.issued >= self.lanes and self.issued // self.lanes % self.every == 0

    @property
    def ready(self) -> bool:
        """Jobs that hear of the other lanes wait for all jobs before them."""
        waits = self.synchronises and self.absorbed < self.issued - self.issued % self.lanes
        return super().ready and not waits

    def tell(self) -> Arrays:
        """The root and its children, as they are in the shared tree."""
        return top_of(self.tree)._asdict() if self.synchronises else {}
