"""Search of problems of every form from the definitions: dictionaries, and whole simulations written down.

A simulation is the list of its moves from the root to the end, who made each, and everybody's score before
and after each. What it adds to the node after one of its moves is the sum, from that move to the end, of the
rewards of the player whose view the node has, each discounted by the number of choices that lie between. The
view is that of who chose the move with three players or more, else the first player's.

Shared with the code under test, as in tests/search/naive.py: the logarithm, the order of operations within a
score, the random streams, and the game's rules. Sums are made in another order: they agree to the last bit
where they are exact.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from games import Game
from games.game import CHANCE, SECOND, State
from games.rng import Stream, below, new_stream
from search.job import PLAYOUT_STREAM, SELECTION_STREAM
from search.kernel.params import SearchParams
from search.kernel.uct import natural_log
from search.plan import SearchPlan
from tests.games.common import plain

_below = plain(below)
_natural_log = cache(plain(natural_log))


@dataclass
class Node:
    """What a tree knows of a position, or with an open loop of a sequence of moves."""

    visits: int = 0
    total_value: float = 0.0
    unobserved: int = 0
    available: int = 0
    children: dict[int, Node] = field(default_factory=dict)
    """By move, in the order in which they came."""


@dataclass
class Line:
    """Moves from the root, who made each, everybody's scores at the root and after each, the last position,
    and the nodes on the way as far as there are."""

    state: State
    scores: list[tuple[float, ...]]
    nodes: list[Node]
    moves: list[int] = field(default_factory=list)
    movers: list[int] = field(default_factory=list)

    def copy(self) -> Line:
        return Line(self.state.copy(), [*self.scores], self.nodes, [*self.moves], [*self.movers])


class NaiveForms:
    """A search of any form from a root."""

    def __init__(self, game: Game, root_state: State) -> None:
        self.game, self.root_state, self.root = game, root_state, Node()
        self.best: tuple[float, list[int]] = (-math.inf, [])
        """One player: the most that a simulation came to, and its moves."""
        self.totals = [0.0] * game.num_players
        """Everybody's score at the end, summed over all simulations."""

    def simulate(self, params: SearchParams, simulations: int, stream: Stream) -> None:
        """One after the other."""
        for _ in range(simulations):
            line = self.descend(params, 1, stream)
            self.count(line.nodes, 1, [self.play_out(params, line, stream)])

    def search_by_leaves(self, params: SearchParams, plan: SearchPlan, seed: int) -> None:
        """Strategy leaf: batches of leaves, selected while the results of others are out."""
        out: deque[tuple[int, list[tuple[Line, int]]]] = deque()
        for job in range(plan.jobs):
            if len(out) == plan.lanes:
                self._absorb(params, *out.popleft(), seed)
            out.append((job, self._select(params, plan, job, new_stream(seed, SELECTION_STREAM, job))))
        while out:
            self._absorb(params, *out.popleft(), seed)

    def _select(
        self, params: SearchParams, plan: SearchPlan, job: int, stream: Stream
    ) -> list[tuple[Line, int]]:
        left, leaves = plan.size(job), []
        while left:
            visits = min(left, plan.playouts_per_leaf)
            leaves.append((self.descend(params, visits, stream), visits))
            for node in leaves[-1][0].nodes:
                node.unobserved += visits
            left -= visits
        return leaves

    def _absorb(self, params: SearchParams, job: int, leaves: list[tuple[Line, int]], seed: int) -> None:
        stream = new_stream(seed, PLAYOUT_STREAM, job)
        for line, visits in leaves:
            ends = [self.play_out(params, line, stream) for _ in range(visits)]
            self.count(line.nodes, visits, ends)
            for node in line.nodes:
                node.unobserved -= visits

    def count(self, nodes: list[Node], visits: int, ends: list[Line]) -> None:
        """Add what simulations through these nodes came to."""
        for end in ends:
            for d, node in enumerate(nodes):
                # The root has what the first move has.
                node.total_value += self.worth(end, max(0, d - 1))
            for player, score in enumerate(end.scores[-1]):
                self.totals[player] += score
            if (value := self.worth(end, 0)) > self.best[0]:
                self.best = value, end.moves
        for node in nodes:
            node.visits += visits

    def worth(self, end: Line, begin: int) -> float:
        """The discounted rewards of a simulation from a move on, in the view of the node after that move."""
        many = self.game.num_players > 2
        view = end.movers[begin] if many and end.movers[begin] != CHANCE else 0
        total, choices = 0.0, 0
        for k in range(begin, len(end.moves)):
            total += self.game.discount**choices * (end.scores[k + 1][view] - end.scores[k][view])
            choices += end.movers[k] != CHANCE
        return total

    def descend(self, params: SearchParams, visits: int, stream: Stream) -> Line:
        """From the root to a leaf."""
        calls, state = self.game.calls, self.root_state.copy()
        if self.game.hidden_information:
            assert calls.determinize is not None
            calls.determinize(self.root_state, state, stream)
        line = Line(state, [self._scores(state)], [self.root])
        is_new = False
        while not is_new and not calls.is_terminal(line.state):
            node, mover = line.nodes[-1], int(calls.current_player(line.state))
            known = set(node.children)
            move = self._choose(params, node, line.state, mover, visits, stream)
            is_new = move not in known
            if is_new:
                counts = self.game.hidden_information and mover != CHANCE
                node.children[move] = Node(available=visits if counts else 0)
            line.nodes.append(node.children[move])
            self._play(line, move)
        return line

    def play_out(self, params: SearchParams, line: Line, stream: Stream) -> Line:
        """The line and random moves to the end, or as many as a playout may have."""
        line, calls, most = line.copy(), self.game.calls, len(line.moves) + params.playout_plies
        while len(line.moves) < most and not calls.is_terminal(line.state):
            if int(calls.current_player(line.state)) == CHANCE:
                move = self._outcome(line.state, stream)
            else:
                legal = self._legal(line.state)
                move = legal[int(_below(stream, len(legal)))]
            self._play(line, move)
        return line

    def _play(self, line: Line, move: int) -> None:
        line.moves.append(move)
        line.movers.append(int(self.game.calls.current_player(line.state)))
        self.game.calls.play(line.state, move)
        line.scores.append(self._scores(line.state))

    def _scores(self, state: State) -> tuple[float, ...]:
        """Everybody's score so far; without rewards there is none before the end."""
        game = self.game
        if not game.rewards and not game.calls.is_terminal(state):
            return (0.0,) * game.num_players
        assert game.calls.score is not None
        return tuple(float(game.calls.score(state, player)) for player in range(game.num_players))

    def _choose(
        self, params: SearchParams, node: Node, state: State, mover: int, visits: int, stream: Stream
    ) -> int:
        if mover == CHANCE:
            return self._outcome(state, stream)
        legal = self._legal(state)
        untried = [move for move in legal if move not in node.children]
        if self.game.hidden_information:
            # Of the children only those count that are legal in this simulation, in the order of the rules.
            known = [move for move in legal if move in node.children]
            for move in known:
                node.children[move].available += visits
        else:
            known = list(node.children)
        scores = {move: self._score(params, node, node.children[move], mover) for move in known}
        best = max(known, key=lambda move: scores[move]) if known else None
        if untried and (best is None or scores[best] < params.first_play_urgency):
            if self.game.hidden_information:
                return untried[int(_below(stream, len(untried)))]
            while True:
                move = legal[int(_below(stream, len(legal)))]
                if move in untried:
                    return move
        assert best is not None
        return best

    def _score(self, params: SearchParams, node: Node, child: Node, mover: int) -> float:
        """Q + 2 C sqrt(ln n / (N + O)): n visits of the node, or as often as the child was legal."""
        sign = -1.0 if self.game.num_players == 2 and mover == SECOND else 1.0
        times = child.available if self.game.hidden_information else node.visits + node.unobserved
        explore = params.exploration * math.sqrt(_natural_log(max(1, times)))
        scale = 1.0 / math.sqrt(child.visits + child.unobserved)
        value = sign * child.total_value
        if node.unobserved == 0 and not self.game.hidden_information:
            return scale * (value * scale + explore)
        if child.visits:
            observed = 1.0 / math.sqrt(child.visits)
            return value * observed * observed + explore * scale
        return sign * self._unvisited(node) + explore * scale

    def _unvisited(self, node: Node) -> float:
        """What a child without results is believed to be worth: the mean of the node's values, or where these
        hold the reward of another move, that of its children's."""
        among = [node] if self.game.is_two_player else list(node.children.values())
        visits = sum(one.visits for one in among)
        return sum(one.total_value for one in among) / visits if visits else 0.0

    def _legal(self, state: State) -> list[int]:
        """In the order in which the game lists them."""
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        return [int(move) for move in moves[: self.game.calls.legal_moves(state, moves)]]

    def _outcome(self, state: State, stream: Stream) -> int:
        assert self.game.calls.chance is not None
        return int(self.game.calls.chance(state, np.zeros(self.game.max_moves, dtype=np.uint16), stream))
