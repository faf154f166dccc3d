"""The search of `leaf` with an evaluator from its formulas: objects and lists, one thing after the other.

Shared with the code under test: `natural_log`, the order of operations within a score, and the evaluator.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from games import Game
from games.game import State
from search.evaluator import Evaluator
from search.kernel.params import SearchParams
from search.kernel.puct import PARTS
from search.kernel.uct import natural_log
from search.tree.arena import DRAWN, UNPROVEN
from tests.games.common import plain
from tests.search.naive import RESULTS, Node, carry_proof_up

_natural_log = plain(natural_log)


@dataclass
class Way:
    """A descent on its way: its nodes, who moved at each but the last, and the state at its end."""

    path: list[Node]
    movers: list[int]
    state: State


class NaivePuct:
    """Batches of leaves, several in flight at a time."""

    def __init__(self, game: Game, root_state: State, evaluator: Evaluator, params: SearchParams) -> None:
        self.game, self.root_state, self.evaluator, self.params = game, root_state, evaluator, params
        self.root = Node()

    def run(self, sizes: list[int], lanes: int, until: int) -> None:
        """Job 0 alone, then as many in flight as there are lanes; the first ``until`` are absorbed."""
        self.absorb(self.select(sizes[0]))
        waiting, in_flight = deque(sizes[1:]), deque[list[Way]]()
        for _ in range(until - 1):
            while waiting and len(in_flight) < lanes:
                in_flight.append(self.select(waiting.popleft()))
            self.absorb(in_flight.popleft())

    def select(self, size: int) -> list[Way]:
        return [self._descend() for _ in range(size)]

    def absorb(self, ways: list[Way]) -> None:
        said = [self._evaluate(way) for way in ways]
        for way, (_, moves, priors) in zip(ways, said, strict=True):
            leaf = way.path[-1]
            if not leaf.children and leaf.proof == UNPROVEN:
                leaf.children = [Node(move, prior=prior) for move, prior in zip(moves, priors, strict=True)]
                leaf.complete = bool(moves)
        for way, (value, _, _) in zip(ways, said, strict=True):
            leaf = way.path[-1]
            for node in way.path:
                node.visits += 1
                node.unobserved -= 1
                node.total_value += value if leaf.proof == UNPROVEN else float(DRAWN - leaf.proof)
            if self.params.solver:
                carry_proof_up(way.path, way.movers)  # type: ignore[arg-type]

    def _descend(self) -> Way:
        calls = self.game.calls
        way = Way([self.root], [], self.root_state.copy())
        while True:
            node = way.path[-1]
            if node.proof != UNPROVEN:
                break
            if calls.is_terminal(way.state):
                if self.params.solver:
                    node.proof = RESULTS[calls.returns(way.state)]
                break
            mover = int(calls.current_player(way.state))
            if not node.children:
                break
            child = max(node.children, key=lambda child: self._score(node, child, mover))
            calls.play(way.state, child.move)
            way.path.append(child)
            way.movers.append(mover)
        for node in way.path:
            node.unobserved += 1
        return way

    def _evaluate(self, way: Way) -> tuple[float, list[int], list[float]]:
        """The first player's value, the legal moves, and their priors."""
        calls = self.game.calls
        if calls.is_terminal(way.state):
            return calls.returns(way.state), [], []
        values, policies = self.evaluator.evaluate(way.state[None])
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        legal = moves[: calls.legal_moves(way.state, moves)]
        said = policies[0, legal]
        if self.evaluator.policy == "probabilities":
            said = np.log(said)
        shares = np.exp(said - said.max())
        priors = (shares / shares.sum()).astype(np.float32)
        sign = 1.0 - 2.0 * calls.current_player(way.state)
        return float(sign * values[0]), legal.tolist(), priors.tolist()

    def _score(self, node: Node, child: Node, mover: int) -> float:
        params, sign = self.params, 1.0 - 2.0 * mover
        won, lost = (2.0, -2.0) if mover == 0 else (-2.0, 2.0)
        if params.solver and child.proof != UNPROVEN:
            return {2.0: math.inf, -2.0: -math.inf}.get({1: won, 3: lost}.get(child.proof, 0.0), 0.0)
        in_all = node.visits + node.unobserved
        unit = 1 if params.cpuct_base == int(params.cpuct_base) else PARTS
        base = int(params.cpuct_base * unit)
        growth = _natural_log((in_all + 1) * unit + base) - _natural_log(base)
        explore = (params.exploration + 2.0 * growth) * math.sqrt(in_all)
        if params.virtual_loss and child.unobserved:
            mean = (sign * child.total_value - child.unobserved) / (child.visits + child.unobserved)
        elif child.visits:
            mean = sign * child.total_value / child.visits
        elif params.first_play_urgency < math.inf:
            mean = params.first_play_urgency
        else:
            tried = 0.0
            for other in node.children:
                tried += other.prior if other.visits else 0.0
            of_node = sign * node.total_value / node.visits if node.visits else 0.0
            mean = of_node - params.fpu_reduction * math.sqrt(tried)
        return mean + explore * child.prior / (1 + child.visits + child.unobserved)
