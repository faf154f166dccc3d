"""Engines: the kernels of one game and one kind of search, as coordinator and workers call them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from games.compile.default_rules import default_determinize
from games.compile.specialise import is_compiled, specialise
from games.game import Game, State
from games.rng import new_stream
from games.rules import HasRules
from search import policies
from search.features import PLAIN, Features
from search.job import DEAL_STREAM, Context
from search.kernel import (
    expansion,
    flat,
    heuristics,
    ismcts,
    known,
    loop,
    playouts,
    puct,
    replay,
    uct,
    unpruning,
)
from search.kernel.lazy_snapshot import base_of
from search.kernel.workspace import Leaves, Workspace
from search.minimax import alphabeta
from search.minimax.lookahead import new_frames
from search.tree.arena import Tree, new_tree
from search.tree.snapshot import Statistics, lone_root

_INNER = (loop.descend, loop.value_of_leaf)
"""Kernels that only other kernels call."""
_OUTER = (
    loop.simulate,
    loop.select_leaves,
    loop.evaluate_leaves,
    loop.absorb_leaves,
    loop.play_out,
    replay.reach_leaves,
    playouts.sample_leaves,
    flat.play_flat,
)
"""Kernels that Python calls."""

_Function = Callable[..., Any]


class Engine:
    """The kernels of one game and one set of features, compiled or loaded from the cache at their first call.

    With ``features.hidden`` the root is a view (Game.observation); without, it is a whole position. The
    module of each kernel describes its arguments.
    """

    def __init__(self, game: Game, features: Features) -> None:
        self.game = game
        self.features, self.hidden, self.layout = features, features.hidden, features.layout
        bound = _bindings(game, features)
        self._functions = specialise(_OUTER, game, bound | specialise(_INNER, game, bound, inner=True))

    @cached_property
    def simulate(self) -> Callable[..., int]:
        return self._functions["simulate"]

    @cached_property
    def select_leaves(self) -> Callable[..., int]:
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

    @cached_property
    def asks_workers(self) -> bool:
        """Whether workers send what the rules say of a leaf, so that leaves are selected without the rules.

        So it is with games in plain Python, unless the selection needs more than `known.KnownGame` knows.
        """
        features = self.features
        needs_positions = features.widened or features.decisive or features.evaluated or features.priors
        return not (is_compiled(self.game.rules) or self.hidden or needs_positions)

    @cached_property
    def known(self) -> dict[str, Callable[..., Any]]:
        """`loop.select_leaves` and `loop.absorb_leaves`, compiled for known positions
        (search/kernel/known.py); only if `asks_workers`."""
        bound: dict[str, Any] = {"HIDDEN": False, "determinize": known.go_to_root}
        bound["asked_for"] = known.without_entry
        bound["select_or_expand"] = _select_or_expand(known.KnownGame(), self.features)
        bound |= specialise((loop.descend,), known.KnownGame(), bound, inner=True)
        return specialise((loop.select_leaves, loop.absorb_leaves), known.KnownGame(), bound)

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
            frames=new_frames(self.game, policies.DEEPEST if self.features.thinking else 0),
            tally=np.zeros(2, dtype=np.int64),
            base=base_of(self.lone_root()),
        )

    def new_leaves(self, visits: np.ndarray[Any, np.dtype[np.int32]]) -> Leaves:
        """A batch of as many leaves as ``visits`` ([B]) has entries, to be filled by select_leaves."""
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
        """The state from which a lane of `root` searches; in determinized search each lane has its own."""
        if context.hidden != "determinized":
            return context.root_state.copy()
        state = self.game.initial_state()
        determinize = self.game.calls.determinize
        assert determinize is not None
        determinize(context.root_state.copy(), state, new_stream(context.request.seed, DEAL_STREAM, lane))
        return state

    def new_tree(self, capacity: int) -> Tree:
        """A lone root with room for ``capacity`` slots."""
        return new_tree(capacity, self.layout)

    def capacity_for(self, memory_bytes: int, simulations: int) -> int:
        """Slots for a tree that ``simulations`` can fill, within ``memory_bytes``."""
        # A simulation adds one node; with priors it adds all children of its leaf.
        per_simulation = self.game.max_moves if self.layout.priors else 1
        return self.layout.capacity_for(memory_bytes, simulations * per_simulation)

    def lone_root(self) -> Statistics:
        """The snapshot of a tree that nobody has visited."""
        return lone_root(self.layout)


@lru_cache(maxsize=32)
def engine_of(game: Game, features: Features = PLAIN) -> Engine:
    """The engine of a game and a set of features; each is made once in a process."""
    return Engine(game, features)


@lru_cache(maxsize=64)
def _bindings(game: Game, features: Features) -> dict[str, Any]:
    """The functions that the names of search/kernel/stubs.py stand for, and what rules do not say."""
    bound: dict[str, Any] = {}
    if game.hidden_information and not features.hidden:
        # Kernels that start from whole positions.
        bound["HIDDEN"] = False
        bound["determinize"] = _bind(game, default_determinize)
    bound["deal"] = _bind(game, ismcts.deal_paired if features.paired else loop.deal_alone, **bound)
    bound["asked_for"] = known.never
    bound["note_leaf"] = heuristics.nothing_to_note
    if features.evaluated:
        bound["note_leaf"] = _bind(game, heuristics.note_heuristic)
    bound["select_or_expand"] = _select_or_expand(game, features)
    bound["leaf_playout"] = _leaf_playout(game, features)
    return bound


def _bind(game: HasRules, *functions: _Function, **bound: Any) -> _Function:
    """The last of these generic functions, bound to the game, to the ones before it, and to ``bound``."""
    return specialise(functions, game, bound, inner=True)[functions[-1].__name__]


def _select_or_expand(game: HasRules, features: Features) -> _Function:
    """The selection and expansion of a search's algorithm; see search/kernel/stubs.py."""
    if features.priors:
        return _bind(game, puct.select_by_prior)
    bound: dict[str, _Function] = {
        "add_untried": _add_untried(game, features),
        "may_expand": expansion.always,
    }
    if features.widened:
        bound["may_expand"] = unpruning.below_limit
    if features.paired:
        return _bind(game, ismcts.select_or_expand_among, ismcts.select_or_expand_paired, **bound)
    if features.hidden:
        return _bind(game, ismcts.select_or_expand_among, ismcts.select_or_expand_ismcts, **bound)
    if features.evaluated:
        return _bind(game, uct.best_child, uct.select_or_expand_uct, EVALUATED=True, **bound)
    return _bind(game, uct.select_or_expand_uct, **bound)


def _add_untried(game: HasRules, features: Features) -> _Function:
    """The expansion of a search's algorithm; see search/kernel/stubs.py."""
    add: _Function = expansion.add_own_share if features.hidden else expansion.add_shared
    if features.widened:
        add = _bind(game, unpruning.best_untried, unpruning.add_best)
    if features.decisive:
        add = _bind(game, playouts.winning_move, expansion.add_decisive, add_untried=add)
    return add


def _leaf_playout(game: Game, features: Features) -> _Function:
    """The playouts of a search; see search/kernel/stubs.py."""
    if not features.steered:
        return _bind(game, playouts.whole_playout)
    functions: list[_Function] = [playouts.winning_move, playouts.steered_playout]
    if not features.thinking:
        return _bind(game, *functions)
    thinking = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, playouts.minimax_move)
    return _bind(game, *thinking, *functions, THINKS=True)
