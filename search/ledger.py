"""The ledger of pending tasks and their attempts, for searches, matches and experiments."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_ATTEMPTS = 5
"""A task that was lost this often is given up: it probably kills the workers that run it."""

Item = TypeVar("Item")


class LostTooOften(Exception):
    """A task was lost MAX_ATTEMPTS times."""


@dataclass
class _Out(Generic[Item]):
    item: Item
    attempts: int = 1


class Ledger(Generic[Item]):
    """Pending items by key. An outcome is accepted only while its item is pending."""

    def __init__(self) -> None:
        self._out: dict[Hashable, _Out[Item]] = {}

    def __len__(self) -> int:
        return len(self._out)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._out

    @property
    def items(self) -> list[Item]:
        """All pending items, in the order in which they were first handed out."""
        return [out.item for out in self._out.values()]

    def hand_out(self, key: Hashable, item: Item) -> None:
        """Add a pending item."""
        self._out[key] = _Out(item)

    def settle(self, key: Hashable) -> bool:
        """Remove an item whose outcome has arrived; returns False if it was not pending (a late outcome)."""
        return self._out.pop(key, None) is not None

    def lost(self, key: Hashable, reason: str) -> Item | None:
        """Note that an item was lost; returns it to be handed out again, None if it is not pending.

        Raises LostTooOften.
        """
        out = self._out.get(key)
        if out is None:
            return None
        if out.attempts == MAX_ATTEMPTS:
            raise LostTooOften(f"lost {MAX_ATTEMPTS} times; the last time: {reason}")
        out.attempts += 1
        return out.item
