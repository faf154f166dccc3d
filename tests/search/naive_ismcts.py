"""SO-ISMCTS from its description: a dictionary of children, one determinization a simulation.

Shared with the code under test, as in tests/search/naive.py: the logarithm, the order of
operations within a score, the random stream, and the game's determinize and playout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from games import Game
from games.game import State
from games.rng import Stream, below
from games.specialise import specialise
from search.selection import Knobs, natural_log
from tests.games.common import plain
from tests.search.naive import play_to_the_end

_below = plain(below)
_natural_log = cache(plain(natural_log))


@dataclass
class Node:
    """An information set of the searching player; values are the first player's."""

    visits: int = 0
    available: int = 0
    total_value: float = 0.0
    children: dict[int, Node] = field(default_factory=dict)


class NaiveIsmcts:
    """A search from what a view says."""

    def __init__(self, game: Game, view: State, stream: Stream) -> None:
        self.game, self.view, self.stream = game, view, stream
        self.root = Node()
        self._playout = specialise([play_to_the_end], game)["play_to_the_end"]

    def simulate(self, knobs: Knobs, simulations: int) -> None:
        for _ in range(simulations):
            state = self.game.initial_state()
            assert self.game.calls.determinize is not None
            self.game.calls.determinize(self.view, state, self.stream)
            path = self._descend(knobs, state)
            moves = np.zeros(self.game.max_moves, dtype=np.uint16)
            if self.game.calls.is_terminal(state):
                value = self.game.calls.returns(state)
            else:
                value = float(self._playout(state, moves, self.stream))
            for node in path:
                node.visits += 1
                node.total_value += value

    def _descend(self, knobs: Knobs, state: State) -> list[Node]:
        calls, path = self.game.calls, [self.root]
        while not calls.is_terminal(state):
            node = path[-1]
            moves = np.zeros(self.game.max_moves, dtype=np.uint16)
            legal = [int(move) for move in moves[: calls.legal_moves(state, moves)]]
            known = [move for move in legal if move in node.children]
            untried = [move for move in legal if move not in node.children]
            for move in known:
                node.children[move].available += 1
            sign = 1.0 - 2.0 * int(calls.current_player(state))
            scores = {move: score_of(knobs, node.children[move], sign) for move in known}
            best = max(known, key=lambda move: scores[move]) if known else None
            if untried and (best is None or scores[best] < knobs.first_play_urgency):
                move = untried[int(_below(self.stream, len(untried)))]
                node.children[move] = Node(available=1)
                calls.play(state, move)
                return [*path, node.children[move]]
            assert best is not None
            calls.play(state, best)
            path.append(node.children[best])
        return path


def score_of(knobs: Knobs, child: Node, sign: float) -> float:
    """Q + 2 C sqrt(ln N' / N)."""
    scale = 1.0 / math.sqrt(child.visits)
    mean = sign * child.total_value * scale * scale
    return mean + knobs.exploration * math.sqrt(_natural_log(child.available)) * scale
