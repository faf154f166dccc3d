"""How a budget is cut into jobs: by the request alone, so that placement cannot change an answer.

Under a budget in simulations every size is fixed before the search starts. Under a budget
in seconds, which nobody can repeat anyway, sizes follow the measured rate and the clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from games.game import Game
from search.request import SearchRequest

JOB_S = 0.15
"""A job's aim in seconds of one core. A call over Ray costs driver and worker 3 ms of CPU
together, whatever it carries: 2 % of a job of this length."""
SHORT_JOB_S = 0.01
"""tree: there are up to MOST_ROUNDS as long as jobs are not shorter than that. A call carries several."""
FEW_LANES = 64
"""With more lanes jobs are longer in proportion: so many results a second, of JOB_S each, are what one
coordinator merges with half of its time, however many workers there are."""
LANES_OF_A_CORE = 8
"""tree: under a budget in seconds nobody knows how long jobs will be: it is guessed as if so many lanes
shared a core, as 16 do on a machine of two."""
ENDLESS_S = 10.0
"""A budget of nothing but what somebody stops is planned like one of so many seconds."""
SHORTEST_JOB_S = 0.001
"""Under a budget in seconds: shorter than this, a job is mostly overhead."""
LONGEST_JOB_S = 3.0
"""A tenth of the time after which a worker counts as hung; a search is cancelled at once all the same."""
MIN_ROUNDS, MIN_ROUNDS_OF_MANY = 32, 64
"""Rounds a search is cut into if its budget allows: sharing less often plays worse. By `tree` as many as
there are lanes, between these two: see README.md, "How many rounds"."""
MOST_ROUNDS = 128
"""tree: more than that have nothing left to mend, but keep jobs from becoming too long."""
SNAPSHOT_ROWS, SNAPSHOT_ROWS_PER_S = (65_536, 1_048_576), 1_000_000
"""Rows of a snapshot at most: how few and how many, and how many for each second that a job takes. To take,
publish and fetch one costs 70 ns by the object store: 7 % of a round that is one job for each worker, and up
to 5 ms where that is more. What a snapshot leaves out lanes do not know."""
INCREMENT_ROWS, INCREMENT_ROWS_PER_S = (2_048, 16_384), 1_250_000
"""The same for the increments of all lanes together, which take the coordinator some 100 ns each to merge."""
SNAPSHOT_ROW_BYTES = 512
"""Memory that must be there for each row: with all copies it takes a tenth of that."""
SLOW_SIMULATIONS_PER_S = 2_000.0
"""A game slower than this sends its leaves one by one."""
PLAYOUTS_PER_LEAF = 32
"""The default of fast games: a leaf costs the coordinator its selection and the wire its state,
about as much as several playouts."""
BATCH = 64
"""The most leaves that a job has by default where they are evaluated by a network."""


@dataclass(frozen=True)
class Plan:
    """Sizes of all jobs of a search with a budget in simulations: J jobs, as even as can be."""

    simulations: int
    lanes: int
    rounds: int
    root_first: bool = False
    """Whether job 0 is one simulation, of the root alone."""
    staleness: int = 0
    """tree: how many rounds a lane lags behind."""

    @property
    def jobs(self) -> int:
        return self.lanes * self.rounds + self.root_first

    def size(self, index: int) -> int:
        """Simulations of the job with that index; all sizes add up to the budget."""
        if self.root_first and index == 0:
            return 1
        place, jobs = index - self.root_first, self.lanes * self.rounds
        simulations = self.simulations - self.root_first
        return simulations * (place + 1) // jobs - simulations * place // jobs


def make_plan(request: SearchRequest, game: Game) -> Plan:
    """The plan of a search with a budget in simulations."""
    assert request.simulations is not None
    if request.evaluator is not None:
        return _plan_of_batches(request, request.simulations - 1)
    lanes = min(request.lanes, request.simulations)
    per_lane = request.simulations / lanes
    longest = max(1.0, game.nominal_simulations_per_s * job_seconds(lanes))
    staleness = 0
    if request.strategy == "leaf" and game.nominal_simulations_per_s < SLOW_SIMULATIONS_PER_S:
        longest = float(playouts_per_leaf(request, game))
    if request.strategy == "root":
        rounds = math.ceil(per_lane / longest)
    elif request.strategy == "tree":
        least, staleness = rounds_of_tree(request, lanes, per_lane / game.nominal_simulations_per_s)
        rounds = request.rounds or max(least, math.ceil(per_lane / longest))
    elif request.batch is not None:
        rounds = math.ceil(per_lane / (request.batch * playouts_per_leaf(request, game)))
    else:
        rounds = max(MIN_ROUNDS, math.ceil(per_lane / longest))
    rounds = max(1, min(rounds, request.simulations // lanes))
    return Plan(request.simulations, lanes, rounds, staleness=staleness)


def rounds_of_tree(request: SearchRequest, lanes: int, lane_s: float) -> tuple[int, int]:
    """tree: rounds that a search is cut into if it can be, and its staleness, as asked or by what is best.

    Twice as many rounds that overlap are as good as rounds one after the other, and nobody waits at a round's
    end. So they overlap where ``lane_s``, the seconds of a core that a lane has, is enough for such jobs not
    to be short.
    """
    alone = max(MIN_ROUNDS, min(lanes, MIN_ROUNDS_OF_MANY))
    if request.rounds is not None or request.staleness is not None or lanes == 1:
        return request.rounds or alone, request.staleness or 0
    rounds = int(lane_s / (SHORT_JOB_S * max(1.0, lanes / FEW_LANES)))
    if rounds < 2 * alone:
        return alone, 0
    return min(rounds, MOST_ROUNDS), 1


def staleness_of(request: SearchRequest, plan: Plan | None) -> int:
    """tree: how many rounds a lane lags behind; ``plan`` is None under a budget in seconds. Otherwise 0."""
    if plan is not None:
        return plan.staleness
    return _timed_rounds(request, request.lanes)[1]


def timed_job_seconds(request: SearchRequest, lanes: int, cores: int, most_s: float) -> float:
    """A job's aim under a budget in seconds, no more than ``most_s``: so that there are as many rounds as a
    search with a fixed budget has."""
    assert request.seconds is not None
    rounds, _ = _timed_rounds(request, lanes)
    per_round = request.seconds * cores / (lanes * rounds)
    return max(SHORTEST_JOB_S, min(job_seconds(lanes), per_round, most_s))


def _timed_rounds(request: SearchRequest, lanes: int) -> tuple[int, int]:
    """The same as `rounds_of_tree` where nobody knows how many cores there will be."""
    if request.strategy != "tree":
        return request.rounds or MIN_ROUNDS, 0
    return rounds_of_tree(request, lanes, (request.seconds or ENDLESS_S) / LANES_OF_A_CORE)


def job_seconds(lanes: int) -> float:
    """A job's aim in seconds of one core, in a search of so many lanes."""
    return min(LONGEST_JOB_S, JOB_S * max(1.0, lanes / FEW_LANES))


def rows_at_most(request: SearchRequest, plan: Plan | None, lanes: int, game: Game) -> tuple[int, int]:
    """tree: of a snapshot, and of the increments of one job; ``plan`` is None under a budget in seconds."""
    seconds = job_seconds(lanes)
    if plan is not None:
        seconds = plan.simulations / (lanes * plan.rounds) / game.nominal_simulations_per_s
    memory_rows = request.memory_mb * 2**20 // SNAPSHOT_ROW_BYTES // (1 + staleness_of(request, plan))
    return (
        max(1, min(memory_rows, _between(SNAPSHOT_ROWS, seconds * SNAPSHOT_ROWS_PER_S))),
        _between(INCREMENT_ROWS, seconds * INCREMENT_ROWS_PER_S / lanes),
    )


def _between(ends: tuple[int, int], rows: float) -> int:
    return int(min(max(rows, ends[0]), ends[1]))


def expected_simulations(request: SearchRequest, game: Game, plan: Plan | None) -> int:
    """Of the whole search; where that is not known beforehand, by the nominal cost on one core."""
    if plan is not None:
        return plan.simulations
    return int(game.nominal_simulations_per_s * (request.seconds or ENDLESS_S))


def _plan_of_batches(request: SearchRequest, simulations: int) -> Plan:
    """The same where leaves are evaluated by a network, for what is left after the root."""
    lanes = min(request.lanes, simulations)
    per_lane = simulations / lanes
    rounds = math.ceil(per_lane / (request.batch or BATCH))
    if request.batch is None:
        rounds = max(MIN_ROUNDS, rounds)
    return Plan(simulations + 1, lanes, min(rounds, simulations // lanes), root_first=True)


def playouts_per_leaf(request: SearchRequest, game: Game) -> int:
    """Playouts from each leaf: as asked, or by the game's nominal cost."""
    if request.playouts_per_leaf is not None:
        return request.playouts_per_leaf
    if request.evaluator is not None:
        return 1
    return 1 if game.nominal_simulations_per_s < SLOW_SIMULATIONS_PER_S else PLAYOUTS_PER_LEAF
