"""Minimax and alpha-beta for callers in Python: to a fixed depth, by iterative deepening for a time, and
traces of the whole tree with the visited and the cut positions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from games.compile.specialise import specialise
from games.errors import InvalidInput
from games.game import FIRST, Game, State
from games.rules import Evaluator
from search.minimax import alphabeta
from search.minimax.alphabeta import (
    CUTS,
    DOUBT,
    HURRY,
    LEAVES,
    NO_MOVE,
    PLY,
    POSITIONS,
    UNFINISHED,
    Frames,
    Limits,
)

_GENERIC = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, alphabeta.count_tree)
AFFORDABLE = 10_000
"""Limit of the moves played to count the positions of minimax; they take one or two milliseconds."""
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


class Visit(NamedTuple):
    """A position that a search visits."""

    ply: int
    """Distance from the root in plies."""
    move: int
    """The move that led to the position; `NO_MOVE` at the root."""
    alpha: float
    """Alpha when the position is opened: lower bound of what the first player can reach. Unset at a leaf."""
    beta: float
    """Beta when the position is opened: upper bound of what the first player can reach. Unset at a leaf."""
    moves: tuple[int, ...]
    """The moves in the order of search; empty at a leaf."""


class Lookahead:
    """Searches of one game with one evaluator, each in its own memory: safe to use from any thread."""

    def __init__(self, game: Game, evaluator: Evaluator | None) -> None:
        extra = {} if evaluator is None else {"evaluate": evaluator.rule}
        functions = specialise(_GENERIC, game, extra)
        self._evaluate = None if evaluator is None else evaluator.rule
        self._begin, self._advance = functions["begin"], functions["advance"]
        self._count_tree = functions["count_tree"]
        self._game = game
        self._evaluates_finished = evaluator is not None and evaluator.finished

    def limits(self, depth: int, **changes: bool) -> Limits:
        """Limits for alpha-beta to a depth with every option of `Limits` on, except for ``changes``."""
        limits = Limits(
            depth=depth,
            prunes=True,
            cuts_equals=True,
            ordered=True,
            finds_ties=True,
            evaluates_finished=self._evaluates_finished,
        )
        return limits._replace(**changes)

    def search(self, state: State, limits: Limits) -> Foresight:
        """Search an unfinished position to the depth of the limits."""
        frames = new_frames(self._game, limits.depth)
        self._begin(state, limits, frames)
        while not self._advance(limits, 2**40, frames):
            pass
        return self._found(limits, frames)

    def watch(self, state: State, limits: Limits) -> Iterator[Visit]:
        """Search as `search` does and yield each visited position."""
        frames = new_frames(self._game, limits.depth)
        self._begin(state, limits, frames)
        tried = [0] * (limits.depth + 1)
        yield self._visit(0, NO_MOVE, frames)
        leaves = 0
        while not self._advance(limits, 1, frames):
            is_leaf = int(frames.counts[LEAVES]) > leaves
            leaves = int(frames.counts[LEAVES])
            ply = int(frames.counts[PLY]) + is_leaf
            move = int(frames.moves[ply - 1, tried[ply - 1]])
            tried[ply - 1] += 1
            tried[ply] = 0
            if is_leaf:
                yield Visit(ply, move, -math.inf, math.inf, ())
            else:
                yield self._visit(ply, move, frames)

    def value_of_leaf(self, state: State) -> float:
        """The return or evaluation of a leaf, without the reductions of search/minimax/alphabeta.py."""
        if self._game.calls.is_terminal(state) and not self._evaluates_finished:
            return float(self._game.calls.returns(state))
        return 0.0 if self._evaluate is None else float(self._evaluate(state))

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
                    chunk = _next_chunk(int(frames.counts[POSITIONS]) - visited, clock() - before)
            positions += int(frames.counts[POSITIONS])
            found = self._found(step, frames, positions)
            if found.complete:
                return found
            frames.expected[: depth + 1] = frames.lines[0, : depth + 1]
        assert found is not None
        return found

    def share_cut(self, state: State, found: Foresight) -> float | None:
        """The share of the positions of minimax of this depth that alpha-beta did not visit.

        None if counting them would take more moves than both the search itself and `AFFORDABLE`, which
        happens from depth 4 on in practice.
        """
        affordable = max(found.positions, AFFORDABLE)
        total = self._count_tree(state, found.depth, affordable, new_frames(self._game, found.depth))
        return None if total < 0 else 1.0 - found.positions / total

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

    def _visit(self, ply: int, move: int, frames: Frames) -> Visit:
        """The `Visit` of the open position of ``ply``."""
        moves = frames.moves[ply, : frames.num_moves[ply]].tolist()
        return Visit(ply, move, float(frames.alphas[ply]), float(frames.betas[ply]), tuple(moves))


@lru_cache(maxsize=32)
def lookahead_of(game: Game, evaluator: str) -> Lookahead:
    """The `Lookahead` of a game with an evaluator of `Game.evaluators`; one instance for each process."""
    return Lookahead(game, game.evaluators.get(evaluator))


def _next_chunk(positions: int, seconds: float) -> int:
    """The number of positions that take about `CHUNK_S`, at most four times the last number."""
    if seconds <= 0.0:
        return 4 * max(positions, 1)
    return max(1, int(min(4.0 * positions, positions * CHUNK_S / seconds)))


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
