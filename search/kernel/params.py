"""What tells kernels which search they run: constants that are compiled in, and parameters.

`search.kernel.wiring` binds the constants of a game and its `search.features.Features` before it compiles; as
they stand they are those of plain UCT with two players. Numba removes the branches that they exclude, so that
a search pays only for what it uses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.game import Game
from games.rules import MAX_MOVE_CODE
from search.features import POLICIES
from search.job import Context
from search.kernel.logarithms import TABLE, Table
from search.request import (
    EXPLORATION,
    ISMCTS_EXPLORATION,
    PUCT_EXPLORATION,
    SCORED_EXPLORATION,
    SearchRequest,
)

SCORED = False
"""Whether a node's value is that of the move that leads to it: its reward and what follows, or from three
players on the score of who moves at its parent (search/kernel/backup.py)."""
LINES = False
"""`Game.has_lines`: whether the best line that was found is kept."""
STEPWISE = False
"""Whether playouts of one player note their moves, or discount what comes later (`Rules.rollout`)."""
CUTS = False
"""Whether `Rules.cut_rollout` stands for random playouts of a limited length."""
PAIRED = WIDENED = EVALUATED = DECIDES = PRIORS = STEERED = THINKS = LEARNT = CHOSEN = False
"""`search.features.Features` of these names, DECIDES: decisive in a game
without `Rules.decisive_moves`, THINKS: thinking; HIDDEN is one of
games/compile/rule_stubs.py. None of these names may stand for anything else in a kernel's module."""
RANKED = False
"""Whether the game gives the priorities of all moves at once (`Rules.priorities`)."""
FORCES = False
"""Whether a search that is decisive asks `Rules.decisive_moves`."""
KNOWN = False
"""Whether positions are those of search/kernel/known.py."""
COMPILED = False
"""Whether the rules are compiled, and so the kernels."""

LEAF = -1
"""The answer of a selection where a simulation goes no further."""
CHANCE_CODE = 255
"""`games.rules.CHANCE` among the movers of a path."""
NO_CUT = 2**31 - 1
"""SearchParams.playout_plies of a search whose playouts run to the end of the game."""


class SearchParams(NamedTuple):
    """Parameters of a search, as plain numbers that compiled code takes as they are."""

    exploration: float
    """2 C, where C is the exploration constant on the scale of rewards in [0, 1]."""
    first_play_urgency: float
    """Score of an untried move, on the scale of Q; infinity tries every move once before any twice."""
    solver: bool
    """Whether proven wins, losses and draws are propagated (MCTS-Solver)."""
    anticipated: int
    """tree with hidden information: unobserved samples that each visit adds to its path, for visits that
    other lanes are expected to make."""
    virtual_loss: bool
    """Whether visits in flight count as lost for the player who chose them; else they count as unobserved."""
    share: int
    """tree: the rank of this lane among ``num_shares``; it decides which visits of a round are its own."""
    num_shares: int
    """tree: number of lanes, among which a round's visits are divided."""
    implicit: float
    """Implicit minimax: weight of the minimax value against Q, 0 to 1."""
    widening: int
    """Progressive unpruning: number of moves that a node begins with."""
    paired: int
    """Hidden information: how many moves of the root search each determinization, one after the other."""
    playout_plies: int
    """Steered playouts: plies after which a playout is cut; NO_CUT for never."""
    first_policy: int
    """Steered playouts: how the first player moves, a code of search/features.py."""
    second_policy: int
    """Steered playouts: how the second player moves, a code of search/features.py."""
    cpuct_base: float
    """PUCT: c_base, the number of visits around which exploration begins to grow."""
    fpu_reduction: float
    """PUCT: how far the first-play urgency lies below the parent's mean once all of the policy is visited."""
    wanted: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    """[65,535] by move of the root: its least visits, -1 if not searched; [0] unless moves are CHOSEN."""
    table: Table = TABLE
    """Logarithms and roots of counts."""


def with_exploration(request: SearchRequest, game: Game) -> SearchRequest:
    """The request with the exploration constant C and its scale filled in: those that it names, else those of
    its game and kind of search."""
    if request.exploration_scale is None and not game.is_two_player:
        # Returns of any range.
        request = replace(request, exploration_scale="spread")
    if request.exploration is not None:
        return request
    if request.evaluator is not None:
        return replace(request, exploration=PUCT_EXPLORATION)
    if game.exploration is not None:
        return replace(request, exploration=game.exploration)
    if not game.is_two_player:
        return replace(request, exploration=SCORED_EXPLORATION)
    hidden = game.hidden_information and request.hidden_information == "ismcts"
    return replace(request, exploration=ISMCTS_EXPLORATION if hidden else EXPLORATION)


def params_of(context: Context) -> SearchParams:
    """The parameters of a search, for a lane that assumes no visits by other lanes."""
    moves = MAX_MOVE_CODE + 1 if context.features.chosen else 0
    wanted = np.full(moves, -1 if context.allowed else 0, dtype=np.int64)
    for move, least in [*((move, 0) for move in context.allowed), *context.least]:
        wanted[move] = least
    return params_from(context.request, context.exploration_scale)._replace(wanted=wanted)


def params_from(request: SearchRequest, exploration_scale: float) -> SearchParams:
    """The parameters of a search by one lane; ``exploration_scale`` as in Context."""
    assert request.exploration is not None, "with_exploration was not called"
    return SearchParams(
        exploration=2.0 * request.exploration * exploration_scale,
        first_play_urgency=float(request.first_play_urgency),
        solver=request.solver,
        anticipated=0,
        virtual_loss=request.in_flight == "virtual-loss",
        share=0,
        num_shares=1,
        implicit=request.implicit_minimax,
        widening=request.widening or 0,
        paired=request.paired,
        playout_plies=NO_CUT if request.playout_plies is None else request.playout_plies,
        first_policy=POLICIES[request.policies[0]],
        second_policy=POLICIES[request.policies[1]],
        cpuct_base=request.cpuct_base,
        fpu_reduction=request.fpu_reduction,
    )
