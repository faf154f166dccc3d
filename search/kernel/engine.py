"""Engines: the kernels of one game and one kind of search, as coordinator and workers call them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from games.compile.rule_stubs import default_determinize
from games.compile.specialise import is_compiled, specialise
from games.game import Game, State
from games.rng import new_stream
from games.rules import HasForm, HasRules
from search.features import DEEPEST, PLAIN, Features
from search.job import DEAL_STREAM, Context
from search.kernel import (
    expansion,
    experience,
    flat,
    heuristics,
    ismcts,
    known,
    learning,
    loop,
    playouts,
    portions,
    puct,
    replay,
    rewards,
    subtrees,
    turns,
    uct,
    unpruning,
)
from search.kernel.lazy_snapshot import base_of
from search.kernel.workspace import Leaves, Workspace
from search.minimax import alphabeta
from search.minimax.lookahead import new_frames
from search.tree.arena import Tree, new_tree
from search.tree.merge import Statistics, lone_root

_INNER = (loop.descend, loop.value_of_leaf, portions.go_to)
"""Kernels that only other kernels call."""
_SCORED_INNER = (loop.descend, rewards.score_at_end, rewards.value_of_leaf_scored, portions.go_to)
"""`_INNER` of problems beyond two players and a return at the end."""
_BOTH = (
    loop.simulate,
    portions.plan_visits,
    portions.grow_portions,
    loop.select_leaves,
    loop.play_out,
    replay.reach_leaves,
)
"""Kernels that Python calls, of all problems."""
_OUTER = (*_BOTH, loop.evaluate_leaves, loop.absorb_leaves, playouts.sample_leaves, flat.play_flat)
"""Kernels that Python calls."""
_SCORED_OUTER = (
    *_BOTH,
    rewards.evaluate_leaves_scored,
    rewards.absorb_leaves_scored,
    rewards.sample_scored,
    rewards.play_flat_scored,
)
"""`_OUTER` of problems beyond two players and a return at the end."""

_Function = Callable[..., Any]

_LEARNING = (
    experience.place_of,
    experience.settle,
    experience.learn,
    experience.settle_now_and_then,
    experience.settle_all,
    learning.note,
)
"""What the kernels of playouts that learn call."""


class Engine:
    """The kernels of one game and one set of features, compiled or loaded from the cache at their first call.

    With ``features.hidden`` the root is a view (Game.observation); without, it is a whole position. The
    module of each kernel describes its arguments.
    """

    def __init__(self, game: Game, features: Features) -> None:
        self.game = game
        self.features, self.hidden, self.layout = features, features.hidden, features.layout
        bound = _bindings(game, features)
        inner, outer = (_INNER, _OUTER) if game.is_two_player else (_SCORED_INNER, _SCORED_OUTER)
        further = (learning.look_back,) if features.learnt else ()
        bound |= {
            function.__name__.removesuffix("_scored"): compiled
            for function, compiled in zip(
                inner, specialise(inner, game, bound, inner=True).values(), strict=True
            )
        }
        self._bound = bound
        self._functions = {
            name.removesuffix("_scored"): function
            for name, function in specialise((*outer, *further), game, bound).items()
        }

    @cached_property
    def simulate(self) -> Callable[..., int]:
        return self._functions["simulate"]

    @cached_property
    def plan_visits(self) -> Callable[..., None]:
        return self._functions["plan_visits"]

    @cached_property
    def grow_portions(self) -> Callable[..., int]:
        return self._functions["grow_portions"]

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
    def look_back(self) -> Callable[..., None]:
        """Only with ``features.learnt``."""
        return self._functions["look_back"]

    @cached_property
    def reach_leaves(self) -> Callable[..., None]:
        return self._functions["reach_leaves"]

    @cached_property
    def play_out(self) -> Callable[..., int]:
        return self._functions["play_out"]

    @cached_property
    def sample_leaves(self) -> Callable[..., None]:
        return self._functions["sample_leaves" if self.game.is_two_player else "sample"]

    @cached_property
    def play_flat(self) -> Callable[..., None]:
        return self._functions["play_flat"]

    @cached_property
    def take_turns(self) -> Callable[..., int]:
        """Only for compiled rules: see search/kernel/turns.py."""
        bound = {
            name: self._functions[name] for name in ("select_leaves", "evaluate_leaves", "absorb_leaves")
        }
        return specialise((turns.take_turns,), self.game, bound)["take_turns"]

    @cached_property
    def take_subtrees(self) -> Callable[..., int]:
        """Only for compiled rules: see search/kernel/subtrees.py."""
        bound = self._bound | {"add_untried": _add_untried(self.game, self.features)}
        inner = specialise((subtrees.select_subtree, subtrees.grow_subtree), self.game, bound, inner=True)
        return specialise((subtrees.take_subtrees,), self.game, inner)["take_subtrees"]

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
        """`loop.select_leaves` and `loop.absorb_leaves`, compiled for known positions
        (search/kernel/known.py); only if `asks_workers`."""
        game = known.KnownGame(self.game)
        bound: dict[str, Any] = {"HIDDEN": False, "determinize": known.go_to_root}
        bound |= _form_bindings(game)
        bound["asked_for"] = known.without_entry
        bound["select_or_expand"] = _select_or_expand(game, self.features)
        bound |= specialise((loop.descend,), game, bound, inner=True)
        absorb = loop.absorb_leaves if self.game.is_two_player else rewards.absorb_leaves_scored
        functions = specialise((loop.select_leaves, absorb), game, bound)
        return {name.removesuffix("_scored"): function for name, function in functions.items()}

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
            tally=np.zeros(2, dtype=np.int64),
            scores=np.zeros(scored),
            ends=np.zeros(players),
            totals=np.zeros(players),
            line=np.zeros(scored, dtype=np.uint16),
            best=np.array([-np.inf, 0.0]),
            best_line=np.zeros(1 + scored, dtype=np.int32),
            experience=experience.new_experience(self.features.learnt),
            places=np.zeros(learning_plies, dtype=np.int32),
            cells=np.zeros(learning_plies, dtype=np.int32),
            entries=np.zeros(learning_plies, dtype=np.int32),
            gains=np.zeros(learning_plies),
            chosen=np.zeros(learning_plies, dtype=np.bool_),
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


@lru_cache(maxsize=64)
def _bindings(game: Game, features: Features) -> dict[str, Any]:
    """The functions that the names of search/kernel/stubs.py stand for, and what rules do not say."""
    bound: dict[str, Any] = {}
    if game.hidden_information and not features.hidden:
        # Kernels that start from whole positions.
        bound["HIDDEN"] = False
        bound["determinize"] = _bind(game, default_determinize)
    bound |= _form_bindings(game)
    bound["deal"] = _bind(game, ismcts.deal_paired if features.paired else loop.deal_alone, **bound)
    bound["asked_for"] = known.never
    bound["note_leaf"] = heuristics.nothing_to_note
    if features.evaluated:
        bound["note_leaf"] = _bind(game, heuristics.note_heuristic)
    bound["select_or_expand"] = _select_or_expand(game, features)
    bound["may_expand"] = unpruning.below_limit if features.widened else expansion.always
    bound["best_child"] = _best_child(game, features)
    bound["leaf_playout"] = _leaf_playout(game, features)
    if features.learnt:
        bound["note_score"] = _bind(game, *_LEARNING, learning.note_score_and_place)
        bound["back_up"] = _bind(game, *_LEARNING, learning.back_up_learnt)
        bound["settle_all"] = _bind(game, experience.settle, experience.settle_all)
        if game.has_lines:
            bound["back_up"] = _bind(game, rewards.back_up_line, back_up_scored=bound["back_up"])
    return bound


def _form_bindings(game: HasForm) -> dict[str, Any]:
    """What depends on the form of the problem alone; see search/kernel/stubs.py."""
    if game.is_two_player:
        return {
            "note_score": loop.no_score,
            "back_up": loop.back_up_return,
            "keep_path": loop.keep_nothing,
        }
    many = game.num_players > 2
    note = rewards.note_score_of_mover if many else rewards.note_score_of_first
    back_up: tuple[_Function, ...] = (rewards.back_up_many if many else rewards.back_up_scored,)
    if game.has_lines:
        back_up = (rewards.back_up_scored, rewards.back_up_line)
    return {
        "note_score": _bind(game, note),
        "back_up": _bind(game, *back_up),
        "keep_path": rewards.keep_scores,
    }


def _bind(game: HasRules, *functions: _Function, **bound: Any) -> _Function:
    """The last of these generic functions, bound to the game, to the ones before it, and to ``bound``."""
    return specialise(functions, game, bound, inner=True)[functions[-1].__name__]


def _select_or_expand(game: HasForm, features: Features) -> _Function:
    """The selection and expansion of a search's algorithm; see search/kernel/stubs.py."""
    select = _select_move(game, features)
    return select if game.rules.chance is None else _bind(game, rewards.select_or_draw, select_move=select)


def _select_move(game: HasForm, features: Features) -> _Function:
    """The selection and expansion at a node where a player moves."""
    if features.priors:
        return _bind(game, puct.select_by_prior)
    bound: dict[str, Any] = {
        "add_untried": _add_untried(game, features),
        "may_expand": expansion.always,
    }
    if features.widened:
        bound["may_expand"] = unpruning.below_limit
    if not features.hidden:
        bound["best_child"] = _best_child(game, features)
        return _bind(game, uct.select_or_expand_uct, **bound)
    select = ismcts.select_or_expand_paired if features.paired else ismcts.select_or_expand_ismcts
    functions: tuple[_Function, ...] = (ismcts.select_or_expand_among, select)
    if not game.is_two_player:
        functions = (ismcts.best_available, *functions)
        bound["SCORED"] = True
    return _bind(game, *functions, **bound)


def _best_child(game: HasForm, features: Features) -> _Function:
    """The choice among children where nothing is hidden; as it stands, that of a return at the end."""
    if game.is_two_player and not features.evaluated:
        return uct.best_child
    marks = {"EVALUATED": features.evaluated, "SCORED": not game.is_two_player}
    return _bind(game, uct.best_child, **marks)


def _add_untried(game: HasRules, features: Features) -> _Function:
    """The expansion of a search's algorithm; see search/kernel/stubs.py."""
    add: _Function = expansion.add_own_share if features.hidden else expansion.add_any
    if features.widened:
        add = _bind(game, unpruning.best_untried, unpruning.add_best)
    if features.decisive:
        add = _bind(game, playouts.winning_move, expansion.add_decisive, add_untried=add)
    return add


def _leaf_playout(game: Game, features: Features) -> _Function:
    """The playouts of a search; see search/kernel/stubs.py."""
    if features.learnt:
        return _bind(game, *_LEARNING, learning.learning_rollout)
    stepwise = game.num_players == 1 and (game.has_lines or game.discount < 1.0)
    if not features.steered:
        if game.is_two_player:
            return _bind(game, playouts.whole_playout)
        return _bind(game, rewards.rollout_playout if stepwise else rewards.difference_playout)
    steered: tuple[_Function, ...] = (rewards.steered_rollout,)
    if game.is_two_player:
        steered = (playouts.steered_playout,)
    elif game.num_players == 1 and game.rules.cut_rollout is not None and game.rules.evaluate is None:
        steered += (rewards.cut_or_steered_rollout,)
    policy = (playouts.winning_move, playouts.policy_move)
    if not features.thinking:
        return _bind(game, *steered, steered_move=_bind(game, *policy))
    thinking = (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, playouts.minimax_move)
    return _bind(game, *steered, steered_move=_bind(game, *thinking, *policy, THINKS=True))
