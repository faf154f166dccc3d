"""The top of a search tree, as people look at it: moves, visits, values, proofs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from games.game import CHANCE, FIRST, Game, State
from search.tree.arena import ROOT, UNPROVEN, Tree, children_of, proof_of, worth_of


@dataclass(frozen=True)
class Extent:
    """Which nodes are shown: the most visited within these limits, each with its parent."""

    nodes: int
    """Most nodes in all, the root among them."""
    depth: int
    """Most plies below the root."""
    width: int
    """Most children of one node."""
    min_visits: int
    """Least visits of a node."""


@dataclass
class TopNode:
    """A node, and what is shown below it."""

    move: str
    """The move that led to it, in the game's notation; empty at the root."""
    visits: int
    share: float
    """Share of the visits of all children of the parent."""
    value: float
    """Mean return of the player who made the move; at the root, of the player to move; after a move of
    chance, of the first player."""
    first_value: float
    """Mean return of the first player; from three players on `value`."""
    proof: str
    """``won``, ``drawn`` or ``lost`` for the player of `value`, or empty if nothing is proven."""
    player: int | None
    """Who moves, perhaps CHANCE; None if the game is over."""
    num_children: int
    """Number of children with visits."""
    children: list[TopNode] = field(default_factory=list)
    """Children that are shown, most visited first."""

    @property
    def left_out(self) -> int:
        """Children with visits that are not shown."""
        return self.num_children - len(self.children)

    def to_json(self, game: Game) -> dict[str, Any]:
        """For `banyan tree --json`. A node in which chance moves says so; from three players on it says who
        moves, whose values the nodes below it have."""
        chance: dict[str, Any] = {"chance": True} if self.player == CHANCE else {}
        if game.num_players > 2:
            chance["to_move"] = None if self.player is None else game.name_of(self.player)
        return {
            "move": self.move,
            "visits": self.visits,
            "share": round(self.share, 6),
            "value": self.value,
            "proof": self.proof or None,
            **chance,
            "children": [child.to_json(game) for child in self.children],
            "left_out": self.left_out,
        }


def top_of(tree: Tree, game: Game, root_state: State, extent: Extent) -> TopNode:
    """The root, with the nodes below it that ``extent`` admits."""
    numbers, waiting = count(), list[tuple[int, int, int, TopNode, State, float, int]]()
    """A heap of nodes whose turn may come: most visited first; among equals what was found first."""

    def show(slot: int, parent: TopNode | None, before: State, share: float, level: int) -> TopNode:
        """The node, as yet without children; those that may be shown wait. ``before``: the position that the
        move is made in, or that of the root."""
        move, state, reached = "", before, True
        if parent is not None:
            code, state = int(tree.move[slot]), before.copy()
            move = game.format_move(before, code)
            # Where something is hidden, a draw may have had moves that this position has not: it ends there.
            reached = code in game.legal_moves(before)
            if reached:
                game.calls.play(state, code)
        player = None if game.calls.is_terminal(state) else int(game.calls.current_player(state))
        chooser = player if parent is None else parent.player
        assert chooser is not None
        first_value, proof = worth_of(tree, slot), proof_of(tree, slot) != UNPROVEN
        value = first_value if game.viewpoint(chooser) == FIRST else -first_value
        visited = [child for child in children_of(tree, slot) if tree.visits[child] > 0]
        node = TopNode(
            move=move,
            visits=int(tree.visits[slot]),
            share=share,
            # No minus zero for people to wonder at.
            value=value + 0.0,
            first_value=first_value + 0.0,
            proof={1: "won", 0: "drawn", -1: "lost"}[round(value)] if proof else "",
            player=player,
            num_children=len(visited),
        )
        if player is None or not reached or level == extent.depth:
            return node
        visited.sort(key=lambda child: (-int(tree.visits[child]), int(tree.move[child])))
        total = sum(int(tree.visits[child]) for child in visited)
        for child in visited[: extent.width]:
            visits = int(tree.visits[child])
            if visits >= extent.min_visits:
                entry = (-visits, next(numbers), child, node, state, visits / total, level + 1)
                heapq.heappush(waiting, entry)
        return node

    root = show(ROOT, None, root_state, 1.0, 0)
    for _ in range(extent.nodes - 1):
        if not waiting:
            break
        _, _, slot, parent, before, share, level = heapq.heappop(waiting)
        parent.children.append(show(slot, parent, before, share, level))
    return root
