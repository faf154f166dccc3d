"""A plan: which episodes are played with which search, checked before anything is started."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import games
from cluster.planning.defaults import DEFAULT_EPISODES, MAX_SEED, MoveSearch
from cluster.planning.episodes import Episodes, PlanContext
from cluster.planning.result import PlanResult
from cluster.planning.store import EpisodeStore
from cluster.runtime.jobset import Jobset
from cluster.runtime.tasks import Executor
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
        with closing(EpisodeStore(out, self.identity)) as store:
            yield Jobset(Episodes(self.context, self.request.episodes, store))

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


def executor_for(name: str, address: str | None, episodes: int) -> str:
    """The executor for ``auto``: this process for a single episode, else workers of Ray."""
    return "inline" if name == "auto" and address is None and episodes == 1 else name


def _plain(value: Any) -> Any:
    """The value as JSON has it: infinity is a text."""
    return repr(value) if value in (float("inf"), float("-inf")) else value


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
