"""The options of a plan's searches. Nothing heavy is imported here, so that `banyan --help` is quick."""

from __future__ import annotations

from dataclasses import dataclass, fields

from search.options import option_of
from search.request import SearchRequest

DEFAULT_SIMULATIONS = 1_000
"""The budget of a move, if none is given."""
DEFAULT_EPISODES = 10
DEFAULT_EPISODE_TIMEOUT_S = 3600.0
"""The time after which the worker of an episode counts as hung, if the user gives none."""
MAX_SEED = 2**31 - 1
"""The largest seed of an episode."""


@dataclass(frozen=True)
class MoveSearch(SearchRequest):
    """The options of the search of a move: those of a search, with other defaults and without a position."""

    moves: tuple[str, ...] = ()
    position: str | None = None
    simulations: int | None = option_of(
        SearchRequest,
        "simulations",
        None,
        help="Budget of each move: exactly N simulations.",
        unset=f"{DEFAULT_SIMULATIONS}, if no other budget is given",
    )
    seconds: float | None = option_of(
        SearchRequest,
        "seconds",
        None,
        help="Budget of each move: the time of its search in seconds.",
        unset="",
    )
    seed: int = option_of(
        SearchRequest,
        "seed",
        0,
        help="Seed of the first episode; the others have the numbers that follow.",
        bounds=(0, MAX_SEED),
    )
    lanes: int = option_of(
        SearchRequest,
        "lanes",
        1,
        help="Logical streams into which the search of a move is divided. Episodes are played side by side, "
        "so more than one lane makes nothing faster.",
    )

    @classmethod
    def default_budget(cls) -> dict[str, float]:
        """The budget of a move, if none is given."""
        return {"simulations": DEFAULT_SIMULATIONS}

    @property
    def plain(self) -> SearchRequest:
        """The request of a search."""
        return SearchRequest(**{each.name: getattr(self, each.name) for each in fields(SearchRequest)})
