"""The strategies: how a search is divided into jobs, and what their results do to the shared tree."""

from games.game import Game
from search.plan import SearchPlan
from search.request import SearchRequest
from search.strategies.base import Runner, Setup, Strategy
from search.strategies.in_place import InPlaceStrategy
from search.strategies.leaf import LeafStrategy
from search.strategies.root import RootStrategy
from search.strategies.subtree import SubtreeStrategy
from search.strategies.tree import TreeStrategy

__all__ = [
    "STRATEGY_CLASSES",
    "InPlaceStrategy",
    "LeafStrategy",
    "RootStrategy",
    "Runner",
    "Setup",
    "Strategy",
    "SubtreeStrategy",
    "TreeStrategy",
    "plan_search",
]

STRATEGY_CLASSES: dict[str, type[Strategy]] = {
    "root": RootStrategy,
    "tree": TreeStrategy,
    "leaf": LeafStrategy,
    "subtree": SubtreeStrategy,
}


def plan_search(request: SearchRequest, game: Game) -> SearchPlan:
    """The plan of a search by the strategy of its request."""
    return STRATEGY_CLASSES[request.strategy].make_plan(request, game)
