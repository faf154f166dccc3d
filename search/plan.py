"""Divides a budget into jobs. This depends on the request alone, so placement cannot change an answer.

Under a budget in simulations every size is fixed before the search starts; so it is where memory is the only
budget, and the number of jobs is open. Under a budget in seconds, which cannot be repeated exactly, sizes
follow the measured rate and the clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from games.game import Game
from search.evaluator import EXTERNAL
from search.request import SUBTREE, SearchRequest

JOB_S = 0.15
"""Target length of a job in seconds of one core. A call over Ray costs driver and worker together 3 ms of CPU
time, whatever its content: 2 % of a job of this length."""
SHORT_JOB_S = 0.03
"""tree: a search has more than the least number of rounds (up to MOST_ROUNDS) only if jobs are at least this
long. A round over Ray costs some 20 ms in which workers wait, whatever its content."""
FEW_LANES = 64
"""With more lanes jobs are longer in proportion. One coordinator merges the results of this many lanes, with
jobs of JOB_S, in half of its time, however many workers there are."""
LANES_OF_A_CORE = 8
"""Assumed lanes per core where the number of workers is not known (timed searches)."""
ENDLESS_S = 10.0
"""Planning horizon of a search without a budget."""
ENDLESS_JOB_S = 0.05
"""Target length of its jobs by the nominal rate of the game, which may be many times too high."""
SHORTEST_JOB_S = 0.001
"""Least length of a job under a budget in seconds: a shorter one is mostly overhead."""
LONGEST_JOB_S = 3.0
"""Greatest length of a job: a tenth of the time after which a worker counts as hung."""
MIN_ROUNDS, MIN_ROUNDS_OF_MANY = 32, 64
"""Limits of the least number of rounds of a search, if its budget allows so many: fewer rounds play worse.
Strategy tree has at least as many rounds as lanes, between these limits: see search/LANES.md."""
MOST_ROUNDS = 128
"""tree: most rounds, unless jobs would be too long."""
MIN_SNAPSHOT_ROWS, MAX_SNAPSHOT_ROWS = 65_536, 1_048_576
"""tree: limits of the maximum number of rows of a snapshot. Lanes do not know nodes that it leaves out."""
SNAPSHOT_ROWS_PER_SECOND = 1_000_000
"""tree: maximum rows of a snapshot per second of a job, within the limits. Taking, publishing and fetching a
row costs 70 ns: 7 % of a round with one job per worker."""
MIN_INCREMENT_ROWS, MAX_INCREMENT_ROWS = 2_048, 16_384
"""tree: limits of the rows that the increments of one job may have."""
INCREMENT_ROWS_PER_SECOND = 1_250_000
"""tree: maximum rows of the increments of all lanes together, per second of a job. The coordinator merges a
row in about 100 ns."""
SNAPSHOT_ROW_BYTES = 512
"""Bytes of memory of a search per row of a snapshot; all copies of a row together take a tenth of that."""
IN_FLIGHT, IN_FLIGHT_IF_SLOW = 0.25, 1.0
"""leaf: with one leaf a job as many visits are in flight as there are lanes. Longer jobs have no more than
this multiple of the square root of the budget in flight, in quick and in slow games; by the law of
search/LANES.md a quarter costs 1 % of the budget, and 1 costs 12 %."""
SLOW_SIMULATIONS_PER_S = 2_000.0
"""leaf: games slower than this are slow."""
SLOW_JOB_S_OF_A_LANE = 0.0002
"""leaf, in slow games: no job is longer than so many seconds for each lane, unless it has one leaf. With
lanes for twice as many workers, the coordinator then has 2,500 calls a second for any number of workers."""
MOST_IN_FLIGHT = 16_384
"""leaf: most visits in flight by default, for their memory."""
STRETCHES_S = 0.2
"""subtree: length of a round in seconds of one core. At its end no job is in flight."""
LEAST_OF_A_STRETCH = 256
"""subtree: the fewest simulations of a round, for each lane."""
BATCH = 64
"""Default limit of the leaves of a job that are evaluated by a network."""


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
    """Jobs of each lane; with a budget in seconds, their target number. subtree: stretches, each
    with the sizes of all lanes."""
    job_size: int
    """Simulations of a job where neither simulations nor seconds are the budget."""
    root_first: bool
    """Whether job 0 is one simulation, of the root alone."""
    playouts_per_leaf: int
    """leaf: playouts from each leaf."""
    leaves: int
    """leaf: the most leaves of a job."""
    expected_simulations: int
    """Simulations of the whole search; an estimate for one core if the budget is not in simulations."""
    snapshot_rows: int
    """tree: the most rows of a snapshot."""
    increment_rows: int
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
        """Simulations of ``count`` jobs from the first of these on, or of those that there are; not with a
        budget in seconds, and only if the root is no job of its own."""
        if self.simulations is None:
            return np.full(count, self.job_size, dtype=np.int64)
        last = min(first + count, self.jobs)
        if last * self.simulations >= 2**63:
            return np.array([self.size(index) for index in range(first, last)], dtype=np.int64)
        return np.diff(np.arange(first, last + 1) * self.simulations // self.jobs)

    def job_s(self, cores: int, most_s: float) -> float:
        """Target length of the next job in seconds of one core, with a budget in seconds.

        It is at most ``most_s``, and chosen for about ``rounds`` rounds on this number of cores.
        """
        assert self.seconds is not None
        per_round = self.seconds * cores / (self.lanes * self.rounds)
        return max(SHORTEST_JOB_S, min(job_seconds(self.lanes), per_round, most_s))


def plan_search(request: SearchRequest, game: Game) -> SearchPlan:
    """The plan of a search."""
    rate, budget = game.nominal_simulations_per_s, request.simulations
    expected = int(rate * (request.seconds or ENDLESS_S)) if budget is None else budget
    playouts_per_leaf = request.playouts_per_leaf or 1
    leaves = _leaves(request, rate, expected, playouts_per_leaf)
    if budget is None:
        lanes, rounds = request.lanes, _timed_rounds(request)
        job_s = job_seconds(lanes) if request.seconds else ENDLESS_JOB_S * max(1.0, lanes / FEW_LANES)
    else:
        lanes, rounds = _fixed_rounds(request, rate, budget, leaves, playouts_per_leaf)
        job_s = budget / (lanes * rounds) / rate
    memory_rows = request.memory_mb * 2**20 // SNAPSHOT_ROW_BYTES
    snapshot_rows = min(max(job_s * SNAPSHOT_ROWS_PER_SECOND, MIN_SNAPSHOT_ROWS), MAX_SNAPSHOT_ROWS)
    increment_rows = job_s * INCREMENT_ROWS_PER_SECOND / lanes
    return SearchPlan(
        simulations=budget,
        seconds=request.seconds,
        lanes=lanes,
        rounds=rounds,
        job_size=_endless_size(request, rate * job_s, rate, leaves * playouts_per_leaf),
        root_first=request.seconds is None and request.evaluator is not None,
        playouts_per_leaf=playouts_per_leaf,
        leaves=leaves,
        expected_simulations=expected,
        snapshot_rows=max(1, min(memory_rows, int(snapshot_rows))),
        increment_rows=int(min(max(increment_rows, MIN_INCREMENT_ROWS), MAX_INCREMENT_ROWS)),
    )


def _endless_size(request: SearchRequest, usual: float, rate: float, of_leaves: int) -> int:
    """`SearchPlan.job_size`. ``usual``: simulations of a job of the usual length; ``rate``: simulations/s of
    one core; ``of_leaves``: the most simulations of a job of leaf."""
    if request.evaluator is not None:
        return _batch(request) or BATCH
    if request.strategy == "leaf":
        return of_leaves
    if request.strategy == SUBTREE:
        return math.ceil(max(rate * STRETCHES_S / request.lanes, LEAST_OF_A_STRETCH))
    return max(1, round(usual))


def _batch(request: SearchRequest) -> int | None:
    """Leaves of a job with an evaluator, if that is given: what is evaluated outside is waited for one by
    one."""
    return request.batch or (1 if request.evaluator == EXTERNAL else None)


def job_seconds(lanes: int) -> float:
    """Target length of a job in seconds of one core, in a search with this number of lanes."""
    return min(LONGEST_JOB_S, JOB_S * max(1.0, lanes / FEW_LANES))


def _fixed_rounds(
    request: SearchRequest, rate: float, budget: int, leaves: int, playouts_per_leaf: int
) -> tuple[int, int]:
    """Lanes and rounds under a budget in simulations; ``rate`` is simulations/s of one core."""
    # With an evaluator the root is a job of its own.
    simulations = budget - 1 if request.evaluator is not None else budget
    lanes = min(request.lanes, simulations)
    per_lane = simulations / lanes
    longest = max(1.0, rate * job_seconds(lanes))
    if request.evaluator is not None:
        batch = _batch(request)
        rounds = math.ceil(per_lane / (batch or BATCH))
        rounds = rounds if batch else max(MIN_ROUNDS, rounds)
    elif request.strategy == SUBTREE:
        rounds = math.ceil(simulations / max(rate * STRETCHES_S, lanes * LEAST_OF_A_STRETCH))
    elif request.strategy == "root":
        rounds = math.ceil(per_lane / longest)
    elif request.strategy == "tree":
        least = _rounds_of_tree(request, lanes, per_lane / rate)
        rounds = request.rounds or max(least, math.ceil(per_lane / longest))
    else:
        rounds = math.ceil(per_lane / (leaves * playouts_per_leaf))
    return lanes, max(1, min(rounds, simulations // lanes))


def _timed_rounds(request: SearchRequest) -> int:
    """Rounds under another budget, where the number of cores is not known."""
    if request.strategy != "tree":
        return request.rounds or MIN_ROUNDS
    return _rounds_of_tree(request, request.lanes, (request.seconds or ENDLESS_S) / LANES_OF_A_CORE)


def _rounds_of_tree(request: SearchRequest, lanes: int, lane_s: float) -> int:
    """tree: the rounds, if the budget allows them: those of the request, or the default.

    More rounds play better, as long as ``lane_s``, the seconds of one core per lane, is enough to avoid short
    jobs.
    """
    if request.rounds is not None:
        return request.rounds
    least = max(MIN_ROUNDS, min(lanes, MIN_ROUNDS_OF_MANY))
    affordable = int(lane_s / (SHORT_JOB_S * max(1.0, lanes / FEW_LANES)))
    return least if lanes == 1 else max(least, min(affordable, MOST_ROUNDS))


def _leaves(request: SearchRequest, rate: float, expected: int, playouts_per_leaf: int) -> int:
    """leaf: the most leaves of a job.

    ``rate`` is simulations/s of one core, ``expected`` the simulations of the whole search.
    """
    if request.batch is not None:
        return request.batch
    slow, lanes_playouts = rate < SLOW_SIMULATIONS_PER_S, request.lanes * playouts_per_leaf
    multiple = IN_FLIGHT_IF_SLOW if slow else IN_FLIGHT
    leaves = min(MOST_IN_FLIGHT, int(multiple * math.sqrt(expected))) // lanes_playouts
    if slow:
        leaves = min(leaves, int(rate * SLOW_JOB_S_OF_A_LANE * request.lanes / playouts_per_leaf))
    return max(1, leaves)
