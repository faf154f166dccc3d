"""The strategies: how a search is divided into jobs, and what their results do to the shared tree.

One of a user is a class in a file, ``FILE.py:CLASS``. As for a game file (games/user_games.py), loading it
runs its code, and its text is sent to the workers with the search.
"""

import inspect
from dataclasses import replace

from games.errors import InvalidInput
from games.game import Game
from games.user_games import module_of, read_source
from search.options import is_class
from search.plan import THREADS_PAY_S, SearchPlan
from search.request import MAX_LANES, SearchRequest
from search.strategies.base import Runner, Setup, Strategy
from search.strategies.leaf import LeafStrategy
from search.strategies.root import RootRunner, RootStrategy
from search.strategies.tree import TreeStrategy

__all__ = [
    "STRATEGY_CLASSES",
    "LeafStrategy",
    "RootRunner",
    "RootStrategy",
    "Runner",
    "Setup",
    "Strategy",
    "TreeStrategy",
    "for_workers",
    "plan_search",
    "strategy_of",
]

STRATEGY_CLASSES: dict[str, type[Strategy]] = {
    "root": RootStrategy,
    "tree": TreeStrategy,
    "leaf": LeafStrategy,
}


def strategy_of(name: str, source: str | None = None) -> type[Strategy]:
    """The class of a strategy. ``source``: the text of the file that it is in; None: that is read.

    Raises InvalidInput (strategy) for a file that fails, and for a class that is not there or no strategy.
    """
    if not is_class(name):
        return STRATEGY_CLASSES[name]
    path, _, kind = name.rpartition(":")
    text = read_source(path, "strategy") if source is None else source
    found = getattr(module_of(path, text, "strategy"), kind, None)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise InvalidInput("strategy", name, f"{kind} to be a subclass of Strategy there, not {found!r:.50}")
    if inspect.isabstract(getattr(found, "runner", Runner)):
        raise InvalidInput("strategy", name, f"{kind}.runner to be a subclass of Runner that defines run")
    return found


def plan_search(request: SearchRequest, game: Game) -> SearchPlan:
    """The plan of a search by the strategy of its request."""
    return strategy_of(request.strategy).make_plan(request, game)


def for_workers(
    request: SearchRequest, workers: int, most: int = MAX_LANES, kind: type[Strategy] | None = None
) -> SearchRequest:
    """The request with lanes for that many workers, at most ``most``, if it names none and its budget is the
    clock, by which no search can be repeated anyway. ``kind``: the class of its strategy, if it is loaded."""
    of_a_worker = (kind or strategy_of(request.strategy)).lanes_of_a_worker
    # Lanes that grow the same subtree find the same there if nothing is a matter of chance.
    lanes = workers * (min(of_a_worker, 1) if request.certain else of_a_worker)
    short = request.seconds is None or request.seconds < THREADS_PAY_S
    if request.lanes is not None or not request.by_the_clock or short or workers <= 1 or lanes == 0:
        return request
    return replace(request, lanes=min(lanes, most))
