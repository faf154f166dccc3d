"""Which arrays a tree has, of which types, and so how many bytes a node takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_SPARE_SLOTS = 1024


class TreeLayout(NamedTuple):
    """The form of a search's trees and snapshots; the fields say what nodes keep beside visits and values."""

    hidden: bool = False
    """How often their moves were available: with hidden information (search/kernel/ismcts.py)."""
    evaluated: bool = False
    """What the game's evaluation says of them (search/kernel/heuristics.py)."""
    priors: bool = False
    """Priors, from an evaluator (search/kernel/puct.py)."""
    wide: bool = False
    """Visits in 64 bits instead of 32."""

    @property
    def count_type(self) -> type[np.signedinteger[Any]]:
        """The type in which visits are counted."""
        return np.int64 if self.wide else np.int32

    @property
    def columns(self) -> dict[str, type[np.number[Any]]]:
        """The fields of Tree that have an entry for each slot, and their types."""
        columns: dict[str, type[np.number[Any]]] = {
            "total_value": np.float64,
            "visits": self.count_type,
            "unobserved": np.int32,
            "children": np.int32,
            "move": np.uint16,
            "shape": np.uint16,
        }
        if self.hidden:
            columns["available"] = self.count_type
        if self.evaluated:
            columns["heuristic"] = np.float32
        if self.priors:
            columns["prior"] = np.float32
        return columns

    @property
    def bytes_per_node(self) -> int:
        """Bytes that a slot of the arena takes."""
        return sum(np.dtype(dtype).itemsize for dtype in self.columns.values())

    def capacity_for(self, memory_bytes: int, nodes: int) -> int:
        """Slots of an arena for a tree of up to ``nodes`` nodes, within ``memory_bytes``; at least 2.

        All the blocks that a node's children have been in hold less than five slots for each child; so it is
        enough even if no old block is used again.
        """
        return max(2, min(memory_bytes // self.bytes_per_node, 5 * nodes + _SPARE_SLOTS))


PLAIN_LAYOUT = TreeLayout()
"""Visits and values alone, counted in 32 bits."""
