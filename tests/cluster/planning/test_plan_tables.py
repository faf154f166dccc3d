"""Plans beside the best that is possible, computed by dynamic programming: near it, and never above."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.planning.defaults import MoveSearch
from games.catalogue import load
from games.errors import InvalidInput
from games.gym.environment import parse
from games.gym.table import TableGame
from games.spec import parse_game_spec
from search.episode import Planner
from search.job import Context
from search.prepare import check_search
from search.request import SearchRequest
from search.worker import Worker
from tests.cluster.command import Here
from tests.games import gym_environments
from tests.games.tabular import losses_of

pytestmark = pytest.mark.slow

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")

HERE = ("--executor", "inline")
LAKE = "gym:FrozenLake-v1(is_slippery=True)"
FILE = str(Path(__file__).parents[2] / "games/gym_environments.py")
ENVIRONMENTS = """FrozenLake-v1 FrozenLake-v1:steps=5 FrozenLake-v1(is_slippery=False) Taxi-v4 CartPole-v1
Taxi-v4(is_rainy=True) Taxi-v4(fickle_passenger=True,fickle_probability=1.0) CliffWalkingSlippery-v1
Blackjack-v1:clairvoyant=yes OWN:Walk OWN:Script OWN:Parts OWN:Cloned OWN:Coin OWN:Masks OWN:Offset OWN:Many
OWN:SeenMasks OWN:Truncating OWN:Deck:unseen=redraw_anew OWN:Corridor OWN:OddMasks OWN:wrapped(by=action)
OWN:wrapped(by=reward) OWN:wrapped(by=limit) OWN:Lake(odd=remaps) OWN:Lake(odd=slips) OWN:Lake(odd=weighs)
OWN:Lake(odd=costs) OWN:Lake(odd=repeats) OWN:Lake(odd=tires) OWN:Lake(odd=begins) OWN:Lake(odd=melts)"""


@pytest.mark.parametrize(
    ("spec", "episodes", "simulations", "loss"),
    [
        ("gym:FrozenLake-v1:steps=30", 8, 200, 0.03),
        ("gym:Taxi-v4", 2, 3000, 0.5),
        ("gym:CliffWalking-v1:steps=100", 1, 3000, 0.5),
        ("gym:CliffWalking-v1(is_slippery=True):steps=100", 1, 300, 2.0),
    ],
)
def test_moves_lose_little(spec: str, episodes: int, simulations: int, loss: float) -> None:
    """Beside exact values, which needs fewer episodes than a mean return."""
    game = load(spec)
    assert isinstance(game, TableGame)
    search = MoveSearch(spec, simulations=simulations).of_game(game)
    planner = Planner(search, game, None)
    lost = [losses_of(game, planner.play(episode)) for episode in range(episodes)]
    assert 0.0 <= sum(lost) / episodes <= loss


def test_by_default_a_plan_learns_where_it_can(here: Here) -> None:
    options = ("gym:FrozenLake-v1:steps=30", "--episodes", "3", "--simulations", "50", *HERE)
    learnt = here.json("plan", *options)
    assert learnt == here.json("plan", *options, "--playout-policy", "learnt", "--final-move", "max") | {
        "elapsed_s": learnt["elapsed_s"],
        "simulations_per_s": learnt["simulations_per_s"],
    }
    assert learnt["clairvoyant"] is False
    tiles = MoveSearch("2048", simulations=1).of_game(load("2048"))
    assert (tiles.playout_policy, tiles.final_move) == ("greedy", "robust")
    shop = MoveSearch("jobshop", simulations=1).of_game(load("jobshop"))
    assert (shop.playout_policy, shop.final_move) == ("random", "robust")
    many = MoveSearch(LAKE, simulations=1, lanes=2).of_game(load(LAKE))
    assert many.playout_policy == "random", "each job of several lanes would begin with nothing"


def test_what_was_learnt_ends_with_its_episode(here: Here) -> None:
    budget = ("--steps", "20", "--simulations", "100", *HERE)
    whole = here.json("plan", LAKE, "--episodes", "4", *budget)
    later = here.json("plan", LAKE, "--episodes", "2", "--seed", "2", *budget)
    assert whole["episodes"][2:] == later["episodes"]


def test_the_table_and_the_environment_are_one_problem() -> None:
    table, stepped = load(LAKE), load(f"{LAKE}:model=environment")
    assert isinstance(table, TableGame)
    assert not isinstance(stepped, TableGame)
    assert table.spec.endswith("model=table")
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    state = table.episode_state(0)
    table.calls.play(state, 2)
    weights = {table.format_move(state, move): weight for move, weight in table.chance_weights(state).items()}
    assert weights == pytest.approx({f"s{after}": chance for chance, after, _, _ in env.unwrapped.P[0][2]})


@pytest.mark.parametrize("spec", [f"gym:{each}" for each in ENVIRONMENTS.replace("OWN", FILE).split()])
def test_actions_of_a_plan_have_its_return_in_the_environment(spec: str) -> None:
    game: Any = load(spec)
    named, steps = parse(parse_game_spec(spec)), min(game.steps, 30)
    planner = Planner(MoveSearch(spec, simulations=8).of_game(game), game, None, steps)
    for seed in (0, 1, 5):
        planned, total, terminated, truncated = planner.play(seed), 0.0, False, False
        make = vars(gym_environments)[named.name] if named.path else partial(gymnasium.make, named.name)
        env = make(**named.values)
        env.reset(seed=seed)
        for text in planned.actions:
            assert not terminated
            assert not truncated
            action = np.array([int(number) for number in text.split("_")])
            _, reward, terminated, truncated, _ = env.step(action if "_" in text else action[0])
            total += reward
        ended = not terminated and (truncated or planned.steps == steps)
        assert (planned.value, planned.terminated, planned.truncated) == (
            pytest.approx(total),
            terminated,
            ended,
        )


def test_a_step_that_is_not_in_the_table_ends_the_plan() -> None:
    game = load(f"gym:{FILE}:Lake(odd=hides)")
    assert isinstance(game, TableGame)
    planner = Planner(MoveSearch(game.spec, simulations=8).of_game(game), game, None)
    planner.play(0)
    with pytest.raises(InvalidInput, match=r"environment: step 1 of episode 999, .* is not in its table P"):
        planner.play(999)


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


class SlowToLoad(Worker):
    def prepare(self, context: Context) -> None:
        super().prepare(context)
        until_s = time.thread_time() + 0.5
        while time.thread_time() < until_s:
            pass


def test_the_time_in_which_kernels_are_loaded_is_not_that_of_an_episode() -> None:
    game = load("2048")
    planner = Planner(MoveSearch("2048", simulations=2).of_game(game), game, None, 1)
    planner.play(1)
    planner._worker, planner._prepared = SlowToLoad(), False
    assert planner.play(1).seconds < 0.4
