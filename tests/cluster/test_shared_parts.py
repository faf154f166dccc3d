"""What stays published, and what is published again."""

from __future__ import annotations

from typing import Any

from cluster.runtime.broadcast import (
    MAX_PUBLISHED,
    MAX_PUBLISHED_BYTES,
    Call,
    Published,
    pack_call,
    unpack_call,
)
from cluster.runtime.session import task_of
from cluster.runtime.tasks import OPENED
from search.job import RoundJob, Snapshot
from search.tree.merge import empty_statistics


class Store:
    def __init__(self) -> None:
        self.put: list[Any] = []

    def __call__(self, part: Any) -> int:
        self.put.append(part)
        return len(self.put)


def test_a_part_is_published_once_while_it_is_kept() -> None:
    store = Store()
    published = Published(store)
    assert [published.reference(1, "part") for _ in range(3)] == [1, 1, 1]
    assert store.put == ["part"]
    published.forget(1)
    assert published.reference(1, "part") == 2
    published.clear()
    assert published.reference(1, "part") == 3


def test_the_oldest_go_when_they_are_many() -> None:
    store = Store()
    published = Published(store)
    for key in range(MAX_PUBLISHED):
        published.reference(key, key)
    # One that was asked for again is not the oldest any more.
    published.reference(0, 0)
    published.reference(MAX_PUBLISHED, MAX_PUBLISHED)
    assert len(store.put) == MAX_PUBLISHED + 1
    published.reference(0, 0)
    assert len(store.put) == MAX_PUBLISHED + 1
    published.reference(1, 1)
    assert len(store.put) == MAX_PUBLISHED + 2


def test_and_when_they_are_large_but_for_the_last() -> None:
    size = MAX_PUBLISHED_BYTES // 2
    store = Store()
    published = Published(store)
    for key in (0, 1, 2, 1, 2):
        published.reference(key, key, size)
    assert len(store.put) == 3
    published.reference(0, 0, size)
    assert len(store.put) == 4
    published.reference(3, 3, 3 * size)
    published.reference(3, 3, 3 * size)
    published.reference(2, 2, size)
    assert len(store.put) == 6


def test_what_jobs_share_is_left_out_of_a_call_and_put_back() -> None:
    statistics = empty_statistics(10_000)
    tasks = [task_of(RoundJob(i, i, 7, 1, Snapshot(7, statistics))) for i in range(3)]
    call = Call(brings_shared=True, live=(0,))
    packed = pack_call(call, tasks)
    assert len(packed) < 2000 < statistics.nbytes
    found, jobs = unpack_call(packed, lambda call: "the part" if call.brings_shared else None)
    assert found == call
    assert [(context, index) for context, index, _ in jobs] == [(OPENED, 0), (OPENED, 1), (OPENED, 2)]
    assert {job.snapshot.statistics for _, _, job in jobs} == {"the part"}
    assert all(task.job.snapshot.statistics is statistics for task in tasks)
