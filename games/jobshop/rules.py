"""The compiled rules of job-shop scheduling: one set of functions for every instance.

A job is a sequence of operations, one on each machine; a machine works on one operation at a time and does
not interrupt it. A move dispatches the next operation of a job: it begins as soon as its job and its machine
are free. Its code is the number of the job, from 0.

Legal moves are those of Giffler and Thompson ("Algorithms for solving production-scheduling problems",
Operations Research 8, 1960). Of the next operations of all jobs, take one that could end first, of several
that of the first job. Legal is each next operation on the same machine that could begin before that end. So
no operation waits for a machine on which it could have been finished meanwhile: exactly the active schedules
can be reached, and one of them is optimal.

A state is ``int32[length_of(jobs, machines)]``. Times and durations are in the instance's unit:

===========  ========================================================================
header       number of jobs, number of machines, operations dispatched, makespan so far
per job      operations dispatched; of the next one its machine, and when it could begin
             and end (NEVER if there is none); the duration of all that are left
per machine  when it is free
operations   of each job in turn its operations: machine and duration
history      the job of each move so far, then zeros
===========  ========================================================================
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rules import Moves

JOBS, MACHINES, DISPATCHED, MAKESPAN, HEADER = range(5)
"""Indices into a state, and where the parts per job begin, each as long as there are jobs."""
NEXT, MACHINE, BEGIN, END, LEFT, PER_JOB = range(6)
"""The parts per job in their order, and their number."""
NEVER = 2**31 - 1
"""Later than all times; also the machine of a job without a next operation."""

State = npt.NDArray[np.int32]


def free_of(jobs: int) -> int:
    """Where the part per machine begins."""
    return HEADER + PER_JOB * jobs


def operations_of(jobs: int, machines: int) -> int:
    """Where the operations begin."""
    return free_of(jobs) + machines


def history_of(jobs: int, machines: int) -> int:
    """Where the history begins."""
    return operations_of(jobs, machines) + 2 * jobs * machines


def length_of(jobs: int, machines: int) -> int:
    """The length of a state."""
    return history_of(jobs, machines) + jobs * machines


@njit
def current_player(state: State) -> int:
    """The one player, 0."""
    return 0


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the jobs that may be dispatched, in ascending order; returns how many."""
    jobs = np.int64(state[JOBS])
    machines, begins = HEADER + MACHINE * jobs, HEADER + BEGIN * jobs
    ends = state[HEADER + END * jobs : HEADER + LEFT * jobs]
    first = ends[0]
    for job in range(1, jobs):
        first = min(first, ends[job])
    wanted = np.int64(NEVER)
    for job in range(jobs):
        if ends[job] == first:
            wanted = np.int64(state[machines + job])
            break
    count = 0
    for job in range(jobs):
        if state[machines + job] == wanted and state[begins + job] < first:
            moves[count] = job
            count += 1
    return count


@njit
def play(state: State, move: Int) -> None:
    """Dispatch the next operation of the job; ``state`` is modified in place."""
    jobs, num_machines, job = np.int64(state[JOBS]), np.int64(state[MACHINES]), np.int64(move)
    machines, begins, ends = HEADER + MACHINE * jobs, HEADER + BEGIN * jobs, HEADER + END * jobs
    free = HEADER + PER_JOB * jobs
    operations = free + num_machines
    machine, end = np.int64(state[machines + job]), state[ends + job]
    state[free + machine] = end
    state[MAKESPAN] = max(state[MAKESPAN], end)
    state[HEADER + LEFT * jobs + job] -= end - state[begins + job]
    for other in range(jobs):
        if state[machines + other] == machine:
            later = max(end - state[begins + other], 0)
            state[begins + other] += later
            state[ends + other] += later
    state[operations + 2 * jobs * num_machines + np.int64(state[DISPATCHED])] = job
    state[DISPATCHED] += 1
    state[HEADER + job] += 1
    set_next(state, job, end)


@njit
def set_next(state: State, job: Int, ready: Int) -> None:
    """Set machine, begin and end of the next operation of a job that is free from ``ready`` on."""
    jobs, num_machines = np.int64(state[JOBS]), np.int64(state[MACHINES])
    number, free = np.int64(state[HEADER + job]), HEADER + PER_JOB * jobs
    machine, begin, end = np.int64(NEVER), np.int64(NEVER), np.int64(NEVER)
    if number < num_machines:
        place = free + num_machines + 2 * (job * num_machines + number)
        machine = np.int64(state[place])
        begin = max(np.int64(ready), np.int64(state[free + machine]))
        end = begin + np.int64(state[place + 1])
    state[HEADER + MACHINE * jobs + job] = machine
    state[HEADER + BEGIN * jobs + job] = begin
    state[HEADER + END * jobs + job] = end


@njit
def is_terminal(state: State) -> bool:
    """Whether all operations are dispatched."""
    return bool(state[DISPATCHED] == state[JOBS] * state[MACHINES])


@njit
def returns(state: State) -> float:
    """Minus the makespan of the operations dispatched so far: when the last of them ends."""
    return -float(state[MAKESPAN])


@njit
def priority(state: State, move: Int) -> float:
    """The work that the job has left, this operation included, less twice the time at which it would end.

    Greedy schedules of ft06, ft10, ft20, la01 and ten random instances are 14 % above the optimum or a lower
    bound; with the work left alone (most work remaining, MWKR) 25 %, random ones 40 %.
    """
    jobs, job = np.int64(state[JOBS]), np.int64(move)
    left, end = np.int64(state[HEADER + LEFT * jobs + job]), np.int64(state[HEADER + END * jobs + job])
    return float(left - 2 * end)
