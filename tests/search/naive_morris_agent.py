"""The thesis' agent for mill games with objects, the slow twin of search/players/morris_agent.py.

Selection and the calculation of power follow the printed methods line by line; powers of the whole tree are
calculated anew after each simulation. What closes or blocks a mill is found out by trying moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from games.game import Game, State
from games.jit import source_of
from games.morris.boards import BIT_OF, LAYOUTS
from games.morris.rules import BOARD, MOVE, MOVER, OVER, REMOVING, REPETITION, RESULT, STONES
from games.rng import Stream, below

DRAW = source_of(below)


@dataclass
class Node:
    """``piece`` is 1 if the agent performs ``action``, -1 if the other player does."""

    action: tuple[str, int]
    piece: int
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    victories: int = 0
    power: float = 0.0

    @property
    def code(self) -> int:
        """The action as the compiled twin stores it."""
        kind, number = self.action
        return ~number if kind == "stone" else number


@dataclass
class Agent:
    game: Game
    simulations: int
    prune: bool
    integer: bool
    unvisited_first: bool
    stream: Stream
    nodes: list[Node] = field(default_factory=list)
    """All nodes in the order in which they were made."""

    def find_move(self, root: State) -> int:
        top = self.new_node(("root", -1), 1, None)
        only = self.actions(root, -1)
        if len(only) == 1 and only[0][0] == "move":
            return only[0][1]
        for _ in range(self.simulations):
            self.simulate(root.copy(), top, int(root[MOVER]))
            self.calculate_power(top, math.sqrt(2))
        self.calculate_power(top, 0.0)
        node = top
        while node.action[0] != "move":
            if not node.children:
                self.expand(node, root, node.action[1], int(root[MOVER]))
            node = self.select_strongest(node.children)
        return node.action[1]

    def new_node(self, action: tuple[str, int], piece: int, parent: Node | None) -> Node:
        self.nodes.append(Node(action, piece, parent))
        return self.nodes[-1]

    def simulate(self, state: State, node: Node, agent: int) -> None:
        stone = -1
        while not state[OVER] and node.visits:
            if not node.children:
                self.expand(node, state, stone, agent)
            new = [child for child in node.children if not child.visits] if self.unvisited_first else []
            node = self.select_strongest(new or node.children)
            stone = self.perform(state, node.action)
        state[REPETITION] = 0
        while not state[OVER]:
            actions = self.actions(state, stone)
            stone = self.perform(state, actions[DRAW(self.stream, len(actions))])
        at: Node | None = node
        while at is not None:
            at.visits += 1
            at.victories += int(state[RESULT]) == (1, -1)[agent]
            at = at.parent

    def expand(self, node: Node, state: State, stone: int, agent: int) -> None:
        piece = 1 if state[MOVER] == agent else -1
        node.children = [self.new_node(action, piece, node) for action in self.actions(state, stone)]

    def calculate_power(self, node: Node, c: float) -> None:
        node.power = 0
        for child in node.children:
            self.calculate_power(child, c)
        if node.visits > 0 and node.parent is not None:
            ratio = node.victories // node.visits if self.integer else node.victories / node.visits
            node.power = ratio + node.piece * c * math.sqrt(math.log(node.parent.visits) / node.visits)

    def select_strongest(self, children: list[Node]) -> Node:
        strongest: list[Node] = []
        best = children[0].power
        for child in children:
            if child.power > best if child.piece == 1 else child.power < best:
                strongest, best = [], child.power
            if child.power == best:
                strongest.append(child)
        return strongest[int(DRAW(self.stream, max(1, len(strongest) - 1)))]

    def perform(self, state: State, action: tuple[str, int]) -> int:
        kind, number = action
        if kind == "stone":
            return number
        self.game.calls.play(state, number)
        return -1

    def actions(self, state: State, stone: int) -> list[tuple[str, int]]:
        ratings: dict[tuple[str, int], int] = {}
        for move in self.moves(state):
            start = (move - MOVE) // 24 if move >= MOVE else -1
            if stone in (-1, start):
                action = ("stone", start) if stone < 0 <= start else ("move", move)
                ratings[action] = max(ratings.get(action, 0), self.rating(state, move))
        return [action for action, rating in ratings.items() if rating == max(ratings.values())]

    def moves(self, state: State) -> list[int]:
        """The legal moves in the order of the rules, which is that of the children."""
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        return [int(move) for move in moves[: self.game.calls.legal_moves(state, moves)]]

    def rating(self, state: State, move: int) -> int:
        if not self.prune or state[REMOVING]:
            return 0
        if self.closes(state, move):
            return 2
        other = state.copy()
        other[MOVER] = 1 - other[MOVER]
        to = _target(move)
        threats = (reply for reply in self.moves(other) if _target(reply) == to)
        return int(any(self.closes(other, reply) for reply in threats))

    def closes(self, state: State, move: int) -> bool:
        after = state.copy()
        self.game.calls.play(after, move)
        to, stones = int(BIT_OF[state[BOARD], _target(move)]), int(after[STONES + state[MOVER]])
        mills = LAYOUTS[state[BOARD]].mills
        return any(to in mill and all(stones >> bit & 1 for bit in mill) for mill in mills)


def _target(move: int) -> int:
    return (move - MOVE) % 24 if move >= MOVE else move
