"""Plans beside the best that is possible, computed by dynamic programming: near it, and never above."""

from __future__ import annotations

import json
from typing import Any

import pytest

from games.catalogue import load
from games.errors import InvalidInput
from games.gym.table import TableGame
from search.prepare import check_search
from search.request import SearchRequest
from tests.cluster.command import here
from tests.games.tabular import optimum

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

HERE = ("--executor", "inline", "--json")
LEARNT = ("--playout-policy", "learnt", "--final-move", "max", "--exploration-scale", "fixed", *HERE)
LAKE = "gym:FrozenLake-v1(is_slippery=True)"


def best(name: str, steps: int, **arguments: Any) -> float:
    return optimum(gymnasium.make(name, **arguments), steps)


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = here(capsys, "plan", *arguments)
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_frozen_lake(capsys: pytest.CaptureFixture[str]) -> None:
    most = best("FrozenLake-v1", 100, is_slippery=True)
    assert most == pytest.approx(0.7442, abs=1e-4)
    found = planned(capsys, LAKE, "--episodes", "50", "--simulations", "3000", *LEARNT)
    low, high = found["interval"]
    assert low <= most <= high, "neither below the optimum nor, by foresight, above it"
    assert found["clairvoyant"] is False
    random = planned(capsys, LAKE, "--episodes", "30", "--simulations", "3000", *HERE)
    assert random["interval"][1] < low, "random playouts hardly ever come to the goal"


def test_cliff_walking(capsys: pytest.CaptureFixture[str]) -> None:
    most = best("CliffWalking-v1", 200)
    assert most == -13.0
    options = ("--episodes", "1", "--simulations", "20000", "--playout-policy", "learnt", *HERE)
    found = planned(capsys, "gym:CliffWalking-v1:steps=200", *options)
    (episode,) = found["episodes"]
    assert most - 2.0 <= episode["return"] <= most


def test_taxi(capsys: pytest.CaptureFixture[str]) -> None:
    most = best("Taxi-v4", 200)
    assert most == pytest.approx(7.93, abs=0.01)
    options = ("--episodes", "4", "--simulations", "20000", "--playout-policy", "learnt", *HERE)
    found = planned(capsys, "gym:Taxi-v4", *options)
    low, high = found["interval"]
    assert low <= most
    assert high >= most - 2.0


def test_what_was_learnt_ends_with_its_episode(capsys: pytest.CaptureFixture[str]) -> None:
    budget = ("--simulations", "300", *LEARNT)
    whole = planned(capsys, LAKE, "--episodes", "6", *budget)
    later = planned(capsys, LAKE, "--episodes", "3", "--seed", "3", *budget)
    assert whole["episodes"][3:] == later["episodes"]


def test_the_table_and_the_environment_are_one_problem() -> None:
    table, stepped = load(LAKE), load(f"{LAKE}:model=environment")
    assert isinstance(table, TableGame)
    assert not isinstance(stepped, TableGame)
    assert table.spec.endswith("model=table")
    for episode in range(5):
        state = table.episode_state(episode)
        assert table.legal_moves(state) == stepped.legal_moves(stepped.episode_state(episode)) == [0, 1, 2, 3]
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    state = table.episode_state(0)
    table.calls.play(state, 2)
    weights = {table.format_move(state, move): weight for move, weight in table.chance_weights(state).items()}
    assert weights == pytest.approx({f"s{after}": chance for chance, after, _, _ in env.unwrapped.P[0][2]})


def test_positions_of_a_table_read_back() -> None:
    game = load(LAKE)
    state = game.episode_state(3)
    for text in ("1", "s0"):
        game.play_text(state, [text])
        assert (game.parse_position(game.format_position(state)) == state).all()
    for text in ("", "0/0/0/-", "99/0/0.0/-/on", "0/101/0.0/-/on", "0/0/nan/-/on", "0/0/0.0/9/on"):
        with pytest.raises(InvalidInput):
            game.parse_position(text)


@pytest.mark.parametrize("game", ["tictactoe", "pig", "samegame"])
def test_what_cannot_be_learnt_is_refused(game: str) -> None:
    request = SearchRequest(game, simulations=10, playout_policy="learnt")
    with pytest.raises(InvalidInput, match="playout_policy"):
        check_search(request, load(game))
