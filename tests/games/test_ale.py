"""The Arcade Learning Environment: sticky actions, names, the screen; environments are closed."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from games import catalogue
from tests.games.test_gym import own, rolled_out

pytest.importorskip("gymnasium", reason="gymnasium is not installed")

PACMAN = "gym:ALE/MsPacman-v5"


def test_sticky_actions_are_drawn_where_they_can_be_seeded() -> None:
    """Each simulation has draws of its own; a quarter of the frames repeat the action before."""
    game: Any = games.load(own("Emulated"))
    assert (game.open_loop, game.clairvoyant, game.state_handling) == (True, False, "clone")
    state = game.episode_state(5)
    draw, same = random.Random(1), 0
    for seed in range(400):
        total, line = rolled_out(game, state, seed)
        assert rolled_out(game, state, seed) == (total, line)
        assert len(line) == 8
        # Before the first action there was none, which gives nothing.
        begun = state.copy()
        game.rules.determinize(game.observation(state, 0), begun, np.array([seed + 1, 7], dtype=np.uint64))
        game.rules.play(begun, 2)
        same += game.rules.returns(begun) == 0.0
    assert abs(same / 400 - 0.25) < 3.5 * (0.25 * 0.75 / 400) ** 0.5
    # The episode itself draws by its number.
    for _ in range(8):
        game.rules.play(state, draw.randrange(3))
    again = game.parse_position(game.format_position(state))
    assert game.rules.returns(again) == game.rules.returns(state)


def test_actions_have_names_and_the_screen_is_drawn() -> None:
    game: Any = games.load(own("Emulated"))
    state = game.initial_state()
    assert [game.format_move(state, move) for move in game.legal_moves(state)] == ["NOOP", "UP", "FIRE"]
    assert game.parse_move(state, "FIRE") == 2
    assert [[cell.text for cell in row] for row in game.board(state).rows] == [["@", " "], [" ", "+"]]


def test_environments_are_closed_with_their_game() -> None:
    catalogue.forget()
    gc.collect()
    game: Any = games.load(own("Emulated"))
    kind = type(game._stage.states.env)
    catalogue.forget()
    # A game that has never been searched: kernels are kept with their games.
    others = kind.made - kind.closed - 1
    game = games.load(own("Emulated"))
    assert kind.made - kind.closed == others + 2
    assert games.load(game.spec) is game
    del game
    catalogue.forget()
    gc.collect()
    assert kind.made - kind.closed <= others + 1


@pytest.mark.parametrize(
    ("name", "sticky"), [(PACMAN, True), (f"{PACMAN}(repeat_action_probability=0.0)", False)]
)
def test_an_emulator_goes_on_from_any_position(name: str, sticky: bool, tmp_path: Path) -> None:
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    game: Any = games.load(f"{name}:steps=90")
    assert (game.open_loop, game.clairvoyant, game.state_handling) == (sticky, False, "clone")
    state, draw = game.episode_state(3), random.Random(3)
    assert game.position(state).observation.shape == (128,)
    for _ in range(80):
        game.rules.play(state, draw.choice(game.legal_moves(state)))
    before, (total, line) = game.rules.returns(state), rolled_out(game, state, 1)
    assert rolled_out(game, state, 2)[1] != line
    assert rolled_out(game, state, 1) == (total, line)
    if not sticky:
        for move in line:
            game.rules.play(state, move)
        assert game.rules.returns(state) - before == total
