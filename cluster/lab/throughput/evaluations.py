"""The speed of an evaluator file by batch size, in this process.

A leaf is measured as a worker evaluates it: its moves are played, the evaluator is asked, and the policy is
turned into priors. Beside it stands what the evaluator alone can do. The leaves are different unfinished
positions of random games, equal for all evaluators and batch sizes. Repeats are interleaved, as in
benchmark.py.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from cluster.lab.throughput.benchmark import Clock, Rates, Report, interleave
from cluster.report.machine import provenance
from cluster.report.table import Table, count, rate, right
from games.errors import InvalidInput
from games.game import Game
from search.evaluator import Evaluator, load_evaluator, source_of_evaluator
from search.job import LeafJob
from search.kernel.engine import Engine, engine_of
from search.kernel.evaluation import answer_of, evaluate_job, reach
from search.prepare import check_request
from search.request import SearchRequest, features_of

POSITIONS = 512
"""How many positions smaller batches are taken from in turn; fewer if the game has fewer."""
FRUITLESS_GAMES = 100
"""After so many random games without a new position, the game is taken to have no others."""
Line = tuple[int, ...]
"""The moves from the start to a position."""


class Batches:
    """Repeated measurements of one evaluator in one game with one batch size (leaves in a job)."""

    def __init__(self, engine: Engine, evaluator: Evaluator, batch: int, lines: Sequence[Line]) -> None:
        """``lines`` lead to the leaves, which are taken in turn."""
        self.evaluator, self.batch = evaluator, batch
        self.leaves, self.evaluations = Rates(), Rates()
        """Leaves per second of whole jobs; positions per second of `Evaluator.evaluate` alone."""
        root, temperature = engine.game.initial_state(), SearchRequest(engine.game.spec).policy_temperature
        starts = range(0, len(lines) - batch + 1, batch)
        jobs = cycle([_job_of(lines[start : start + batch]) for start in starts])

        def whole() -> int:
            evaluate_job(engine, evaluator, temperature, root, next(jobs))
            return batch

        states = cycle([reach(engine, root, next(jobs)).states for _ in starts])

        def alone() -> int:
            answer_of(evaluator, next(states))
            return batch

        self.works = ((self.leaves, whole), (self.evaluations, alone))
        for _, work in self.works:
            work()


class EvaluatorBenchmark:
    """All measurements of one evaluator in one game."""

    def __init__(self, spec: str, evaluator: str, batches: Sequence[int], seed: int) -> None:
        """Raises InvalidInput; see `benchmark_evaluators`."""
        request = SearchRequest(spec, strategy="leaf", simulations=2, evaluator=evaluator)
        game = check_request(request)
        self.name, self._seed = f"{game.spec}, {evaluator}", seed
        loaded = load_evaluator(evaluator, source_of_evaluator(evaluator), game)
        self.title = f"{game.spec}, {loaded.spec}" + (f" ({loaded.device})" if loaded.device else "")
        self._game, self._device = game.spec, str(loaded.device)
        engine = engine_of(game, features_of(request, ""))
        lines = different_positions(game, max(POSITIONS, *batches), seed)
        if len(lines) < max(batches):
            accepted = f"at most {len(lines)} with {game.spec}: random games reached no other positions"
            raise InvalidInput("batches", max(batches), accepted)
        with np.errstate(over="ignore"):
            self.batches = [Batches(engine, loaded, batch, lines) for batch in batches]

    def measure(self, seconds: float, clock: Clock) -> str:
        """Run one repeat of all measurements; returns its rates in words."""
        with np.errstate(over="ignore"):
            for rates, work in (measured for each in self.batches for measured in each.works):
                rates.measure(work, seconds, clock)
        last = ", ".join(f"{each.leaves.per_s[-1]:,.0f}" for each in self.batches)
        return f"{last} leaves/s with batches of {', '.join(str(each.batch) for each in self.batches)}"

    def rows(self) -> list[dict[str, Any]]:
        """One row of `benchmark --evaluator --json` for each batch size."""
        return [
            {
                "game": self._game,
                "evaluator": each.evaluator.spec,
                "device": self._device,
                "batch": each.batch,
                "leaves_per_s": each.leaves.median,
                "evaluations_per_s": each.evaluations.median,
                "seed": self._seed,
                "repeats": len(each.leaves.per_s),
                "spread": {"leaves_per_s": each.leaves.spread, "evaluations_per_s": each.evaluations.spread},
                "measured_on": provenance(),
            }
            for each in self.batches
        ]

    def table(self) -> Table:
        """A row by batch size: medians, lowest and highest rates."""
        heads = ("leaves/s", "lowest", "highest", "evaluations/s", "lowest", "highest")
        table = Table(right("batch", *heads), title=self.title)
        for each in self.batches:
            kinds = (each.leaves, each.evaluations)
            rates = [rate(per_s) for kind in kinds for per_s in (kind.median, *kind.spread)]
            table.add(count(each.batch), *rates)
        return table


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
) -> list[EvaluatorBenchmark]:
    """Measure each evaluator in each game with each batch size (leaves in a job).

    Each of the two measurements takes about ``seconds`` in each of ``repeats``; ``report`` is called after
    each repeat. Raises InvalidInput (game, evaluator, batches) for an evaluator that cannot be made or used
    with a game, and for a batch that is larger than the number of different positions of a game.
    """
    benches = []
    for game in games:
        for evaluator in evaluators:
            report(f"{game}, {evaluator}: warming up")
            benches.append(EvaluatorBenchmark(game, evaluator, batches, seed))
    interleave(benches, repeats, seconds, clock, report)
    return benches


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


def _job_of(lines: Sequence[Line]) -> LeafJob:
    depths = np.array([len(line) for line in lines], dtype=np.int32)
    moves = np.zeros((len(lines), max(1, int(depths.max()))), dtype=np.uint16)
    for row, line in zip(moves, lines, strict=True):
        row[: len(line)] = line
    return LeafJob(0, moves, depths, np.ones(len(lines), np.int32), np.zeros((0, 2), np.uint64))
