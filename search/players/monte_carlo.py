"""Players that play games out: `uct` by a tree with all options of a search, `flat` without a tree.

Their options are those of a search, by the names that players have for them (`search.options.Knob.key`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput, counted
from games.game import SECOND, Game
from games.rng import new_stream
from games.spec import Options, Spec
from search.evaluator import source_of_evaluator
from search.job import Context
from search.kept_tree import KeptTree
from search.kernel.engine import engine_of
from search.kernel.params import params_from
from search.kernel.workspace import PLIES
from search.options import Knob, knobs_of
from search.players.player import Choice, Observation, Player
from search.players.presets import NAMES, PLAIN, settings_of
from search.prepare import check_form, open_view
from search.request import SearchRequest, features_of
from search.run_inline import run_inline
from search.strategies import STRATEGY_CLASSES, strategy_of
from search.summary import choose
from search.worker import Worker

PREFIX = "player option"
DEFAULT_SECONDS, MOST_WORK = 1.0, 10**12
PLIES_PER_S, LEAST_S = 500_000, 0.05
"""How many plies count as a second, and the least budget in seconds: jobs, which last at least 1 ms and are
first sized by the game's nominal speed, stay small beside it."""
COST_OF_PLY, LEAST_PLIES, MOST_SAMPLES = 20, 200, 12
"""What a ply costs beside its legal moves, and from how many plies, of at most how many random playouts, the
cost of a position's plies is estimated."""


@dataclass
class PliesClock:
    """A clock that goes with the plies of playouts, by which a budget is equal on every machine."""

    plies: int
    """The budget."""
    read: Callable[[], float] = time.thread_time
    """The player's clock, which is read only because what it raises ends the search."""
    spent: int = 0
    """Plies until now; a simulation counts as one at least."""

    @property
    def seconds(self) -> float:
        """The budget in seconds of this clock."""
        return max(LEAST_S, self.plies / PLIES_PER_S)

    def __call__(self) -> float:
        self.read()
        return self.spent / self.plies * self.seconds


def clock_of(
    work: int, seen: Observation, cut: int | None, seed: int, read: Callable[[], float]
) -> PliesClock:
    """A clock that ends a search of the position when its playouts have cost ``work``, by an estimate.

    A ply costs its legal moves and COST_OF_PLY more, as in programs that list all moves to draw one. ``cut``:
    plies after which playouts are cut. Rounding leaves a budget of one ply at least.
    """
    rng, game, numbers = random.Random(seed), seen.game, [0]
    for _ in range(MOST_SAMPLES):
        game.calls.play(state := seen.state.copy(), rng.choice(seen.legal))
        plies = 0
        while (cut is None or plies < cut) and not game.calls.is_terminal(state):
            legal = game.legal_moves(state)
            numbers.append(len(legal))
            game.calls.play(state, rng.choice(legal))
            plies += 1
        if len(numbers) > LEAST_PLIES:
            break
    return PliesClock(max(1, round(work / (COST_OF_PLY + fmean(numbers)))), read)


def read_budget(options: Options, asked: dict[str, Any], game: Game) -> int | None:
    """The option ``work``; without a budget a player gets DEFAULT_SECONDS.

    With ``work`` the field seconds of ``asked`` is set, which is that of `PliesClock` in each search. Raises
    InvalidInput (player option work, budget, strategy).
    """
    work = options.integer("work")
    if work is not None and not 1 <= work <= MOST_WORK:
        raise InvalidInput(f"{PREFIX} work", work, f"a whole number from 1 to {MOST_WORK}")
    given = [f"{name}={asked[name]}" for name in ("simulations", "seconds") if name in asked]
    if work and given:
        raise InvalidInput(
            f"{PREFIX} budget", ", ".join([f"work={work}", *given]), "one of simulations, seconds and work"
        )
    if work and (game.has_chance or game.hidden_information):
        raise InvalidInput(
            f"{PREFIX} work", work, "simulations or seconds in games with chance or hidden information"
        )
    kind = STRATEGY_CLASSES.get(asked.get("strategy", ""))
    if work and kind is not None and kind.by_leaves:
        # The time of threads decides how many of their jobs are run at a stretch.
        raise InvalidInput(f"{PREFIX} strategy", asked["strategy"], "root or tree with work")
    if work or not given:
        asked["seconds"] = DEFAULT_SECONDS
    return work


def read_options(
    spec: Spec,
    options: Options,
    only: Collection[str] | None = None,
    kind: type[SearchRequest] = SearchRequest,
) -> dict[str, Any]:
    """The fields of the request that a spec gives, by name: any that players may give, or ``only`` these.

    Raises InvalidInput (player option NAME) for a value of the wrong kind.
    """
    found = {}
    for knob in knobs_of(kind):
        if knob.option.key is None or (only is not None and knob.name not in only):
            continue
        value = _read(knob, knob.key, spec, options)
        if value is not None:
            found[knob.name] = value
    return found


def request_of_player(game: Game, asked: dict[str, Any]) -> SearchRequest:
    """The search of a player from the fields that it was given. Raises InvalidInput (player option NAME)."""
    try:
        request = SearchRequest(game=game.spec, **asked)
        check_form(request, game)
    except InvalidInput as error:
        key = next((knob.key for knob in knobs_of(SearchRequest) if knob.name == error.field), error.field)
        raise InvalidInput(f"{PREFIX} {key}", error.value, error.accepted) from None
    return request


def _read(knob: Knob, key: str, spec: Spec, options: Options) -> Any:
    """The value of one option, whose bounds and choices the request checks; None if it is not given."""
    if knob.kind is int:
        return options.integer(key)
    if knob.kind is float:
        return options.number(key)
    if knob.kind is bool:
        said = options.choice(key, "no", ("no", "yes"))
        return said == "yes" if key in spec.options else None
    return options.text(key, "") or None


class Uct(Player):
    """Runs a search for each move, in the calling thread: a new one, or with ``reuse`` one that goes on from
    the tree of its last move."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Its options are those of SearchRequest by their names for players, ``preset`` and ``reuse``.

        Its budget is simulations, seconds or ``work`` of playouts. By default it has one lane
        of `root`, `leaf` with an evaluator, or `tree` if it reuses its tree, and 1 s a move.
        """
        super().__init__(str(spec))
        asked = settings_of(options.choice("preset", PLAIN, NAMES), game) | {"lanes": 1}
        asked |= read_options(spec, options)
        reuses = options.choice("reuse", "no", ("no", "yes")) == "yes"
        asked.setdefault("strategy", "leaf" if "evaluator" in asked else "tree" if reuses else "root")
        self._kept = KeptTree(game) if reuses else None
        self.work = read_budget(options, asked, game)
        self.request = request_of_player(game, asked)
        # Files are read where the player is first made: workers get their texts from there.
        if self.request.evaluator is not None:
            source_of_evaluator(self.request.evaluator)
        strategy_of(self.request.strategy)

    def begin_game(self) -> None:
        if self._kept is not None:
            self._kept.forget()

    def choose(self, seen: Observation, seed: int) -> Choice:
        request = replace(self.request, seed=seed)
        game, past = seen.game, seen.past
        kept = None if self._kept is None or past is None else self._kept.at(past)
        worker = None
        if self.work is not None:
            worker = PliesWorker(clock_of(self.work, seen, request.playout_plies, seed, self.clock))
            request = replace(request, seconds=worker.clock.seconds)
        elif seen.seconds is not None:
            request = replace(request, simulations=None, seconds=seen.seconds)
        mover = game.viewpoint(seen.mover)
        opened = open_view(request, game, seen.state, mover, len(seen.legal), game.source_text, kept=kept)
        if worker is not None:
            worker.prepare(opened.context)
        coordinator, _ = run_inline(opened, worker.clock if worker else self.clock, worker)
        if self._kept is not None and past is not None:
            self._kept.keep(opened.strategy.left(), past)
        simulations = coordinator.counters.simulations
        children = [child for child in opened.strategy.root_children() if child.visits > 0]
        best = choose(children, request.final_move)
        told = [
            f"{seen.game.format_move(seen.state, child.move)} {child.visits:,} ({child.value:+.3f})"
            for child in children[:3]
        ]
        thought = f"{counted(simulations, 'simulation')}: {', '.join(told)}"
        thought += f"; {opened.kept_visits:,} kept" if opened.kept_visits else ""
        thought += "; proven" if coordinator.stopped_by == "proven" else ""
        return Choice(best.move, best.value, simulations, coordinator.tree_nodes, thought)


class PliesWorker(Worker):
    """A worker by whose clock a job lasts as long as its playouts have plies."""

    def __init__(self, clock: PliesClock) -> None:
        super().__init__()
        self.clock = clock

    def run(self, context: Context, job: Any) -> Any:
        began_s = self.clock()
        done = super().run(context, job)
        self.clock.spent += max(1, done.simulations, int(self._work.tally[PLIES]))
        return replace(done, duration_s=self.clock() - began_s)


STATISTICS = ("mean", "median", "mode", "sum")
MODES, DRAWS = ("highest", "first"), ("equal", "random")
UNSAMPLED = {"skipped": -np.inf, "zero": 0.0}
"""What a move without a playout is worth."""
OPTIONS = ("simulations", "seconds", "playout_plies", "playout_policy")
"""The fields of SearchRequest that a spec may give."""
CHUNK_S = 0.01
"""Greatest duration, in seconds, of the playouts between two readings of the clock; an estimate."""


class Flat(Player):
    """Flat Monte Carlo player; the value of a move is the mean, median, mode or sum of its playouts."""

    def __init__(self, spec: Spec, options: Options, game: Game) -> None:
        """Its options are those of SearchRequest in OPTIONS, ``work``, ``value``, ``modes``,
        ``draws``, and ``unsampled``: whether a move without a playout is skipped or worth 0. By default it
        has 1 s a move."""
        super().__init__(str(spec))
        # Nothing is selected where there is no tree.
        asked = {**read_options(spec, options, OPTIONS), "exploration": 0.0}
        self.work = read_budget(options, asked, game)
        self.value = options.choice("value", "mean", STATISTICS)
        self.modes = options.choice("modes", "highest", MODES)
        self.draws = options.choice("draws", "equal", DRAWS)
        self.unsampled = UNSAMPLED[options.choice("unsampled", "skipped", tuple(UNSAMPLED))]
        self.request = request_of_player(game, asked)

    def choose(self, seen: Observation, seed: int) -> Choice:
        hidden = "ismcts" if seen.game.hidden_information else ""
        engine = engine_of(seen.game, features_of(self.request, hidden))
        params = params_from(self.request, 1.0)
        # In random order, so that a budget that ends within a round favours no move.
        random.Random(seed).shuffle(order := list(seen.legal))
        moves = np.array(order, dtype=np.uint16)
        rng, stream, work = np.random.default_rng(seed), new_stream(seed), engine.new_workspace()
        clock, cut = self.clock, self.request.playout_plies
        if self.work is not None:
            clock = clock_of(self.work, seen, cut, seed, self.clock)
        seconds = clock.seconds if isinstance(clock, PliesClock) else seen.seconds or self.request.seconds
        played: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        count = 0

        def play(num_playouts: int) -> None:
            nonlocal count
            which = np.arange(count, count + num_playouts) % len(moves)
            if self.draws == "random":
                which = rng.integers(len(moves), size=num_playouts)
            values, before = np.zeros(num_playouts), int(work.tally[PLIES])
            with np.errstate(over="ignore"):
                engine.play_flat(seen.state, params, moves[which], values, stream, work)
            count += num_playouts
            played.append((which, values))
            if isinstance(clock, PliesClock):
                clock.spent += max(num_playouts, int(work.tally[PLIES]) - before)

        # Compile or load the kernels before the clock starts.
        play(0)
        if self.request.simulations is not None and seen.seconds is None:
            play(self.request.simulations)
        else:
            assert seconds is not None
            began = now = clock()
            size = 1
            while now - began < seconds:
                started = now
                play(size)
                now = clock()
                most_s = min(CHUNK_S, (seconds - (now - began)) / 2)
                size = max(1, min(4 * size, int(most_s / max(1e-9, (now - started) / size))))
        which, values = (np.concatenate(arrays) for arrays in zip(*played, strict=True))
        if seen.game.viewpoint(seen.mover) == SECOND:
            values = -values
        worth = np.array([self.worth(values[which == m]) for m in range(len(moves))])
        best = random.Random(seed).choice(np.flatnonzero(worth == worth.max()).tolist())
        of = f"{counted(count, 'playout')} of {counted(len(moves), 'move')}; {self.value}"
        return Choice(int(moves[best]), float(worth[best]), count, 0, f"{of} {worth[best]:+.3f}")

    def worth(self, values: npt.NDArray[np.float64]) -> float:
        """The statistic of the values of a move's playouts, in their order; without any ``self.unsampled``.

        Of several modes the ``highest`` counts, or the ``first``: the one whose first playout came first.
        """
        if not len(values):
            return self.unsampled
        if self.value == "sum":
            return float(values.sum())
        if self.value != "mode":
            return float(values.mean() if self.value == "mean" else np.median(values))
        different, places, counts = np.unique(values, return_index=True, return_counts=True)
        most = counts == counts.max()
        return float(different[most].max() if self.modes == "highest" else values[places[most].min()])
