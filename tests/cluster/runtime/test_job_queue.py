"""How jobs are bundled: fair shares, one snapshot a bundle, lanes stay with their slot, nothing lost."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.runtime.broadcast import (
    MAX_PUBLISHED,
    MAX_PUBLISHED_BYTES,
    Published,
)
from cluster.runtime.queue import MANY_CALLS_PER_S, BundlesAhead, LaneAffinity, TaskQueue
from cluster.runtime.session import task_of
from cluster.runtime.tasks import Task
from cluster.workers.contexts import Inbox
from search.job import GrowJob, LaneJob, LeafJob, Snapshot
from search.tree.merge import lone_root


def round_job(index: int, key: int, simulations: int = 100, lanes: int = 1000) -> Task:
    return task_of(LaneJob(index, index % lanes, key, simulations, Snapshot(key, lone_root())))


def piece(index: int, lane: int) -> Task:
    return task_of(GrowJob(index, lane, sizes=(10,)))


def leaf_job(index: int) -> Task:
    return task_of(
        LeafJob(
            index,
            np.zeros((1, 1), np.uint16),
            np.zeros(1, np.int32),
            np.array([10], np.int32),
            np.zeros((0, 2), np.uint64),
        )
    )


def indices(jobs: list[Task]) -> list[int]:
    return [job.index for job in jobs]


@pytest.mark.parametrize(
    ("waiting", "slots", "bundles", "work", "taken"),
    [
        # A fair share of what waits, as much as is worth a call, and one job even if that is too much.
        (16, 2, 4, 1e9, [0, 1, 2, 3]),
        (100, 1, 1, 25, [0, 1, 2]),
        (4, 1, 1, 0, [0]),
    ],
)
def test_how_many_jobs_a_bundle_has(
    waiting: int, slots: int, bundles: int, work: float, taken: list[int]
) -> None:
    queue = TaskQueue()
    queue.add(leaf_job(i) for i in range(waiting))
    assert (
        indices(queue.take([0], num_slots=slots, most=queue.bundle_size(bundles, bundles, 0), work=work))
        == taken
    )
    assert len(queue) == waiting - len(taken)


def test_where_there_are_no_rounds_what_runs_is_divided_too() -> None:
    queue = TaskQueue()
    queue.add(leaf_job(i) for i in range(4))
    assert queue.bundle_size(4, 4, running=12) == 4
    queue.clear()
    queue.add(round_job(i, 7) for i in range(4))
    assert queue.bundle_size(4, 4, running=12) == pytest.approx(1.2)


def test_jobs_of_a_bundle_start_from_one_snapshot() -> None:
    queue = TaskQueue()
    queue.add([round_job(0, 7), round_job(1, 7), round_job(2, 8), round_job(3, 8)])
    assert indices(queue.take([0], num_slots=1, most=queue.bundle_size(1, 1, 0), work=1e9)) == [0, 1]
    assert indices(queue.take([0], num_slots=1, most=queue.bundle_size(1, 1, 0), work=1e9)) == [2, 3]


def test_short_jobs_go_out_in_one_bundle_of_each_worker() -> None:
    ahead = BundlesAhead(2)
    assert ahead.number(128, 32) == 2, "nothing is known"
    ahead.note([leaf_job(0), leaf_job(1)], busy_s=0.01)
    assert ahead.number(128, 32) == 1, "two bundles of 10 ms each: 3,200 calls a second"
    assert ahead.number(128, 2) == 2, "two bundles of 160 ms each"
    assert ahead.number(32, 32) == 2, "no bundle could be longer"
    for _ in range(200):
        ahead.note([leaf_job(0)], busy_s=2.2 * 32 / MANY_CALLS_PER_S / 2)
    assert ahead.number(128, 32) == 2
    ahead.clear()
    assert ahead.number(128, 32) == 2


def test_jobs_of_rounds_say_nothing_of_calls() -> None:
    ahead = BundlesAhead(2)
    ahead.note([round_job(0, 7)], busy_s=1e-6)
    ahead.note([piece(0, 0)], busy_s=1e-6)
    assert ahead.number(128, 32) == 2


def test_a_lane_stays_with_its_slot() -> None:
    queue = TaskQueue(LaneAffinity(range(2)))
    queue.add(piece(i, i % 4) for i in range(8))
    assert [task.lane for task in queue.take([1], 2, queue.bundle_size(2, 2, 0), 1e9)] == [1, 3, 1, 3]
    assert [task.lane for task in queue.take([0], 2, queue.bundle_size(1, 1, 0), 1e9)] == [0, 2, 0, 2]


def test_pieces_of_a_lane_that_moves_wait_for_its_tree_and_follow_it() -> None:
    homes = LaneAffinity([0])
    queue = TaskQueue(homes)
    queue.add(piece(i, i % 4) for i in range(8))
    assert indices(queue.take([0], 1, most=2, work=1e9)) == [0, 1]
    moved = {lane for lane, _, _ in homes.settle([0, 1], [0, 1])}
    assert len(moved) == 2
    assert queue.take([1], 2, most=8, work=1e9) == []
    stayed = indices(queue.take([0], 2, most=8, work=1e9))
    assert stayed == [index for index in range(2, 8) if index % 4 not in moved]
    for lane in moved:
        homes.arrived(lane, None)
    assert indices(queue.take([1], 2, most=8, work=1e9)) == [
        index for index in range(2, 8) if index % 4 in moved
    ]
    assert len(queue) == 0


def test_a_short_round_on_few_workers_takes_one_call_of_each() -> None:
    sizes = {lanes: calls_of_a_round(lanes, workers=2) for lanes in (16, 64)}
    assert sizes[16] == [8, 8]
    # A process of several workers takes those of all of them at once, also where it is one of many.
    queue = TaskQueue()
    queue.add(round_job(i, 7) for i in range(1024))
    assert len(queue.take(range(16), 1024, 16 * queue.bundle_size(2 * 1024, 64, running=0), 1e9)) == 16
    # Of more jobs the last ones are dealt out one by one, to whoever has time.
    assert sizes[64][0] == 19
    assert sizes[64][-2:] == [1, 1]


def calls_of_a_round(lanes: int, workers: int) -> list[int]:
    """How many jobs each bundle of a round has, if all workers come in turn."""
    queue = TaskQueue()
    queue.add(round_job(i, 7) for i in range(lanes))
    sizes: list[int] = []
    while len(queue):
        share = queue.bundle_size(2 * workers, workers, running=sum(sizes))
        sizes += [len(queue.take([slot], workers, share, 1e9)) for slot in range(workers)]
    return [size for size in sizes if size]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_every_job_is_handed_out_once(kinds: list[tuple[int, int]], num_slots: int, in_flight: int) -> None:
    queue = TaskQueue(LaneAffinity(range(num_slots)))
    queue.add(
        [
            piece(i, number) if kind == 0 else round_job(i, number) if kind == 1 else leaf_job(i)
            for i, (kind, number) in enumerate(kinds)
        ]
    )
    taken: list[int] = []
    while len(queue):
        before = len(queue)
        for slot in range(num_slots):
            share = queue.bundle_size(num_slots * in_flight, num_slots, 0)
            taken += indices(queue.take([slot], num_slots, share, 35))
        assert len(queue) < before
    assert sorted(taken) == list(range(len(kinds)))


def expected(inbox: Inbox[int], *owners: int) -> list[Future[Any]]:
    answers: list[Future[Any]] = [Future() for _ in owners]
    for owner, answer in zip(owners, answers, strict=True):
        inbox.expect(answer, owner)
    return answers


def test_answers_come_in_the_order_in_which_they_are_set_and_once() -> None:
    inbox: Inbox[int] = Inbox()
    first, second, _ = expected(inbox, 1, 2, 3)
    second.set_result("b")
    first.set_exception(ValueError("a"))
    came = inbox.take(0.0)
    assert came == [(2, second), (1, first)]
    assert inbox.take(0.0) == []


def test_an_answer_that_is_there_already_is_taken_too() -> None:
    inbox: Inbox[int] = Inbox()
    answer: Future[Any] = Future()
    answer.set_result(7)
    inbox.expect(answer, 1)
    assert inbox.take(0.0) == [(1, answer)]


def test_what_is_forgotten_is_nobodys() -> None:
    inbox: Inbox[int] = Inbox()
    first, second = expected(inbox, 1, 2)
    inbox.forget(first)
    first.set_result(None)
    second.set_result(None)
    assert inbox.take(0.0) == [(2, second)]


def test_it_waits_for_the_first_answer_and_not_for_ever() -> None:
    inbox: Inbox[int] = Inbox()
    (answer,) = expected(inbox, 1)
    began = time.monotonic()
    assert inbox.take(0.05) == []
    assert time.monotonic() - began >= 0.04
    timer = threading.Timer(0.05, answer.set_result, ["late"])
    timer.start()
    assert inbox.take(30.0) == [(1, answer)]
    timer.join()


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
