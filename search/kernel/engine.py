"""Engines: the kernels of one game and one kind of search, as coordinator and workers call them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from games.compile.specialise import is_compiled
from games.game import Game, State
from games.rng import new_stream
from games.rules import KEPT
from search.features import DEEPEST, PLAIN, Features
from search.job import DEAL_STREAM, Context
from search.kernel.lazy_snapshot import base_of
from search.kernel.learning import new_experience
from search.kernel.wiring import functions_of, functions_of_known
from search.kernel.workspace import MARKS, Leaves, Workspace
from search.minimax.lookahead import new_frames
from search.tree.arena import Tree, new_tree
from search.tree.merge import Statistics, lone_root


class Engine:
    """The kernels of one game and one set of features, compiled or loaded from the cache at their first call.

    With ``features.hidden`` the root is a view (Game.observation); without, it is a whole position. The
    module of each kernel describes its arguments.
    """

    simulate: Callable[..., int]
    plan_visits: Callable[..., None]
    grow_portions: Callable[..., int]
    select_leaves: Callable[..., int]
    play_out_leaves: Callable[..., None]
    absorb_leaves: Callable[..., None]
    reach_leaves: Callable[..., None]
    play_flat: Callable[..., None]
    play_out: Callable[..., int]
    look_back: Callable[..., None]
    """Only with ``features.learnt``."""
    take_turns: Callable[..., int]
    grow_together: Callable[..., int]
    """Only for compiled rules: see search/kernel/turns.py."""

    def __init__(self, game: Game, features: Features) -> None:
        self.game = game
        self.features, self.hidden, self.layout = features, features.hidden, features.layout
        self.warm: set[Hashable] = set()
        """Kinds of searches whose coordinator's kernels are compiled or loaded."""
        for name, function in functions_of(game, features).items():
            setattr(self, name, function)

    @cached_property
    def asks_workers(self) -> bool:
        """Whether workers send what the rules say of a leaf, so that leaves are selected without the rules.

        So it is with games in plain Python, unless the selection needs more than `known.KnownGame` knows.
        """
        features = self.features
        needs_positions = features.widened or features.decisive or features.evaluated or features.priors
        return not (is_compiled(self.game.rules) or self.hidden or self.game.has_chance or needs_positions)

    @cached_property
    def known(self) -> dict[str, Callable[..., Any]]:
        """The kernels that select and absorb leaves by known positions; only if `asks_workers`."""
        return functions_of_known(self.game, self.features)

    def new_workspace(self) -> Workspace:
        """Scratch for one running kernel."""
        plies = self.game.max_plies + 1
        scored = 1 if self.game.is_two_player else plies
        learning_plies = plies if self.features.learnt else 1
        players = max(1, self.game.num_players if self.game.num_players > 2 else 0)
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
            frames=new_frames(self.game, DEEPEST if self.features.thinking else 0),
            kept=np.zeros(KEPT if self.game.rules.decisive_moves else 1, dtype=np.uint64),
            tally=np.zeros(2, dtype=np.int64),
            scores=np.zeros(scored),
            ends=np.zeros(players),
            totals=np.zeros(players),
            line=np.zeros(scored, dtype=np.uint16),
            best=np.array([-np.inf, 0.0]),
            best_line=np.zeros(1 + scored, dtype=np.int32),
            experience=new_experience(self.features.learnt),
            places=np.zeros(learning_plies, dtype=np.int32),
            cells=np.zeros(learning_plies, dtype=np.int32),
            entries=np.zeros(learning_plies, dtype=np.int32),
            gains=np.zeros(learning_plies),
            chosen=np.zeros(learning_plies, dtype=np.bool_),
            base=base_of(self.lone_root()),
            marks=np.zeros(MARKS, dtype=np.int64),
            place=np.zeros(2, dtype=np.int64),
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
            scores=np.zeros((size, 1 if self.game.is_two_player else plies)),
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
