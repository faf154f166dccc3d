"""What a search leaves to the next one of the same game: the subtree of the position that was reached, in
strategy root that of each lane.

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
    Kept,
    Tree,
    child_after,
    layout_of,
    new_tree,
    proof_of,
    reroot,
    visits_of,
)

MOST_VISITS = 2**31 - 1 - NARROW_SIMULATIONS
"""Of the nodes from which a search goes on, so that visits still fit into 32 bits at its end."""


class KeptTree:
    """The trees (`Strategy.left`) of the last search of one game, by the moves that led to their root."""

    def __init__(self, game: Game) -> None:
        self._unseen = game.open_loop and not game.closed_loop
        """Whether nodes stand for moves whatever chance brought, and so not for a position."""
        self._loaded = False
        self._trees: Sequence[Tree] = ()
        self._past: tuple[int, ...] = ()

    def forget(self) -> None:
        """Another game begins, or nothing is to be gone on from."""
        self._trees = ()

    def keep(self, trees: Sequence[Tree], past: Sequence[int]) -> None:
        """Keep the trees of a search whose root is reached by the moves ``past`` from the start of the game;
        earlier ones are forgotten."""
        if self._unseen:
            return
        for tree in () if self._loaded else trees[:1]:
            # Loads the kernel, for which no later move is to wait.
            reroot(tree, ROOT, new_tree(64, layout_of(tree)))
            self._loaded = True
        self._trees, self._past = trees, tuple(past)

    def at(self, past: Sequence[int]) -> Kept:
        """The trees, each with its node at the position after the moves ``past``; an empty tree in place of
        one without such a node, or that was proven without a child there. None at all if these nodes have no
        visit, or more than MOST_VISITS."""
        found: list[tuple[Tree, int]] = []
        if tuple(past[: len(self._past)]) != self._past:
            return found
        for tree in self._trees:
            node: int | None = ROOT
            for move in past[len(self._past) :]:
                node = None if node is None else child_after(tree, node, move)
            # A node that was proven as a leaf has no moves to choose from.
            if node is None or (proof_of(tree, node) and not tree.shape[node] & COUNT_MASK):
                tree, node = new_tree(1, layout_of(tree)), ROOT
            found.append((tree, node))
        return found if 0 < visits_of(found) <= MOST_VISITS else []
