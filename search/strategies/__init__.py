"""The strategies: how a search is divided into jobs, and what their results do to the shared tree."""

from dataclasses import replace

from games.game import Game
from search.plan import THREADS_PAY_S, SearchPlan
from search.request import MAX_LANES, SearchRequest
from search.strategies.base import Runner, Setup, Strategy
from search.strategies.leaf import LeafStrategy
from search.strategies.root import RootStrategy
from search.strategies.tree import TreeStrategy

__all__ = [
    "STRATEGY_CLASSES",
    "LeafStrategy",
    "RootStrategy",
    "Runner",
    "Setup",
    "Strategy",
    "TreeStrategy",
    "for_workers",
    "plan_search",
]

STRATEGY_CLASSES: dict[str, type[Strategy]] = {
    "root": RootStrategy,
    "tree": TreeStrategy,
    "leaf": LeafStrategy,
}


def plan_search(request: SearchRequest, game: Game) -> SearchPlan:
    """The plan of a search by the strategy of its request."""
    return STRATEGY_CLASSES[request.strategy].make_plan(request, game)


def for_workers(request: SearchRequest, workers: int, most: int = MAX_LANES) -> SearchRequest:
    """The request with lanes for that many workers, at most ``most``, if it names none and its budget is the
    clock, by which no search can be repeated anyway."""
    lanes = STRATEGY_CLASSES[request.strategy].lanes_of_a_worker * workers
    short = request.seconds is None or request.seconds < THREADS_PAY_S
    if request.lanes is not None or not request.by_the_clock or short or workers <= 1 or lanes == 0:
        return request
    return replace(request, lanes=min(lanes, most))
