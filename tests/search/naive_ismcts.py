"""SO-ISMCTS from its description: a dictionary of children, one determinization a simulation.

Shared with the code under test, as in tests/search/naive.py: the logarithm, the order of
operations within a score, the random stream, how many moves visits allow, and the game's
determinize, priority and playout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from games import Game
from games.compile.specialise import specialise
from games.game import State
from games.rng import Stream, below
from search.kernel.expand import allowed
from search.kernel.params import SearchParams
from search.kernel.uct import natural_log
from tests.games.common import plain
from tests.search.naive import play_to_the_end

_below = plain(below)
_allowed = plain(allowed)
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

    def __init__(self, game: Game, view: State, stream: Stream, widened: bool = False) -> None:
        self.game, self.view, self.stream, self.widened = game, view, stream, widened
        self.root = Node()
        self._playout = specialise([play_to_the_end], game)["play_to_the_end"]

    def simulate(self, params: SearchParams, simulations: int) -> None:
        dealt = self.game.initial_state()
        searched: list[Node] = []
        for simulation in range(simulations):
            enough = min(params.paired, len(self.root.children))
            if simulation == 0 or len(searched) >= enough:
                searched = []
                assert self.game.calls.determinize is not None
                self.game.calls.determinize(self.view, dealt, self.stream)
            state = dealt.copy()
            path = self._descend(params, state, searched)
            searched += path[1:2]
            moves = np.zeros(self.game.max_moves, dtype=np.uint16)
            if self.game.calls.is_terminal(state):
                value = self.game.calls.returns(state)
            else:
                value = float(self._playout(state, moves, self.stream))
            for node in path:
                node.visits += 1
                node.total_value += value

    def _descend(self, params: SearchParams, state: State, searched: list[Node]) -> list[Node]:
        """The path; at the root not to the children that have searched this deal, if there are others."""
        calls, path = self.game.calls, [self.root]
        while not calls.is_terminal(state):
            node = path[-1]
            moves = np.zeros(self.game.max_moves, dtype=np.uint16)
            legal = [int(move) for move in moves[: calls.legal_moves(state, moves)]]
            used = [move for move in legal if any(node.children.get(move) is one for one in searched)]
            if node is self.root and len(used) < len(legal):
                legal = [move for move in legal if move not in used]
            known = [move for move in legal if move in node.children]
            untried = [move for move in legal if move not in node.children]
            for move in known:
                node.children[move].available += 1
            sign = 1.0 - 2.0 * int(calls.current_player(state))
            scores = {move: score_of(params, node.children[move], sign) for move in known}
            best = max(known, key=lambda move: scores[move]) if known else None
            full = (
                self.widened and best is not None and len(known) + len(used) >= _allowed(params, node.visits)
            )
            if untried and not full and (best is None or scores[best] < params.first_play_urgency):
                move = self._untried(state, untried)
                node.children[move] = Node(available=1)
                calls.play(state, move)
                return [*path, node.children[move]]
            assert best is not None
            calls.play(state, best)
            path.append(node.children[best])
        return path

    def _untried(self, state: State, untried: list[int]) -> int:
        if not self.widened:
            return untried[int(_below(self.stream, len(untried)))]
        chosen, top, found = -1, -math.inf, 0
        for move in untried:
            looks = float(self.game.calls.priority(state, move))
            if looks > top:
                top, found = looks, 0
            if looks == top:
                found += 1
                if int(_below(self.stream, found)) == 0:
                    chosen = move
        return chosen


def score_of(params: SearchParams, child: Node, sign: float) -> float:
    """Q + 2 C sqrt(ln N' / N)."""
    scale = 1.0 / math.sqrt(child.visits)
    mean = sign * child.total_value * scale * scale
    return mean + params.exploration * math.sqrt(_natural_log(child.available)) * scale
