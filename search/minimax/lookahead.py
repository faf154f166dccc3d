"""Minimax and alpha-beta for callers in Python: to a fixed depth, by iterative deepening for a time, and
traces of the whole tree with the visited and the cut positions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from games.compile.specialise import specialise
from games.errors import InvalidInput
from games.game import FIRST, Game, State
from games.rules import StaticEvaluator
from search.minimax import alphabeta
from search.minimax.alphabeta import (
    CUTS,
    DOUBT,
    HURRY,
    LEAVES,
    NO_MOVE,
    POSITIONS,
    UNFINISHED,
    Frames,
    Limits,
)

_GENERIC = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance)
FIRST_CHUNK = 64
CHUNK_S = 0.002
"""Duration, in seconds, of a search under a time budget between two readings of the clock."""


@dataclass(frozen=True)
class Foresight:
    """The result of a search to one depth."""

    depth: int
    value: float
    """The root's score from the first player's viewpoint."""
    best_moves: tuple[int, ...]
    """The best moves in ascending order; only one of them if the search does not find ties."""
    line: tuple[int, ...]
    """The first best line: moves from the root."""
    positions: int
    """Visited positions, including the root; with iterative deepening, those of all depths."""
    leaves: int
    """Positions whose moves were not searched."""
    cuts: int
    """Positions of which some moves were not searched."""
    complete: bool
    """Whether every line was searched to the end of the game or cut: a deeper search cannot differ."""


class Lookahead:
    """Searches of one game with one evaluator, each in its own memory: safe to use from any thread."""

    def __init__(self, game: Game, evaluator: StaticEvaluator | None) -> None:
        extra = {} if evaluator is None else {"evaluate": evaluator.rule}
        functions = specialise(_GENERIC, game, extra)
        self.evaluate: Callable[[State], float] = (lambda state: 0.0) if evaluator is None else evaluator.rule
        """The evaluation of a position from the first player's viewpoint."""
        self._begin, self._advance = functions["begin"], functions["advance"]
        self._game = game
        self._evaluates_finished = evaluator is not None and evaluator.finished

    def limits(self, depth: int, **changes: bool) -> Limits:
        """Limits for alpha-beta to a depth with every option of `Limits` on, except for ``changes``."""
        return Limits(depth, evaluates_finished=self._evaluates_finished)._replace(**changes)

    def search(self, state: State, limits: Limits) -> Foresight:
        """Search an unfinished position to the depth of the limits."""
        frames = new_frames(self._game, limits.depth)
        self._begin(state, limits, frames)
        while not self._advance(limits, 2**40, frames):
            pass
        return self._found(limits, frames)

    def deepen(
        self,
        state: State,
        limits: Limits,
        seconds: float,
        clock: Callable[[], float] = time.thread_time,
    ) -> Foresight:
        """Iterative deepening from depth 1 to the depth of ``limits``, for ``seconds`` of CPU time.

        Returns the result of the last completed depth; depth 1 is always completed. The time limit is
        exceeded by at most `CHUNK_S` and the time of a few positions. Compilation is not counted.
        """
        frames = new_frames(self._game, limits.depth)
        first = limits._replace(depth=1)
        self._begin(state, first, frames)
        self._advance(first, 0, frames)
        end = clock() + seconds
        chunk, positions, found = FIRST_CHUNK, 0, None
        for depth in range(1, limits.depth + 1):
            step = limits._replace(depth=depth)
            self._begin(state, step, frames)
            done = False
            while not done:
                before, visited = clock(), int(frames.counts[POSITIONS])
                if before >= end and found is not None:
                    return found
                done = self._advance(step, chunk, frames)
                if not done:
                    # As many positions as take about CHUNK_S, at most four times the last number.
                    visited, passed_s = int(frames.counts[POSITIONS]) - visited, max(1e-9, clock() - before)
                    chunk = max(1, int(visited * min(4.0, CHUNK_S / passed_s)))
            positions += int(frames.counts[POSITIONS])
            found = self._found(step, frames, positions)
            if found.complete:
                return found
            frames.expected[: depth + 1] = frames.lines[0, : depth + 1]
        assert found is not None
        return found

    def _found(self, limits: Limits, frames: Frames, positions: int | None = None) -> Foresight:
        value, num_moves = float(frames.values[0]), int(frames.num_moves[0])
        line = frames.lines[0].tolist()
        best = frames.moves[0, :num_moves][frames.root_values[:num_moves] == value].tolist()
        return Foresight(
            depth=limits.depth,
            value=value,
            best_moves=tuple(sorted(best)) if limits.finds_ties else (line[0],),
            line=tuple(line[: line.index(NO_MOVE)] if NO_MOVE in line else line),
            positions=int(frames.counts[POSITIONS]) if positions is None else positions,
            leaves=int(frames.counts[LEAVES]),
            cuts=int(frames.counts[CUTS]),
            complete=int(frames.counts[UNFINISHED]) == 0,
        )


@lru_cache(maxsize=32)
def lookahead_of(game: Game, evaluator: str) -> Lookahead:
    """The `Lookahead` of a game with an evaluator of `Game.evaluators`; one instance for each process."""
    return Lookahead(game, game.evaluators.get(evaluator))


def new_frames(game: Game, depth: int) -> Frames:
    """Scratch memory for searches of the game to ``depth``."""
    plies, state = depth + 1, game.initial_state()

    def room(*shape: int, dtype: Any = np.int64) -> Any:
        return np.zeros(shape, dtype=dtype)

    return Frames(
        states=room(plies, len(state), dtype=state.dtype),
        state=np.zeros_like(state),
        moves=room(plies, game.max_moves, dtype=np.uint16),
        listed=room(game.max_moves, dtype=np.uint16),
        looks=room(plies, game.max_moves, dtype=np.float64),
        num_moves=room(plies),
        next_move=room(plies),
        players=room(plies),
        alphas=room(plies, dtype=np.float64),
        betas=room(plies, dtype=np.float64),
        values=room(plies, dtype=np.float64),
        root_values=room(game.max_moves, dtype=np.float64),
        lines=np.full((plies, plies), NO_MOVE, dtype=np.uint16),
        expected=np.full(plies, NO_MOVE, dtype=np.uint16),
        as_expected=room(plies, dtype=np.bool_),
        counts=room(5),
    )


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
    """Search an unfinished position as `Lookahead.search` does and record the tree.

    Raises InvalidInput (field ``player option depth``) if minimax visits more than `MOST_NODES` positions.
    """
    tracer = _Tracer(lookahead, game, limits)
    root = tracer.node(NO_MOVE, "", 0)
    tracer.search(root, state, _LOWEST, _HIGHEST)
    on_line: Traced | None = root
    while on_line is not None:
        on_line.best = True
        on_line = tracer.followers.get(id(on_line))
    return Trace(root, tracer.visited, tracer.total)


_Score = tuple[float, float]
"""A score of the search, and the value that it stands for: the first player's, without reductions."""
_LOWEST, _HIGHEST = (-math.inf, -math.inf), (math.inf, math.inf)


class _Tracer:
    """Searches recursively, in the order of search/minimax/alphabeta.py."""

    def __init__(self, lookahead: Lookahead, game: Game, limits: Limits) -> None:
        self._lookahead, self._game, self._limits = lookahead, game, limits
        self.visited = self.total = 0
        self.followers: dict[int, Traced] = {}
        """By id of a searched position: the one after its first best move."""

    def node(self, move: int, text: str, ply: int, visited: bool = True) -> Traced:
        """One more position of the tree."""
        self.total += 1
        self.visited += visited
        if self.total > MOST_NODES:
            accepted = f"a depth at which minimax visits at most {MOST_NODES:,} positions"
            raise InvalidInput("player option depth", self._limits.depth, accepted)
        return Traced(move, text, ply, None, visited)

    def search(self, node: Traced, state: State, alpha: _Score, beta: _Score) -> _Score:
        """Complete a visited position and those below it."""
        score = self._leaf(node, state)
        if score is not None:
            node.value = score[1]
            return score
        node.player = int(self._game.calls.current_player(state))
        sign = 1.0 if node.player == FIRST else -1.0
        best = _LOWEST if node.player == FIRST else _HIGHEST
        for move, position in self._moves(state):
            text = self._game.format_move(state, move)
            if node.cuts:
                node.children.append(self._unvisited(position, move, text, node.ply + 1))
                continue
            child = self.node(move, text, node.ply + 1)
            node.children.append(child)
            score = self.search(child, position, alpha, beta)
            if sign * score[0] > sign * best[0]:
                best, bound = score, score
                self.followers[id(node)] = child
                if node.ply == 0 and self._limits.finds_ties:
                    # One floating-point step below the best value, so that ties get their exact value.
                    bound = (math.nextafter(score[0], -sign * math.inf), score[1])
                if node.player == FIRST:
                    alpha = max(alpha, bound)
                else:
                    beta = min(beta, bound)
            is_closed = alpha[0] > beta[0] or (self._limits.cuts_equals and alpha[0] == beta[0])
            node.cuts = self._limits.prunes and is_closed
        node.cuts = not all(child.visited for child in node.children)
        node.value, node.alpha, node.beta = best[1], alpha[1], beta[1]
        return best

    def _leaf(self, node: Traced, state: State) -> _Score | None:
        """The score of a leaf; None for other positions."""
        calls, is_over = self._game.calls, bool(self._game.calls.is_terminal(state))
        if is_over and not self._limits.evaluates_finished:
            value = float(calls.returns(state))
            return (1.0 - HURRY * node.ply) * value, value
        if not is_over and node.ply < self._limits.depth:
            return None
        value = self._lookahead.evaluate(state)
        return (1.0 - DOUBT) * value, value

    def _moves(self, state: State) -> list[tuple[int, State]]:
        """The moves in the order of search, each with the position after it."""
        calls, moves = self._game.calls, np.zeros(self._game.max_moves, dtype=np.uint16)
        listed = [int(move) for move in moves[: calls.legal_moves(state, moves)]]
        if self._limits.ordered and calls.priority is not None:
            looks = {move: calls.priority(state, move) for move in listed}
            listed.sort(key=lambda move: -looks[move])
        after = dict(self._game.successors(state))
        return [(move, after[move]) for move in listed]

    def _unvisited(self, state: State, move: int, text: str, ply: int) -> Traced:
        """The subtree, as minimax would visit it, of a move that was cut and led to ``state``."""
        node = self.node(move, text, ply, visited=False)
        if ply < self._limits.depth:
            for each, position in self._game.successors(state):
                named = self._game.format_move(state, each)
                node.children.append(self._unvisited(position, each, named, ply + 1))
        return node
