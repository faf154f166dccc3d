"""Banyan's cluster: coordinator, executors, metrics, the command line. The only layer that knows machines.

`run` takes a `search.SearchRequest` to workers and returns a `search.SearchResult`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.front_door.calls import run

__all__ = ["run"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name != "run":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from cluster.front_door.calls import run

        return run
