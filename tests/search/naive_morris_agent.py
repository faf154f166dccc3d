"""The thesis' agent for mill games with objects, the slow twin of search/players/morris_agent.py.

Selection and the calculation of power follow the printed methods line by line; powers of the whole tree are
calculated anew after each simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from games.game import Game, State
from games.jit import source_of
from games.morris.play import rating
from games.morris.rules import HANDS, MOVE, MOVER, OVER, REMOVING, REPETITION, RESULT
from games.rng import Stream, below

DRAW = source_of(below)


@dataclass
class AgentNode:
    """``action``: a move, or ~stone; ``piece``: 1 if it is the agent's, -1 if it is the other player's."""

    action: int = -1
    piece: int = 1
    parent: AgentNode | None = None
    children: list[AgentNode] = field(default_factory=list)
    visits: int = 0
    victories: int = 0
    power: float = 0.0


@dataclass
class Agent:
    game: Game
    simulations: int
    prune: str
    integer: bool
    unvisited_first: bool
    stream: Stream
    nodes: list[AgentNode] = field(default_factory=list)
    """All nodes in the order in which they were made."""

    def find_move(self, root: State) -> int:
        self.nodes.append(top := AgentNode())
        only = self.actions(root, -1, "root")
        if len(only) == 1 and only[0] >= 0:
            return only[0]
        for _ in range(self.simulations):
            self.simulate(root.copy(), top, int(root[MOVER]))
            self.calculate_power(top, math.sqrt(2))
        self.calculate_power(top, 0.0)
        node = self.select_strongest(top.children)
        if node.action < 0:
            if not node.children:
                self.expand(node, root, ~node.action, 1)
            node = self.select_strongest(node.children)
        return node.action

    def simulate(self, state: State, node: AgentNode | None, agent: int) -> None:
        stone = -1
        assert node is not None
        while not state[OVER] and node.visits:
            if not node.children:
                self.expand(node, state, stone, 1 if state[MOVER] == agent else -1)
            new = [child for child in node.children if not child.visits] if self.unvisited_first else []
            node = self.select_strongest(new or node.children)
            stone = self.perform(state, node.action)
        state[REPETITION] = 0
        while not state[OVER]:
            actions = self.actions(state, stone, "playouts")
            stone = self.perform(state, actions[int(DRAW(self.stream, len(actions)))])
        while node is not None:
            node.visits += 1
            node.victories += int(state[RESULT]) == (1, -1)[agent]
            node = node.parent

    def expand(self, node: AgentNode, state: State, stone: int, piece: int) -> None:
        of_root = node.parent is None or (node.parent.parent is None and stone >= 0)
        actions = self.actions(state, stone, "root" if of_root else "tree")
        node.children = [AgentNode(action, piece, node) for action in actions]
        self.nodes += node.children

    def calculate_power(self, node: AgentNode, c: float) -> None:
        node.power = 0
        for child in node.children:
            self.calculate_power(child, c)
        if node.visits > 0 and node.parent is not None:
            ratio = node.victories // node.visits if self.integer else node.victories / node.visits
            node.power = ratio + node.piece * c * math.sqrt(math.log(node.parent.visits) / node.visits)

    def select_strongest(self, children: list[AgentNode]) -> AgentNode:
        strongest: list[AgentNode] = []
        best = children[0].power
        for child in children:
            if child.power > best if child.piece == 1 else child.power < best:
                strongest, best = [], child.power
            if child.power == best:
                strongest.append(child)
        return strongest[int(DRAW(self.stream, max(1, len(strongest) - 1)))]

    def perform(self, state: State, action: int) -> int:
        if action >= 0:
            self.game.calls.play(state, action)
        return ~action if action < 0 else -1

    def prunes(self, state: State, where: str) -> bool:
        if state[REMOVING]:
            return False
        if self.prune == "placing":
            return bool(state[HANDS + state[MOVER]])
        everywhere = ("root", "tree", "playouts")
        return where in everywhere[: {"all": 3, "tree": 2, "root": 1, "none": 0}[self.prune]]

    def actions(self, state: State, stone: int, where: str) -> list[int]:
        prune = self.prunes(state, where)
        ratings: dict[int, float] = {}
        moves = np.zeros(self.game.max_moves, dtype=np.uint16)
        for move in map(int, moves[: self.game.calls.legal_moves(state, moves)]):
            start = (move - MOVE) // 24 if move >= MOVE else -1
            if stone in (-1, start):
                action = ~start if stone < 0 <= start else move
                look = rating(state, move) if prune else 0.0
                ratings[action] = max(ratings.get(action, 0.0), look)
        return [action for action, look in ratings.items() if look == max(ratings.values())]
