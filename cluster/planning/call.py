"""The function `plan` that `import banyan` and `import cluster` offer."""

from __future__ import annotations

from contextlib import closing
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Unpack

from cluster.executors.units import worker_of_units
from cluster.front_door.options import SearchOptions, placement_of, request_of, split, with_options
from cluster.planning.defaults import (
    DEFAULT_EPISODE_TIMEOUT_S,
    DEFAULT_EPISODES,
    DEFAULT_SIMULATIONS,
    MoveSearch,
)
from cluster.planning.episodes import PlanWorker
from cluster.planning.plan import PlanRequest, executor_for, make_plan
from cluster.planning.result import PlanResult
from cluster.runtime.drive import drive
from games.game import Game


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
        PlanFailed: An episode failed.
        ConnectionError: Ray could not be started or reached.
    """
    if simulations is None and seconds is None:
        simulations = DEFAULT_SIMULATIONS
    budget = {"simulations": simulations, "seconds": seconds, "seed": seed}
    of_search, of_workers = split(plan, options)
    request = PlanRequest(request_of(problem, (), of_search | budget, MoveSearch), episodes, steps)
    made = make_plan(request)
    of_workers = {"job_timeout": DEFAULT_EPISODE_TIMEOUT_S} | of_workers
    place = placement_of(workers, executor_for(executor, address, episodes), address, of_workers)
    with made.opened(None if out is None else Path(out)) as jobset:
        executed = place.start(Event(), make_worker=worker_of_units(place.executor, PlanWorker), in_flight=1)
        with closing(executed):
            if not jobset.finished:
                executed.open(None)
            drive(jobset, executed)
            return made.result(jobset, executed)
