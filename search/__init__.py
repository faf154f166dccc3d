"""Banyan's search: trees, kernels, strategies, merging. It uses games, and knows nothing of networks.

`run` searches in this process: a `SearchRequest` in, a `SearchResult` out.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.prepare import open_search
    from search.request import SearchRequest
    from search.result import SearchResult
    from search.run_inline import run

__all__ = ["SearchRequest", "SearchResult", "open_search", "run"]

_ROOMS = {
    "SearchRequest": "search.request",
    "SearchResult": "search.result",
    "open_search": "search.prepare",
    "run": "search.run_inline",
}
"""The module of each name; it is imported when the name is first used."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_ROOMS[name]), name)
