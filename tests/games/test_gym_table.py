"""Environments with a table of their transitions: masks, and what is drawn."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium

import games
from games import Game, InvalidInput, State
from games.gym.table import TableGame, _merged

FILE = str(Path(__file__).with_name("gym_environments.py"))


def own(name: str, options: str = "") -> Game:
    game = games.load(f"gym:{FILE}:{name}{options}")
    assert isinstance(game, TableGame)
    return game


def drawn(game: Game, state: State) -> list[str]:
    return ["".join(cell.text for cell in row) for row in game.board(state).rows]


def test_masks_are_those_of_the_environment() -> None:
    game, env = games.load("gym:Taxi-v4"), gymnasium.make("Taxi-v4").unwrapped
    assert isinstance(game, TableGame)
    draw = random.Random(1)
    for episode in range(10):
        state, (_, info) = game.episode_state(episode), env.reset(seed=episode)
        while not game.calls.is_terminal(state):
            legal = game.legal_moves(state)
            assert legal == np.flatnonzero(info["action_mask"]).tolist()
            move = draw.choice(legal)
            game.calls.play(state, move)
            *_, info = env.step(move)


def test_masks_can_be_left_out() -> None:
    game: Any = games.load("gym:Taxi-v4:mask=none")
    assert game.legal_moves(game.initial_state()) == [0, 1, 2, 3, 4, 5]
    assert games.load(game.spec).legal_moves(game.initial_state()) == [0, 1, 2, 3, 4, 5]
    assert games.load("gym:Taxi-v4").spec == game.spec.removesuffix(",mask=none")


def test_masks_need_not_be_in_the_table() -> None:
    for name, at_the_end, inside in (("Corridor", [1], [0, 1]), ("OddMasks", [1], [1])):
        game = own(name)
        state = game.initial_state()
        assert game.legal_moves(state) == at_the_end
        game.calls.play(state, 1)
        assert game.legal_moves(state) == inside


@pytest.mark.parametrize(
    ("name", "moves"),
    [("FrozenLake-v1(is_slippery=False)", "2 2 1"), ("CliffWalking-v1", "0 0 1 2"), ("Taxi-v4", "1 1 0")],
)
def test_a_state_is_drawn_as_by_the_environment(name: str, moves: str) -> None:
    pictures = []
    for model in ("table", "environment"):
        game = games.load(f"gym:{name}:mask=none,model={model}")
        state = game.episode_state(3)
        game.play_text(state, moves.split())
        cells = [[(cell.text, cell.last) for cell in row if cell.text] for row in game.board(state).rows]
        pictures.append([row for row in cells if "(" not in "".join(text for text, _ in row)])
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) > 3


def test_what_is_drawn_does_not_change_how_episodes_begin() -> None:
    game = games.load("gym:Taxi-v4")
    start = game.episode_state(5)
    game.board(game.episode_state(6))
    assert np.array_equal(game.episode_state(5), start)


def test_states_are_drawn_or_else_told() -> None:
    for name, picture in (("Corridor", "..@."), ("Lake(slippery=False)", "state 2, step 2, return 0")):
        game = own(name)
        state = game.initial_state()
        game.play_text(state, ["1", "1"] if name == "Corridor" else ["2", "2"])
        assert drawn(game, state) == [picture]


@pytest.mark.parametrize(
    ("name", "has"),
    [
        *(("Lake()", True), ("Lake(odd=begins)", True), ("Lake(slippery=False)", True)),
        *((f"Lake(odd={odd})", False) for odd in ("tires", "melts", "remaps", "slips", "weighs", "costs")),
        *((f"Lake(odd={odd},slippery=False)", False) for odd in ("remaps", "repeats", "starts", "slips")),
        *((f"wrapped(by={by})", False) for by in ("action", "reward", "limit")),
    ],
)
def test_a_table_is_used_where_it_is_the_environment(name: str, has: bool) -> None:
    assert isinstance(games.load(f"gym:{FILE}:{name}"), TableGame) is has
    if not has:
        with pytest.raises(InvalidInput, match="game option model: 'table' is not accepted"):
            games.load(f"gym:{FILE}:{name}:model=table")


@pytest.mark.parametrize("outcomes", [[(1.0, 3, 0.0, False)], [(1.0, -1, 0.0, True)], [(0.5, 1, 0.0, False)]])
def test_a_table_that_leads_nowhere_is_not_searched(outcomes: list[tuple[float, int, float, bool]]) -> None:
    with pytest.raises(ValueError, match=r"\["):
        _merged(outcomes, 3)
