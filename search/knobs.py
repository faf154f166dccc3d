"""From a request to the plain numbers that kernels take."""

from __future__ import annotations

from search.job import Context
from search.playouts import NO_CUT, POLICIES
from search.request import EXPLORATION, ISMCTS_EXPLORATION
from search.selection import Knobs


def knobs_of(context: Context, anticipated: int = 0, share: int = 0, num_shares: int = 1) -> Knobs:
    """The request's knobs for a kernel; what is left out is that of a search that knows of no other lane."""
    request = context.request
    exploration = request.exploration
    if exploration is None:
        exploration = ISMCTS_EXPLORATION if context.hidden == "ismcts" else EXPLORATION
    share_of_c = request.lane_exploration if anticipated > 0 else 1.0
    return Knobs(
        exploration=2.0 * exploration * share_of_c * context.exploration_scale,
        first_play_urgency=float(request.first_play_urgency),
        solver=request.solver,
        anticipated=anticipated,
        virtual_loss=request.in_flight == "virtual-loss",
        share=share,
        num_shares=num_shares,
        widening=request.widening or 0,
        playout_plies=NO_CUT if request.playout_plies is None else request.playout_plies,
        first_policy=POLICIES[request.policies[0]],
        second_policy=POLICIES[request.policies[1]],
    )
