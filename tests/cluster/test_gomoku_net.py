"""The network in cluster/lab/networks: what it has learnt, its twin in torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import games
from games.errors import InvalidInput
from games.game import Game
from search.evaluator import Evaluator, load_evaluator, source_of_evaluator
from search.kernel.evaluation import asked
from tests.search.common import position

ROOT = Path(__file__).parents[2]
NETWORKS = ROOT / "cluster" / "lab" / "networks"
NET, IN_TORCH = str(NETWORKS / "gomoku_net.py"), str(NETWORKS / "gomoku_torch.py")
NO_TORCH = "torch is not installed"


def loaded(spec: str, game: Game) -> Evaluator:
    return load_evaluator(spec, source_of_evaluator(spec), game)


def random_states(game: Game, count: int) -> npt.NDArray[Any]:
    """The positions of random games, one after the other."""
    draw, found = np.random.default_rng(1), []
    while len(found) < count:
        state = game.initial_state()
        while not game.calls.is_terminal(state):
            found.append(state.copy())
            game.calls.play(state, int(draw.choice(game.legal_moves(state))))
    return np.array(found[:count])


@pytest.mark.parametrize("size", [9, 12])
def test_it_stops_a_four(size: int) -> None:
    game = games.load(f"gomoku:size={size}")
    evaluator = loaded(NET, game)
    stopped = position(game, "c3 g7 d3 h7 e3 b3 f3")
    _, policies = asked(evaluator, stopped[None])
    legal = game.legal_moves(stopped)
    assert game.format_move(stopped, legal[int(np.argmax(policies[0, legal]))]) == "g3"


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["gomoku:size=9", "gomoku:size=15"])
@pytest.mark.parametrize("batch", [1, 70])
def test_in_torch_it_says_what_it_says_in_numpy(spec: str, batch: int) -> None:
    pytest.importorskip("torch", reason=NO_TORCH)
    game = games.load(spec)
    states = random_states(game, 70)[-batch:]
    values, policies = asked(loaded(NET, game), states)
    torch_values, torch_policies = asked(loaded(f"{IN_TORCH}:device=cpu", game), states)
    assert torch_values == pytest.approx(values, abs=1e-5)
    assert torch_policies == pytest.approx(policies, abs=1e-5)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta"])
def test_a_device_that_torch_cannot_use_is_refused(device: str) -> None:
    pytest.importorskip("torch", reason=NO_TORCH)
    with pytest.raises(InvalidInput) as caught:
        loaded(f"{IN_TORCH}:device={device}", games.load("gomoku:size=9"))
    assert (caught.value.field, caught.value.value) == ("evaluator option device", device)
    assert caught.value.accepted.startswith("auto, cpu, or another device that torch can use here (")


def test_without_torch_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    # Another text, so that it is another module than one that is loaded already.
    (tmp_path / "net.py").write_text(Path(IN_TORCH).read_text() + "# copied\n")
    with pytest.raises(InvalidInput) as caught:
        loaded(str(tmp_path / "net.py"), games.load("gomoku:size=9"))
    assert (caught.value.field, caught.value.value) == ("evaluator", "net.py")
    assert caught.value.accepted == "torch to be installed: pip install torch"
