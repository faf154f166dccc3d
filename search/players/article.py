"""The program of an article on tic-tac-toe, as it prints it, simulations in place of milliseconds.

It is kept with what sets it apart from UCT, because a claim of the article is about it: a win scores 10, and
a draw no more than a loss; C is 1.41 on that scale; a leaf's children are all made at once, and one of them
drawn; a child that is drawn and lost at once marks its parent for good, so that it is not chosen again. The
article prints neither how the last choice is made nor what becomes of a marked score; the code that it
refers to takes the most visits, and keeps the mark.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import Game
from games.jit import Int, njit
from games.rng import Stream, below, new_stream
from games.spec import Options, Spec
from games.specialise import cached_njit
from games.tictactoe import TicTacToe
from search.players.player import Choice, Player, Seen
from search.selection import sqrt_log

WIN_SCORE, EXPLORATION = 10.0, 1.41
UNVISITED, MARKED = 2.0**31 - 1, -(2.0**31)
MAX_SIMULATIONS = 100_000
CELLS, FULL = 9, 511
US, THEM, DRAW, UNDECIDED = range(4)
"""Who won; the first two also say who moved last. We are the player to move at the root."""
PARENT, FIRST_CHILD, CHILDREN, VISITS, MOVE, MOVED, STONES = range(7)
"""Columns of the tree, a row a node; our stones, and in the column after it theirs, as masks."""
Tree = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]

_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421)
_WON = np.array([any(mask & line == line for line in _LINES) for mask in range(512)], dtype=np.bool_)


class Article(Player):
    """The article's player."""

    def __init__(self, spec: str, simulations: int, by_visits: bool) -> None:
        super().__init__(spec)
        self.simulations, self.by_visits = simulations, by_visits

    @classmethod
    def from_options(cls, spec: Spec, options: Options, game: Game) -> Article:
        """Options: simulations; final, what the last choice goes by: visits or score."""
        if not isinstance(game, TicTacToe):
            raise InvalidInput("player", str(spec), "another player: this one plays tictactoe only")
        simulations = options.whole("simulations", 1000, 1, MAX_SIMULATIONS)
        by_visits = options.choice("final", "visits", ("visits", "score")) == "visits"
        return cls(str(spec), simulations, by_visits)

    def choose(self, seen: Seen, seed: int) -> Choice:
        us, them = int(seen.state[seen.mover]), int(seen.state[1 - seen.mover])
        move, nodes = printed_search(us, them, self.simulations, self.by_visits, new_stream(seed))
        return Choice(int(move), simulations=self.simulations, nodes=int(nodes))


@njit
def _outcome(us: Int, them: Int) -> int:
    """Whether somebody has won."""
    if _WON[us]:
        return US
    if _WON[them]:
        return THEM
    return DRAW if us | them == FULL else UNDECIDED


@njit
def _entry(tree: Tree, node: Int, column: Int) -> int:
    """One number of the tree, as wide as Python's."""
    return np.int64(tree[node, column])  # type: ignore[return-value]


@njit
def _best_child(tree: Tree, scores: Scores, node: Int) -> int:
    """By the article's formula; of equals the first."""
    explore = EXPLORATION * sqrt_log(_entry(tree, node, VISITS))
    best, best_value = 0, -math.inf
    first = _entry(tree, node, FIRST_CHILD)
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
    """All children of a node, behind the ``size`` nodes that there are; how many there are then."""
    mover = 1 - tree[node, MOVED]
    tree[node, FIRST_CHILD] = size
    taken = tree[node, STONES] | tree[node, STONES + 1]
    for cell in range(CELLS):
        if taken >> cell & 1 == 0:
            for column in range(tree.shape[1]):
                tree[size, column] = 0
            tree[size, PARENT], tree[size, MOVE], tree[size, MOVED] = node, cell, mover
            tree[size, STONES], tree[size, STONES + 1] = tree[node, STONES], tree[node, STONES + 1]
            tree[size, STONES + mover] |= 1 << cell
            size += 1
    tree[node, CHILDREN] = size - tree[node, FIRST_CHILD]
    return int(size)


@njit
def _playout(us: Int, them: Int, moved: Int, stream: Stream) -> int:
    """The outcome of random moves from here."""
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
def printed_search(us: int, them: int, simulations: int, by_visits: bool, stream: Stream) -> tuple[int, int]:
    """The move's cell, and how many nodes the tree has; ``us`` and ``them`` are masks, and we are to move."""
    tree = np.zeros((1 + CELLS * (simulations + 1), STONES + 2), dtype=np.int32)
    scores = np.zeros(len(tree), dtype=np.float64)
    tree[0, PARENT], tree[0, MOVED], tree[0, STONES], tree[0, STONES + 1] = -1, THEM, us, them
    size = 1
    for _ in range(simulations):
        node = 0
        while tree[node, CHILDREN] > 0:
            node = _best_child(tree, scores, node)
        if _outcome(tree[node, STONES], tree[node, STONES + 1]) == UNDECIDED:
            size = _expand(tree, node, size)
            node = _entry(tree, node, FIRST_CHILD) + below(stream, _entry(tree, node, CHILDREN))
        outcome = _outcome(tree[node, STONES], tree[node, STONES + 1])
        if outcome == THEM:
            scores[tree[node, PARENT]] = MARKED
        elif outcome == UNDECIDED:
            outcome = _playout(tree[node, STONES], tree[node, STONES + 1], tree[node, MOVED], stream)
        while node >= 0:
            tree[node, VISITS] += 1
            if tree[node, MOVED] == outcome and scores[node] != MARKED:
                scores[node] += WIN_SCORE
            node = _entry(tree, node, PARENT)
    best, best_value = 0, -math.inf
    for child in range(1, 1 + tree[0, CHILDREN]):
        value = float(tree[child, VISITS]) if by_visits else scores[child]
        if value > best_value:
            best, best_value = child, value
    return _entry(tree, best, MOVE), size
