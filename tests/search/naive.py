"""Search from its formulas, of every form: objects and lists, no arena, one thing after the other.

A simulation is the list of its moves from the root to the end, who made each, and everybody's score before
and after each. What it adds to the node after one of its moves is the sum, from that move to the end, of the
rewards of the player whose view the node has, each discounted by the number of choices that lie between. The
view is that of who chose the move with three players or more, else the first player's.

Shared with the code under test, so that sums and choices agree to the last bit: `natural_log`, the order of
operations within a score, the random streams, how many moves visits allow, and the game's rules. Discounted
sums are made in another order: they agree to the last bit where they are exact.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from games import Game
from games.compile.rule_stubs import playout, returns
from games.compile.specialise import specialise
from games.game import CHANCE, SECOND, Moves, State
from games.rng import Stream, below, new_stream
from games.rules import KEPT
from search.features import DECISIVE, GREEDY, PLAIN, Features
from search.job import PLAYOUT_STREAM, SELECTION_STREAM
from search.kernel.expand import allowed
from search.kernel.logarithms import TABLE, natural_log
from search.kernel.params import SearchParams
from search.plan import SearchPlan
from tests.games.common import plain

UNPROVEN, FIRST_WINS, DRAWN, SECOND_WINS = range(4)
RESULTS = {1.0: FIRST_WINS, 0.0: DRAWN, -1.0: SECOND_WINS}

_below, _allowed = plain(below), plain(allowed)
_natural_log = cache(partial(plain(natural_log), TABLE))


@dataclass
class Node:
    """What a tree knows of a position, or of what its player knows; values are those of the view."""

    move: int = 0
    visits: int = 0
    total_value: float = 0.0
    unobserved: int = 0
    proof: int = UNPROVEN
    prior: float = 0.0
    available: int = 0
    """With hidden information: how often the move was legal."""
    children: list[Node] = field(default_factory=list)
    """In the order in which they came."""
    complete: bool = field(default=False, compare=False)
    """Whether a visit has found that all legal moves are children."""
    heuristic: float = field(default=0.0, compare=False)
    """What the evaluations say of it, the first player's viewpoint."""

    def count(self) -> int:
        """How many nodes there are, this one included."""
        return 1 + sum(child.count() for child in self.children)

    def by_moves(self) -> Node:
        """The same with siblings in the order of their moves."""
        children = sorted((child.by_moves() for child in self.children), key=lambda child: child.move)
        return replace(self, children=children)


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

    def end(self, value: float) -> None:
        """Two players: what comes after the last move is worth so much to the first one."""
        self.moves.append(-1)
        self.movers.append(SECOND)
        self.scores.append((value, -value))


def play_to_the_end(state: State, moves: Moves, stream: Stream) -> float:
    """Generic: the first player's return of one playout."""
    playout(state, moves, stream)
    return returns(state)


class NaiveSearch:
    """A search from a root, or from a view, that can go on with other params."""

    def __init__(
        self, game: Game, root_state: State, stream: Stream | None = None, features: Features = PLAIN
    ) -> None:
        """``stream``: of simulations one after the other."""
        self.game, self.calls, self.root_state, self.features = game, game.calls, root_state, features
        self.stream, self.root = stream, Node()
        self.best: tuple[float, list[int]] = (-math.inf, [])
        """One player: the most that a simulation came to, and its moves."""
        self.totals = [0.0] * game.num_players
        """Everybody's score at the end, summed over all simulations."""
        self._dealt, self._searched = game.initial_state(), list[Node]()
        """The last determinization, and the root's children that have searched it."""
        self._own_playout = None
        if game.is_two_player and game.rules.playout is not None and not features.steered:
            self._own_playout = specialise([play_to_the_end], game)["play_to_the_end"]

    def simulate(self, params: SearchParams, simulations: int) -> int:
        """One after the other, until the root is proven; how many."""
        for done in range(simulations):
            if self.root.proof != UNPROVEN:
                return done
            line = self._descend(params, 1)
            self._count(line.nodes, 1, [self._play_out(params, line)])
            for node in line.nodes:
                node.unobserved += params.anticipated
            if params.solver:
                carry_proof_up(line.nodes, line.movers)
            if self.features.evaluated:
                self._evaluate_nodes(params, self.root, self.root_state)
        return simulations

    def search_by_leaves(self, params: SearchParams, plan: SearchPlan, seed: int) -> None:
        """Strategy leaf: batches of leaves, selected while the results of others are out."""
        out: deque[tuple[int, list[tuple[Line, int]]]] = deque()
        for job in range(plan.jobs):
            if len(out) == plan.lanes:
                self._absorb(params, *out.popleft(), seed)
            self.stream = new_stream(seed, SELECTION_STREAM, job)
            out.append((job, self._select(params, plan, job)))
        while out:
            self._absorb(params, *out.popleft(), seed)

    def _select(self, params: SearchParams, plan: SearchPlan, job: int) -> list[tuple[Line, int]]:
        left, leaves = plan.size(job), []
        while left:
            visits = min(left, plan.playouts_per_leaf)
            leaves.append((self._descend(params, visits), visits))
            for node in leaves[-1][0].nodes:
                node.unobserved += visits
            left -= visits
        return leaves

    def _absorb(self, params: SearchParams, job: int, leaves: list[tuple[Line, int]], seed: int) -> None:
        self.stream = new_stream(seed, PLAYOUT_STREAM, job)
        for line, visits in leaves:
            self._count(line.nodes, visits, [self._play_out(params, line) for _ in range(visits)])
            for node in line.nodes:
                node.unobserved -= visits

    def _count(self, nodes: list[Node], visits: int, ends: list[Line]) -> None:
        """Add what simulations through these nodes came to."""
        for end in ends:
            for d, node in enumerate(nodes):
                # The root has what the first move has.
                node.total_value += self._worth(end, max(0, d - 1))
            for player, score in enumerate(end.scores[-1]):
                self.totals[player] += score
            if (value := self._worth(end, 0)) > self.best[0]:
                self.best = value, end.moves
        for node in nodes:
            node.visits += visits

    def _worth(self, end: Line, begin: int) -> float:
        """The discounted rewards of a simulation from a move on, in the view of the node after that move."""
        many = self.game.num_players > 2
        view = end.movers[begin] if many and end.movers[begin] != CHANCE else 0
        total, choices = 0.0, 0
        for k in range(begin, len(end.moves)):
            total += self.game.discount**choices * (end.scores[k + 1][view] - end.scores[k][view])
            choices += end.movers[k] != CHANCE
        return total

    def _descend(self, params: SearchParams, visits: int) -> Line:
        """From the root to a leaf."""
        state = self._begin(params)
        line, is_new = Line(state, [self._scores(state)], [self.root]), False
        while not is_new and (node := line.nodes[-1]).proof == UNPROVEN:
            if self.calls.is_terminal(state):
                if params.solver:
                    node.proof = RESULTS[self.calls.returns(state)]
                break
            child, is_new = self._choose(params, node, state, visits)
            if child is None:
                break
            line.nodes.append(child)
            self._play(line, child.move)
        self._searched += line.nodes[1:2]
        return line

    def _begin(self, params: SearchParams) -> State:
        """The root, or the determinization that a simulation searches: one for ``params.paired`` moves."""
        if not self.game.hidden_information:
            return self.root_state.copy()
        if len(self._searched) >= min(params.paired, len(self.root.children)):
            self._searched = []
            assert self.calls.determinize is not None
            self.calls.determinize(self.root_state, self._dealt, self.stream)  # type: ignore[arg-type]
        return self._dealt.copy()

    def _choose(
        self, params: SearchParams, node: Node, state: State, visits: int
    ) -> tuple[Node | None, bool]:
        """The child to go to, None to go no further; and whether it was made for that."""
        mover, legal = int(self.calls.current_player(state)), self._legal(state)
        children, used = {child.move: child for child in node.children}, 0
        hidden = self.game.hidden_information
        lacking = None
        if node is self.root and len(params.wanted):
            legal = [move for move in legal if params.wanted[move] >= 0] or legal
            lacking = self._lacking(params, legal, children)
        only, wins = None, False
        if self.features.decisive and self.game.rules.decisive_moves is None:
            only = self._winning(state, legal)
        elif self.features.decisive and not (node is self.root and len(params.wanted)):
            legal, wins = self._decisive(state)
        if mover == CHANCE or only is not None:
            move = self._outcome(state) if only is None else only
            node.complete |= only is not None
            return (children[move], False) if move in children else (_grown(node, move), True)
        node.complete |= lacking is None and len(children) == len(legal)
        known = node.children
        if hidden:
            # At the root not the children that have searched this deal, if there are others.
            fresh = [m for m in legal if not any(children.get(m) is one for one in self._searched)]
            if node is self.root and fresh:
                legal, used = fresh, len(legal) - len(fresh)
            # Of the children only those count that are legal in this simulation, in the order of the rules.
            known = [children[move] for move in legal if move in children]
            for child in known:
                child.available += visits
        if lacking is not None:
            return children.get(lacking) or _grown(node, lacking, visits * hidden), lacking not in children
        untried = [move for move in legal if move not in children]
        slot, score = self.best_child(params, node, known, mover)
        # Where all moves so far are proven lost, others are tried.
        full = (
            self.features.widened
            and score > -math.inf
            and len(known) + used >= _allowed(params, node.visits + node.unobserved)
        )
        if untried and (not known or (not full and score < params.first_play_urgency)):
            child = _grown(node, self._untried(state, legal, untried), visits if hidden else 0)
            if wins and params.solver:
                child.proof = SECOND_WINS if mover else FIRST_WINS
            return child, True
        return known[slot], False

    def _lacking(self, params: SearchParams, legal: list[int], children: dict[int, Node]) -> int | None:
        """The first of the root's moves that lack most of their least visits, or None."""
        made = {move: children.get(move, Node()) for move in legal}
        lacks = {
            move: params.wanted[move] - child.visits - child.unobserved
            for move, child in made.items()
            if child.proof == UNPROVEN
        }
        return max((move for move in lacks if lacks[move] > 0), key=lambda move: lacks[move], default=None)

    def _untried(self, state: State, legal: list[int], untried: list[int]) -> int:
        if self.features.widened:
            chosen, top, found = -1, -math.inf, 0
            for move in untried:
                looks = float(self.calls.priority(state, move))
                if looks > top:
                    top, found = looks, 0
                if looks == top:
                    found += 1
                    if self._drawn(found) == 0:
                        chosen = move
            return chosen
        if self.game.hidden_information:
            return untried[self._drawn(len(untried))]
        while (move := legal[self._drawn(len(legal))]) not in untried:
            pass
        return move

    def best_child(
        self, params: SearchParams, node: Node, known: list[Node], mover: int
    ) -> tuple[int, float]:
        """The place and the score of the child that the mover goes to: the first of the best."""
        won, lost = (FIRST_WINS, SECOND_WINS) if mover == 0 else (SECOND_WINS, FIRST_WINS)
        best_slot, best_score = 0, -math.inf
        for slot, child in enumerate(known):
            if params.solver and child.proof == won:
                return slot, math.inf
            if params.solver and child.proof == lost:
                continue
            drawn = params.solver and child.proof == DRAWN
            score = 0.0 if drawn else self._score(params, node, child, mover)
            if score > best_score:
                best_slot, best_score = slot, score
        return best_slot, best_score

    def _score(self, params: SearchParams, node: Node, child: Node, mover: int) -> float:
        """Q + 2 C sqrt(ln n / (N + O)): n visits of the node, or as often as the child was legal."""
        hidden = self.game.hidden_information
        sign = -1.0 if self.game.num_players == 2 and mover == SECOND else 1.0
        value = sign * child.total_value
        times = child.available if hidden else node.visits + node.unobserved
        explore = params.exploration * math.sqrt(_natural_log(max(1, times)))
        scale = 1.0 / math.sqrt(child.visits + child.unobserved)
        if params.implicit:
            assert child.unobserved == 0
            mean = value * scale * scale
            mean += params.implicit * (sign * child.heuristic - mean)
        elif node.unobserved == 0 and not hidden:
            return scale * (value * scale + explore)
        elif params.virtual_loss:
            mean = (value - child.unobserved) / (child.visits + child.unobserved)
        elif child.visits:
            observed = 1.0 / math.sqrt(child.visits)
            mean = value * observed * observed
        else:
            mean = sign * self._unvisited(node)
        return mean + explore * scale

    def _unvisited(self, node: Node) -> float:
        """What a child without results is believed to be worth: the mean of the node's values, or where these
        hold the reward of another move, that of its children's."""
        among = [node] if self.game.is_two_player else node.children
        visits = sum(one.visits for one in among)
        return sum(one.total_value for one in among) / visits if visits else 0.0

    def _play_out(self, params: SearchParams, line: Line) -> Line:
        """The line and a playout to the end, or of as many moves as it may have."""
        line, proof = line.copy(), line.nodes[-1].proof
        if self.calls.is_terminal(line.state):
            return line
        if proof != UNPROVEN:
            line.end(float(DRAWN - proof))
        elif self._own_playout is not None:
            moves = np.zeros(self.game.max_moves, dtype=np.uint16)
            line.end(float(self._own_playout(line.state, moves, self.stream)))
        else:
            for _ in range(params.playout_plies):
                if self.calls.is_terminal(line.state):
                    return line
                self._play(line, self._random_move(params, line.state))
            if self.game.is_two_player and not self.calls.is_terminal(line.state):
                line.end(float(self.calls.evaluate(line.state)))
        return line

    def _random_move(self, params: SearchParams, state: State) -> int:
        """By the policy of who moves; an outcome of chance."""
        mover = int(self.calls.current_player(state))
        if mover == CHANCE:
            return self._outcome(state)
        moves, policy = self._legal(state), params.second_policy if mover == SECOND else params.first_policy
        if policy == DECISIVE and (winning := self._winning(state, moves)) is not None:
            return winning
        if policy == GREEDY:
            looks = {move: self.calls.priority(state, move) for move in moves}
            moves = [move for move in moves if looks[move] == max(looks.values())]
        return moves[self._drawn(len(moves))]

    def _winning(self, state: State, legal: list[int]) -> int | None:
        """The first move that wins at once."""
        wins = -1.0 if self.calls.current_player(state) else 1.0
        for move in legal:
            after = self._after(state, move)
            if self.calls.is_terminal(after) and self.calls.returns(after) == wins:
                return move
        return None

    def _decisive(self, state: State) -> tuple[list[int], bool]:
        """The moves that matter, and whether the only one wins."""
        moves, scratch = np.zeros((2, self.game.max_moves), dtype=np.uint16)
        count = self.calls.decisive_moves(state, moves, scratch, np.zeros(KEPT, dtype=np.uint64))
        return moves[: abs(count)].tolist() or self._legal(state), count < 0

    def _evaluate_nodes(self, params: SearchParams, node: Node, state: State) -> float:
        """What the position says, or with implicit minimax the best of the children; all anew."""
        below = [
            self._evaluate_nodes(params, child, self._after(state, child.move)) for child in node.children
        ]
        if below and params.implicit:
            node.heuristic = (min if self.calls.current_player(state) else max)(below)
        else:
            rule = self.calls.returns if self.calls.is_terminal(state) else self.calls.evaluate
            node.heuristic = float(np.float32(rule(state)))
        return node.heuristic

    def _after(self, state: State, move: int) -> State:
        after = state.copy()
        self.calls.play(after, move)
        return after

    def _play(self, line: Line, move: int) -> None:
        line.moves.append(move)
        line.movers.append(int(self.calls.current_player(line.state)))
        self.calls.play(line.state, move)
        line.scores.append(self._scores(line.state))

    def _scores(self, state: State) -> tuple[float, ...]:
        """Everybody's score so far; without rewards there is none before the end."""
        game = self.game
        if not game.rewards and not self.calls.is_terminal(state):
            return (0.0,) * game.num_players
        return tuple(float(self.calls.score(state, player)) for player in range(game.num_players))

    def _legal(self, state: State) -> list[int]:
        """In the order in which the game lists them."""
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        return [int(move) for move in moves[: self.calls.legal_moves(state, moves)]]

    def _outcome(self, state: State) -> int:
        return int(self.calls.chance(state, np.zeros(self.game.max_moves, dtype=np.uint16), self.stream))

    def _drawn(self, bound: int) -> int:
        return int(_below(self.stream, bound))


def _grown(node: Node, move: int, available: int = 0) -> Node:
    """A new child."""
    node.children.append(Node(move, available=available))
    return node.children[-1]


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
