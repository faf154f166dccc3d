"""Random problems of every form, as a game file: compiled over an array, and as objects in plain Python.

Positions are hashes of the moves before them, and everything else is drawn from the hash: who moves, one to
four moves with codes in no order, the end, and each player's rewards. All scores are multiples of 1/256 in
[-1, 1], so that sums of them, discounted by 3/4 or not at all, are exact in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from games import CHANCE, Game, PythonGame, Rules, njit
from games.game import Moves, State
from games.rng import Stream, below, mix, next_uint64
from games.spec import Spec, options_of

KEY, PLY, SEED, MOVERS, CHANCES, PLIES, ZERO_SUM, SCORES = range(8)
"""Places in a state: the hash, the moves played, the seed of what moves draw (0: what really happens), how
many players ever move, whether chance moves (with one to four outcomes), the most plies, whether the second
player's score is the first's negative and all others' are 0, and the scores."""
UNIT = 256
MOVER, COUNT, MOVES, END, NOISE, REWARD = range(6)
"""What is drawn from a hash."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


def options(
    seed: int = 1,
    players: int = 1,
    movers: int = 0,
    rewards: int = 1,
    percent: int = 100,
    chance: int = 0,
    open_loop: int = 0,
    zero: int = 0,
    plies: int = 9,
    plain: int = 0,
) -> None:
    """The options; ``movers`` 0: all players move, ``percent``: the discount."""


def from_spec(spec: Spec) -> Game:
    """The game of the file; the option ``plain`` decides whether it is one in plain Python."""
    chosen: dict[str, Any] = options_of(options, spec)
    kind = Objects if chosen["plain"] else Arrays
    game = type(kind.__name__, (kind,), _form(chosen))(chosen)
    game.options = chosen
    return game  # type: ignore[no-any-return]


def _form(chosen: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a game with these options."""
    return {
        "num_players": chosen["players"],
        "rewards": bool(chosen["rewards"]),
        "discount": chosen["percent"] / 100,
        "open_loop": bool(chosen["open_loop"]),
        "chance_moves": bool(chosen["chance"]),
        "seeded": bool(chosen["open_loop"]),
        "player_names": tuple("abcdef"[: chosen["players"]]),
        "max_moves": 4,
        "max_plies": chosen["plies"],
    }


# Compiled.


@njit
def drawn(state: State, what: int) -> int:
    return np.int64(mix(np.uint64(state[KEY]) + np.uint64(what) * _GOLDEN) >> _ONE)  # type: ignore[return-value]


@njit
def current_player(state: State) -> int:
    number = drawn(state, MOVER)
    if state[CHANCES] != 0 and state[PLY] > 0 and number % 4 == 0:
        return CHANCE
    return np.int64(number // 4 % state[MOVERS])  # type: ignore[return-value]


@njit
def legal_moves(state: State, moves: Moves) -> int:
    count = 1 + drawn(state, COUNT) % 4
    first = drawn(state, MOVES) % 23
    for k in range(count):
        moves[k] = (first + 5 * k) % 23
    return count


@njit
def play(state: State, move: int) -> None:
    noise = 0
    if state[SEED] != 0:
        noise = np.int64(mix(np.uint64(state[SEED]) + np.uint64(state[PLY]) * _GOLDEN) >> _ONE) % 3
    state[KEY] = np.int64(mix(np.uint64(state[KEY]) + np.uint64(64 + 32 * noise + move) * _GOLDEN) >> _ONE)
    state[PLY] += 1
    for player in range(len(state) - SCORES):
        number = drawn(state, REWARD + player)
        if number % 3 != 0 and not (state[ZERO_SUM] != 0 and player > 0):
            state[SCORES + player] += number // 3 % 41 - 20
    if state[ZERO_SUM] != 0:
        state[SCORES + 1] = -state[SCORES]


@njit
def is_terminal(state: State) -> bool:
    return bool(state[PLY] >= state[PLIES] or (state[PLY] > 2 and drawn(state, END) % 8 == 0))


@njit
def returns(state: State) -> float:
    return state[SCORES] / UNIT  # type: ignore[no-any-return]


@njit
def score(state: State, player: int) -> float:
    return state[SCORES + player] / UNIT  # type: ignore[no-any-return]


@njit
def chance(state: State, moves: Moves, stream: Stream) -> int:
    """Each outcome has half of what the ones before it leave, the last one all of it; drawn as `PythonGame`
    draws."""
    count = legal_moves(state, moves)
    left = below(stream, 2**31) / 2**31
    weight = 0.5
    for k in range(count - 1):
        left -= weight
        if left < 0.0:
            return np.int64(moves[k])  # type: ignore[return-value]
        weight /= 2
    return np.int64(moves[count - 1])  # type: ignore[return-value]


@njit
def determinize(view: State, state: State, stream: Stream) -> None:
    """A seed of its own for what moves draw from now on, as `PythonGame` draws it."""
    for i in range(len(view)):
        state[i] = view[i]
    high = below(stream, 2**31)
    state[SEED] = (high << 31) | (1 + below(stream, 2**31 - 1))


class Arrays(Game):
    """The compiled problem."""

    nominal_simulations_per_s = 200.0
    chance_moves: bool

    def __init__(self, chosen: dict[str, Any]) -> None:
        self.start = np.zeros(SCORES + max(2, chosen["players"]), dtype=np.int64)
        self.start[KEY], self.start[PLIES] = chosen["seed"], chosen["plies"]
        self.start[MOVERS] = chosen["movers"] or chosen["players"]
        self.start[CHANCES], self.start[ZERO_SUM] = chosen["chance"], chosen["zero"]
        self.rules = Rules(
            current_player,
            legal_moves,
            play,
            is_terminal,
            returns,
            chance=chance if self.chance_moves else None,
            score=score if self.num_players > 2 else None,
            determinize=determinize if self.open_loop else None,
        )

    def initial_state(self) -> State:
        return self.start.copy()

    def chance_weights(self, state: State) -> dict[int, float]:
        moves = np.zeros(self.max_moves, dtype=np.uint16)
        count = int(self.calls.legal_moves(state, moves))
        return dict(zip(moves[:count].tolist(), weights(count), strict=True))


def weights(count: int) -> list[float]:
    """The probabilities of so many outcomes."""
    return [*(0.5**k for k in range(1, count)), 0.5 ** (count - 1)]


# In plain Python: the same again, written with Python's integers.


def _mixed(z: int) -> int:
    stream = np.array([z % 2**64, 0], dtype=np.uint64)
    return int(next_uint64(stream)) >> 1


class Position:
    """A position as an object."""

    def __init__(self, chosen: dict[str, Any]) -> None:
        self.chosen, self.key, self.ply, self.seed = chosen, chosen["seed"], 0, 0
        self.scores = [0] * max(2, chosen["players"])

    def copy(self) -> Position:
        other = Position(self.chosen)
        other.key, other.ply, other.seed, other.scores = self.key, self.ply, self.seed, [*self.scores]
        return other

    def reseed(self, seed: int) -> None:
        self.seed = seed

    def drawn(self, what: int) -> int:
        return _mixed(self.key + what * int(_GOLDEN))

    def current_player(self) -> int:
        rest, four = divmod(self.drawn(MOVER), 4)
        if self.chosen["chance"] and self.ply and four == 0:
            return CHANCE
        return rest % (self.chosen["movers"] or self.chosen["players"])

    def legal_moves(self) -> list[int]:
        count = 1 + self.drawn(COUNT) % 4
        first = self.drawn(MOVES)
        return [(first + 5 * k) % 23 for k in range(count)]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes = self.legal_moves()
        return list(zip(outcomes, weights(len(outcomes)), strict=True))

    def play(self, move: int) -> None:
        noise = _mixed(self.seed + self.ply * int(_GOLDEN)) % 3 if self.seed else 0
        self.key = _mixed(self.key + (64 + 32 * noise + move) * int(_GOLDEN))
        self.ply += 1
        for player in range(1 if self.chosen["zero"] else len(self.scores)):
            rest, three = divmod(self.drawn(REWARD + player), 3)
            self.scores[player] += rest % 41 - 20 if three else 0
        if self.chosen["zero"]:
            self.scores[1] = -self.scores[0]

    def is_terminal(self) -> bool:
        return self.ply >= self.chosen["plies"] or (self.ply > 2 and self.drawn(END) % 8 == 0)

    def returns(self) -> float | list[float]:
        shares = [score / UNIT for score in self.scores]
        return shares[0] if self.chosen["players"] < 3 else shares


class Objects(PythonGame):
    """The problem in plain Python."""

    def __init__(self, chosen: dict[str, Any]) -> None:
        super().__init__()
        self.chosen = chosen

    def new_position(self, episode: int = 0) -> Position:
        return Position(self.chosen)
