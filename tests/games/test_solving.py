"""Solving whole games: against a slow twin, on real games and made-up ones with circles; known values."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import games
from games import FIRST, SECOND, Board, Game, InvalidInput, Rules
from games.analysis import table as tables
from games.analysis.solving import Solution, solve
from games.analysis.table import folder_of, judge_of, load, table_of
from games.game import Moves, State
from games.jit import njit
from tests.games.common import JIT, SPECS, random_game, states_of

Values = dict[bytes, tuple[int, int | None]]
"""Value and plies to the end of each position, by its canonical state."""


@cache
def solved(spec: str) -> Solution:
    game = games.load(spec)
    return solve(game, game.initial_state())


def naive_solve(game: Game, start: State) -> Values:
    """Sweep over all positions again and again; sweep n finds what is decided in n plies."""
    children: dict[bytes, list[bytes]] = {}
    movers: dict[bytes, int] = {}
    values: Values = {}
    queue = deque([game.canonical(start)])
    while queue:
        state = queue.popleft()
        name = state.tobytes()
        if name in children:
            continue
        children[name] = []
        movers[name] = game.calls.current_player(state)
        if game.calls.is_terminal(state):
            values[name] = int(game.calls.returns(state)), 0
        for move in game.legal_moves(state):
            child = state.copy()
            game.calls.play(child, move)
            queue.append(game.canonical(child))
            children[name].append(queue[-1].tobytes())
    plies = 0
    while True:
        plies += 1
        won = {}
        for name in children.keys() - values.keys():
            sign = 1 - 2 * movers[name]
            reached = [values.get(child, (0, None))[0] * sign for child in children[name]]
            if 1 in reached:
                won[name] = sign, plies
            elif all(value == -1 for value in reached):
                won[name] = -sign, plies
        if not won:
            break
        values |= won
    return {name: values[name] if values.get(name, (0,))[0] else (0, None) for name in children}


def all_values(solution: Solution) -> Values:
    return {
        solution.game.canonical(state).tobytes(): (solution.value_of(state), solution.plies_of(state))
        for state in states_of(solution)
    }


@pytest.mark.parametrize(
    "spec", ["tictactoe", "grundy:pile=12", "grundy:pile=25"] if JIT else ["grundy:pile=12"]
)
def test_values_and_plies_equal_the_twins(spec: str) -> None:
    game = games.load(spec)
    assert all_values(solved(spec)) == naive_solve(game, game.initial_state())


# A made-up game: int64[1 + NODES * 4]: the node, and for each node who moves there and where his two
# moves lead, or, if the game is over there, -1 and the result.
NODES = 40


@njit
def current_player(state: State) -> int:
    return int(state[1 + 4 * state[0]])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    moves[0], moves[1] = 0, 1
    return 2


@njit
def play(state: State, move: int) -> None:
    state[0] = state[1 + 4 * state[0] + 1 + move]


@njit
def is_terminal(state: State) -> bool:
    return bool(state[1 + 4 * state[0] + 1] < 0)


@njit
def returns(state: State) -> float:
    return float(state[1 + 4 * state[0] + 2])


@njit
def pack(state: State) -> np.uint64:
    return np.uint64(state[0])


@njit
def unpack(key: np.uint64, state: State) -> None:
    state[0] = key


class Maze(Game):
    """A random game with circles, in which a player may act twice in a row."""

    name = "maze"
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, pack=pack, unpack=unpack)
    max_moves = 2
    max_plies = 1 << 30

    def __init__(self, seed: int) -> None:
        self.options: dict[str, str | int] = {"seed": seed}
        draw = random.Random(seed)
        state = [0]
        for node in range(NODES):
            if node and draw.random() < 0.15:
                state += [FIRST, -1, draw.choice([-1, 0, 1]), 0]
            else:
                state += [draw.choice([FIRST, SECOND]), draw.randrange(NODES), draw.randrange(NODES), 0]
        self._state = np.array(state, dtype=np.int64)

    def initial_state(self) -> State:
        return self._state.copy()

    def format_move(self, state: State, move: int) -> str:
        return str(move)

    def parse_move(self, state: State, text: str) -> int:
        return int(text)

    def format_position(self, state: State) -> str:
        return str(state[0])

    def parse_position(self, text: str) -> State:
        state = self.initial_state()
        state[0] = int(text)
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        raise NotImplementedError


def test_circles_and_turns_in_a_row_equal_the_twins() -> None:
    seen = set()
    for seed in range(60 if JIT else 10):
        maze = Maze(seed)
        values = all_values(solve(maze, maze.initial_state()))
        assert values == naive_solve(maze, maze.initial_state())
        seen |= {value for value, _ in values.values()}
    assert seen == {-1, 0, 1}


def _with_last(game: Game, seed: int) -> Iterator[tuple[State, list[int]]]:
    """The positions of a random game with their legal moves, the last one included if it ends the game."""
    *others, (state, moves, move) = random_game(game, seed)
    yield from ((state, moves) for state, moves, _ in others)
    yield state.copy(), moves
    game.calls.play(state, move)
    if not game.options.get("repetition") or game.calls.returns(state):
        yield state, []


@pytest.mark.parametrize("spec", [spec for spec in SPECS if games.load(spec).rules.pack is not None])
def test_packed_positions_are_the_same_again(spec: str) -> None:
    game = games.load(spec)
    assert game.rules.pack is not None and game.rules.unpack is not None
    texts: dict[int, str] = {}
    for seed in range(20 if JIT else 4):
        again = game.initial_state()
        for state, moves in _with_last(game, seed):
            number = int(game.rules.pack(state))
            before = state.copy()
            game.rules.unpack(np.uint64(number), again)
            assert np.array_equal(state, before)
            assert game.legal_moves(again) == moves
            assert game.calls.current_player(again) == game.calls.current_player(state)
            assert game.calls.is_terminal(again) == (not moves)
            assert moves or game.calls.returns(again) == game.calls.returns(state)
            assert game.rules.pack(again) == number
            assert texts.setdefault(number, game.format_position(again)) == game.format_position(again)
    assert len(set(texts.values())) == len(texts)


def solve_start(spec: str, **options: int) -> Solution:
    return solve(games.load(spec), games.load(spec).initial_state(), **options)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        *((partial(solve_start, spec), "^game: .*without rewards") for spec in ("2048", "samegame", "pig")),
        (partial(solve_start, "gomoku"), "^game: 'gomoku:.*have pack and unpack"),
        (partial(solve_start, "tictactoe", max_positions=5_000), "max_positions"),
        (lambda: judge_of(games.load("gomoku")), "^judge: .*gomoku"),
    ],
)
def test_games_that_cannot_be_solved_are_refused(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ask()


def test_tic_tac_toe_up_to_symmetry() -> None:
    board = np.arange(9).reshape(3, 3)
    symmetries = [np.rot90(side, turns).ravel() for side in (board, board.T) for turns in range(4)]
    classes = set()
    for state in states_of(solved("tictactoe")):
        cells = np.array([(int(state[FIRST]) >> i & 1) - (int(state[SECOND]) >> i & 1) for i in range(9)])
        classes.add(min(tuple(cells[symmetry].tolist()) for symmetry in symmetries))
    assert len(classes) == 765


def test_outcomes_of_a_won_position() -> None:
    solution = solved("tictactoe")
    game = solution.game
    state = game.parse_position("xx./oo./... x")
    assert solution.value_of(state) == 1
    assert solution.plies_of(state) == 1
    assert [game.format_move(state, move) for move in solution.best_moves(state)] == ["c3"]
    plies = {
        game.format_move(state, each.move): (each.value, each.plies) for each in solution.outcomes(state)
    }
    assert plies == {"c3": (1, 0), "c2": (0, None), "a1": (-1, 1), "b1": (-1, 1), "c1": (-1, 1)}
    game.play_text(state, ["c3"])
    assert solution.outcomes(state) == solution.best_moves(state) == []
    assert (solution.value_of(state), solution.plies_of(state)) == (1, 0)


@pytest.mark.skipif(not JIT, reason="5,390 positions take too long uncompiled")
def test_three_men_s_morris() -> None:
    """Won in nine plies, by the centre alone; drawn if stones move to any point."""
    solution = solved("morris:variant=three,move=adjacent")
    assert (solution.value_of(solution.start), solution.plies_of(solution.start)) == (1, 9)
    # Points row by row: the centre is 4, corners are even, edges odd.
    values = {outcome.move: outcome.value for outcome in solution.outcomes(solution.start)}
    assert values == {move: 1 if move == 4 else -(move % 2) for move in range(9)}
    solution = solved("morris:variant=three,move=any")
    assert solution.value_of(solution.start) == 0
    assert {outcome.value for outcome in solution.outcomes(solution.start)} == {0}


def test_positions_out_of_reach_are_refused() -> None:
    game = games.load("tictactoe")
    solution = solve(game, game.parse_position("x../.o./... x"))
    assert solution.num_positions < 5_478
    with pytest.raises(InvalidInput, match="reached from x") as caught:
        solution.value_of(game.initial_state())
    assert caught.value.field == "position"


def test_a_large_table_is_made_once_and_then_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "KEPT_FROM", 1)
    game = games.load("grundy:pile=9")
    made = table_of(game)
    assert folder_of(game).is_dir()
    assert [each.name for each in (tmp_path / "tables").iterdir()] == [folder_of(game).name]
    monkeypatch.setattr(tables, "solve", None)
    again = table_of(game)
    assert isinstance(again.keys, np.memmap)
    assert np.array_equal(again.keys, made.keys)
    assert np.array_equal(again.values, made.values)


@pytest.mark.parametrize("harm", ["cut", "other", "gone"])
def test_a_file_that_is_not_sound_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    game = games.load("grundy:pile=9")
    monkeypatch.setattr(tables, "KEPT_FROM", 1)
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path))
    sound = table_of(game)
    values = folder_of(game) / "values.npy"
    if harm == "cut":
        values.write_bytes(values.read_bytes()[:40])
    elif harm == "other":
        np.save(values, np.zeros(3, dtype=np.int8))
    else:
        values.unlink()
    assert load(game, folder_of(game)) is None
    again = table_of(game)
    assert np.array_equal(again.values, sound.values)
    # What was made anew takes the place of what was not sound.
    assert load(game, folder_of(game)) is not None


def test_games_of_other_options_have_other_tables() -> None:
    assert folder_of(games.load("grundy:pile=9")) != folder_of(games.load("grundy:pile=10"))


def test_too_many_positions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_POSITIONS", 100)
    with pytest.raises(InvalidInput) as refused:
        table_of(games.load("tictactoe"))
    assert refused.value.field == "game"
