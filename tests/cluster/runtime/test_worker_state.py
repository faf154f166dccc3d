"""The states of workers: which changes there are, what is counted of them, and what the log keeps."""

from __future__ import annotations

import os
from itertools import count

import pytest

from cluster.runtime.tasks import JobLost, Task
from cluster.runtime.worker_state import ALLOWED, KEPT, WorkerLog, WorkerState, WorkerStatus
from cluster.runtime.workers import exactly
from cluster.system.processes import waited_s
from cluster.workers.inline import InlineExecutor
from cluster.workers.slots import (
    FAILED_START,
    MAX_RESTARTS_IN_A_ROW,
    MOST_EXTENSIONS,
    READY_S,
    Bundle,
    Process,
    Slots,
)
from search.request import SearchRequest
from tests.cluster.searches import search_on

EVERY_CHANGE = [(before, after) for before in WorkerState for after in WorkerState if before is not after]


@pytest.mark.parametrize(("before", "after"), EVERY_CHANGE)
def test_a_change_is_in_the_table_or_a_bug(before: WorkerState, after: WorkerState) -> None:
    worker = WorkerStatus(3, before)
    if after not in ALLOWED[before]:
        with pytest.raises(AssertionError, match=f"worker 3 cannot be {after} after {before}"):
            worker.become(after)
        assert (worker.state, len(worker.log.changes)) == (before, 0)
        return
    alive = worker.alive
    worker.become(after)
    assert worker.state is after
    assert worker.restarts == (after is WorkerState.LOST)
    assert worker.left == (alive and not worker.alive)
    assert len(worker.log.changes) == (not {before, after} <= {WorkerState.IDLE, WorkerState.BUSY})


def test_the_log_tells_the_life_of_a_worker_and_forgets_its_beginning() -> None:
    log = WorkerLog(count(10).__next__)
    worker = WorkerStatus(2, log=log)
    worker.become(WorkerState.STARTING)
    worker.become(WorkerState.IDLE)
    worker.become(WorkerState.BUSY)
    worker.become(WorkerState.BUSY)
    worker.become(WorkerState.LOST, "ActorDiedError")
    assert (worker.joined, worker.left, worker.restarts) == (1, 1, 1)
    assert [str(change) for change in log.changes] == [
        "10.0 s: worker 2: waiting -> starting",
        "11.0 s: worker 2: starting -> idle",
        "12.0 s: worker 2: busy -> lost (ActorDiedError)",
    ]
    for _ in range(KEPT):
        worker.become(WorkerState.WAITING)
        worker.become(WorkerState.STARTING)
        worker.become(WorkerState.LOST, "never ready")
    assert len(log.changes) == KEPT
    assert log.total == 3 + 3 * KEPT
    assert log.last_loss() == "never ready"
    assert (worker.joined, worker.left, worker.restarts) == (1, 1, 1 + KEPT)


def test_an_error_tells_the_last_loss_and_has_the_log_as_a_note() -> None:
    slots = Slots(
        exactly(1), 1, 30.0, lambda slots, machine: Process("actor", "call", 0.0), id, lambda: False
    )
    slots.refill()
    slot = slots.all[0]
    while slot.process is not None:
        slots.lost(slot.process, "ActorDiedError: no memory")
    with pytest.raises(
        ConnectionError, match="no worker could be kept alive: ActorDiedError: no memory"
    ) as error:
        slots.check_alive()
    losses = (MAX_RESTARTS_IN_A_ROW + 1) // FAILED_START
    note = error.value.__notes__[0].splitlines()
    assert len(note) == 2 * losses + 1
    assert note[-1].endswith(f"lost -> given up ({losses * FAILED_START} failures without a finished job)")


@pytest.mark.parametrize("begun", [False, True])
def test_a_worker_that_waits_for_a_core_is_slow_and_one_that_does_not_hangs(begun: bool) -> None:
    now, waited = [0.0], [0.0]
    process = Process("actor", "call", 0.0, lambda process: waited[0], lambda: now[0])
    slots = Slots(exactly(1), 1, 30.0, lambda slots, machine: process, id, lambda: False, lambda: now[0])
    slots.fill(slots.all)
    slots.all[0].status.become(WorkerState.IDLE)
    process.bundles["call"] = Bundle([Task(7, "job")])
    slots.set_deadline(process)
    if begun:
        process.take(process.bundles.pop("call"), [])
    slots.all[0].status.become(WorkerState.BUSY)
    now[0] = waited[0] = 1000.0
    assert slots.check_deadlines() == []
    waited[0] = 0.0
    assert slots.check_deadlines() == [JobLost(7, "its deadline passed")]


def test_a_start_that_hangs_on_a_crowded_machine_is_given_up_later_and_is_no_failure() -> None:
    killed, clock = list[Process](), count(0, 2 * int(READY_S)).__next__
    slots = Slots(
        exactly(1),
        1,
        30.0,
        lambda slots, machine: Process("actor", "call", READY_S, now_s=clock),
        killed.append,
        lambda: True,
        clock,
    )
    slots.refill()
    for _ in range(99):
        assert slots.check_deadlines() == []
    assert killed and (killed[0].extensions, slots.all[0].failures) == (MOST_EXTENSIONS, 0)


def test_a_start_that_waits_for_a_cpu_of_ray_does_not_fail_and_its_time_begins_when_it_has_one() -> None:
    killed, now, placed = list[Process](), [0.0], [False]
    slots = Slots(
        exactly(1),
        1,
        30.0,
        lambda slots, machine: Process("actor", "call", now[0] + READY_S, now_s=lambda: now[0]),
        killed.append,
        lambda: False,
        lambda: now[0],
        lambda process: placed[0],
    )
    slots.refill()
    for _ in range(99):
        now[0] += 0.9 * READY_S
        assert slots.check_deadlines() == []
    assert (slots.log.last_loss(), killed) == ("", [])
    placed[0] = True
    now[0] += READY_S
    slots.check_deadlines()
    assert not killed
    now[0] += 1.0
    slots.check_deadlines()
    assert len(killed) == 1
    assert slots.log.last_loss() == "a worker was not ready after 120 s"


def test_a_process_that_waits_for_no_core_has_waited_for_none() -> None:
    assert waited_s(2**22 + 1) == 0.0
    of_one = waited_s(os.getpid())
    assert waited_s(os.getpid(), every_thread=True) >= of_one >= 0.0


def test_a_worker_in_this_process_ends_with_its_executor() -> None:
    executor = InlineExecutor()
    search_on(executor, SearchRequest(game="tictactoe", simulations=1000, seed=1))
    assert executor.workers[0].state is WorkerState.IDLE
    executor.close()
    assert [str(change).partition(": ")[2] for change in executor.workers[0].log.changes] == [
        "worker 0: idle -> ended"
    ]
