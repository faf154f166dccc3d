"""The trees of the latest searches, from which others of their games begin (`continues` of a request).

They are in memory alone. A search that began with one has its visits in its checkpoints; before the first, or
while it waits, the tree may be given up, or lost with the server: then the search fails, because without it
the answer would be another one.
"""

from __future__ import annotations

from typing import Any

from cluster.service.positions import load
from games.errors import InvalidInput
from search.kept_tree import KeptTree
from search.request import SearchRequest
from search.tree.arena import Kept, Tree, tree_bytes

MOST = 256
"""Largest number of trees, however small."""
FREE = frozenset({"simulations", "seconds", "memory_mb", "seed", "priority", "continues"})
"""Fields in which a search may differ from the one that it continues; moves may follow."""
Body = dict[str, Any]


class KeptTrees:
    """Trees by the ids of their searches. `keep` is called in one thread, the other methods in any."""

    def __init__(self, most_bytes: int) -> None:
        """``most_bytes``: of all trees together."""
        self._most_bytes = most_bytes
        self._found: dict[str, tuple[Body, list[Tree]]] = {}

    def keep(self, search_id: str, body: Body, trees: list[Tree]) -> None:
        """Keep the trees of a search that has ended; the oldest ones are given up."""
        found = self._found
        found.pop(search_id, None)
        found[search_id] = body, trees
        while len(found) > MOST or self._nbytes() > self._most_bytes:
            del found[next(iter(found))]

    def _nbytes(self) -> int:
        return sum(tree_bytes(tree) for _, trees in self._found.values() for tree in trees)

    def check(self, body: Body) -> tuple[Body, list[Tree]] | None:
        """Body and trees of the search that this one continues; None if it continues none.

        Raises InvalidInput (field ``continues``).
        """
        if (search_id := body.get("continues")) is None:
            return None
        if (found := self._found.get(search_id)) is None:
            accepted = "the id of one of the latest searches that have ended, whose tree is still kept"
            raise InvalidInput("continues", search_id, accepted)
        before = found[0]
        begun = body | {"moves": body["moves"][: len(before["moves"])]}
        if differs := [name for name in before if name not in FREE and before[name] != begun[name]]:
            accepted = f"a search with the same {', '.join(differs)} (moves may be added)"
            raise InvalidInput("continues", search_id, accepted)
        return found

    def at(self, body: Body, request: SearchRequest) -> Kept:
        """What a search begins with, as in `open_view`. Raises InvalidInput as `check` does."""
        if (found := self.check(body)) is None:
            return []
        game, (before, trees) = load(request.game), found
        state = game.initial_state() if request.position is None else game.parse_position(request.position)
        past, kept = game.play_text(state, request.moves), KeptTree(game)
        kept.keep(trees, past[: len(before["moves"])])
        return kept.at(past)
