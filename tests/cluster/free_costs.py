"""Costs for simulated workers, which tests add others to."""

from __future__ import annotations

from cluster.lab.predict.costs import Costs

FREE = Costs(
    simulation_s=1e-6,
    crowded_simulation_s=1e-6,
    job_cpu_share=1.0,
    job_s=0.0,
    job_spread=0.0,
    make_s=0.0,
    absorb_s=0.0,
)
"""Workers of a million simulations a second, and a coordinator that costs nothing."""
