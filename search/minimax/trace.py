"""Traces of minimax and alpha-beta: the whole tree with the visited and the cut positions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from games.errors import InvalidInput
from games.game import FIRST, Game, State
from search.minimax.alphabeta import DOUBT, HURRY, NO_MOVE, Limits
from search.minimax.lookahead import Lookahead, Visit

MOST_NODES = 1_500


@dataclass(eq=False)
class Traced:
    """A position of the tree. Values are the first player's, without reductions for distance."""

    move: int
    """The move that led to the position; `NO_MOVE` at the root."""
    text: str
    """The move in the game's notation; empty at the root."""
    ply: int
    player: int | None
    """The player to move; None at a leaf and at a position that was not visited."""
    visited: bool
    alpha: float = -math.inf
    """Alpha when the search left the position: the value that the first player can reach at least."""
    beta: float = math.inf
    """Beta when the search left the position: the value to which the second player can limit it."""
    value: float | None = None
    """The value found; None if the position was not visited."""
    cuts: bool = False
    """Whether some of its moves were not searched."""
    best: bool = False
    """Whether it is on the first best line."""
    children: list[Traced] = field(default_factory=list)
    """The positions after each move, in the order of search."""

    def to_json(self) -> dict[str, Any]:
        """The tree as JSON for `banyan tree --json`; infinite bounds are omitted."""
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
    """The trace of a search to one depth."""

    root: Traced
    visited: int
    total: int
    """Number of positions of the whole tree, including those that were cut."""


def trace(lookahead: Lookahead, game: Game, state: State, limits: Limits) -> Trace:
    """Search an unfinished position and record the tree.

    Raises InvalidInput (field ``player option depth``) if minimax visits more than `MOST_NODES` positions.
    """
    return _Tracer(lookahead, game, limits).run(state)


class _Tracer:
    """Builds a trace from the visits of a search; ``_path`` is the list of open nodes."""

    def __init__(self, lookahead: Lookahead, game: Game, limits: Limits) -> None:
        self._lookahead, self._game, self._limits = lookahead, game, limits
        self._whole = {-math.inf: -math.inf, math.inf: math.inf}
        """By score of a leaf: its value without reductions."""
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
        """Set the value of a leaf; returns its score in the search."""
        node.value = self._lookahead.value_of_leaf(state)
        finished = bool(self._game.calls.is_terminal(state)) and not self._limits.evaluates_finished
        score = (1.0 - (HURRY * node.ply if finished else DOUBT)) * node.value
        self._whole[score] = node.value
        return score

    def _close(self, node: Traced, state: State, visit: Visit, scores: dict[int, float]) -> None:
        """Complete a node whose visited children are all known."""
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
        """The subtree, as minimax would visit it, of a move that was cut."""
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
        """The value of the score next to a bound: with finds_ties a bound is one floating-point step off."""
        near = (bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf))
        return next(self._whole[score] for score in near if score in self._whole)

    def _mover(self, state: State) -> int:
        return int(self._game.calls.current_player(state))

    def _count(self) -> int:
        self._total += 1
        if self._total > MOST_NODES:
            accepted = f"a depth at which minimax visits at most {MOST_NODES:,} positions"
            raise InvalidInput("player option depth", self._limits.depth, accepted)
        return 1
