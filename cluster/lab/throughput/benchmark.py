"""The speed of one core: uniformly random playouts, and UCT searches, each with a new tree.

Rates are medians over repeats, with the lowest and the highest value. Repeats are interleaved: each repeat
measures everything once, so that changes of the machine's speed affect everything alike, and ratios compare
measurements that were made one after the other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from games.analysis.playout import play_cut, play_random
from games.compile.specialise import is_compiled, specialise
from games.game import Game
from games.rng import new_stream
from search.features import Features
from search.job import Context
from search.kernel.engine import engine_of
from search.kernel.params import SearchParams, params_of, with_exploration
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.tree.arena import clear

CHUNK_S = 0.01
"""Time between two readings of the clock, in seconds at the game's nominal speed."""
Clock = Callable[[], float]
Report = Callable[[str], None]


class Rival(Protocol):
    """Another search program, measured on one core in the same run."""

    name: str
    version: str

    def searcher(
        self, game: Game, simulations: int, exploration: float, seed: int
    ) -> Callable[[], int] | str:
        """A function that runs a search from the start position and returns its number of simulations.

        Or a text that says why the program makes no such search.

        ``exploration`` is C in Q + C sqrt(ln N / n) with Q in [-1, 1].
        """


@dataclass
class Rates:
    """Repeated measurements of one rate."""

    per_s: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.per_s)

    @property
    def spread(self) -> list[float]:
        """The lowest and the highest rate."""
        return [min(self.per_s), max(self.per_s)]


@dataclass
class Playouts:
    """Uniformly random games from the start position."""

    playouts: Rates = field(default_factory=Rates)
    moves: Rates = field(default_factory=Rates)
    num_playouts: int = 0
    num_moves: int = 0
    results: list[int] = field(default_factory=lambda: [0, 0, 0])
    """Counts of the first player's wins, draws, and losses; they mean nothing beyond two players."""


@dataclass
class CutPlayouts:
    """Random games that are cut after ``plies`` plies and evaluated there."""

    plies: int
    rates: Rates = field(default_factory=Rates)
    num_playouts: int = 0
    num_moves: int = 0
    values: Any = field(default_factory=lambda: np.zeros(1))
    """The sum of their values, float64[1]."""

    def row(self) -> dict[str, Any]:
        """One entry of ``cuts`` in a row of `benchmark --json`."""
        return {
            "plies": self.plies,
            "playouts_per_s": self.rates.median,
            "mean_length": self.num_moves / self.num_playouts,
            "mean_value": float(self.values[0]) / self.num_playouts,
            "spread": {"playouts_per_s": self.rates.spread},
        }


@dataclass
class Searches:
    """Searches with a number of simulations each, and searches of the rival with equally many."""

    simulations: int
    rates: Rates = field(default_factory=Rates)
    rival: Rates = field(default_factory=Rates)
    """Rates of the rival; empty without a rival or if it makes no such searches."""
    missing: str | None = None
    """Why the rival makes no such searches."""

    @property
    def ratios(self) -> Rates:
        """Our rate divided by the rival's, for each repeat."""
        return Rates([ours / theirs for ours, theirs in zip(self.rates.per_s, self.rival.per_s, strict=True)])


@dataclass
class GameBenchmark:
    """All measurements of one game."""

    game: Game
    seed: int
    repeats: int
    playouts: Playouts
    searches: list[Searches]
    cuts: list[CutPlayouts]

    def rows(self, rival: Rival | None = None) -> list[dict[str, Any]]:
        """One row of `benchmark --json` for each number of simulations."""
        return [self._row(searches, rival) for searches in self.searches]

    def _row(self, searches: Searches, rival: Rival | None) -> dict[str, Any]:
        played = self.playouts
        row: dict[str, Any] = {
            "game": self.game.spec,
            "playouts_per_s": played.playouts.median,
            "moves_per_s": played.moves.median,
            "simulations": searches.simulations,
            "simulations_per_s": searches.rates.median,
            "mean_length": played.num_moves / played.num_playouts,
            "results": {
                name: share / played.num_playouts
                for name, share in zip(("first", "draw", "second"), played.results, strict=True)
            }
            if self.game.is_two_player
            else None,
            "seed": self.seed,
            "repeats": self.repeats,
            "spread": {
                "playouts_per_s": played.playouts.spread,
                "moves_per_s": played.moves.spread,
                "simulations_per_s": searches.rates.spread,
            },
            "cuts": [cut.row() for cut in self.cuts],
        }
        if rival is not None and searches.rival.per_s:
            ratios = searches.ratios
            row["against"] = {
                "name": rival.name,
                "version": rival.version,
                "simulations_per_s": searches.rival.median,
                "ratio": ratios.median,
                "spread": {"simulations_per_s": searches.rival.spread, "ratio": ratios.spread},
            }
        elif rival is not None and searches.missing is not None:
            row["against"] = {"name": rival.name, "version": rival.version, "missing": searches.missing}
        return row


def benchmark(
    games: Sequence[Game],
    *,
    simulations: Sequence[int],
    seconds: float,
    repeats: int,
    seed: int,
    cuts: Sequence[int] = (),
    rival: Rival | None = None,
    clock: Clock = time.perf_counter,
    report: Report = lambda _line: None,
) -> list[GameBenchmark]:
    """Measure all games, each measurement for about ``seconds``; ``report`` is called after each repeat.

    ``cuts``: numbers of plies; for each, playouts that are cut after it are measured too.
    """
    benches = [_Bench(game, simulations, seed, rival, cuts) for game in games]
    for bench in benches:
        report(f"{bench.measured.game.spec}: warming up")
        bench.warm_up()
    for repeat in range(repeats):
        for bench in benches:
            bench.measure(repeat, seconds, clock)
            report(f"{bench.measured.game.spec}: repeat {repeat + 1} of {repeats}: {bench.last()}")
    return [bench.measured for bench in benches]


def timed(work: Callable[[], int], seconds: float, clock: Clock) -> tuple[int, float]:
    """Repeat ``work`` for ``seconds``, at least once; returns the sum of its results, and the time."""
    started = clock()
    total = work()
    while (elapsed_s := clock() - started) < seconds:
        total += work()
    return total, elapsed_s


class _Bench:
    """Measures one game and collects the results of all repeats."""

    def __init__(
        self,
        game: Game,
        simulations: Sequence[int],
        seed: int,
        rival: Rival | None,
        cuts: Sequence[int] = (),
    ) -> None:
        self.measured = GameBenchmark(
            game, seed, 0, Playouts(), [Searches(n) for n in simulations], [CutPlayouts(n) for n in cuts]
        )
        self._play_cut = specialise([play_random, play_cut], game)["play_cut"]
        self._engine = engine_of(game, Features(hidden=game.hidden_information))
        self._work = self._engine.new_workspace()
        start = game.initial_state()
        self._root = game.observation(start, int(game.calls.current_player(start)))
        self._chunk = max(1, round(game.nominal_simulations_per_s * CHUNK_S))
        largest = max(simulations)
        self._tree = self._engine.new_tree(self._engine.capacity_for(DEFAULT_MEMORY_MB * 2**20, largest))
        self._params = _sequential_params(game)
        c = self._params.exploration
        self._rivals: list[Callable[[], int] | None] = []
        for searches in self.measured.searches:
            searcher = rival.searcher(game, searches.simulations, c, seed) if rival else None
            searches.missing = searcher if isinstance(searcher, str) else None
            self._rivals.append(None if isinstance(searcher, str) else searcher)

    def warm_up(self) -> None:
        """Compile or load the kernels, and allocate the memory that they use."""
        stream = new_stream(self.measured.seed)
        with np.errstate(over="ignore"):
            self._play(stream, [0, 0, 0], 1)
            for cut in self.measured.cuts:
                self._cut(CutPlayouts(cut.plies), stream, 1)
            for searches in self.measured.searches:
                self._search(searches.simulations, stream)
        for searcher in self._rivals:
            if searcher is not None:
                searcher()

    def measure(self, repeat: int, seconds: float, clock: Clock) -> None:
        """Run one repeat of all measurements."""
        measured = self.measured
        stream = new_stream(measured.seed, repeat)
        with np.errstate(over="ignore"):
            self._measure_playouts(stream, seconds, clock)
            for cut in measured.cuts:
                done, elapsed_s = timed(lambda cut=cut: self._cut(cut, stream, self._chunk), seconds, clock)  # type: ignore[misc]
                cut.rates.per_s.append(done / elapsed_s)
            for searches, searcher in zip(measured.searches, self._rivals, strict=True):
                n = searches.simulations
                done, elapsed_s = timed(lambda n=n: self._search(n, stream), seconds, clock)  # type: ignore[misc]
                searches.rates.per_s.append(done / elapsed_s)
                if searcher is not None:
                    done, elapsed_s = timed(searcher, seconds, clock)
                    searches.rival.per_s.append(done / elapsed_s)
        measured.repeats += 1

    def last(self) -> str:
        """A short text about the last repeat."""
        parts = [f"{self.measured.playouts.playouts.per_s[-1]:,.0f} playouts/s"]
        for searches in self.measured.searches:
            parts.append(f"{searches.rates.per_s[-1]:,.0f} simulations/s")
            if searches.rival.per_s:
                parts.append(f"rival {searches.rival.per_s[-1]:,.0f}")
        return ", ".join(parts)

    def _measure_playouts(self, stream: Any, seconds: float, clock: Clock) -> None:
        played = self.measured.playouts
        before = played.num_moves

        def play() -> int:
            played.num_moves += self._play(stream, played.results, self._chunk)
            return self._chunk

        done, elapsed_s = timed(play, seconds, clock)
        played.num_playouts += done
        played.playouts.per_s.append(done / elapsed_s)
        played.moves.per_s.append((played.num_moves - before) / elapsed_s)

    def _play(self, stream: Any, results: list[int], playouts: int) -> int:
        """Play, and add to the results; returns the number of moves."""
        counts = np.zeros(3, dtype=np.int64)
        moves = int(self._engine.play_out(self._root, playouts, counts, stream, self._work))
        for i in range(3):
            results[i] += int(counts[i])
        return moves

    def _cut(self, cut: CutPlayouts, stream: Any, playouts: int) -> int:
        """Play, and add to the counts of ``cut``; returns the number of playouts."""
        work = self._work
        cut.num_moves += self._play_cut(
            self._root, playouts, cut.plies, cut.values, work.state, work.moves, stream
        )
        cut.num_playouts += playouts
        return playouts

    def _search(self, simulations: int, stream: Any) -> int:
        clear(self._tree)
        return int(
            self._engine.simulate(self._tree, self._params, self._root, simulations, stream, self._work)
        )


def sequential_rate(game: Game, simulations: int, seconds: float = 1.0) -> float:
    """Simulations/s of consecutive searches with ``simulations`` simulations each from the start position."""
    bench = _Bench(game, [simulations if is_compiled(game.rules) else 50], 0, None)
    bench.warm_up()
    bench.measure(0, seconds, time.perf_counter)
    return bench.measured.searches[0].rates.median


def _sequential_params(game: Game) -> SearchParams:
    """The parameters of a sequential search with default options."""
    request = SearchRequest(game=game.spec)
    hidden = request.hidden_information if game.hidden_information else ""
    request = with_exploration(request, game)
    return params_of(Context("benchmark", request, game.spec, None, game.initial_state(), hidden, 1.0, 0, 2))
