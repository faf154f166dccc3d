"""Banyan's cluster: sessions, executors, metrics, the command line. The only layer that knows machines.

`run` takes a `search.SearchRequest` to workers and returns a `search.SearchResult`; `plan` plays episodes of
problems of one player.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.front_door.calls import run
    from cluster.planning.plan import plan

__all__ = ["plan", "run"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        modules = {"run": "cluster.front_door.calls", "plan": "cluster.planning.plan"}
        if name not in modules:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)
