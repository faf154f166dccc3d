"""Snapshots and increments as arrays: the rows of all of them joined, and how many rows each has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.packing.arrays import Arrays, require, take, within
from search.packing.tree import most_visits
from search.tree.snapshot import Statistics


def pack_snapshots(items: Sequence[Statistics], like: Statistics) -> Arrays:
    """``rows`` [K], how many each item has, and each column of all items joined, of the types of ``like``."""
    columns = like._asdict()
    for name, one in columns.items():
        columns[name] = np.concatenate([one[:0], *(getattr(item, name) for item in items)])
    return {"rows": np.array([len(item.visits) for item in items], dtype=np.int64)} | columns


def unpack_snapshots(arrays: Arrays, count: int, most_rows: int, like: Statistics) -> list[Statistics]:
    """The ``count`` items that were packed, of at most ``most_rows`` rows each; raises CorruptState."""
    rows = take(arrays, "rows", np.int64, count)
    within(rows, 1, most_rows, "rows")
    total = int(rows.sum())
    columns = like._asdict()
    for name, one in columns.items():
        columns[name] = take(arrays, name, one.dtype, total if len(one) else 0)
    ends = np.cumsum(rows)[:-1]
    parts = {
        name: np.split(column, ends) if len(column) else [column] * count for name, column in columns.items()
    }
    items = [Statistics(**{name: part[k].copy() for name, part in parts.items()}) for k in range(count)]
    for item in items:
        _check(item)
    return items


def _check(item: Statistics) -> None:
    """Raise CorruptState unless the rows are a tree, breadth first: each row is a child of one before it."""
    within(item.visits, 0, most_visits(item.visits), "visits")
    children = np.cumsum(item.num_children, dtype=np.int64)
    rows = len(children)
    require(
        children[-1] == rows - 1 and (children[:-1] >= np.arange(1, rows)).all(), "statistics are not a tree"
    )
