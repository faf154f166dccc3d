"""The loop of search/kernel.py as functions of one game: what coordinator and workers call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from games.defaults import default_determinize
from games.game import Game, State
from games.rng import new_stream
from games.specialise import specialise
from search import (
    alphabeta,
    evaluation,
    flat,
    heuristics,
    information_sets,
    kernel,
    playouts,
    selection,
    widening,
)
from search.features import PLAIN, Features
from search.job import DEAL_STREAM, Context
from search.kernel import Leaves, Workspace
from search.lookahead import new_frames
from search.statistics import Statistics, lone_root
from search.tree import Tree, bytes_per_node, capacity_for, new_tree
from search.unfolding import base_of

_GENERIC = (
    playouts.winning_move,
    heuristics.note_heuristic,
    widening.best_untried,
    information_sets.deal,
    selection.best_child,
    kernel.descend,
    kernel.value_of_leaf,
    kernel.simulate,
    kernel.select_leaves,
    kernel.evaluate_leaves,
    kernel.absorb_leaves,
    kernel.play_out,
    evaluation.reach_leaves,
    playouts.sample_leaves,
    flat.play_flat,
)


class Engine:
    """The kernels of one game; each is compiled, or loaded from the cache, at its first call.

    With ``features.hidden`` the root is a view (Game.observation); without, it is a whole position.
    """

    def __init__(self, game: Game, features: Features) -> None:
        self.game = game
        self.features, self.hidden = features, features.hidden
        self._functions = specialise(_GENERIC, game, _bindings(game, features))

    @cached_property
    def simulate(self) -> Callable[..., int]:
        return self._functions["simulate"]

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
    def reach_leaves(self) -> Callable[..., None]:
        return self._functions["reach_leaves"]

    @cached_property
    def play_out(self) -> Callable[..., int]:
        return self._functions["play_out"]

    @cached_property
    def sample_leaves(self) -> Callable[..., None]:
        return self._functions["sample_leaves"]

    @cached_property
    def play_flat(self) -> Callable[..., None]:
        return self._functions["play_flat"]

    def new_workspace(self) -> Workspace:
        """Scratch for one running kernel."""
        plies = self.game.max_plies + 1
        return Workspace(
            state=np.zeros_like(self.game.initial_state()),
            leaf_state=np.zeros_like(self.game.initial_state()),
            moves=np.zeros(self.game.max_moves, dtype=np.uint16),
            used=np.zeros(self.game.max_moves + 1, dtype=np.int64),
            slot_of=np.zeros(65_536, dtype=np.uint16),
            draw=np.zeros(2, dtype=np.uint64),
            nodes=np.zeros(plies, dtype=np.int32),
            slots=np.zeros(plies, dtype=np.uint16),
            movers=np.zeros(plies, dtype=np.uint8),
            frames=new_frames(self.game, playouts.DEEPEST if self.features.thinking else 0),
            tally=np.zeros(2, dtype=np.int64),
            base=base_of(self.lone_root()),
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
            draws=np.zeros((size, 2), dtype=np.uint64),
        )

    def lane_root(self, context: Context, lane: int) -> State:
        """What a lane of `root` searches from: determinized search gives each a position of its own."""
        if context.hidden != "determinized":
            return context.root_state.copy()
        state = self.game.initial_state()
        determinize = self.game.calls.determinize
        assert determinize is not None
        determinize(context.root_state.copy(), state, new_stream(context.request.seed, DEAL_STREAM, lane))
        return state

    def new_tree(self, capacity: int) -> Tree:
        """A lone root with room for ``capacity`` slots."""
        features = self.features
        return new_tree(capacity, self.hidden, features.evaluated, features.priors, features.wide)

    @property
    def bytes_per_node(self) -> int:
        """Bytes that a slot of a tree takes."""
        features = self.features
        return bytes_per_node(self.hidden, features.evaluated, features.priors, features.wide)

    def capacity_for(self, memory_bytes: int, simulations: int) -> int:
        """Slots for a tree that ``simulations`` can fill, within ``memory_bytes``."""
        if self.features.priors:
            # A simulation adds all children of its leaf.
            simulations *= self.game.max_moves
        return capacity_for(memory_bytes, simulations, self.bytes_per_node)

    def lone_root(self) -> Statistics:
        """The snapshot of a tree that nobody has visited."""
        return lone_root(self.hidden, self.features.wide)


@lru_cache(maxsize=32)
def engine_of(game: Game, features: Features = PLAIN) -> Engine:
    """The engine of a game, one for each process and form of the loop."""
    return Engine(game, features)


@lru_cache(maxsize=64)
def _bindings(game: Game, features: Features) -> dict[str, Any]:
    """What the kernels' globals stand for, beside the game's own rules."""
    bound: dict[str, Any] = {
        "WIDENED": features.widened,
        "PAIRED": features.paired,
        "EVALUATED": features.evaluated,
        "DECISIVE": features.decisive,
        "PRIORS": features.priors,
    }
    if game.hidden_information and not features.hidden:
        # Kernels that start from whole positions.
        bound["HIDDEN"] = False
        bound["determinize"] = specialise((default_determinize,), game)["default_determinize"]
    bound["leaf_playout"] = _leaf_playout(game, features)
    return bound


def _leaf_playout(game: Game, features: Features) -> Callable[..., Any]:
    if not features.steered:
        return specialise((playouts.whole_playout,), game)["whole_playout"]
    if not features.thinking:
        return specialise((playouts.winning_move, playouts.steered_playout), game)["steered_playout"]
    thinking = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, playouts.minimax_move)
    return specialise((*thinking, playouts.winning_move, playouts.steered_playout), game, {"THINKS": True})[
        "steered_playout"
    ]
