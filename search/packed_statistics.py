"""Lists of statistics as arrays that can be kept: all rows one after the other, and how many are whose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.kept import Arrays, require, take, within
from search.packed_tree import most_visits
from search.statistics import Statistics


def pack_statistics(items: Sequence[Statistics], like: Statistics) -> Arrays:
    """``rows`` [K]: how many each has; and the columns of all of them, joined, of the types of ``like``."""
    columns = like._asdict()
    for name, one in columns.items():
        columns[name] = np.concatenate([one[:0], *(getattr(item, name) for item in items)])
    return {"rows": np.array([len(item.visits) for item in items], dtype=np.int64)} | columns


def unpack_statistics(arrays: Arrays, count: int, most_rows: int, like: Statistics) -> list[Statistics]:
    """What was packed: ``count`` statistics of at most ``most_rows`` each. Raises Unsound."""
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
    """Rows are breadth first, so all before a row together have more children than rows stand before it."""
    within(item.visits, 0, most_visits(item.visits), "visits")
    children = np.cumsum(item.num_children, dtype=np.int64)
    rows = len(children)
    require(
        children[-1] == rows - 1 and (children[:-1] >= np.arange(1, rows)).all(), "statistics are not a tree"
    )
