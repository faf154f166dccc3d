"""A small game with hidden information: nim with a heap that the first player does not see.

State, int16: open heap, hidden heap (0: not dealt), who moves, stones taken of the hidden heap. The
hidden heap has 1 to 5 stones at the start. Moves 0..2 take 1 to 3 stones of the open heap;
4..6 take 1 to 3 of the hidden heap, the first player only one at a time. Who takes the last
stone wins. A view holds what was seen: the open heap, stones taken, whether the hidden heap is gone.
"""

from __future__ import annotations

import numpy as np

from games.errors import InvalidInput
from games.game import FIRST, Board, Cell, Game, Moves, Rules, State
from games.jit import njit
from games.rng import Stream, below

OPEN, HIDDEN_HEAP, MOVER, TAKEN = range(4)
GONE, DEALT = 4, 5
LARGEST = 5


@njit
def current_player(state: State) -> int:
    return int(state[MOVER])


@njit
def _most(state: State) -> int:
    """How many stones of the hidden heap may be taken at once."""
    if state[DEALT] == 0:
        return 1
    return min(1 if state[MOVER] == 0 else 3, int(state[HIDDEN_HEAP]))


@njit
def legal_moves(state: State, moves: Moves) -> int:
    count = 0
    for stones in range(1, min(3, int(state[OPEN])) + 1):
        moves[count] = stones - 1
        count += 1
    for stones in range(1, _most(state) + 1):
        moves[count] = 3 + stones
        count += 1
    return count


@njit
def play(state: State, move: int) -> None:
    if move < 4:
        state[OPEN] -= move + 1
    else:
        state[HIDDEN_HEAP] -= move - 3
        state[TAKEN] += move - 3
    state[MOVER] = 1 - state[MOVER]


@njit
def is_terminal(state: State) -> bool:
    return bool(state[DEALT] != 0 and state[OPEN] == 0 and state[HIDDEN_HEAP] == 0)


@njit
def returns(state: State) -> float:
    return float(2 * state[MOVER] - 1)


@njit
def priority(state: State, move: int) -> float:
    """Many stones first; of the hidden heap as soon as there is a doubt."""
    return float(move % 4) if move < 4 else 0.5 * float(move - 3) + 0.5 * float(state[HIDDEN_HEAP] % 2)


@njit
def determinize(view: State, state: State, stream: Stream) -> None:
    for i in range(len(state)):
        state[i] = view[i]
    if view[GONE] != 0:
        state[HIDDEN_HEAP] = 0
    elif view[MOVER] == 0:
        least = view[TAKEN] + 1
        state[HIDDEN_HEAP] = least + below(stream, int(LARGEST + 1 - least)) - view[TAKEN]
    state[DEALT] = 1


class HiddenNim(Game):
    """For tests: what the first player does not know matters, and so do the second player's choices."""

    name = "hidden-nim"
    rules = Rules(
        current_player,
        legal_moves,
        play,
        is_terminal,
        returns,
        determinize=determinize,
        priority=priority,
    )
    max_moves = 6
    max_plies = 20
    nominal_simulations_per_s = 1e5

    def __init__(self, heap: int = 5) -> None:
        self.heap = heap
        self.options = {}

    def initial_state(self) -> State:
        return np.array([self.heap, 0, 0, 0, 0, 0], dtype=np.int16)

    def deal(self, hidden: int) -> State:
        """The start with so many hidden stones."""
        return np.array([self.heap, hidden, 0, 0, 0, 1], dtype=np.int16)

    def observation(self, state: State, observer: int) -> State:
        view = state.copy()
        if observer == FIRST:
            view[GONE] = state[DEALT] and state[HIDDEN_HEAP] == 0
            view[HIDDEN_HEAP] = view[DEALT] = 0
        return view

    def format_move(self, state: State, move: int) -> str:
        return f"open-{move + 1}" if move < 4 else f"hidden-{move - 3}"

    def parse_move(self, state: State, text: str) -> int:
        for move in self.legal_moves(state):
            if self.format_move(state, move) == text:
                return move
        raise InvalidInput("moves", text, "a legal move")

    def format_position(self, state: State) -> str:
        return " ".join(str(int(value)) for value in state)

    def parse_position(self, text: str) -> State:
        return np.array([int(value) for value in text.split()], dtype=np.int16)

    def board(self, state: State, last_move: int | None = None) -> Board:
        return Board([[Cell(str(int(state[OPEN])))]], ["1"], ["a"])
