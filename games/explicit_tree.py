"""A game given as an explicit tree, ``explicit:([1 3][2 8])``, for studying a search step by step.

Round brackets are nodes where the first player (max) chooses a branch, square brackets nodes of the second
player (min). A number is a leaf and the first player's score there. Returns are scores divided by the largest
absolute score, at least 1.

A state is ``int32[2 + 2 * nodes]``: the current node, that largest score, then two integers for each node in
breadth-first order: the number of branches (negative: the second player chooses; 0: a leaf) and the
index of the first child (for a leaf: its score). A move is the index of a branch from 0; its text counts from
1. A position's text is the branches that lead to it, such as ``2.1.3``, or ``root``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Cell, Game, Moves, Rules, State
from games.jit import njit, source_of
from games.rng import Stream, below
from games.spec import EXPLICIT

MAX_NODES = 1_000
MAX_VALUE = 9_999
AT, SCALE, NODES = 0, 1, 2
"""Indices into a state: current node, largest absolute score, first node. Node k begins at NODES + 2 * k."""

EXAMPLE = "([(1,3),(2,8),(7,4)],[(2,3),(-9,-1)],[(-5,-2,-3),(9),(7)])"
ACCEPTED = (
    "a tree such as ([1 3][2 8]): ( ) where the first player chooses, [ ] the second, whole numbers up to "
    f"{MAX_VALUE} at the ends, at most {MAX_NODES} nodes"
)
ROOT = "root"

_TOKEN = re.compile(r"[\s,]*([()\[\]]|-?[0-9]{1,4}(?![0-9-]))")
_TREE = re.compile(rf"(?:{_TOKEN.pattern})+\s*")
_BRANCH = re.compile(r"[1-9][0-9]{0,2}")
_PATH = re.compile(rf"{_BRANCH.pattern}(?:\.{_BRANCH.pattern})*")


@njit
def current_player(state: State) -> int:
    """FIRST at round brackets, SECOND at square brackets."""
    return int(state[NODES + 2 * state[AT]] < 0)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the branches in ascending order; returns how many."""
    count = abs(state[NODES + 2 * state[AT]])
    for move in range(count):
        moves[move] = move
    return int(count)


@njit
def play(state: State, move: int) -> None:
    """Go down a branch; ``state`` is modified in place."""
    state[AT] = state[NODES + 2 * state[AT] + 1] + move


@njit
def is_terminal(state: State) -> bool:
    """Whether the current node is a leaf."""
    return bool(state[NODES + 2 * state[AT]] == 0)


@njit
def returns(state: State) -> float:
    """The leaf's score divided by the largest absolute score."""
    return float(state[NODES + 2 * state[AT] + 1]) / float(state[SCALE])


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Choose uniformly random branches down to a leaf; returns the plies."""
    plies = 0
    while state[NODES + 2 * state[AT]] != 0:
        branch = below(stream, abs(state[NODES + 2 * state[AT]]))
        state[AT] = state[NODES + 2 * state[AT] + 1] + np.int64(branch)
        plies += 1
    return plies


@njit
def pack(state: State) -> np.uint64:
    """The index of the current node."""
    return np.uint64(state[AT])


@njit
def unpack(key: np.uint64, state: State) -> None:
    """Set the current node of ``state``, which is modified in place."""
    state[AT] = np.int64(key)


@dataclass
class _Node:
    """A node of the parsed tree: the player and the branches, or for a leaf its value."""

    player: int = FIRST
    branches: list[_Node] = field(default_factory=list)
    value: int | None = None


class ExplicitTree(Game):
    """An explicit game tree; trees of any size share one set of compiled rules."""

    name = EXPLICIT
    player_names = ("max", "min")
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, playout, pack=pack, unpack=unpack)

    def __init__(self, tree: str = EXAMPLE) -> None:
        """``tree``: text such as ``([1 3][2 8])``; raises InvalidInput (field ``game option tree``)."""
        root, written = _read(tree)
        order, depths, self._parents = [root], [0], [0]
        for number, node in enumerate(order):
            order += node.branches
            depths += [depths[number] + 1] * len(node.branches)
            self._parents += [number] * len(node.branches)
            if len(order) > MAX_NODES:
                raise InvalidInput("game option tree", tree, ACCEPTED)
        self.options = {"tree": written}
        self.points = max(1, *(abs(node.value or 0) for node in order))
        self._start = _state_of(order, self.points)
        self.max_moves = max(len(node.branches) for node in order)
        self.max_plies = max(depths)
        self.nominal_simulations_per_s = 1e7 / (1 + self.max_plies)

    @property
    def spec(self) -> str:
        """The spec: the name, a colon and the tree, without an option name."""
        return f"{self.name}:{self.options['tree']}"

    def initial_state(self) -> State:
        """The root, ``int32[2 + 2 * nodes]``."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The number of the branch, from 1."""
        return str(move + 1)

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The numbers of the branches."""
        return f"a branch, from 1 to {len(moves)}"

    def format_position(self, state: State) -> str:
        """The branches that lead to the position, such as ``2.1.3``; ``root`` if there are none."""
        return ".".join(str(branch + 1) for _, branch in self._path(state)) or ROOT

    def parse_position(self, text: str) -> State:
        state = self.initial_state()
        if text == ROOT:
            return state
        accepted = f"branches from the root such as 1.2, each from 1, or {ROOT}"
        if _PATH.fullmatch(text) is None:
            raise InvalidInput("position", text, accepted)
        for branch in map(int, text.split(".")):
            if branch > abs(int(state[NODES + 2 * state[AT]])):
                raise InvalidInput("position", text, accepted)
            source_of(play)(state, branch - 1)
        return state

    def outcome_text(self, state: State) -> str:
        """The score of the leaf."""
        return f"ends with {state[NODES + 2 * state[AT] + 1]}"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """A row for each node on the path, a cell for each of its branches.

        A leaf shows its score; another branch shows ``v`` if it was taken and ``.`` if not.
        """
        path = self._path(state)
        if not source_of(is_terminal)(state):
            path.append((int(state[AT]), -1))
        width = max(abs(int(state[NODES + 2 * node])) for node, _ in path)
        rows = []
        for number, (node, taken) in enumerate(path):
            is_last = last_move is not None and number == len(self._path(state)) - 1
            owner = SECOND if state[NODES + 2 * node] < 0 else FIRST
            cells = [
                Cell(
                    self._sign(int(state[NODES + 2 * node + 1]) + branch, branch == taken),
                    owner if branch == taken else None,
                    last=is_last and branch == taken,
                )
                for branch in range(abs(int(state[NODES + 2 * node])))
            ]
            rows.append(cells + [Cell("")] * (width - len(cells)))
        labels = [self.player_names[int(state[NODES + 2 * node] < 0)] for node, _ in path]
        return Board(rows, labels, [str(branch + 1) for branch in range(width)])

    def _sign(self, node: int, taken: bool) -> str:
        """A cell's text, of at most two letters."""
        if self._start[NODES + 2 * node]:
            return "v" if taken else "."
        value = str(self._start[NODES + 2 * node + 1])
        return value if len(value) <= 2 else "-" if value.startswith("-") else "+"

    def _path(self, state: State) -> list[tuple[int, int]]:
        """[(node, branch taken)] from the root to the current node."""
        path, node = [], int(state[AT])
        while node:
            parent = self._parents[node]
            path.append((parent, node - int(self._start[NODES + 2 * parent + 1])))
            node = parent
        return path[::-1]


def _read(text: str) -> tuple[_Node, str]:
    """The root of the tree that the text describes, and its text without blanks. Raises InvalidInput."""
    wrong = InvalidInput("game option tree", text, ACCEPTED)
    if _TREE.fullmatch(text) is None:
        raise wrong
    above = _Node()
    open_nodes, written = [above], ""
    for token in _TOKEN.findall(text):
        if token in ")]":
            node = open_nodes.pop()
            if node is above or token != ")]"[node.player] or not node.branches:
                raise wrong
        else:
            inner = token in "(["
            node = _Node("([".index(token)) if inner else _Node(value=int(token))
            open_nodes[-1].branches.append(node)
            open_nodes += [node] * inner
            written += "," * (written[-1:] not in ("", "(", "["))
        written += token if node.value is None else str(node.value)
    if len(open_nodes) > 1 or len(above.branches) != 1 or above.branches[0].value is not None:
        raise wrong
    return above.branches[0], written


def _state_of(order: list[_Node], scale: int) -> State:
    state = np.zeros(NODES + 2 * len(order), dtype=np.int32)
    state[SCALE] = scale
    below_it = 1
    for number, node in enumerate(order):
        count = len(node.branches)
        state[NODES + 2 * number] = -count if node.player == SECOND else count
        state[NODES + 2 * number + 1] = below_it if node.value is None else node.value
        below_it += count
    return state
