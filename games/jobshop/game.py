"""Job-shop scheduling: one player dispatches operations to machines, and the makespan is to be small.

A move's text is the number of the job whose next operation is dispatched, from 1; ``j3`` is read too. A
position's text is the jobs of the moves so far, divided by '.', or ``start``: positions after different moves
are different, because the machine that is next to be given an operation follows from the position.

Returns are minus the makespan so far, so a move's reward is minus what it adds to the makespan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from games.errors import InvalidInput
from games.game import GAME_OVER, Board, Cell, Game, Rules, State
from games.jit import source_of
from games.jobshop import instances, rules
from games.jobshop.instances import Instance
from games.spec import Options, Spec

START = "start"
COLUMNS = 24
"""Of the chart, at most: then it is drawn in 100 characters."""
COLOURS = 6
"""Jobs are drawn in so many colours in turn."""

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    priority=rules.priority,
)

_JOB = re.compile(r"j?([1-9][0-9]{0,2})")


class JobShop(Game):
    """Job-shop scheduling with a given instance; all instances share one set of compiled rules."""

    name = "jobshop"
    num_players = 1
    rewards = True
    player_names = ("the scheduler",)
    opening_plies = 0

    def __init__(self, instance: str = "ft06", data: str = "") -> None:
        """``instance``: one of `games.jobshop.instances.NAMES`. ``data``: an instance as compact text
        (`games.jobshop.instances`), instead of a known one."""
        self.instance: Instance = instances.parse_compact(data) if data else instances.known(instance)
        """By job, its operations in order: machine (from 0) and duration."""
        self.options: dict[str, str | int] = {"data": data} if data else {"instance": instance}
        self.rules = RULES
        self.jobs, self.machines = len(self.instance), len(self.instance[0])
        self.max_moves = self.jobs
        self.max_plies = self.jobs * self.machines
        self.nominal_simulations_per_s = 1e8 / (self.max_plies * (self.jobs + 4))
        self._start = self._first_state()

    @classmethod
    def from_spec(cls, spec: Spec) -> JobShop:
        """The game that the spec names; raises InvalidInput for options that it does not have, and for what
        is wrong in a file. A file is read, and its data replace its path in the game's spec."""
        options = Options(spec, "game")
        instance, data = options.text("instance", ""), options.text("data", "")
        options.close()
        if instance and data:
            accepted = "a known instance or a file, or data, not both"
            raise InvalidInput("game option instance", instance, accepted)
        if data:
            return cls(data=instances.format_compact(instances.parse_compact(data)))
        if instances.is_file(instance):
            return cls(data=instances.format_compact(instances.read(instance)))
        if instance and instance not in instances.NAMES:
            accepted = f"{', '.join(instances.NAMES)}, or the path of a file such as ./mine.txt"
            raise InvalidInput("game option instance", instance, accepted)
        return cls(instance or "ft06")

    def initial_state(self) -> State:
        """Nothing dispatched, ``int32[length_of(jobs, machines)]`` (see `games.jobshop.rules`)."""
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
        """The state of a text of `format_position`; raises InvalidInput (field ``position``)."""
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
        return f"a makespan of {int(state[rules.MAKESPAN])}"

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
        begin = rules.history_of(self.jobs, self.machines)
        jobs: list[int] = state[begin : begin + int(state[rules.DISPATCHED])].tolist()
        return jobs

    def _first_state(self) -> State:
        """The position before the first move."""
        state = np.zeros(rules.length_of(self.jobs, self.machines), dtype=np.int32)
        state[rules.JOBS], state[rules.MACHINES] = self.jobs, self.machines
        left = rules.HEADER + rules.LEFT * self.jobs
        state[left : left + self.jobs] = [sum(duration for _, duration in job) for job in self.instance]
        begin = rules.operations_of(self.jobs, self.machines)
        state[begin : begin + 2 * self.max_plies] = np.array(self.instance, dtype=np.int32).ravel()
        for job in range(self.jobs):
            source_of(rules.set_next)(state, job, 0)
        return state


def _listed(jobs: list[int]) -> str:
    return ", ".join(str(job + 1) for job in jobs)
