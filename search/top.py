"""The top of a search tree, as people look at it: moves, visits, values, proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from games.game import FIRST, Game, State
from search.tree import DRAWN, ROOT, UNPROVEN, Tree, children_of, proof_of


@dataclass(frozen=True)
class TopNode:
    """A node, and the most visited below it."""

    move: str
    """That led to it, in the game's notation; nothing at the root."""
    visits: int
    share: float
    """Of the visits of its siblings and itself."""
    value: float
    """Mean return in [-1, 1] of the player who made the move; of the root: of the player to move."""
    first_value: float
    """The same for the first player."""
    proof: str
    """``won``, ``drawn`` or ``lost`` for the player of `value`, once that is proven; else nothing."""
    player: int | None
    """Who moves; None if the game is over."""
    children: tuple[TopNode, ...]
    """Most visited first."""
    left_out: int
    """Children with visits that are not among them."""

    def to_json(self) -> dict[str, Any]:
        """For `banyan tree --json`."""
        return {
            "move": self.move,
            "visits": self.visits,
            "share": round(self.share, 6),
            "value": self.value,
            "proof": self.proof or None,
            "children": [child.to_json() for child in self.children],
            "left_out": self.left_out,
        }


def top_of(tree: Tree, game: Game, root_state: State, depth: int, width: int, min_visits: int) -> TopNode:
    """So many plies, at most so many children of each node, each with so many visits (at least 1)."""
    return _node(tree, game, root_state, ROOT, "", None, 1.0, (depth, width, max(1, min_visits)))


def _node(
    tree: Tree,
    game: Game,
    state: State,
    slot: int,
    move: str,
    chooser: int | None,
    share: float,
    limits: tuple[int, int, int],
) -> TopNode:
    """``chooser`` made the move; None: nobody, this is the root."""
    depth, width, min_visits = limits
    over = bool(game.calls.is_terminal(state))
    player = None if over else int(game.calls.current_player(state))
    viewer = player if chooser is None else chooser
    visits, known = int(tree.visits[slot]), proof_of(tree, slot)
    first_value = float(tree.total_value[slot]) / visits if visits else 0.0
    if known != UNPROVEN:
        first_value = float(DRAWN - known)
    value = first_value if viewer == FIRST else -first_value
    visited = [child for child in children_of(tree, slot) if tree.visits[child] > 0]
    visited.sort(key=lambda child: (-int(tree.visits[child]), int(tree.move[child])))
    shown = [child for child in visited if tree.visits[child] >= min_visits][:width] if depth > 0 else []
    total = sum(int(tree.visits[child]) for child in visited)
    legal = set(game.legal_moves(state)) if shown else set()
    children = []
    for child in shown:
        code = int(tree.move[child])
        after = state.copy()
        # Where something is hidden, a draw may have had moves that this position has not.
        below = depth - 1 if code in legal else 0
        if code in legal:
            game.calls.play(after, code)
        children.append(
            _node(
                tree,
                game,
                after,
                child,
                game.format_move(state, code),
                player,
                int(tree.visits[child]) / total,
                (below, width, min_visits),
            )
        )
    return TopNode(
        move=move,
        visits=visits,
        share=share,
        # No minus zero for people to wonder at.
        value=value + 0.0,
        first_value=first_value + 0.0,
        proof="" if known == UNPROVEN else {1: "won", 0: "drawn", -1: "lost"}[round(value)],
        player=player,
        children=tuple(children),
        left_out=len(visited) - len(shown),
    )
