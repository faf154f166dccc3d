"""What a search leaves to the next one of the same game: the subtree of the position that was reached.

A search that begins so is a pure function of the searches before it: the same positions in the same order,
with the same requests and seeds, give the same trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from games.game import Game
from search.request import NARROW_SIMULATIONS
from search.tree.arena import (
    COUNT_MASK,
    ROOT,
    Tree,
    child_after,
    layout_of,
    new_tree,
    proof_of,
    reroot,
)

MOST_VISITS = 2**31 - 1 - NARROW_SIMULATIONS
"""Of a node from which a search goes on, so that visits still fit into 32 bits at its end."""


class KeptTree:
    """The tree of the last search of one game, by the moves that led to its root."""

    def __init__(self, game: Game) -> None:
        self._unseen = game.open_loop and not game.closed_loop
        """Whether nodes stand for moves whatever chance brought, and so not for a position."""
        self._loaded = False
        self._tree: Tree | None = None
        self._past: tuple[int, ...] = ()

    def forget(self) -> None:
        """Another game begins, or nothing is to be gone on from."""
        self._tree = None

    def keep(self, tree: Tree, past: Sequence[int]) -> None:
        """Keep the tree of a search whose root is reached by the moves ``past`` from the start of the game;
        an earlier one is forgotten."""
        if self._unseen:
            return
        if not self._loaded:
            # Loads the kernel, for which no later move is to wait.
            reroot(tree, ROOT, new_tree(64, layout_of(tree)))
        self._loaded, self._tree, self._past = True, tree, tuple(past)

    def at(self, past: Sequence[int]) -> tuple[Tree, int] | None:
        """The tree, and its node at the position after the moves ``past``; None if the tree has no such
        node, or it was proven without a child, or has more than MOST_VISITS."""
        node: int | None = ROOT
        if self._tree is None or tuple(past[: len(self._past)]) != self._past:
            return None
        for move in past[len(self._past) :]:
            node = None if node is None else child_after(self._tree, node, move)
        # A node that was proven as a leaf has no moves to choose from.
        if node is not None and proof_of(self._tree, node) and not self._tree.shape[node] & COUNT_MASK:
            return None
        return None if node is None or self._tree.visits[node] > MOST_VISITS else (self._tree, node)
