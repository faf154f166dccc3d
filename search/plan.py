"""The plan of a search: its budget divided into jobs. `Strategy.make_plan` makes it.

It depends on the request alone, so placement cannot change an answer. Under a budget in simulations every
size is fixed before the search starts; so it is where memory is the only budget, and the number of jobs is
open. Under a budget in seconds, which cannot be repeated exactly, sizes follow the measured rate and the
clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

JOB_S = 0.15
"""Target length of a job in seconds of one core. A call over Ray costs driver and worker together 3 ms of CPU
time, whatever its content: 2 % of a job of this length."""
FEW_LANES = 64
"""With more lanes jobs are longer in proportion. One coordinator merges the results of this many lanes, with
jobs of JOB_S, in half of its time, however many workers there are."""
LONGEST_JOB_S = 3.0
"""Greatest length of a job: a tenth of the time after which a worker counts as hung."""
SHORTEST_JOB_S = 0.001
"""Least length of a job under a budget in seconds: a shorter one is mostly overhead."""
THREADS_PAY_S = 0.2
"""Shortest expected work of a search, in seconds of one core, that is divided over threads."""
ENDLESS_S = 10.0
"""Planning horizon, in seconds, of a search without a budget."""
ENDLESS_JOB_S = 0.05
"""Target length, in seconds, of a job without a budget, by the game's nominal rate, which may be many times
too high."""
ROUND_PAYS = 8
"""Under a budget in seconds there are more rounds than the fewest only while their jobs take this many times
as long as what a round costs beside them."""
LAST_SHARE = 0.8
"""Share of the time left in the budget that a round's jobs may take, so that none runs past its end."""
MIN_ROUNDS = 32
"""The least number of rounds of a search, if its budget allows so many: fewer rounds play worse."""


@dataclass(frozen=True)
class SearchPlan:
    """All sizes of a search that follow from its request and its game."""

    simulations: int | None
    """The budget; None if it is not in simulations: the number of jobs is then not fixed."""
    seconds: float | None
    """The budget; None if it is not in seconds."""
    lanes: int
    """The request's lanes, or fewer if the budget in simulations is smaller than that."""
    rounds: int
    """Jobs of each lane; with a budget in seconds, the most that are aimed at."""
    least_rounds: int
    """With a budget in seconds, the fewest jobs of each lane that are aimed at."""
    mean_job_s: float
    """Length of a job in seconds of one core, by the nominal rate of the game."""
    job_size: int
    """Simulations of a job where neither simulations nor seconds are the budget."""
    root_first: bool
    """Whether job 0 is one simulation, of the root alone."""
    expected_simulations: int
    """Simulations of the whole search; an estimate for one core if the budget is not in simulations."""
    playouts_per_leaf: int = 1
    """leaf: playouts from each leaf."""
    snapshot_rows: int = 0
    """tree: the most rows of a snapshot."""
    increment_rows: int = 0
    """tree: the most rows of the increments of one job."""

    @property
    def is_fixed(self) -> bool:
        """Whether the number of jobs is known before the search starts; their sizes are, unless the budget
        is in seconds."""
        return self.simulations is not None

    @property
    def jobs(self) -> int:
        """Number of jobs; only if `is_fixed`."""
        return self.lanes * self.rounds + self.root_first

    def size(self, index: int) -> int:
        """Simulations of a job, 0 after the last one; not with a budget in seconds.

        Their sum is the budget in simulations.
        """
        assert self.seconds is None
        if self.root_first and index == 0:
            return 1
        if self.simulations is None:
            return self.job_size
        if index >= self.jobs:
            return 0
        place, jobs = index - self.root_first, self.lanes * self.rounds
        simulations = self.simulations - self.root_first
        return simulations * (place + 1) // jobs - simulations * place // jobs

    def sizes(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """Simulations of each of the ``count`` jobs from job ``first`` on, fewer where the plan ends before;
        not with a budget in seconds, and only if the root is no job of its own."""
        if self.simulations is None:
            return np.full(count, self.job_size, dtype=np.int64)
        last = min(first + count, self.jobs)
        if last * self.simulations >= 2**63:
            return np.array([self.size(index) for index in range(first, last)], dtype=np.int64)
        return np.diff(np.arange(first, last + 1) * self.simulations // self.jobs)

    def job_s(self, cores: int, most_s: float, serial_s: float) -> float:
        """Target length of the next job in seconds of one core, with a budget in seconds.

        It is at most ``most_s``, and chosen for up to ``rounds`` rounds on this number of cores, but for
        fewer where they would spend more than one ROUND_PAYS-th of their time on ``serial_s``, what a round
        costs in which no job runs.
        """
        assert self.seconds is not None
        job_s, longest_s = (
            self.seconds * cores / (self.lanes * rounds) for rounds in (self.rounds, self.least_rounds)
        )
        job_s = max(job_s, min(longest_s, ROUND_PAYS * serial_s * cores / self.lanes))
        return max(SHORTEST_JOB_S, min(job_seconds(self.lanes), job_s, most_s))


def job_seconds(lanes: int) -> float:
    """Target length of a job in seconds of one core, in a search with this number of lanes."""
    return min(LONGEST_JOB_S, JOB_S * max(1.0, lanes / FEW_LANES))
