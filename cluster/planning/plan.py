"""Plans: episodes as units of work for a `Jobset`, for `banyan plan` and `banyan.plan` in Python.

An episode that is lost is played again alike.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Any, Unpack, get_type_hints

import games
from cluster.front_door.options import SearchOptions, read_call, with_options
from cluster.launch import UNIT_TIMEOUT_S, Output, launch
from cluster.planning.defaults import DEFAULT_EPISODES, DEFAULT_SIMULATIONS, MAX_SEED, MoveSearch
from cluster.planning.result import PlanResult, mean_text, write
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset, Unit, UnitDone, UnitFailed, Units, UnitWorker, worker_of_units
from cluster.runtime.tasks import Executor, Task
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from cluster.system.kept_folder import Kept
from cluster.workers.placement import Placement
from games.compile.watch import note, notes
from games.errors import InvalidInput, counted, foreign
from games.game import Game
from search.episode import Episode, Planner, check_plannable
from search.prepare import check_search
from search.request import SearchRequest

MAX_EPISODES = 1_000_000
MAX_STEPS = 2**31 - 1
NOTE_S = 1.0
"""Least seconds between two notes of an episode."""
KEY = 0
"""The key of the only context."""
EPISODES = "episodes.jsonl"
"""The file in which episodes are kept, one a line."""


@dataclass(frozen=True)
class PlanContext:
    """The data that all episodes of a plan share."""

    request: SearchRequest
    """The search of each move."""
    source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    steps: int | None
    """The most moves of an episode."""


class PlanWorker(UnitWorker):
    """Plays episodes one after the other in its process."""

    def __init__(self, noticed: Callable[[], None] = lambda: None) -> None:
        """``noticed`` is called, in this process, after each note of an episode's progress."""
        super().__init__()
        self._noticed = noticed
        self._planner: Planner
        self._most = 0
        """The most steps of an episode."""
        self._noted = 0.0
        self._first: tuple[float, int] | None = None
        """When its first note was left, before which kernels may be compiled, and its moves until then."""

    def load(self, context: PlanContext) -> None:
        game = games.load(context.request.game, context.source, tried=False)
        self._planner = Planner(context.request, game, context.source, context.steps, self._stepped)
        self._most = min(game.max_plies, context.steps or game.max_plies)

    def find(self, context: PlanContext, unit: Unit) -> Episode:
        """The episode with this index: its seed is the request's and the index, added."""
        self._first, self._noted = None, time.perf_counter()
        episode = self._planner.play(context.request.seed + unit.index)
        note("")
        return episode

    def _stepped(self, seed: int, steps: int, value: float) -> None:
        """Leave a note of the episode's progress, once a second."""
        now = time.perf_counter()
        if 0 < steps < self._most and now >= self._noted + NOTE_S:
            rate = ""
            if self._first is None:
                self._first = now, steps
            else:
                per_s = (steps - self._first[1]) / (now - self._first[0])
                rate = (
                    f", {per_s:.3g} steps/s, at most {terminal.duration((self._most - steps) / per_s)} left"
                )
            note(f"episode {seed}: step {steps:,}, return so far {value:g}{rate}")
            self._noted = now
            self._noticed()


class Episodes(Units):
    """The units of a plan; episodes that are already kept are not played again."""

    def __init__(self, context: PlanContext, number: int, kept: Kept) -> None:
        """``number`` episodes, from the seed of the request on.

        Raises InvalidInput (field ``out``) if the folder holds something else.
        """
        self.contexts = {KEY: context}
        self.seeds = range(context.request.seed, context.request.seed + number)
        stored = kept.read(EPISODES, _episode_of)
        self.played = {episode.seed: episode for episode in stored if episode.seed in self.seeds}
        """The episodes played so far, by seed."""
        self._kept = kept

    @property
    def finished(self) -> bool:
        return super().finished or len(self.played) == len(self.seeds)

    @property
    def done(self) -> int:
        """Number of episodes played so far."""
        return len(self.played)

    @property
    def in_order(self) -> list[Episode]:
        """The episodes played so far, by seed."""
        return [self.played[seed] for seed in sorted(self.played)]

    def missing(self) -> list[Task]:
        left = [index for index, seed in enumerate(self.seeds) if seed not in self.played]
        return [Task(index, Unit(index), work=0, context=KEY) for index in left]

    def take(self, context: int, result: UnitDone) -> None:
        self.played[result.found.seed] = result.found
        self._kept.add(EPISODES, asdict(result.found))

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        raise UnitFailed(f"episode {self.seeds[index]} failed: {error}") from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        raise UnitFailed(f"episode {self.seeds[index]} was {reason}")


def _episode_of(entry: dict[str, Any]) -> Episode:
    """The episode of a line; raises ValueError, TypeError or KeyError for anything else."""
    if not isinstance(entry["actions"], list) or not math.isfinite(entry["value"]):
        raise ValueError(entry)
    kinds = get_type_hints(Episode)
    del kinds["actions"]
    values = {name: kind(entry[name]) for name, kind in kinds.items()}
    return Episode(actions=tuple(map(str, entry["actions"])), **values)


@dataclass(frozen=True)
class Plan:
    """Episodes whose options have been checked, with seeds from that of ``search`` on."""

    search: SearchRequest
    """The search of each move, as it was asked for."""
    episodes: int
    game: Game
    context: PlanContext

    @property
    def identity(self) -> dict[str, Any]:
        """The values that determine an episode, apart from its seed, as JSON."""
        context = self.context
        search = json.dumps(asdict(context.request))
        # As JSON has it: infinity is a text.
        kept = json.loads(search, parse_constant=lambda name: repr(float(name)))
        del kept["seed"]
        source = None if context.source is None else hashlib.sha256(context.source.encode()).hexdigest()
        return {"search": kept, "source": source, "steps": context.steps}

    @contextmanager
    def opened(self, out: Path | None) -> Iterator[Jobset[Episodes]]:
        """The episodes to be played, each of which is kept in the folder ``out``.

        Raises OSError, InvalidInput (field ``out``).
        """
        with Kept(out, "plan.json", self.identity, "plan") as kept:
            yield Jobset(Episodes(self.context, self.episodes, kept))

    def result(self, jobset: Jobset[Episodes], executor: Executor) -> PlanResult:
        """The result of the episodes played so far, on this executor."""
        simulations = self.search.simulations and counted(self.search.simulations, "simulation")
        return PlanResult(
            problem=self.game.spec,
            episodes=tuple(jobset.units.in_order),
            budget=simulations or f"{self.search.seconds:g} s",
            state_handling=self.game.state_handling,
            clairvoyant=self.game.clairvoyant,
            examined=self.game.examined,
            workers=executor.num_workers,
            executor=executor.name,
            elapsed_s=jobset.elapsed_s,
        )


def make_plan(search: SearchRequest, episodes: int, steps: int | None = None) -> Plan:
    """Load the game and check everything. Raises InvalidInput (game, episodes, steps, seed, ...).

    ``search``: the search of each move; a `MoveSearch` leaves some of it to the problem. ``steps``: the most
    moves of an episode; None: its own end.
    """
    asked = search
    for field, value, most in (("episodes", episodes, MAX_EPISODES), ("steps", steps, MAX_STEPS)):
        if value is not None and not 1 <= value <= most:
            raise InvalidInput(field, value, f"a whole number from 1 to {most:,}")
    if search.seed + episodes - 1 > MAX_SEED:
        raise InvalidInput("seed", search.seed, f"a whole number from 0 to {MAX_SEED - episodes + 1:,}")
    source = games.source_of_spec(search.game)
    game = games.load(search.game, source)
    if isinstance(search, MoveSearch):
        search = search.of_game(game)
    check_plannable(search, game)
    check_search(search, game)
    return Plan(asked, episodes, game, PlanContext(replace(search, game=game.spec), source, steps))


def run_plan(
    search: SearchRequest,
    episodes: int,
    steps: int | None,
    place: Placement,
    output: Output,
    out: Path | None,
) -> int:
    """Play the episodes and print their returns; returns the exit status.

    The first three arguments are those of `make_plan`. Raises InvalidInput, UnitFailed, ConnectionError,
    OSError.
    """
    with launch(output) as started:
        made = make_plan(search, episodes, steps)
        jobset = started.stack.enter_context(made.opened(out))
        place = replace(place, executor=_executor_for(place.executor, place.address, episodes))
        progress = started.units_progress(in_short)
        make_worker: Callable[[], PlanWorker] = PlanWorker
        if place.executor == "inline":
            # Nothing else can show progress while an episode is played in this process.
            make_worker = partial(PlanWorker, noticed=partial(progress, jobset))
        executor = started.run_units(place, jobset, make_worker, progress)
        if started.status == INTERRUPTED:
            for begun in (each.partition(", at most ")[0] for each in notes() if each.startswith("episode ")):
                started.say(f"interrupted, and left out of the result: {begun}")
        result = made.result(jobset, executor)
        table = ["", result.table()] if result.episodes else []
        output.show(result.to_json(), result.facts(), *table)
        if out is not None and result.episodes:
            for path in write(result, out):
                started.say(f"wrote {path}")
    return started.status


def in_short(episodes: Episodes) -> list[str]:
    """What is done, in a few words."""
    if not episodes.done:
        return ["no episode has ended yet"]
    done = f"{terminal.count(episodes.done)} of {counted(len(episodes.seeds), 'episode')}"
    return [done, f"mean return {mean_text([episode.value for episode in episodes.in_order])}"]


@with_options
def plan(
    problem: str | Game | type[Game],
    *,
    episodes: int = DEFAULT_EPISODES,
    simulations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    steps: int | None = None,
    out: str | PathLike[str] | None = None,
    workers: int | str | None = None,
    address: str | None = None,
    executor: str = "auto",
    **options: Unpack[SearchOptions],
) -> PlanResult:
    """Play episodes of a problem of one player, each move chosen by a search, and return the result.

    Args:
        problem: A spec such as ``"gym:FrozenLake-v1"`` or ``"./mine.py"``, a game object, or a game class.
        episodes: Number of episodes; they are played side by side on all workers.
        simulations: The budget of each move; 1,000 if no budget is given.
        seconds: The budget of each move in seconds instead.
        seed: The seed of the first episode; the others have the numbers that follow.
        steps: The most moves of an episode; None: its own end.
        out: A folder in which each episode is kept; a plan that is started again plays the missing ones.
        workers, address, executor: Where episodes are played: in this process (``"inline"``), on workers of
            Ray (``"ray"``), or on Ray if there are several episodes (``"auto"``); the episodes are the same.
        **options: Any other field of `search.SearchRequest`, listed below; ``lanes`` is 1 by default, since
            episodes already fill the workers, and ``playout_policy`` and ``final_move`` are by default
            ``auto``, as `banyan plan --help-all` describes it.

    Raises:
        InvalidInput: Something is wrong with an argument; the error names the field, the value, and what is
            accepted.
        UnitFailed: An episode failed.
        ConnectionError: Ray could not be started or reached.
    """
    if simulations is None and seconds is None:
        simulations = DEFAULT_SIMULATIONS
    request, of_workers = read_call(
        plan, problem, (), options, MoveSearch, simulations=simulations, seconds=seconds, seed=seed
    )
    made = foreign(make_plan, request, episodes, steps)
    place = Placement(workers, _executor_for(executor, address, episodes), address, **of_workers)
    with made.opened(None if out is None else Path(out)) as jobset:
        executed = place.start_quietly(
            Event(),
            timeout_s=UNIT_TIMEOUT_S,
            make_worker=worker_of_units(place.executor, PlanWorker),
            in_flight=1,
        )
        with closing(executed):
            if not jobset.finished:
                executed.open(None)
            drive(jobset, executed)
            return made.result(jobset, executed)


def _executor_for(name: str, address: str | None, episodes: int) -> str:
    """The executor for ``auto``: this process for a single episode, else workers of Ray."""
    return "inline" if name == "auto" and address is None and episodes == 1 else name
