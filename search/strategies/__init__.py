"""How a search is divided into jobs and what their results do to the shared tree: root, tree, leaf."""

from search.strategies.base import Setup, Strategy
from search.strategies.leaf import LeafStrategy
from search.strategies.root import RootStrategy
from search.strategies.tree import TreeStrategy

__all__ = ["STRATEGY_CLASSES", "LeafStrategy", "RootStrategy", "Setup", "Strategy", "TreeStrategy"]

STRATEGY_CLASSES: dict[str, type[Strategy]] = {
    "root": RootStrategy,
    "tree": TreeStrategy,
    "leaf": LeafStrategy,
}
