"""The search of `leaf` with an evaluator from its formulas: objects and lists, one thing after the other.

Shared with the code under test: `natural_log`, the order of operations within a score, and the evaluator.
"""

from __future__ import annotations

import math
from collections import deque
from functools import partial

import numpy as np

from games import Game
from games.game import State
from search.evaluator import Evaluator
from search.kernel.logarithms import TABLE, natural_log
from search.kernel.params import SearchParams
from search.kernel.puct import PARTS
from tests.games.common import plain
from tests.search.naive import DRAWN, UNPROVEN, Line, NaiveSearch, Node, carry_proof_up

_natural_log = partial(plain(natural_log), TABLE)


class NaivePuct(NaiveSearch):
    """Batches of leaves, several in flight at a time."""

    def __init__(
        self, game: Game, root_state: State, evaluator: Evaluator, params: SearchParams, temperature: float
    ) -> None:
        super().__init__(game, root_state)
        self.evaluator, self.params, self.temperature = evaluator, params, temperature

    def run(self, sizes: list[int], lanes: int, until: int) -> None:
        """Job 0 alone, then as many in flight as there are lanes; the first ``until`` are absorbed."""
        self.absorb(self.select(sizes[0]))
        waiting, in_flight = deque(sizes[1:]), deque[list[Line]]()
        for _ in range(until - 1):
            while waiting and len(in_flight) < lanes:
                in_flight.append(self.select(waiting.popleft()))
            self.absorb(in_flight.popleft())

    def select(self, size: int) -> list[Line]:
        lines = []
        for _ in range(size):
            lines.append(self._descend(self.params, 1))
            for node in lines[-1].nodes:
                node.unobserved += 1
        return lines

    def absorb(self, lines: list[Line]) -> None:
        said = [self._said(line.state) for line in lines]
        for line, (_, moves, priors) in zip(lines, said, strict=True):
            leaf = line.nodes[-1]
            if not leaf.children and leaf.proof == UNPROVEN:
                if leaf is self.root and len(self.params.wanted):
                    kept = self.params.wanted[moves] >= 0
                    moves, shares = np.array(moves)[kept].tolist(), np.array(priors, dtype=np.float32)[kept]
                    priors = (shares / shares.sum()).tolist()
                leaf.children = [Node(move, prior=prior) for move, prior in zip(moves, priors, strict=True)]
                leaf.complete = bool(moves)
        for line, (value, _, _) in zip(lines, said, strict=True):
            leaf = line.nodes[-1]
            for node in line.nodes:
                node.visits += 1
                node.unobserved -= 1
                node.total_value += value if leaf.proof == UNPROVEN else float(DRAWN - leaf.proof)
            if self.params.solver:
                carry_proof_up(line.nodes, line.movers)

    def _choose(
        self, params: SearchParams, node: Node, state: State, visits: int
    ) -> tuple[Node | None, bool]:
        if not node.children:
            return None, False
        mover = int(self.calls.current_player(state))
        if node is self.root and len(params.wanted):
            children = {child.move: child for child in node.children}
            if (lacking := self._lacking(params, [*children], children)) is not None:
                return children[lacking], False
        return node.children[self.best_child(params, node, node.children, mover)[0]], False

    def _said(self, state: State) -> tuple[float, list[int], list[float]]:
        """The first player's value, the legal moves, and their priors."""
        if self.calls.is_terminal(state):
            return self.calls.returns(state), [], []
        values, policies = self.evaluator.evaluate(state[None])
        legal = self._legal(state)
        said = policies[0, legal]
        if self.evaluator.policy == "probabilities":
            with np.errstate(divide="ignore"):
                said = np.log(said)
        shares = np.exp((said - said.max()) / self.temperature)
        priors = (shares / shares.sum()).astype(np.float32)
        sign = 1.0 - 2.0 * self.calls.current_player(state)
        return float(sign * values[0]), legal, priors.tolist()

    def _score(self, params: SearchParams, node: Node, child: Node, mover: int) -> float:
        sign = 1.0 - 2.0 * mover
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
