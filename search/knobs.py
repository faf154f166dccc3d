"""From a request to the plain numbers that kernels take."""

from __future__ import annotations

from search.job import Context
from search.playouts import NO_CUT, POLICIES
from search.request import EXPLORATION, ISMCTS_EXPLORATION, PUCT_EXPLORATION, SearchRequest
from search.selection import Knobs


def knobs_of(context: Context, anticipated: int = 0, share: int = 0, num_shares: int = 1) -> Knobs:
    """The knobs of a search; what is left out is that of one that knows of no other lane."""
    knobs = knobs_from(context.request, context.hidden, context.exploration_scale)
    if anticipated == 0:
        return knobs
    return knobs._replace(
        exploration=knobs.exploration * context.request.lane_exploration,
        anticipated=anticipated,
        share=share,
        num_shares=num_shares,
        order=context.request.seed & 2**62 - 1,
    )


def knobs_from(request: SearchRequest, hidden: str, exploration_scale: float) -> Knobs:
    """The knobs of a search by one lane; ``hidden`` and ``exploration_scale`` as in Context."""
    exploration = request.exploration
    if exploration is None:
        exploration = ISMCTS_EXPLORATION if hidden == "ismcts" else EXPLORATION
        if request.evaluator is not None:
            exploration = PUCT_EXPLORATION
    return Knobs(
        exploration=2.0 * exploration * exploration_scale,
        first_play_urgency=float(request.first_play_urgency),
        solver=request.solver,
        anticipated=0,
        virtual_loss=request.in_flight == "virtual-loss",
        perturbation=request.perturbation * exploration_scale,
        share=0,
        num_shares=1,
        order=0,
        implicit=request.implicit_minimax,
        bias=request.bias * exploration_scale,
        widening=request.widening or 0,
        paired=request.paired,
        playout_plies=NO_CUT if request.playout_plies is None else request.playout_plies,
        first_policy=POLICIES[request.policies[0]],
        second_policy=POLICIES[request.policies[1]],
        exploration_base=request.exploration_base,
        urgency_reduction=request.urgency_reduction,
    )
