"""Machines join and leave: workers follow, lanes move with their trees, and the answer stays the same."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.runtime.queue import LaneAffinity, TaskQueue
from cluster.runtime.session import task_of
from cluster.runtime.tasks import OPENED, JobLost
from cluster.runtime.worker_state import WorkerState
from cluster.runtime.workers import AUTO, Resources, Workers, exactly, parse_workers
from cluster.workers import slots as ray_slots
from cluster.workers.choose import make_executor
from cluster.workers.ray_executor import Elasticity
from cluster.workers.slots import Bundle, Process, Slot, Slots
from games.errors import InvalidInput
from search.job import GrowJob, LaneTree
from tests.cluster.searches import compiled_only
from tests.waiting import PATIENCE_S


class Machines:
    """A cluster of so many CPUs, where processes start when they are asked to."""

    def __init__(
        self, workers: Workers, cpus: int, give_back_s: float = math.inf, rooms: dict[str, int] | None = None
    ) -> None:
        """``rooms``: the CPUs of each machine, if their workers are one process."""
        self.cpus = cpus
        self.placed = True
        self.now_s = 0.0
        self.started = 0
        self.killed: list[Process] = []
        self.asked: list[int] = []
        self.slots = Slots(
            workers,
            cpus,
            30.0,
            self.start,
            self.killed.append,
            lambda: False,
            lambda: self.now_s,
            lambda process: self.placed,
            lambda: rooms or {},
        )
        self.slots.by_machine = rooms is not None
        self.elasticity = Elasticity(
            workers, self.slots, lambda: self.cpus, self.asked.append, give_back_s, lambda: self.now_s
        )

    def start(self, slots: list[Slot], machine: str) -> Process:
        self.started += 1
        return Process(f"actor {self.started}", "starting", float("inf"), threads=len(slots))

    def look(self, lanes: int = 0) -> None:
        """A second passes, and whatever starts is ready."""
        self.now_s += 1.0
        self.elasticity.follow(lambda: lanes)

    def ready(self) -> None:
        for slot in self.slots.used:
            if slot.status.state is WorkerState.STARTING:
                slot.status.become(WorkerState.IDLE)

    @property
    def crews(self) -> list[tuple[str, list[int]]]:
        """The machine of each process, and the numbers of its workers."""
        found = self.slots.processes
        return [(each.node_id, [slot.status.slot for slot in each.slots]) for each in found]

    @property
    def states(self) -> list[str]:
        return [slot.status.state for slot in self.slots.used]

    def leave(self, number: int) -> list[Any]:
        """The machine of a worker goes."""
        self.cpus -= 1
        slot = self.slots.all[number]
        assert slot.process is not None
        return self.slots.lost(slot.process, "ActorDiedError")


def opened(
    workers: Workers, cpus: int, give_back_s: float = math.inf, rooms: dict[str, int] | None = None
) -> Machines:
    machines = Machines(workers, cpus, give_back_s, rooms)
    machines.look()
    machines.ready()
    return machines


def test_a_machine_that_joins_gets_workers_and_one_that_leaves_keeps_its_slot_for_another() -> None:
    machines = opened(AUTO, 1)
    assert machines.states == ["idle"]
    machines.cpus = 3
    machines.look()
    assert machines.states == ["idle", "starting", "starting"]
    machines.ready()
    process = machines.slots.all[1].process
    process.bundles["call"] = Bundle([task_of(GrowJob(7, lane=3, sizes=(10,)))])
    assert machines.leave(1) == [JobLost(7, "ActorDiedError")]
    machines.look()
    assert machines.states == ["idle", "waiting", "idle"]
    assert machines.slots.present == [0, 2]
    machines.cpus = 3
    machines.look()
    assert machines.states == ["idle", "starting", "idle"]
    # Slots are not numbered anew: whoever draws them over time sees as many as there were at most.
    assert [slot.status.slot for slot in machines.slots.all] == [0, 1, 2]


def test_a_process_that_was_meant_for_a_machine_that_has_gone_is_called_off() -> None:
    machines = opened(AUTO, 2)
    machines.leave(1)
    # The death of the worker is known before that of the machine.
    assert machines.states == ["idle", "starting"]
    machines.look()
    assert machines.states == ["idle", "waiting"]
    assert [process.actor for process in machines.killed] == ["actor 3"]


@pytest.mark.parametrize(
    ("workers", "cpus", "slots"),
    [(AUTO, 5, 5), (exactly(3), 5, 3), (Workers(2, 4), 5, 4), (Workers(2, 4), 3, 3), (Workers(2, 4), 1, 2)],
)
def test_as_many_slots_as_there_are_cpus_within_the_range(workers: Workers, cpus: int, slots: int) -> None:
    assert len(opened(workers, cpus).states) == slots


def test_a_search_waits_for_the_least_of_its_range_and_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = opened(Workers(2, 4), 1)
    assert machines.states == ["idle", "waiting"]
    assert not machines.slots.opened(ray_slots.LATECOMER_S + 1)
    with pytest.raises(ConnectionError, match="only 1 of 2 workers came in 300 s"):
        machines.slots.opened(ray_slots.ALONE_S + 1)
    machines.cpus = 2
    machines.look()
    assert not machines.slots.opened(0.0)
    machines.ready()
    assert machines.slots.opened(0.0)
    machines.cpus = 3
    machines.look()
    # One that is slow to start does not hold up the others for long.
    assert not machines.slots.opened(0.0)
    assert machines.slots.opened(ray_slots.LATECOMER_S + 1)


def test_a_search_that_all_machines_have_left_waits_and_then_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = opened(AUTO, 1)
    machines.leave(0)
    machines.look()
    machines.slots.check_alive()
    monkeypatch.setattr(ray_slots, "ALONE_S", 0.0)
    machines.now_s += 1.0
    with pytest.raises(ConnectionError, match="no machine has had room"):
        machines.slots.check_alive()


def test_a_slot_that_was_given_up_gets_another_chance_on_a_new_machine() -> None:
    machines = opened(AUTO, 1)
    # One that was ready, and three that never were.
    for _ in range(1 + (ray_slots.MAX_RESTARTS_IN_A_ROW + 1) // ray_slots.FAILED_START):
        process = machines.slots.all[0].process
        assert process is not None
        machines.slots.lost(process, "ActorDiedError")
    assert machines.states == ["given up"]
    with pytest.raises(ConnectionError, match="no worker could be kept alive: ActorDiedError"):
        machines.slots.check_alive()
    machines.cpus = 2
    machines.look()
    assert machines.states == ["starting", "starting"]


def test_the_autoscaler_is_asked_for_the_lanes_that_wait_and_no_more_at_the_end() -> None:
    machines = opened(Workers(1, 8), 2)
    machines.look(lanes=2)
    assert machines.asked == []
    machines.look(lanes=5)
    machines.look(lanes=4)
    assert machines.asked == [5]
    machines.look(lanes=16)
    assert machines.asked == [5, 8]
    machines.elasticity.request(0)
    machines.elasticity.request(0)
    assert machines.asked == [5, 8, 0]


def test_idle_workers_are_given_back_after_a_while_and_come_again_when_lanes_wait() -> None:
    machines = opened(Workers(1, 4), 2, give_back_s=10.0)
    machines.look(lanes=8)
    machines.cpus = 4
    machines.look(lanes=8)
    machines.ready()
    assert (machines.states, machines.asked) == (["idle"] * 4, [4])
    busy = machines.slots.all[3].process
    busy.bundles["call"] = Bundle([task_of(GrowJob(0, lane=0, sizes=(10,)))])
    machines.slots.all[3].status.become(WorkerState.BUSY)
    for _ in range(10):
        machines.look(lanes=2)
    # One search after the other, with a short break, keeps them.
    machines.look(lanes=8)
    for _ in range(11):
        assert machines.killed == []
        machines.look(lanes=2)
    # The last first, but for one that has a job; and the autoscaler hears of it.
    assert machines.states == ["idle", "given back", "given back", "busy"]
    assert len(machines.killed) == 2
    assert machines.asked == [4, 2]
    busy.bundles.clear()
    busy.rest()
    for _ in range(12):
        machines.look()
    assert machines.states == ["idle"] + ["given back"] * 3
    assert machines.asked == [4, 2, 0]
    # Its machine has gone, which is nobody's loss; what comes is not used before it is needed.
    machines.cpus = 1
    machines.look()
    machines.cpus = 2
    machines.look(lanes=1)
    assert machines.states == ["idle"] + ["given back"] * 3
    machines.look(lanes=3)
    machines.look(lanes=3)
    assert machines.states == ["idle", "starting", "given back", "given back"]
    assert machines.asked == [4, 2, 0, 3]


def test_the_workers_of_a_machine_are_one_process_and_machines_may_differ() -> None:
    rooms = {"small": 1, "large": 4}
    machines = opened(AUTO, 5, rooms=rooms)
    assert machines.crews == [("large", [0, 1, 2, 3]), ("small", [4])]
    large = machines.slots.all[0].process
    assert large is not None
    large.bundles["call"] = Bundle([task_of(GrowJob(i, lane=i, sizes=(10,))) for i in range(4)])
    large.work()
    assert machines.states == ["busy"] * 4 + ["idle"]
    # It dies: all its jobs are lost, and the next one is as wide.
    lost = machines.slots.lost(large, "ActorDiedError")
    assert lost == [JobLost(i, "ActorDiedError") for i in range(4)]
    assert machines.states == ["starting"] * 4 + ["idle"]
    assert machines.crews == [("large", [0, 1, 2, 3]), ("small", [4])]
    assert [slot.status.restarts for slot in machines.slots.all] == [1, 1, 1, 1, 0]
    # A machine joins, and has a process of its own.
    rooms["third"], machines.cpus = 2, 7
    machines.look()
    assert machines.crews[-1] == ("third", [5, 6])


def test_a_number_of_workers_takes_no_more_of_a_machine_than_it_needs() -> None:
    machines = opened(exactly(5), 8, rooms={"a": 4, "b": 4})
    assert sorted(len(numbers) for _, numbers in machines.crews) == [1, 4]


def test_a_process_that_finds_no_room_because_others_hold_cpus_is_replaced_by_processes_of_one() -> None:
    machines = Machines(AUTO, 3, rooms={"a": 3})
    machines.placed = False
    machines.look()
    assert machines.crews == [("a", [0, 1, 2])]
    machines.slots.check_deadlines()
    machines.now_s += ray_slots.PLACED_S + 1.0
    machines.slots.check_deadlines()
    assert machines.crews == [("", [0]), ("", [1]), ("", [2])]
    assert machines.states == ["starting"] * 3
    assert [process.actor for process in machines.killed] == ["actor 1"]
    assert [slot.failures for slot in machines.slots.all] == [0, 0, 0]


def test_workers_are_given_back_one_by_one_although_a_process_ends_as_a_whole() -> None:
    machines = opened(AUTO, 4, give_back_s=10.0, rooms={"a": 4})
    for _ in range(12):
        machines.look(lanes=1)
    assert len(machines.killed) == 1
    assert machines.states == ["starting"] + ["given back"] * 3
    machines.ready()
    machines.look(lanes=4)
    assert machines.crews == [("a", [0]), ("a", [1, 2, 3])]


def test_another_kind_of_search_has_other_processes() -> None:
    machines = opened(AUTO, 4, rooms={"a": 4})
    machines.slots.regroup(by_machine=False)
    machines.slots.refill()
    assert machines.states == ["starting"] * 4
    assert len(machines.crews) == 4
    machines.slots.regroup(by_machine=True)
    machines.slots.refill()
    assert machines.crews == [("a", [0, 1, 2, 3])]


def test_looking_costs_nothing_between_two_looks() -> None:
    machines = opened(AUTO, 1)
    machines.cpus = 2
    machines.elasticity.follow(lambda: 0)
    assert len(machines.states) == 1
    machines.now_s += 0.25
    machines.elasticity.follow(lambda: 0)
    assert len(machines.states) == 2


def tree(pieces: int) -> LaneTree:
    return LaneTree(pieces, b"squeezed")


def test_lanes_are_dealt_out_evenly_and_move_with_their_trees_to_whoever_joins() -> None:
    homes = LaneAffinity([0, 1])
    assert [homes.of(lane) for lane in range(6)] == [0, 1, 0, 1, 0, 1]
    # A machine that is not ready yet gets none.
    assert homes.settle([0, 1, 2], [0, 1]) == []
    assert homes.settle([0, 1, 2], [0, 1, 2]) == [(4, 0, 2), (5, 1, 2)]
    assert homes.of(4) is None
    homes.arrived(4, tree(2))
    assert homes.of(4) == 2
    tasks = [task_of(GrowJob(index, lane=4, sizes=(10, 10, 10))) for index in (20, 24)]
    # With the first of them only.
    assert [(lane, state.pieces) for _, lane, state in homes.states_for(tasks)] == [(4, 2)]
    assert homes.states_for(tasks) == ()
    homes.arrived(5, None)
    assert homes.of(5) == 2
    assert homes.states_for([task_of(GrowJob(21, lane=5, sizes=(10, 10)))]) == ()


def test_lanes_of_a_worker_that_has_gone_go_to_the_others_and_one_that_restarts_keeps_its_own() -> None:
    homes = LaneAffinity([0, 1, 2])
    assert [homes.of(lane) for lane in range(6)] == [0, 1, 2, 0, 1, 2]
    homes.settle([0, 1, 2], [0, 2])
    assert homes.of(1) == 1
    homes.settle([0, 2], [0, 2])
    assert [homes.of(lane) for lane in range(6)] == [0, 0, 2, 0, 2, 2]


@given(st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=8), st.integers(1, 12))
def test_every_lane_has_a_home_that_is_there_and_no_two_differ_by_more_than_one(
    history: list[set[int]], lanes: int
) -> None:
    homes = LaneAffinity()
    for slots in history:
        for lane, before, after in homes.settle(sorted(slots), sorted(slots)):
            assert {before, after} <= slots
            homes.arrived(lane, None)
        found = [homes.of(lane) for lane in range(lanes)]
        assert set(found) <= slots
        counts = [found.count(slot) for slot in slots]
        assert max(counts) - min(counts) <= 1


def test_a_queue_with_homes_hands_no_lane_to_another_slot() -> None:
    homes = LaneAffinity([0, 5])
    queue = TaskQueue(homes)
    queue.add(task_of(GrowJob(i, lane=i, sizes=(10,))) for i in range(4))
    assert queue.lanes() == {(OPENED, lane) for lane in range(4)}
    # Slot 5 of 6, of which four are empty.
    assert [job.index for job in queue.take([5], 6, 4, 1e9)] == [1, 3]
    assert [job.index for job in queue.take([0], 6, 4, 1e9)] == [0, 2]


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("auto", AUTO),
        ("3", exactly(3)),
        ("2..64", Workers(2, 64)),
        ("2..auto", Workers(2, None)),
        ("4..4", exactly(4)),
    ],
)
def test_workers_as_text(text: str, workers: Workers) -> None:
    assert parse_workers(text) == workers
    assert parse_workers(str(workers)) == workers


@pytest.mark.parametrize("text", ["0", "-1", "64..2", "0..3", "two", "1..", "..4", "1...3", "1.5", ""])
def test_workers_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="workers"):
        parse_workers(text)


@pytest.mark.parametrize(
    ("free", "ours", "said"),
    [
        ({"CPU": 1.0}, 0, ""),
        ({}, 4, ""),
        ({}, 2, "other programs hold 2 of the 4 CPUs of this Ray: .* --server; or take --workers 2"),
        ({"GPU": 9.0}, 0, "other programs hold 4 of the 4 CPUs of this Ray: .* search with --server"),
    ],
)
def test_what_other_programs_hold_of_a_ray_that_has_no_room_is_counted_without_our_workers(
    free: dict[str, float], ours: int, said: str
) -> None:
    machines = [{"CPU": 1.0}, {"CPU": 3.0, "GPU": 9.0}]
    assert re.fullmatch(said, Resources().held_in(machines, free, ours))
    twice = {name: 2 * amount for name, amount in free.items()}
    doubled = [{name: 2 * amount for name, amount in machine.items()} for machine in machines]
    assert bool(Resources(cpus=2).held_in(doubled, twice, ours)) == bool(said)


def test_one_process_is_within_a_range_that_begins_with_one() -> None:
    assert make_executor("inline", Workers(1, 64)).num_workers == 1
    with pytest.raises(InvalidInput, match="the inline executor is one thread"):
        make_executor("inline", Workers(2, 64))


@pytest.mark.slow
@compiled_only
def test_a_machine_joins_and_leaves_during_a_search_of_a_real_cluster() -> None:
    # Settings that this process has made for a Ray of its own, on loopback alone, are not for a cluster.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster.joining", "root"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # What Ray says of the machine that left would be between the lines of an answer in JSON.
    assert len(done.stdout.splitlines()) == 1, done.stdout
    seen = json.loads(done.stdout)
    assert seen["digest"] == seen["expected"]
    assert seen["workers"] == 2
    assert seen["jobs_retried"] > 0
    assert seen["alive"] == [True, False]
    assert 0 <= seen["asked_s"] - seen["node_s"] < 10.0
    assert seen["ready_s"] < seen["first_job_s"] < seen["left_s"]
    # To the machine that joined with their trees, and then from the one that left without.
    moved = seen["lanes_moved"]
    assert moved[0] == "with its tree" and "again" in moved
    assert 1 <= moved.count("with its tree") <= 4
    assert 1 <= moved.count("again") <= 4
