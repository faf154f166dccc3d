"""What minimax and alpha-beta look at: the tree of a search, with what was visited and what was cut."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from games.errors import InvalidInput
from games.game import FIRST, Game, State
from search.alphabeta import DOUBT, HURRY, NO_MOVE, Limits
from search.lookahead import Lookahead, Visit

MOST_NODES = 1_500


@dataclass(eq=False)
class Traced:
    """A position of the tree. Values are the first player's, and whole: nothing is taken off for distance."""

    move: int
    """That led to it; `NO_MOVE` at the root."""
    text: str
    """The move in the game's notation; nothing at the root."""
    ply: int
    player: int | None
    """Who moves; None at a leaf, and where nobody looked."""
    visited: bool
    alpha: float = -math.inf
    """When it was left: what the first player has for certain..."""
    beta: float = math.inf
    """...and what the second player can hold it to."""
    value: float | None = None
    """None where nobody looked."""
    cuts: bool = False
    """Whether some of its moves were left out."""
    best: bool = False
    """Whether it is on the first best line."""
    children: list[Traced] = field(default_factory=list)
    """In the order in which they are searched."""

    def to_json(self) -> dict[str, Any]:
        """For `banyan tree --json`; bounds that are infinite are left out."""
        return {
            "move": self.text,
            "visited": self.visited,
            "value": self.value,
            "alpha": None if math.isinf(self.alpha) else self.alpha,
            "beta": None if math.isinf(self.beta) else self.beta,
            "cuts": self.cuts,
            "best": self.best,
            "children": [child.to_json() for child in self.children],
        }


@dataclass(frozen=True)
class Trace:
    """A search to one depth."""

    root: Traced
    visited: int
    total: int
    """The nodes that minimax of that depth visits; those that were cut are in the tree too."""


def trace(lookahead: Lookahead, game: Game, state: State, limits: Limits) -> Trace:
    """Search an unfinished position and write down how.

    Raises InvalidInput (field ``player option depth``) where minimax would visit more than `MOST_NODES`.
    """
    return _Tracer(lookahead, game, limits).run(state)


class _Tracer:
    """Follows a search; ``_path`` are the nodes that are open."""

    def __init__(self, lookahead: Lookahead, game: Game, limits: Limits) -> None:
        self._lookahead, self._game, self._limits = lookahead, game, limits
        self._whole = {-math.inf: -math.inf, math.inf: math.inf}
        """What the scores of leaves are before anything is taken off."""
        self._total = 0

    def run(self, state: State) -> Trace:
        visits = self._lookahead.watch(state, self._limits)
        first = next(visits)
        root = Traced(NO_MOVE, "", 0, self._mover(state), True)
        path = [(root, state.copy(), first)]
        scores: dict[int, float] = {}
        visited = self._count()
        for visit in visits:
            while len(path) > visit.ply:
                self._close(*path.pop(), scores)
            parent, before, _ = path[-1]
            position = before.copy()
            text = self._game.format_move(before, visit.move)
            self._game.calls.play(position, visit.move)
            mover = self._mover(position) if visit.moves else None
            node = Traced(visit.move, text, visit.ply, mover, True)
            parent.children.append(node)
            visited += self._count()
            if visit.moves:
                path.append((node, position, visit))
            else:
                scores[id(node)] = self._leaf(node, position)
        while path:
            self._close(*path.pop(), scores)
        node = root
        while node.children and not node.best:
            node.best = True
            node = next(
                child for child in node.children if child.visited and scores[id(child)] == scores[id(node)]
            )
        node.best = True
        return Trace(root, visited, self._total)

    def _leaf(self, node: Traced, state: State) -> float:
        """The score of a leaf, as the search sees it."""
        node.value = self._lookahead.value_of_leaf(state)
        finished = bool(self._game.calls.is_terminal(state)) and not self._limits.evaluates_finished
        score = (1.0 - (HURRY * node.ply if finished else DOUBT)) * node.value
        self._whole[score] = node.value
        return score

    def _close(self, node: Traced, state: State, visit: Visit, scores: dict[int, float]) -> None:
        """All that is visited below the node is known."""
        better = max if node.player == FIRST else min
        score = better(scores[id(child)] for child in node.children)
        scores[id(node)] = score
        node.value = self._whole[score]
        alpha = max(visit.alpha, score) if node.player == FIRST else visit.alpha
        beta = visit.beta if node.player == FIRST else min(visit.beta, score)
        node.alpha, node.beta = self._shown(alpha), self._shown(beta)
        left_out = visit.moves[len(node.children) :]
        node.cuts = bool(left_out)
        for move in left_out:
            node.children.append(self._unvisited(state, move, node.ply + 1))

    def _unvisited(self, state: State, move: int, ply: int) -> Traced:
        """What minimax would have looked at."""
        self._count()
        text = self._game.format_move(state, move)
        position = state.copy()
        self._game.calls.play(position, move)
        node = Traced(move, text, ply, None, False)
        if ply < self._limits.depth:
            for each in self._game.legal_moves(position):
                node.children.append(self._unvisited(position, each, ply + 1))
        return node

    def _shown(self, bound: float) -> float:
        """A bound that is a hair's breadth beside a score (see finds_ties) is that score."""
        near = (bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf))
        return next(self._whole[score] for score in near if score in self._whole)

    def _mover(self, state: State) -> int:
        return int(self._game.calls.current_player(state))

    def _count(self) -> int:
        self._total += 1
        if self._total > MOST_NODES:
            accepted = f"so few plies that minimax looks at {MOST_NODES:,} positions at most"
            raise InvalidInput("player option depth", self._limits.depth, accepted)
        return 1
