"""Banyan's search: trees, kernels, strategies, merging. It uses `games`, and no processes or connections.

`run` searches in this process: a `SearchRequest` in, a `SearchResult` out. `open` opens a search whose leaves
are evaluated by its caller: an `AskTellSearch`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.ask_tell.leaf import Leaf
    from search.ask_tell.search import AskTellSearch, open  # noqa: A004
    from search.prepare import open_search
    from search.request import SearchRequest
    from search.result import SearchResult
    from search.run_inline import run

__all__ = ["AskTellSearch", "Leaf", "SearchRequest", "SearchResult", "open", "open_search", "run"]

_ROOMS = {
    "AskTellSearch": "search.ask_tell.search",
    "Leaf": "search.ask_tell.leaf",
    "SearchRequest": "search.request",
    "SearchResult": "search.result",
    "open": "search.ask_tell.search",
    "open_search": "search.prepare",
    "run": "search.run_inline",
}
"""The module of each name; it is imported when the name is first used."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_ROOMS[name]), name)
