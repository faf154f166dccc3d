"""How a search is divided into jobs, and what their results do to the shared tree."""

from search.strategies.base import Setup, Strategy
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
    "Setup",
    "Strategy",
    "SubtreeStrategy",
    "TreeStrategy",
]

STRATEGY_CLASSES: dict[str, type[Strategy]] = {
    "root": RootStrategy,
    "tree": TreeStrategy,
    "leaf": LeafStrategy,
    "subtree": SubtreeStrategy,
}
