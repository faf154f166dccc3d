"""Helpers of the tests of games: the games under test, random games, plain twins, and loops of playouts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TypeVar

import numba
import numpy as np
import numpy.typing as npt

import games
from games import Game
from games.analysis.solving import Solution
from games.compile.rule_stubs import playout
from games.compile.specialise import specialise
from games.contract.checking import check, play_all
from games.contract.findings import Finding
from games.contract.findings import plain as plain
from games.contract.findings import plain_rules as plain_rules
from games.game import State
from games.rng import new_stream

G = TypeVar("G", bound=Game)

JIT = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]

SPECS = [
    "battleship",
    "battleship:size=7,fleet=4-3-2-2,announce_sunk=yes,touch=no_contact,placement=sequential",
    "battleship:task=solo,announce_sunk=yes",
    "battleship:task=solo,size=4,fleet=3-2-1,touch=no_side",
    "battleship:size=12,fleet=6-5-4-3-3-2-1,announce_sunk=yes",
    "tictactoe",
    "connect_four",
    "connect_four:rows=5,columns=4",
    "connect_four:rows=4,columns=12",
    "connect_four:rows=8,columns=7",
    "othello",
    "othello:size=6",
    "othello:size=4",
    "breakthrough",
    "breakthrough:rows=6,columns=5",
    "breakthrough:rows=4,columns=16",
    "hex",
    "hex:size=4",
    "hex:size=19,swap=no",
    "gomoku",
    "gomoku:size=5",
    "gomoku:size=20",
    "gomoku:size=6,overline=not",
    "gomoku:size=9,overline=not",
    "gomoku:candidates=2",
    "gomoku:size=15,candidates=1",
    "gomoku:size=7,candidates=4,overline=not",
    "morris",
    "morris:repetition=none",
    "morris:variant=three",
    "morris:variant=three,move=any,diagonal_moves=yes,win_lines=6,repetition=none",
    "morris:variant=five",
    "morris:variant=six,repetition=none,cap=60",
    "morris:variant=six,fly=yes,repetition=threefold",
    "morris:variant=seven",
    "morris:variant=seven,fly=yes,repetition=none,cap=60",
    "morris:variant=lasker",
    "morris:variant=lasker,repetition=none",
    "morris:variant=twelve,repetition=none",
    "grundy",
    "grundy:pile=99",
    "explicit",
    "explicit:[3,(-2,0,[5,(1,-7)]),((4,9))]",
    "2048",
    "2048:seed=7,tile=64",
    "jobshop",
    "jobshop:instance=la01",
    "jobshop:data=0-3.1-2.2-2_0-2.2-1.1-4_1-4.2-3.0-1",
    "chinese_checkers:turns=60",
    "chinese_checkers:players=2,turns=60",
    "chinese_checkers:players=6,turns=60",
    "samegame",
    "samegame:columns=16,rows=4,colours=7,seed=0",
    "samegame:columns=6,rows=15,colours=2,seed=3",
    "pig",
    "pig:goal=12,moves=20",
    "thud:turns=150",
    "thud:ruleset=seed",
    "thud:first=trolls,troll_capture=one_or_none,end=seed_agreement,count=plies,agreement_moves=12",
]


def loaded(kind: type[G], spec: str | None = None) -> G:
    """The game of a spec, which is of this kind; without a spec the one with the default options."""
    game = games.load(kind.name if spec is None else spec)
    assert isinstance(game, kind)
    return game


def start(game: Game, seed: int) -> State:
    """The start position; where something is hidden, a whole one, drawn from all that fit it."""
    state = game.initial_state()
    if game.hidden_information:
        game.calls.determinize(game.observation(state, games.FIRST), state, new_stream(seed, 41))
    return state


def random_game(
    game: Game, seed: int, max_plies: int | None = None
) -> Iterator[tuple[State, list[int], int]]:
    """A random game: before each ply its position, the legal moves, and the one that is played next."""
    draw = random.Random(seed)
    state = start(game, seed)
    plies = 0
    while not game.calls.is_terminal(state) and plies != max_plies:
        moves = game.legal_moves(state)
        move = draw.choice(moves)
        yield state.copy(), moves, move
        game.calls.play(state, move)
        plies += 1


def random_position(game: Game, seed: int, plies: int) -> State:
    """A position of a random game after so many plies, or its last one that is not finished."""
    state = start(game, seed)
    for position, _, _ in random_game(game, seed, plies + 1):
        state = position
    return state


def sample(
    game: Game, start: State, number: int, seed: int, *, own: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Lengths and results of playouts from ``start``, by the game's own playout or the default one."""
    extra = {} if own else {"playout": specialise([playout], game)["playout"]}
    run = specialise([play_all], game, extra)["play_all"]
    lengths, results = np.zeros(number, dtype=np.int64), np.zeros(number)
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    run(start, start.copy(), moves, new_stream(seed), lengths, results)
    return lengths, results


def violation(game: Game, games: int = 4) -> Finding:
    """The violation of the contract that `check` finds."""
    found = check(game, games)
    assert found is not None
    return found


def best_value(game: Game, state: State, known: dict[str, float]) -> float:
    """The first player's return under best play, by trying everything; ``known`` is filled on the way."""
    if game.calls.is_terminal(state):
        return float(game.calls.returns(state))
    text = game.format_position(state)
    if text not in known:
        best = max if game.calls.current_player(state) == games.FIRST else min
        known[text] = best(best_value(game, after, known) for _, after in game.successors(state))
    return known[text]


def states_of(solution: Solution) -> Iterator[State]:
    """All positions, without the moves that led there."""
    for key in solution.keys:
        state = solution.start.copy()
        assert solution.game.calls.unpack is not None
        solution.game.calls.unpack(key, state)
        yield state


def load_all() -> list[Game]:
    """All games under test."""
    return [games.load(spec) for spec in SPECS]
