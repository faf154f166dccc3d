"""Looking ahead in one game: minimax and alpha-beta as Python calls them, to a depth or for some seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from games.game import Game, State
from games.rules import Evaluator
from games.specialise import specialise
from search import alphabeta
from search.alphabeta import CUTS, LEAVES, MAX_DEPTH, NO_MOVE, PLY, POSITIONS, UNFINISHED, Frames, Limits

_GENERIC = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, alphabeta.count_tree)
AFFORDABLE = 10_000
"""Moves that may be played to count minimax's positions: a millisecond or two."""
FIRST_CHUNK = 64
CHUNK_S = 0.002
"""How long a search under a time budget runs between two looks at the clock."""


@dataclass(frozen=True)
class Foresight:
    """What a search to one depth has found."""

    depth: int
    value: float
    """The root's score, the first player's."""
    best_moves: tuple[int, ...]
    """In ascending order: all that are as good as the best, or one if ties were not looked for."""
    line: tuple[int, ...]
    """The first best line."""
    positions: int
    """Visited, the root among them; of a search in seconds, in all depths."""
    leaves: int
    cuts: int
    """Positions of which some moves were left out."""
    complete: bool
    """Whether every line was searched to the end of the game or cut: a deeper search finds the same."""


class Visit(NamedTuple):
    """A position that a search comes to."""

    ply: int
    """From the root, which is 0."""
    move: int
    """That led to it; `NO_MOVE` at the root."""
    alpha: float
    """When it is opened, what the first player has for certain..."""
    beta: float
    """...and what the second player can hold it to; both of a leaf are not asked for."""
    moves: tuple[int, ...]
    """In the order in which they are searched; none of a leaf."""


class Lookahead:
    """Searches of one game with one evaluator; scratch memory is kept between them."""

    def __init__(self, game: Game, evaluator: Evaluator | None) -> None:
        extra = {} if evaluator is None else {"evaluate": evaluator.rule}
        functions = specialise(_GENERIC, game, extra)
        self._evaluate = None if evaluator is None else evaluator.rule
        self._begin, self._advance = functions["begin"], functions["advance"]
        self._count_tree = functions["count_tree"]
        self._game = game
        self._evaluates_finished = evaluator is not None and evaluator.finished
        self._frames: Frames | None = None

    def limits(self, depth: int, **changes: bool) -> Limits:
        """Alpha-beta to a depth, with all that `Limits` has to choose; ``changes`` of it."""
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
        frames = self._frames_for(limits.depth)
        frames.expected[0] = NO_MOVE
        self._begin(state, limits, frames)
        while not self._advance(limits, 2**40, frames):
            pass
        return self._found(limits, frames)

    def watch(self, state: State, limits: Limits) -> Iterator[Visit]:
        """`search`, and each position as it is visited; nothing else may be searched meanwhile."""
        frames = self._frames_for(limits.depth)
        frames.expected[0] = NO_MOVE
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
        """What a leaf counts before it is made a little less for its distance: see search/alphabeta.py."""
        if self._game.calls.is_terminal(state) and not self._evaluates_finished:
            return float(self._game.calls.returns(state))
        return 0.0 if self._evaluate is None else float(self._evaluate(state))

    def deepen(self, state: State, limits: Limits, seconds: float) -> Foresight:
        """Search to depth 1, 2, ... up to the limits' for so much CPU time of this thread.

        The answer is that of the last depth that was finished, at the least of depth 1. It stops
        within `CHUNK_S` and the time of a few positions, once compiled, which does not count.
        """
        frames = self._frames_for(limits.depth)
        frames.expected[0] = NO_MOVE
        first = limits._replace(depth=1)
        self._begin(state, first, frames)
        self._advance(first, 0, frames)
        end = time.thread_time() + seconds
        chunk, positions, found = FIRST_CHUNK, 0, None
        for depth in range(1, limits.depth + 1):
            step = limits._replace(depth=depth)
            self._begin(state, step, frames)
            done = False
            while not done:
                before, visited = time.thread_time(), int(frames.counts[POSITIONS])
                if before >= end and found is not None:
                    return found
                done = self._advance(step, chunk, frames)
                if not done:
                    chunk = _next_chunk(int(frames.counts[POSITIONS]) - visited, time.thread_time() - before)
            positions += int(frames.counts[POSITIONS])
            found = self._found(step, frames, positions)
            if found.complete:
                return found
            frames.expected[: depth + 1] = frames.lines[0, : depth + 1]
        assert found is not None
        return found

    def share_cut(self, state: State, found: Foresight) -> float | None:
        """Which share of minimax's positions of that depth alpha-beta did not visit.

        None where more moves must be played to count them than alpha-beta has made and than `AFFORDABLE`:
        in practice from depth 4 on.
        """
        affordable = max(found.positions, AFFORDABLE)
        total = self._count_tree(state, found.depth, affordable, self._frames_for(found.depth))
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
        """An opened position."""
        moves = frames.moves[ply, : frames.num_moves[ply]].tolist()
        return Visit(ply, move, float(frames.alphas[ply]), float(frames.betas[ply]), tuple(moves))

    def _frames_for(self, depth: int) -> Frames:
        if self._frames is None or len(self._frames.states) <= depth:
            self._frames = new_frames(self._game, depth)
        return self._frames


@lru_cache(maxsize=32)
def lookahead_of(game: Game, evaluator: str) -> Lookahead:
    """The searches of a game with the evaluator of that name (`Game.evaluators`), one for each process."""
    return Lookahead(game, game.evaluators.get(evaluator))


def _next_chunk(positions: int, seconds: float) -> int:
    """So many positions that they take `CHUNK_S`, and at most four times as many as before."""
    if seconds <= 0.0:
        return 4 * max(positions, 1)
    return max(1, int(min(4.0 * positions, positions * CHUNK_S / seconds)))


def new_frames(game: Game, depth: int) -> Frames:
    """Scratch memory for searches of the game to that depth."""
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


__all__ = ["MAX_DEPTH", "Foresight", "Lookahead", "Visit", "lookahead_of", "new_frames"]
