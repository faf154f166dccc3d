"""Plans: which episodes are played with which search, for `banyan plan` and `banyan.plan` in Python."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Any, Unpack

import games
from cluster.front_door.options import SearchOptions, request_of, split, with_options
from cluster.front_door.placement import Placement
from cluster.launch import UNIT_TIMEOUT_S, Output, launch
from cluster.planning.defaults import DEFAULT_EPISODES, DEFAULT_SIMULATIONS, MAX_SEED, MoveSearch
from cluster.planning.episodes import Episodes, PlanContext, PlanWorker
from cluster.planning.result import PlanResult, mean_text, print_result, write
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset, worker_of_units
from cluster.runtime.tasks import Executor
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED
from cluster.system.kept_folder import Kept
from games.compile.watch import notes
from games.errors import InvalidInput, counted
from games.game import Game
from search.episode import check_plannable
from search.prepare import check_search
from search.request import SearchRequest

MAX_EPISODES = 1_000_000
MAX_STEPS = 2**31 - 1


@dataclass(frozen=True)
class PlanRequest:
    """Episodes from the seed of the search on; their moves depend on nothing else, with simulations."""

    search: SearchRequest
    """The search of each move; a `MoveSearch` leaves some of it to the problem."""
    episodes: int = DEFAULT_EPISODES
    steps: int | None = None
    """The most moves of an episode; None: its own end."""


@dataclass(frozen=True)
class Plan:
    """A plan that was checked."""

    request: PlanRequest
    game: Game
    context: PlanContext

    @property
    def identity(self) -> dict[str, Any]:
        """What an episode depends on, apart from its seed."""
        source = self.context.source
        search = {name: value for name, value in asdict(self.context.request).items() if name != "seed"}
        return {
            "search": {
                name: list(value) if isinstance(value, tuple) else _plain(value)
                for name, value in search.items()
            },
            "source": None if source is None else hashlib.sha256(source.encode()).hexdigest(),
            "steps": self.request.steps,
        }

    @property
    def budget(self) -> str:
        """The budget of a move in words."""
        search = self.request.search
        return counted(search.simulations, "simulation") if search.simulations else f"{search.seconds:g} s"

    @contextmanager
    def opened(self, out: Path | None) -> Iterator[Jobset[Episodes]]:
        """The episodes to be played, each of which is kept in the folder ``out``.

        Raises OSError, InvalidInput (field ``out``).
        """
        with Kept(out, "plan.json", self.identity, "plan") as kept:
            yield Jobset(Episodes(self.context, self.request.episodes, kept))

    def result(self, jobset: Jobset[Episodes], executor: Executor) -> PlanResult:
        """The result of the episodes played so far, on this executor."""
        return PlanResult(
            problem=self.game.spec,
            episodes=tuple(jobset.units.in_order),
            budget=self.budget,
            state_handling=self.game.state_handling,
            clairvoyant=self.game.clairvoyant,
            workers=executor.num_workers,
            executor=executor.name,
            elapsed_s=jobset.elapsed_s,
        )


def make_plan(request: PlanRequest) -> Plan:
    """Load the game and check everything. Raises InvalidInput (game, episodes, steps, seed, ...)."""
    for field, value, most in (
        ("episodes", request.episodes, MAX_EPISODES),
        ("steps", request.steps, MAX_STEPS),
    ):
        if value is not None and not 1 <= value <= most:
            raise InvalidInput(field, value, f"a whole number from 1 to {most:,}")
    search = request.search
    if search.seed + request.episodes > MAX_SEED:
        raise InvalidInput("seed", search.seed, f"a whole number from 0 to {MAX_SEED - request.episodes:,}")
    source = games.source_of_spec(search.game)
    game = games.load(search.game, source)
    if isinstance(search, MoveSearch):
        search = search.of_game(game)
    check_plannable(search, game)
    check_search(search, game)
    return Plan(request, game, PlanContext(replace(search, game=game.spec), source, request.steps))


def run_plan(request: PlanRequest, place: Placement, output: Output, out: Path | None) -> int:
    """Play the episodes and print their returns; the exit status.

    Raises InvalidInput, UnitFailed, ConnectionError, OSError.
    """
    with launch(output) as started:
        made = make_plan(request)
        jobset = started.stack.enter_context(made.opened(out))
        place = replace(place, executor=_executor_for(place.executor, place.address, request.episodes))
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
        print_result(result, output)
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
    """Play episodes of a problem of one player, each move chosen by a search; returns what they came to.

    Args:
        problem: A spec such as ``"gym:FrozenLake-v1"`` or ``"./mine.py"``, a game object, or a game class.
        episodes: Number of episodes; they are played side by side on all workers.
        simulations: The budget of each move; 1,000 if no budget is given.
        seconds: The budget of each move in seconds instead.
        seed: The seed of the first episode; the others have the numbers that follow.
        steps: The most moves of an episode; None: its own end.
        out: A folder in which each episode is kept; a plan that is started again plays the missing ones.
        workers, address, executor: Where episodes are played: in this process (``"inline"``), on workers of
            Ray (``"ray"``), or there if there are several episodes (``"auto"``); nothing of it changes them.
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
    budget = {"simulations": simulations, "seconds": seconds, "seed": seed}
    of_search, of_workers = split(plan, options)
    request = PlanRequest(request_of(problem, (), of_search | budget, MoveSearch), episodes, steps)
    made = make_plan(request)
    of_workers = {"job_timeout": UNIT_TIMEOUT_S} | of_workers
    place = Placement(workers, _executor_for(executor, address, episodes), address, **of_workers)
    with made.opened(None if out is None else Path(out)) as jobset:
        executed = place.start_quietly(
            Event(), make_worker=worker_of_units(place.executor, PlanWorker), in_flight=1
        )
        with closing(executed):
            if not jobset.finished:
                executed.open(None)
            drive(jobset, executed)
            return made.result(jobset, executed)


def _executor_for(name: str, address: str | None, episodes: int) -> str:
    """The executor for ``auto``: this process for a single episode, else workers of Ray."""
    return "inline" if name == "auto" and address is None and episodes == 1 else name


def _plain(value: Any) -> Any:
    """The value as JSON has it: infinity is a text."""
    return repr(value) if value in (float("inf"), float("-inf")) else value
