"""From a request to the plain numbers that kernels take."""

from __future__ import annotations

from search.job import Context
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
        exploration=2.0 * exploration * share_of_c,
        first_play_urgency=float(request.first_play_urgency),
        solver=request.solver,
        anticipated=anticipated,
        virtual_loss=request.in_flight == "virtual-loss",
        share=share,
        num_shares=num_shares,
    )
