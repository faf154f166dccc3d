"""The program of an article on tic-tac-toe as printed, with a budget of simulations instead of milliseconds.

Its differences from UCT are kept, because a claim of the article is about this program. A win scores 10, and
a draw scores 0 like a loss; C is 1.41 on that scale. All children of a leaf are created at once and one of
them is drawn at random. If that child is an immediate loss, its parent is marked permanently and is not
chosen again. The article prints neither how the final move is chosen nor what happens to a marked score; the
code that it refers to chooses the most visited child and keeps the mark.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.compile.specialise import cached_njit
from games.game import Game
from games.jit import Int, njit
from games.rng import Stream, below, new_stream
from games.spec import Options, Spec
from games.tictactoe import WON, TicTacToe
from search.kernel.logarithms import TABLE, Table, sqrt_log
from search.players.player import Choice, Observation, Player, only

WIN_SCORE, EXPLORATION = 10.0, 1.41
UNVISITED, MARKED = 2.0**31 - 1, -(2.0**31)
MAX_SIMULATIONS = 100_000
CELLS, FULL = 9, 511
US, THEM, DRAW, UNDECIDED = range(4)
"""Outcomes; US and THEM also stand for the player who moved last. US is the player to move at the root."""
PARENT, FIRST_CHILD, CHILDREN, VISITS, MOVE, MOVED, STONES = range(7)
"""Columns of the tree, in which a row is a node. STONES: mask of our stones; the next column: of theirs."""
Tree = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


class Article(Player):
    """Player of the article's program; tic-tac-toe only."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Options: simulations; final (the final move has the most visits or the best score)."""
        super().__init__(str(spec))
        only(spec, game, TicTacToe)
        self.simulations = options.whole("simulations", 1000, 1, MAX_SIMULATIONS)
        self.by_visits = options.choice("final", "visits", ("visits", "score")) == "visits"

    def choose(self, seen: Observation, seed: int) -> Choice:
        us, them = int(seen.state[seen.mover]), int(seen.state[1 - seen.mover])
        move, nodes = printed_search(us, them, self.simulations, self.by_visits, TABLE, new_stream(seed))
        return Choice(int(move), simulations=self.simulations, nodes=int(nodes))


@njit
def _outcome(us: Int, them: Int) -> int:
    """The outcome of a position: US, THEM, DRAW or UNDECIDED."""
    if WON[us]:
        return US
    if WON[them]:
        return THEM
    return DRAW if us | them == FULL else UNDECIDED


@njit
def _best_child(tree: Tree, scores: Scores, node: Int, table: Table) -> int:
    """The child that maximises the article's formula; the first one in case of ties."""
    explore = EXPLORATION * sqrt_log(table, tree[node, VISITS])
    best, best_value = 0, -math.inf
    first = tree[node, FIRST_CHILD]
    for child in range(first, first + tree[node, CHILDREN]):
        visits = tree[child, VISITS]
        value = UNVISITED
        if visits > 0:
            value = scores[child] / visits + explore / math.sqrt(float(visits))
        if value > best_value:
            best, best_value = child, value
    return best


@njit
def _expand(tree: Tree, node: Int, size: Int) -> int:
    """Append all children of a node to the ``size`` nodes of the tree; returns the new number of nodes."""
    mover = 1 - tree[node, MOVED]
    tree[node, FIRST_CHILD] = size
    taken = tree[node, STONES] | tree[node, STONES + 1]
    for cell in range(CELLS):
        if taken >> cell & 1 == 0:
            tree[size, PARENT], tree[size, MOVE], tree[size, MOVED] = node, cell, mover
            tree[size, STONES], tree[size, STONES + 1] = tree[node, STONES], tree[node, STONES + 1]
            tree[size, STONES + mover] |= 1 << cell
            size += 1
    tree[node, CHILDREN] = size - tree[node, FIRST_CHILD]
    return int(size)


@njit
def _playout(us: Int, them: Int, moved: Int, stream: Stream) -> int:
    """The outcome of a playout with uniformly random moves."""
    outcome = _outcome(us, them)
    while outcome == UNDECIDED:
        moved = 1 - moved
        cell = below(stream, CELLS)
        while (us | them) >> cell & 1:
            cell = below(stream, CELLS)
        if moved == US:
            us |= 1 << cell
        else:
            them |= 1 << cell
        outcome = _outcome(us, them)
    return outcome


@cached_njit
def printed_search(
    us: int, them: int, simulations: int, by_visits: bool, table: Table, stream: Stream
) -> tuple[int, int]:
    """(cell of the move, nodes of the tree) of a search; ``us``, to move, and ``them`` are masks of cells."""
    tree = np.zeros((1 + CELLS * (simulations + 1), STONES + 2), dtype=np.int64)
    scores = np.zeros(len(tree), dtype=np.float64)
    tree[0, PARENT], tree[0, MOVED], tree[0, STONES], tree[0, STONES + 1] = -1, THEM, us, them
    size = 1
    for _ in range(simulations):
        node = 0
        while tree[node, CHILDREN] > 0:
            node = _best_child(tree, scores, node, table)
        if _outcome(tree[node, STONES], tree[node, STONES + 1]) == UNDECIDED:
            size = _expand(tree, node, size)
            node = tree[node, FIRST_CHILD] + below(stream, tree[node, CHILDREN])
        outcome = _outcome(tree[node, STONES], tree[node, STONES + 1])
        if outcome == THEM:
            scores[tree[node, PARENT]] = MARKED
        elif outcome == UNDECIDED:
            outcome = _playout(tree[node, STONES], tree[node, STONES + 1], tree[node, MOVED], stream)
        while node >= 0:
            tree[node, VISITS] += 1
            if tree[node, MOVED] == outcome and scores[node] != MARKED:
                scores[node] += WIN_SCORE
            node = tree[node, PARENT]
    if by_visits:
        scores = tree[:, VISITS].astype(np.float64)
    best = 1 + np.argmax(scores[1 : 1 + tree[0, CHILDREN]])
    return tree[best, MOVE], size
