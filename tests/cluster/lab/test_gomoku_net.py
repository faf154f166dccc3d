"""The network in cluster/lab/networks: what it has learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import games
from games.game import Game
from search.evaluator import Evaluator, load_evaluator, source_of_evaluator
from search.kernel.evaluation import answer_of
from tests.search.common import position

ROOT = Path(__file__).parents[3]
NET = str(ROOT / "cluster" / "lab" / "networks" / "gomoku_net.py")


def loaded(spec: str, game: Game) -> Evaluator:
    return load_evaluator(spec, source_of_evaluator(spec), game)


@pytest.mark.parametrize("size", [9, 12])
def test_it_stops_a_four(size: int) -> None:
    game = games.load(f"gomoku:size={size}")
    evaluator = loaded(NET, game)
    stopped = position(game, "c3 g7 d3 h7 e3 b3 f3")
    _, policies = answer_of(evaluator, stopped[None])
    legal = game.legal_moves(stopped)
    assert game.format_move(stopped, legal[int(np.argmax(policies[0, legal]))]) == "g3"
