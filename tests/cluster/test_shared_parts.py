"""What stays published, and what is published again."""

from __future__ import annotations

from typing import Any

from cluster.shared_parts import KEPT, KEPT_BYTES, Published
from search.job import RoundJob, Snapshot
from search.statistics import empty_statistics


def job(key: int, rows: int) -> RoundJob:
    return RoundJob(key, 0, key, 1, Snapshot(key, empty_statistics(rows)))


class Store:
    def __init__(self) -> None:
        self.put: list[Any] = []

    def __call__(self, part: Any) -> int:
        self.put.append(part)
        return len(self.put)


def test_a_part_is_published_once_while_it_is_kept() -> None:
    store = Store()
    published = Published(store)
    first = job(1, 10)
    assert [published.reference(1, first) for _ in range(3)] == [1, 1, 1]
    assert store.put == [first.snapshot.statistics]
    published.clear()
    assert published.reference(1, first) == 2


def test_the_oldest_go_when_they_are_many() -> None:
    store = Store()
    published = Published(store)
    for key in range(KEPT):
        published.reference(key, job(key, 10))
    # One that was asked for again is not the oldest any more.
    published.reference(0, job(0, 10))
    published.reference(KEPT, job(KEPT, 10))
    assert len(store.put) == KEPT + 1
    published.reference(0, job(0, 10))
    assert len(store.put) == KEPT + 1
    published.reference(1, job(1, 10))
    assert len(store.put) == KEPT + 2


def test_and_when_they_are_large_but_for_the_last() -> None:
    rows = KEPT_BYTES // 17 // 2
    store = Store()
    published = Published(store)
    for key in (0, 1, 2, 1, 2):
        published.reference(key, job(key, rows))
    assert len(store.put) == 3
    published.reference(0, job(0, rows))
    assert len(store.put) == 4
    published.reference(3, job(3, 3 * rows))
    published.reference(3, job(3, 3 * rows))
    published.reference(2, job(2, rows))
    assert len(store.put) == 6
