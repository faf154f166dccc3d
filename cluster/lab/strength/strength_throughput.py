"""Predicts the throughput of parallel searches with a worker for each lane, from costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cluster.lab.predict.costs import Costs
from cluster.lab.predict.prediction import predict
from cluster.lab.strength.strength import TOTAL, Plan
from search.players import player_of
from search.players.monte_carlo import Uct

SEQUENTIAL = "root"
"""The strategy whose jobs grow one tree without interruption, like the sequential search."""


def strategies_to_cost(plan: Plan) -> list[str]:
    """The strategies whose costs a prediction needs."""
    return list(dict.fromkeys([SEQUENTIAL, *(cell.strategy.name for cell in plan.cells)]))


def predicted_throughputs(plan: Plan, costs: Mapping[str, Costs]) -> dict[str, float]:
    """Throughput speedup of each parallel search by `Cell.name`, relative to one core.

    It is predicted for the start position, with the budget of the matches. ``costs``: by strategy.
    """
    found = {}
    for meeting in plan.meetings:
        if meeting.kind != TOTAL or meeting.cell is None:
            continue
        player = player_of(meeting.context.players[0], plan.game)
        assert isinstance(player, Uct)
        request, cell = replace(player.request, seed=plan.request.seed), meeting.cell
        (row,) = predict(request, costs[request.strategy], [cell.lanes], report=lambda _: None)
        found[cell.name] = row.simulations_per_s * costs[SEQUENTIAL].simulation_s
    return found
