"""The sequential search from its formulas: objects and lists, no arena, one thing after the other.

Shared with the code under test, so that sums and choices agree to the last bit: `natural_log`,
the order of operations within a score, and the random stream (which move an untried one is).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from games import Game
from games.compile.rule_stubs import playout, returns
from games.compile.specialise import specialise
from games.game import Moves, State
from games.rng import Stream, below
from search.kernel.params import SearchParams
from search.kernel.uct import natural_log
from tests.games.common import plain

UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS = range(4)
RESULTS = {1.0: FIRST_WINS, 0.0: DRAWN, -1.0: SECOND_WINS}

_below = plain(below)
_natural_log = cache(plain(natural_log))


@dataclass
class Node:
    """What a tree knows of a position; values are the first player's."""

    move: int = 0
    visits: int = 0
    total_value: float = 0.0
    unobserved: int = 0
    proof: int = UNPROVEN
    prior: float = 0.0
    children: list[Node] = field(default_factory=list)
    complete: bool = field(default=False, compare=False)
    """Whether a visit has found that all legal moves are children."""
    heuristic: float = field(default=0.0, compare=False)
    """What the evaluations say of it, the first player's viewpoint."""

    def by_moves(self) -> Node:
        """The same with siblings in the order of their moves."""
        children = sorted((child.by_moves() for child in self.children), key=lambda child: child.move)
        return replace(self, children=children)


def play_to_the_end(state: State, moves: Moves, stream: Stream) -> float:
    """Generic: the first player's return of one playout."""
    playout(state, moves, stream)
    return returns(state)


class NaiveSearch:
    """A search that can go on with other params."""

    def __init__(self, game: Game, root_state: State, stream: Stream) -> None:
        self.game = game
        self.root_state = root_state
        self.stream = stream
        self.root = Node()
        self._playout = specialise([play_to_the_end], game)["play_to_the_end"]

    def simulate(self, params: SearchParams, simulations: int) -> int:
        for done in range(simulations):
            if self.root.proof != UNPROVEN:
                return done
            self._simulate_once(params)
        return simulations

    def _simulate_once(self, params: SearchParams) -> None:
        calls = self.game.calls
        state = self.root_state.copy()
        path = [self.root]
        movers: list[int] = []
        while True:
            node = path[-1]
            if node.proof != UNPROVEN:
                value = float(DRAWN - node.proof)
                break
            if calls.is_terminal(state):
                value = calls.returns(state)
                if params.solver:
                    node.proof = RESULTS[value]
                break
            mover = int(calls.current_player(state))
            child, is_new = self._choose(params, node, state, mover)
            calls.play(state, child.move)
            path.append(child)
            movers.append(mover)
            if is_new:
                value = self._evaluate(state)
                break
        for node in path:
            node.visits += 1
            node.total_value += value
            node.unobserved += params.anticipated
        if params.solver:
            carry_proof_up(path, movers)

    def _evaluate(self, state: State) -> float:
        if self.game.calls.is_terminal(state):
            return self.game.calls.returns(state)
        return float(self._playout(state, np.zeros(self.game.max_moves, dtype=np.uint16), self.stream))

    def _choose(self, params: SearchParams, node: Node, state: State, mover: int) -> tuple[Node, bool]:
        """The child to go to, and whether it was made for that."""
        legal = self._legal(state)
        node.complete |= len(node.children) == len(legal)
        best = best_child(params, node, mover) if node.children else None
        if len(node.children) < len(legal) and (best is None or best[1] < params.first_play_urgency):
            node.children.append(Node(self._untried(node, legal)))
            return node.children[-1], True
        assert best is not None
        return node.children[best[0]], False

    def _legal(self, state: State) -> list[int]:
        """In the order in which the game lists them."""
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        return [int(move) for move in moves[: self.game.calls.legal_moves(state, moves)]]

    def _untried(self, node: Node, legal: list[int]) -> int:
        tried = {child.move for child in node.children}
        while True:
            move = legal[int(_below(self.stream, len(legal)))]
            if move not in tried:
                return move


def carry_proof_up(path: list[Node], movers: list[int]) -> None:
    """From the end of the path as far as it reaches."""
    for node, child, mover in reversed(list(zip(path, path[1:], movers, strict=False))):
        if child.proof == UNPROVEN:
            return
        if node.proof == UNPROVEN:
            node.proof = proof_from_children(node, mover)


def proof_from_children(node: Node, mover: int) -> int:
    """What the children prove: a win takes one of them, anything else takes all."""
    won, lost = (FIRST_WINS, SECOND_WINS) if mover == 0 else (SECOND_WINS, FIRST_WINS)
    proofs = {child.proof for child in node.children}
    if won in proofs:
        return won
    if UNPROVEN in proofs or not node.complete:
        return UNPROVEN
    return DRAWN if DRAWN in proofs else lost


def best_child(params: SearchParams, node: Node, mover: int) -> tuple[int, float]:
    """The slot and the score of the child that the mover goes to: the first of the best."""
    won, lost = (FIRST_WINS, SECOND_WINS) if mover == 0 else (SECOND_WINS, FIRST_WINS)
    best_slot, best_score = 0, -math.inf
    for slot, child in enumerate(node.children):
        if params.solver and child.proof == won:
            return slot, math.inf
        if params.solver and child.proof == lost:
            continue
        score = 0.0 if params.solver and child.proof == DRAWN else score_of(params, node, child, mover)
        if score > best_score:
            best_slot, best_score = slot, score
    return best_slot, best_score


def score_of(params: SearchParams, node: Node, child: Node, mover: int) -> float:
    """Q + 2 C sqrt(ln(N_s + O_s) / (N_i + O_i))."""
    sign = 1.0 - 2.0 * mover
    value = sign * child.total_value
    explore = params.exploration * math.sqrt(_natural_log(node.visits + node.unobserved))
    scale = 1.0 / math.sqrt(child.visits + child.unobserved)
    if params.implicit:
        assert child.unobserved == 0
        mean = value * scale * scale
        mean += params.implicit * (sign * child.heuristic - mean)
        return mean + explore * scale
    if node.unobserved == 0:
        return scale * (value * scale + explore)
    if params.virtual_loss:
        mean = (value - child.unobserved) / (child.visits + child.unobserved)
    elif child.visits > 0:
        mean = value * (1.0 / math.sqrt(child.visits)) * (1.0 / math.sqrt(child.visits))
    else:
        mean = sign * node.total_value / node.visits if node.visits > 0 else 0.0
    return mean + explore * scale
