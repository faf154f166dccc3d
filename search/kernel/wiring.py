"""What the kernels of a search are made of: their constants, and the functions that call each other.

All generic functions of this folder call each other by their names. Three tables list them, callees first;
`functions_of` binds those that a search needs to its game and to each other.
`constants_of` says which branches of them are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from games.compile.rule_stubs import determinize
from games.compile.specialise import is_compiled, specialise
from games.game import Game
from search.features import Features
from search.kernel import (
    backup,
    expand,
    known,
    learning,
    loop,
    playout,
    portions,
    select,
    turns,
    uct,
)
from search.minimax import alphabeta

Function = Callable[..., Any]

Table = tuple[tuple[str, tuple[Function, ...]], ...]
"""Functions in groups, callees first, each group with the name of the constant without which a search has
none of them; empty: every search has them."""

CHOICES: Table = (("", (uct.best_child,)), ("HIDDEN", (select.best_available,)))
"""The loops over the children of a node. They use no rules, and are compiled for every game."""
INNER: Table = (
    ("LEARNT", (learning.place_of, learning.settle, learning.settle_all, learning.learn)),
    ("LEARNT", (learning.learning_rollout, learning.back_up_learnt)),
    ("THINKS", (alphabeta.open_frame, alphabeta.begin, alphabeta.advance, playout.minimax_move)),
    ("", (playout.winning_move,)),
    ("STEERED", (playout.steered_move, playout.steered_playout)),
    ("", (playout.leaf_playout,)),
    ("WIDENED", (expand.best_untried,)),
    ("", (expand.may_expand, expand.moves_to_try, expand.add_untried)),
    ("FORCES", (expand.moves_beside,)),
    ("HIDDEN", (select.select_among,)),
    ("PAIRED", (select.deal_paired,)),
    ("CHANCES", (select.draw_outcome,)),
    ("EVALUATED", (backup.note_heuristic,)),
    ("", (select.select_or_expand, backup.note_score, backup.score_at_end, backup.value_of_leaf)),
    ("", (backup.back_up, loop.descend, portions.go_to, portions.grow_portion)),
)
"""Functions that only other ones call."""
OUTER: Table = (
    ("", (loop.simulate, loop.select_leaves, loop.play_out_leaves, loop.absorb_leaves)),
    ("", (loop.reach_leaves, loop.play_flat, loop.play_out)),
    ("LEARNT", (learning.look_back,)),
    ("", (portions.plan_visits, portions.grow_portions)),
    ("COMPILED", (turns.take_turns, turns.grow_together)),
)
"""The kernels, which Python calls."""


def constants_of(game: Game | known.KnownGame, features: Features) -> dict[str, bool]:
    """By name: the constants of `search.kernel.params`, and those of games/compile/rule_stubs.py that depend
    on the search as well."""
    alone = game.num_players == 1
    rules = game.rules
    cuts = alone and rules.cut_rollout is not None and rules.evaluate is None
    return {
        "SCORED": not game.is_two_player,
        "LINES": game.has_lines,
        "STEPWISE": alone and (game.has_lines or game.discount < 1.0),
        "CUTS": features.steered and cuts,
        "HIDDEN": features.hidden,
        "CHANCES": rules.chance is not None,
        "PAIRED": features.paired,
        "WIDENED": features.widened,
        "EVALUATED": features.evaluated,
        "DECIDES": features.decisive and rules.decisive_moves is None,
        "RANKED": rules.priorities is not None,
        "FORCES": features.decisive and rules.decisive_moves is not None,
        "PRIORS": features.priors,
        "CHOSEN": features.chosen,
        "STEERED": features.steered and not features.learnt,
        "THINKS": features.thinking,
        "LEARNT": features.learnt,
        "KNOWN": isinstance(game, known.KnownGame),
        "COMPILED": is_compiled(rules),
    }


def functions_of(game: Game, features: Features) -> dict[str, Function]:
    """The kernels of a search by name, compiled at their first call if the game's rules are."""
    constants = constants_of(game, features)
    bound: dict[str, Any] = dict(constants)
    if game.hidden_information and not features.hidden:
        # Kernels that start from whole positions.
        bound |= specialise((determinize,), game, {"HIDDEN": False}, inner=True)
    bound |= _inner(game, constants, bound)
    return specialise(_needed(OUTER, constants), game, bound)


def functions_of_known(game: Game, features: Features) -> dict[str, Function]:
    """`loop.select_leaves` and `loop.absorb_leaves` for known positions (search/kernel/known.py)."""
    over_known = known.KnownGame(game)
    constants = constants_of(over_known, features)
    bound: dict[str, Any] = {**constants, "determinize": known.go_to_root}
    bound |= _inner(over_known, constants, bound)
    return specialise((loop.select_leaves, loop.absorb_leaves), over_known, bound)


def _inner(
    game: Game | known.KnownGame, constants: dict[str, bool], bound: dict[str, Any]
) -> dict[str, Function]:
    # Kernels in plain Python call the loops from there.
    choices = specialise(_needed(CHOICES, constants), game, bound, inner=constants["COMPILED"], compiled=True)
    return choices | specialise(_needed(INNER, constants), game, bound | choices, inner=True)


def _needed(table: Table, constants: dict[str, bool]) -> tuple[Function, ...]:
    return tuple(
        function for name, functions in table if not name or constants[name] for function in functions
    )
