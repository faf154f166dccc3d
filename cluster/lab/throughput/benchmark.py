"""The speed of one core: uniformly random playouts, and UCT searches, each with a new tree.

Rates are medians over repeats, with the lowest and the highest value. Repeats are interleaved: each repeat
measures everything once, so that changes of the machine's speed affect everything alike, and ratios compare
measurements that were made one after the other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cluster.report.table import Cell, Table, left, rate, right, text
from games.analysis.playout import play_cut
from games.compile.specialise import is_compiled, specialise
from games.errors import counted
from games.game import Game
from games.openspiel import rules_of
from games.rng import new_stream
from games.spec import OPENSPIEL
from games.user_games import library_or_refuse
from search.features import Features
from search.job import Context
from search.kernel.engine import engine_of
from search.kernel.params import params_of, with_exploration
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.tree.arena import clear

if TYPE_CHECKING:
    from rich.console import Console

CHUNK_S = 0.01
"""Time between two readings of the clock, in seconds at the game's nominal speed."""
OPENSPIEL_MEMORY_MB = 1000
Clock = Callable[[], float]
Report = Callable[[str], None]
Rows = Sequence[dict[str, Any]]
"""The rows of `benchmark --json`."""
Searcher = Callable[[], int]
"""Runs a search from the start position; returns its number of simulations."""


class OpenSpiel:
    """`pyspiel.MCTSBot` with random rollouts, one for each simulation, and our exploration constant."""

    name = "openspiel"

    def __init__(self) -> None:
        """Raises InvalidInput (against) if OpenSpiel is not installed."""
        self._pyspiel = library_or_refuse(OPENSPIEL, "against", self.name)
        self.version = version("open_spiel")

    def searcher(self, game: Game, simulations: int, exploration: float, seed: int) -> Searcher | str:
        """A function that runs a search of this size; or a text that says why there is none.

        ``exploration`` is C in Q + C sqrt(ln N / n) with Q in [-1, 1].
        """
        name, pyspiel = rules_of(game), self._pyspiel
        if name is None:
            return "does not have this game"
        loaded = pyspiel.load_game(name)
        if loaded.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
            return "its MCTS refuses games with rewards before the end"
        bot = pyspiel.MCTSBot(
            loaded,
            pyspiel.RandomRolloutEvaluator(1, seed),
            uct_c=exploration,
            max_simulations=simulations,
            max_memory_mb=OPENSPIEL_MEMORY_MB,
            solve=False,
            seed=seed,
            verbose=False,
        )
        state = loaded.new_initial_state()

        def search() -> int:
            bot.mcts_search(state)
            return simulations

        return search


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

    def measure(self, work: Callable[[], int], seconds: float, clock: Clock) -> float:
        """Measure once how much ``work`` does in about ``seconds``; returns the seconds that it took."""
        done, elapsed_s = timed(work, seconds, clock)
        self.per_s.append(done / elapsed_s)
        return elapsed_s


def timed(work: Callable[[], int], seconds: float, clock: Clock) -> tuple[int, float]:
    """Repeat ``work`` for ``seconds``, at least once; returns (sum of its results, elapsed seconds)."""
    started = clock()
    total = work()
    while (elapsed_s := clock() - started) < seconds:
        total += work()
    return total, elapsed_s


@dataclass
class _CutPlayouts:
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
class _Searches:
    """Searches with a number of simulations each, and searches of the rival with equally many."""

    simulations: int
    rival: Searcher | str | None
    rates: Rates = field(default_factory=Rates)
    rival_rates: Rates = field(default_factory=Rates)

    def against(self) -> dict[str, Any]:
        """The comparison with the rival, in a row of `benchmark --json`."""
        if isinstance(self.rival, str):
            return {"missing": self.rival}
        pairs = zip(self.rates.per_s, self.rival_rates.per_s, strict=True)
        ratios = Rates([ours / theirs for ours, theirs in pairs])
        return {
            "simulations_per_s": self.rival_rates.median,
            "ratio": ratios.median,
            "spread": {"simulations_per_s": self.rival_rates.spread, "ratio": ratios.spread},
        }


class GameBenchmark:
    """All measurements of one game."""

    def __init__(
        self,
        game: Game,
        simulations: Sequence[int],
        seed: int = 0,
        rival: OpenSpiel | None = None,
        cuts: Sequence[int] = (),
    ) -> None:
        self.name, self._game, self._seed, self._rival = game.spec, game, seed, rival
        self._repeats = 0
        self._playouts, self._moves = Rates(), Rates()
        self._num_playouts = self._num_moves = 0
        self._results = np.zeros(3, dtype=np.int64)
        """Counts of the first player's wins, draws, and losses; they mean nothing beyond two players."""
        self._cuts = [_CutPlayouts(plies) for plies in cuts]
        self._play_cut = specialise([play_cut], game)["play_cut"]
        self._engine = engine_of(game, Features(hidden=game.hidden_information))
        self._work = self._engine.new_workspace()
        start = game.initial_state()
        self._root = game.observation(start, int(game.calls.current_player(start)))
        self._chunk = max(1, round(game.nominal_simulations_per_s * CHUNK_S))
        capacity = self._engine.capacity_for(DEFAULT_MEMORY_MB * 2**20, max(simulations))
        self._tree = self._engine.new_tree(capacity)
        # The parameters of a sequential search with default options.
        request = SearchRequest(game=game.spec)
        hidden = request.hidden_information if game.hidden_information else ""
        request = with_exploration(request, game)
        self._params = params_of(Context("benchmark", request, game.spec, None, start, hidden, 1.0, 0, 2))
        c = self._params.exploration
        self.searches = [
            _Searches(each, rival.searcher(game, each, c, seed) if rival else None) for each in simulations
        ]

    def warm_up(self) -> None:
        """Compile or load the kernels, and allocate the memory that they use."""
        stream = new_stream(self._seed)
        with np.errstate(over="ignore"):
            self._play(stream, np.zeros(3, dtype=np.int64), 1)
            for cut in self._cuts:
                self._cut(_CutPlayouts(cut.plies), stream, 1)
            for searches in self.searches:
                self._search(searches.simulations, stream)
        for searches in self.searches:
            if callable(searches.rival):
                searches.rival()

    def measure(self, seconds: float, clock: Clock) -> str:
        """Run one repeat of all measurements; returns its rates in words."""
        stream = new_stream(self._seed, self._repeats)
        self._repeats += 1
        before = self._num_moves
        with np.errstate(over="ignore"):
            elapsed_s = self._playouts.measure(partial(self._count_playouts, stream), seconds, clock)
            self._moves.per_s.append((self._num_moves - before) / elapsed_s)
            said = [f"{self._playouts.per_s[-1]:,.0f} playouts/s"]
            for cut in self._cuts:
                cut.rates.measure(partial(self._cut, cut, stream, self._chunk), seconds, clock)
            for each in self.searches:
                each.rates.measure(partial(self._search, each.simulations, stream), seconds, clock)
                said.append(f"{each.rates.per_s[-1]:,.0f} simulations/s")
                if callable(each.rival):
                    each.rival_rates.measure(each.rival, seconds, clock)
                    said.append(f"rival {each.rival_rates.per_s[-1]:,.0f}")
        return ", ".join(said)

    def rows(self) -> list[dict[str, Any]]:
        """One row of `benchmark --json` for each number of simulations."""
        shares = (self._results / self._num_playouts).tolist()
        results = dict(zip(("first", "draw", "second"), shares, strict=True))
        rows: list[dict[str, Any]] = []
        for searches in self.searches:
            row = {
                "game": self.name,
                "playouts_per_s": self._playouts.median,
                "moves_per_s": self._moves.median,
                "simulations": searches.simulations,
                "simulations_per_s": searches.rates.median,
                "mean_length": self._num_moves / self._num_playouts,
                "results": results if self._game.is_two_player else None,
                "seed": self._seed,
                "repeats": self._repeats,
                "spread": {
                    "playouts_per_s": self._playouts.spread,
                    "moves_per_s": self._moves.spread,
                    "simulations_per_s": searches.rates.spread,
                },
                "cuts": [cut.row() for cut in self._cuts],
            }
            if (rival := self._rival) is not None:
                row["against"] = {"name": rival.name, "version": rival.version} | searches.against()
            rows.append(row)
        return rows

    def _count_playouts(self, stream: Any) -> int:
        self._num_moves += self._play(stream, self._results, self._chunk)
        self._num_playouts += self._chunk
        return self._chunk

    def _play(self, stream: Any, results: Any, playouts: int) -> int:
        """Play, and add to the results; returns the number of moves."""
        return int(self._engine.play_out(self._root, playouts, results, stream, self._work))

    def _cut(self, cut: _CutPlayouts, stream: Any, playouts: int) -> int:
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


def benchmark(
    games: Sequence[Game],
    *,
    simulations: Sequence[int],
    seconds: float,
    repeats: int,
    seed: int,
    cuts: Sequence[int] = (),
    rival: OpenSpiel | None = None,
    clock: Clock = time.perf_counter,
    report: Report = lambda _line: None,
) -> list[GameBenchmark]:
    """Measure all games, each measurement for about ``seconds``; ``report`` is called after each repeat.

    ``cuts``: numbers of plies; for each, playouts that are cut after it are measured too.
    """
    benches = [GameBenchmark(game, simulations, seed, rival, cuts) for game in games]
    for bench in benches:
        report(f"{bench.name}: warming up")
        bench.warm_up()
    interleave(benches, repeats, seconds, clock, report)
    return benches


class Bench(Protocol):
    """What is measured in each repeat."""

    name: str

    def measure(self, seconds: float, clock: Clock) -> str:
        """Run each measurement once; returns the rates in words."""


def interleave(benches: Sequence[Bench], repeats: int, seconds: float, clock: Clock, report: Report) -> None:
    """Measure all benches ``repeats`` times, one after the other in each repeat."""
    for repeat in range(repeats):
        for bench in benches:
            report(f"{bench.name}: repeat {repeat + 1} of {repeats}: {bench.measure(seconds, clock)}")


def sequential_rate(game: Game, simulations: int, seconds: float = 1.0) -> float:
    """Simulations/s of consecutive searches with ``simulations`` simulations each from the start position."""
    bench = GameBenchmark(game, [simulations if is_compiled(game.rules) else 50])
    bench.warm_up()
    bench.measure(seconds, time.perf_counter)
    return bench.searches[0].rates.median


def print_rates(
    console: Console, rows: Rows, rival: OpenSpiel | None, seconds: float, repeats: int, seed: int
) -> None:
    """Print the tables, followed by the conditions of the measurement."""
    for table in tables_of(rows):
        console.print(table)
    console.print(
        f"median (lowest - highest) of {counted(repeats, 'interleaved repeat')} of {seconds:g} s each; "
        f"one core, from the start position, seed {seed}",
        soft_wrap=True,
    )
    if rival is not None:
        console.print(
            f"{rival.name} {rival.version}: its C++ MCTSBot, random rollouts, the same exploration constant",
            soft_wrap=True,
        )


def tables_of(rows: Rows) -> Iterator[Table]:
    """For each game a table with a line for each measurement: median, lowest, highest, remark."""
    for game, measured in groupby(rows, key=itemgetter("game")):
        table = Table([*left(""), *right("median", "lowest", "highest"), *left("")], title=game)
        for line in _lines(list(measured)):
            table.add(*line)
        yield table


def _lines(rows: Rows) -> Iterator[list[Cell]]:
    """The lines of one game; ``rows`` differ in the number of simulations only."""
    first = rows[0]
    yield _rates("random playouts", first, "playouts_per_s", _results(first["results"]))
    yield _rates("random moves", first, "moves_per_s", f"{first['mean_length']:.1f} in each playout")
    for cut in first["cuts"]:
        remark = f"{cut['mean_length']:.1f} in each playout, worth {cut['mean_value']:+.3f}"
        yield _rates(f"cut after {cut['plies']}", cut, "playouts_per_s", remark)
    for row in rows:
        yield _rates("simulations", row, "simulations_per_s", f"{row['simulations']:,} in each search")
        against = row.get("against")
        if against is not None and "missing" not in against:
            yield _rates(against["name"], against, "simulations_per_s", "the same searches")
            ratios = (against["ratio"], *against["spread"]["ratio"])
            yield [text("ratio", "strong"), *(text(f"{ratio:.1f}", "strong") for ratio in ratios)]
        elif against is not None:
            yield [text(against["name"]), text("-"), text(""), text(""), text(against["missing"])]


def _rates(name: str, row: dict[str, Any], key: str, remark: str) -> list[Cell]:
    values = (row[key], *row["spread"][key])
    return [text(name), *map(rate, values), text(remark, "dim")]


def _results(results: dict[str, float] | None) -> str:
    if results is None:
        return ""
    shares = "/".join(f"{100 * results[key]:.0f}" for key in ("first", "draw", "second"))
    return f"won/drawn/lost {shares} %"
