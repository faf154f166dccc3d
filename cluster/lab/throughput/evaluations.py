"""The speed of an evaluator file by batch size, in this process.

A leaf is measured as a worker evaluates it: its moves are played, the evaluator is asked, and the policy is
turned into priors. Beside it stands what the evaluator alone can do. The leaves are different unfinished
positions of random games, equal for all evaluators and batch sizes. Repeats are interleaved, as in
benchmark.py.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster.lab.throughput.benchmark import Clock, Rates, Report, timed
from cluster.report.machine import provenance
from cluster.report.table import Table, count, rate, right
from games.errors import InvalidInput
from games.game import Game
from search.evaluator import Evaluator, load_evaluator, source_of_evaluator
from search.job import LeafJob
from search.kernel.engine import engine_of
from search.kernel.evaluation import asked, evaluate_job, reach
from search.prepare import check_request
from search.request import SearchRequest, features_of

POSITIONS = 512
"""How many positions smaller batches are taken from in turn; fewer if the game has fewer."""
FRUITLESS_GAMES = 100
"""After so many random games without a new position, the game is taken to have no others."""
Line = tuple[int, ...]
"""The moves from the start to a position."""
Job = tuple[LeafJob, npt.NDArray[Any]]
"""A job, and the states [B, state length] of its leaves."""


@dataclass
class Batches:
    """Repeated measurements of one evaluator with one batch size."""

    game: Game
    evaluator: Evaluator
    batch: int
    seed: int
    leaves: Rates = field(default_factory=Rates)
    """Leaves per second of whole jobs."""
    evaluations: Rates = field(default_factory=Rates)
    """Positions per second of `Evaluator.evaluate` alone."""

    def row(self) -> dict[str, Any]:
        """A row of `benchmark --evaluator --json`."""
        return {
            "game": self.game.spec,
            "evaluator": self.evaluator.spec,
            "device": str(self.evaluator.device),
            "batch": self.batch,
            "leaves_per_s": self.leaves.median,
            "evaluations_per_s": self.evaluations.median,
            "seed": self.seed,
            "repeats": len(self.leaves.per_s),
            "spread": {"leaves_per_s": self.leaves.spread, "evaluations_per_s": self.evaluations.spread},
            "measured_on": provenance(),
        }


def benchmark_evaluators(
    games: Sequence[str],
    evaluators: Sequence[str],
    *,
    batches: Sequence[int],
    seconds: float,
    repeats: int,
    seed: int,
    clock: Clock = time.perf_counter,
    report: Report = lambda _line: None,
) -> list[Batches]:
    """Measure each evaluator in each game with each batch size (leaves in a job).

    Each of the two measurements takes about ``seconds`` in each of ``repeats``; ``report`` is called after
    each repeat. Raises InvalidInput (game, evaluator, batches) for an evaluator that cannot be made or used
    with a game, and for a batch that is larger than the number of different positions of a game.
    """
    benches = []
    for game in games:
        for evaluator in evaluators:
            report(f"{game}, {evaluator}: warming up")
            benches.append(_Bench(game, evaluator, batches, seed))
    for repeat in range(repeats):
        for bench in benches:
            bench.measure(seconds, clock)
            report(f"{bench.name}: repeat {repeat + 1} of {repeats}: {bench.last()}")
    return [measured for bench in benches for measured in bench.measured]


class _Bench:
    """Measures one evaluator in one game with each batch size."""

    def __init__(self, spec: str, evaluator: str, batches: Sequence[int], seed: int) -> None:
        request = SearchRequest(spec, strategy="leaf", simulations=2, evaluator=evaluator)
        game = check_request(request)
        self.name = f"{game.spec}, {evaluator}"
        self._evaluator = load_evaluator(evaluator, source_of_evaluator(evaluator), game)
        self._engine = engine_of(game, features_of(request, ""))
        self._temperature = request.policy_temperature
        self._root = game.initial_state()
        self.measured = [Batches(game, self._evaluator, batch, seed) for batch in batches]
        lines = different_positions(game, max(POSITIONS, *batches), seed)
        if len(lines) < max(batches):
            accepted = f"at most {len(lines)} with {game.spec}: random games reached no other positions"
            raise InvalidInput("batches", max(batches), accepted)
        with np.errstate(over="ignore"):
            self._work = [self._jobs_of(lines, batch) for batch in batches]
            for jobs in self._work:
                self._whole(jobs[0])
                self._alone(jobs[0])

    def measure(self, seconds: float, clock: Clock) -> None:
        """Run one repeat of all measurements."""
        with np.errstate(over="ignore"):
            for measured, jobs in zip(self.measured, self._work, strict=True):
                for work, rates in ((self._whole, measured.leaves), (self._alone, measured.evaluations)):
                    turns = cycle(jobs)
                    done, elapsed_s = timed(lambda work=work, turns=turns: work(next(turns)), seconds, clock)  # type: ignore[misc]
                    rates.per_s.append(done / elapsed_s)

    def last(self) -> str:
        """A short text about the last repeat."""
        rates = ", ".join(f"{each.leaves.per_s[-1]:,.0f}" for each in self.measured)
        return f"{rates} leaves/s with batches of {', '.join(str(each.batch) for each in self.measured)}"

    def _jobs_of(self, lines: Sequence[Line], batch: int) -> list[Job]:
        """Jobs of ``batch`` leaves each, with the states of their leaves."""
        starts = range(0, len(lines) - batch + 1, batch)
        jobs = [_job_of(lines[start : start + batch]) for start in starts]
        return [(job, reach(self._engine, self._root, job).states) for job in jobs]

    def _whole(self, job: Job) -> int:
        evaluate_job(self._engine, self._evaluator, self._temperature, self._root, job[0])
        return len(job[1])

    def _alone(self, job: Job) -> int:
        asked(self._evaluator, job[1])
        return len(job[1])


def different_positions(game: Game, wanted: int, seed: int) -> list[Line]:
    """The moves to ``wanted`` different unfinished positions of random games, in random order.

    There are fewer if FRUITLESS_GAMES games in succession reached no other.
    """
    draw = np.random.default_rng(seed)
    found: dict[bytes, Line] = {}
    fruitless = 0
    while len(found) < wanted and fruitless < FRUITLESS_GAMES:
        before = len(found)
        state, line = game.initial_state(), tuple[int, ...]()
        while len(found) < wanted and (legal := game.legal_moves(state)):
            found.setdefault(state.tobytes(), line)
            move = int(draw.choice(legal))
            game.calls.play(state, move)
            line = (*line, move)
        fruitless = fruitless + 1 if len(found) == before else 0
    lines = list(found.values())
    return [lines[index] for index in draw.permutation(len(lines))]


def tables(measured: Sequence[Batches]) -> list[Table]:
    """For each evaluator and game a row by batch size: medians, lowest and highest rates."""
    found: dict[str, Table] = {}
    for each in measured:
        device = f" ({each.evaluator.device})" if each.evaluator.device else ""
        title = f"{each.game.spec}, {each.evaluator.spec}{device}"
        heads = ("leaves/s", "lowest", "highest", "evaluations/s", "lowest", "highest")
        table = found.setdefault(title, Table(right("batch", *heads), title=title))
        rates = [
            rate(per_s) for kind in (each.leaves, each.evaluations) for per_s in (kind.median, *kind.spread)
        ]
        table.add(count(each.batch), *rates)
    return list(found.values())


def _job_of(lines: Sequence[Line]) -> LeafJob:
    depths = np.array([len(line) for line in lines], dtype=np.int32)
    moves = np.zeros((len(lines), max(1, int(depths.max()))), dtype=np.uint16)
    for row, line in zip(moves, lines, strict=True):
        row[: len(line)] = line
    return LeafJob(0, moves, depths, np.ones(len(lines), np.int32), np.zeros((0, 2), np.uint64))
