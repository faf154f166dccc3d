"""Job-shop scheduling: one player dispatches operations to machines, and the makespan is to be small.

A move's text is the number of the job whose next operation is dispatched, from 1; ``j3`` is read too. A
position's text is the jobs of the moves so far, divided by '.', or ``start``: positions after different moves
are different, because the machine that is next to be given an operation follows from the position.

Returns are minus the makespan so far, so a move's reward is minus what it adds to the makespan.

A job is a sequence of operations, one on each machine; a machine works on one operation at a time and does
not interrupt it. A move dispatches the next operation of a job: it begins as soon as its job and its machine
are free. Its code is the number of the job, from 0.

Legal moves are those of Giffler and Thompson ("Algorithms for solving production-scheduling problems",
Operations Research 8, 1960). Of the next operations of all jobs, take one that could end first, of several
that of the first job. Legal is each next operation on the same machine that could begin before that end. So
no operation waits for a machine on which it could have been finished meanwhile: exactly the active schedules
can be reached, and one of them is optimal.

A state is int32. Times and durations are in the instance's unit:

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

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import GAME_OVER, Board, Cell, Game, Moves, Rules
from games.jit import Int, njit, source_of
from games.jobshop import instances
from games.jobshop.instances import Instance

JOBS, MACHINES, DISPATCHED, MAKESPAN, HEADER = range(5)
"""Indices into a state, and where the parts per job begin, each as long as there are jobs."""
NEXT, MACHINE, BEGIN, END, LEFT, PER_JOB = range(6)
"""The parts per job in their order, and their number."""
NEVER = 2**31 - 1
"""Later than all times; also the machine of a job without a next operation."""

State = npt.NDArray[np.int32]

START = "start"
COLUMNS = 24
"""Of the chart, at most: then it is drawn in 100 characters."""
COLOURS = 6
"""Jobs are drawn in so many colours in turn."""

_JOB = re.compile(r"j?([1-9][0-9]{0,2})")


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


class JobShop(Game):
    """Job-shop scheduling with a given instance; all instances share one set of compiled rules."""

    name = "jobshop"
    num_players = 1
    rewards = True
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, priority=priority)
    player_names = ("the scheduler",)
    opening_plies = 0

    def __init__(self, instance: str = "", data: str = "") -> None:
        """``instance``: one of `games.jobshop.instances.NAMES`, ft06 by default, or the path of a file, whose
        data replace its path in the game's spec. ``data``: an instance as compact text
        (`games.jobshop.instances`), instead of ``instance``. Raises InvalidInput, also for a file."""
        if instance and data:
            accepted = "a known instance or a file, or data, not both"
            raise InvalidInput("game option instance", instance, accepted)
        name = instance or "ft06"
        self.instance: Instance
        """By job, its operations in order: machine (from 0) and duration."""
        if data or instances.is_file(name):
            self.instance = instances.parse_compact(data) if data else instances.read(name)
            self.options = {"data": instances.format_compact(self.instance)}
        elif name in instances.NAMES:
            self.instance = instances.known(name)
            self.options = {"instance": name}
        else:
            accepted = f"{', '.join(instances.NAMES)}, or the path of a file such as ./mine.txt"
            raise InvalidInput("game option instance", name, accepted)
        self.jobs, self.machines = len(self.instance), len(self.instance[0])
        self.max_moves = self.jobs
        self.max_plies = self.jobs * self.machines
        self.nominal_simulations_per_s = 1e8 / (self.max_plies * (self.jobs + 4))
        begin = HEADER + PER_JOB * self.jobs + self.machines
        self._start = state = np.zeros(begin + 3 * self.max_plies, dtype=np.int32)
        state[JOBS], state[MACHINES] = self.jobs, self.machines
        left = HEADER + LEFT * self.jobs
        state[left : left + self.jobs] = [sum(duration for _, duration in job) for job in self.instance]
        state[begin : begin + 2 * self.max_plies] = np.array(self.instance, dtype=np.int32).ravel()
        for number in range(self.jobs):
            source_of(set_next)(state, number, 0)

    def initial_state(self) -> State:
        """Nothing dispatched, int32."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The number of the job, from 1."""
        return str(move + 1)

    def parse_move(self, state: State, text: str) -> int:
        """The job, legal to dispatch, that the text names; raises InvalidInput (field ``moves``)."""
        found = _JOB.fullmatch(text)
        moves = self.legal_moves(state)
        if found and int(found[1]) - 1 in moves:
            return int(found[1]) - 1
        accepted = f"a job with an operation for the machine that is next: {_listed(moves)}"
        raise InvalidInput("moves", text, accepted if moves else GAME_OVER)

    def format_position(self, state: State) -> str:
        """The jobs of all moves so far, divided by '.'; ``start`` if there are none."""
        return ".".join(str(job + 1) for job in self._history(state)) or START

    def parse_position(self, text: str) -> State:
        state = self.initial_state()
        for word in text.split(".") if text != START else ():
            legal = self.legal_moves(state)
            if not word.isascii() or not word.isdigit() or int(word) - 1 not in legal:
                accepted = f"{START}, or the jobs of the moves so far, such as 1.3.2"
                if legal and word.isdigit():
                    accepted += f" ({word} follows where only {_listed(legal)} can)"
                raise InvalidInput("position", text, accepted)
            self.calls.play(state, int(word) - 1)
        return state

    def outcome_text(self, state: State) -> str:
        """The makespan, such as ``a makespan of 55``."""
        return f"a makespan of {int(state[MAKESPAN])}"

    def schedule(self, state: State) -> Iterator[tuple[int, int, int, int]]:
        """The operations dispatched so far in the order of the moves: (job, machine, begin, end), jobs and
        machines from 0, times in the instance's unit."""
        done, ready, free = [0] * self.jobs, [0] * self.jobs, [0] * self.machines
        for job in self._history(state):
            machine, duration = self.instance[job][done[job]]
            begin = max(ready[job], free[machine])
            done[job] += 1
            ready[job] = free[machine] = begin + duration
            yield job, machine, begin, begin + duration

    def board(self, state: State, last_move: int | None = None) -> Board:
        """A chart: a row for each machine, from 0, and in it the jobs that it works on, from 1, over time.

        A column stands for the time that the last row's label tells. It shows the job that takes most of it,
        or that of the last move."""
        planned = [*self.schedule(state)]
        makespan = max((end for *_, end in planned), default=0)
        unit = max(1, -(-makespan // COLUMNS))
        columns = max(1, -(-makespan // unit))
        rows = [[Cell(".") for _ in range(columns)] for _ in range(self.machines)]
        longest = np.zeros((self.machines, columns), dtype=np.int64)
        for number, (job, machine, begin, end) in enumerate(planned, start=1):
            last = last_move is not None and number == len(planned)
            for column in range(begin // unit, -(-end // unit)):
                share = min(end, (column + 1) * unit) - max(begin, column * unit)
                if last or share > longest[machine, column]:
                    longest[machine, column] = share
                    rows[machine][column] = Cell(str(job + 1), job % COLOURS, last)
        rows.append([Cell("") for _ in range(columns)])
        names = [f"m{machine}" for machine in range(self.machines)]
        marks = [str(column) if column % 5 == 0 else "" for column in range(columns)]
        return Board(rows, [*names, f"x{unit}"], marks)

    def _history(self, state: State) -> list[int]:
        """The jobs, from 0, of the moves so far."""
        begin = len(state) - self.max_plies
        jobs: list[int] = state[begin : begin + int(state[DISPATCHED])].tolist()
        return jobs


def _listed(jobs: list[int]) -> str:
    return ", ".join(str(job + 1) for job in jobs)
