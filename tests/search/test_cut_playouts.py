"""Cut playouts of games in plain Python, which play them at once, are those of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import games
from games import catalogue
from tests.search.common import digest_of_search

FILE = str(Path(__file__).parents[1] / "games" / "gym_environments.py")


@pytest.mark.parametrize("plies", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "spec",
    [
        "gym:CartPole-v1:discount=0.5",
        "gym:FrozenLake-v1:model=environment",
        "gym:FrozenLake-v1:model=environment,loop=open,discount=0.5",
        f"gym:{FILE}:Walk",
    ],
)
def test_cut_playouts_are_those_of_the_kernel(spec: str, plies: int) -> None:
    """Which plays move by move, and keeps every position."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    compare(spec, plies)


def compare(spec: str, plies: int) -> None:
    digests = []
    for at_once in (True, False):
        catalogue.forget()
        game: Any = games.load(spec)
        assert game.rules.cut_rollout is not None
        if not at_once:
            game.rules = game.rules._replace(cut_rollout=None)
        request = {"game": spec, "lanes": 3, "simulations": 60, "seed": plies, "playout_plies": plies}
        digests.append([digest_of_search(strategy=name, **request) for name in ("tree", "leaf")])
        assert games.load(spec) is game
    catalogue.forget()
    assert digests[0] == digests[1]
