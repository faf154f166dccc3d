"""The loop of search/kernel.py as functions of one game: what coordinator and workers call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from games.game import Game
from games.specialise import specialise
from search import kernel
from search.kernel import Leaves, Workspace

_GENERIC = (
    kernel.descend,
    kernel.value_of_leaf,
    kernel.simulate,
    kernel.look_ahead,
    kernel.select_leaves,
    kernel.evaluate_leaves,
    kernel.absorb_leaves,
    kernel.play_out,
)


class Engine:
    """The kernels of one game; each is compiled, or loaded from the cache, at its first call."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._functions = specialise(_GENERIC, game)

    @cached_property
    def simulate(self) -> Callable[..., int]:
        return self._functions["simulate"]

    @cached_property
    def look_ahead(self) -> Callable[..., None]:
        return self._functions["look_ahead"]

    @cached_property
    def select_leaves(self) -> Callable[..., None]:
        return self._functions["select_leaves"]

    @cached_property
    def evaluate_leaves(self) -> Callable[..., None]:
        return self._functions["evaluate_leaves"]

    @cached_property
    def absorb_leaves(self) -> Callable[..., None]:
        return self._functions["absorb_leaves"]

    @cached_property
    def play_out(self) -> Callable[..., int]:
        return self._functions["play_out"]

    def new_workspace(self) -> Workspace:
        """Scratch for one running kernel."""
        plies = self.game.max_plies + 1
        return Workspace(
            state=np.zeros_like(self.game.initial_state()),
            leaf_state=np.zeros_like(self.game.initial_state()),
            moves=np.zeros(self.game.max_moves, dtype=np.uint16),
            nodes=np.zeros(plies, dtype=np.int32),
            slots=np.zeros(plies, dtype=np.uint16),
            movers=np.zeros(plies, dtype=np.uint8),
            tally=np.zeros(2, dtype=np.int64),
        )

    def new_leaves(self, visits: np.ndarray[Any, np.dtype[np.int32]]) -> Leaves:
        """A batch of as many leaves as ``visits`` has entries, to be filled by select_leaves."""
        plies = self.game.max_plies + 1
        size = len(visits)
        return Leaves(
            moves=np.zeros((size, plies), dtype=np.uint16),
            slots=np.zeros((size, plies), dtype=np.uint16),
            movers=np.zeros((size, plies), dtype=np.uint8),
            depths=np.zeros(size, dtype=np.int32),
            visits=visits,
        )


@lru_cache(maxsize=32)
def engine_of(game: Game) -> Engine:
    """The engine of a game, one for each process."""
    return Engine(game)
