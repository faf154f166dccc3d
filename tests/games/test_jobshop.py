"""Job-shop scheduling against a slow twin and all schedules of tiny instances, and files with mistakes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import games
from games import InvalidInput, State
from games.board import draw
from games.jobshop import JobShop, instances
from games.jobshop.instances import Instance
from tests.games.common import JIT, loaded, random_game

Jobs = tuple[tuple[tuple[int, int], ...], ...]
"""By job, its operations in order: machine and duration."""
Operation = tuple[int, int]
"""A job, and which of its operations."""


class NaiveJobShop:
    """A schedule that is built operation by operation."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.times: dict[Operation, tuple[int, int]] = {}
        """When each operation dispatched so far begins and ends."""

    def waiting(self) -> list[Operation]:
        """The next operation of each job that has one."""
        counts = [sum(each == job for each, _ in self.times) for job in range(len(self.jobs))]
        return [(job, count) for job, count in enumerate(counts) if count < len(self.jobs[job])]

    def times_of(self, operation: Operation) -> tuple[int, int]:
        """When the operation would begin and end if it were dispatched now."""
        job, number = operation
        machine, duration = self.jobs[job][number]
        ends = [
            end
            for (other, which), (_, end) in self.times.items()
            if other == job or self.jobs[other][which][0] == machine
        ]
        begin = max(ends, default=0)
        return begin, begin + duration

    def legal(self) -> list[int]:
        """The jobs of which Giffler and Thompson would dispatch an operation."""
        waiting = self.waiting()
        if not waiting:
            return []
        first = min(waiting, key=lambda operation: self.times_of(operation)[1])
        machine = self.jobs[first[0]][first[1]][0]
        return [
            job
            for job, number in waiting
            if self.jobs[job][number][0] == machine
            and self.times_of((job, number))[0] < self.times_of(first)[1]
        ]

    def play(self, job: int) -> None:
        """Dispatch the job's next operation."""
        operation = next(each for each in self.waiting() if each[0] == job)
        self.times[operation] = self.times_of(operation)

    @property
    def makespan(self) -> int:
        """When the last operation ends."""
        return max((end for _, end in self.times.values()), default=0)


def semi_active_makespans(jobs: Jobs) -> Iterator[int]:
    """The makespan of every schedule: of all orders of the jobs on each machine that are no circle, with each
    operation as early as they allow."""
    machines = len(jobs[0])
    for orders in product(permutations(range(len(jobs))), repeat=machines):
        shop = NaiveJobShop(jobs)
        served = [0] * machines
        progress = True
        while progress:
            progress = False
            for job, number in shop.waiting():
                machine = jobs[job][number][0]
                if orders[machine][served[machine]] == job:
                    shop.play(job)
                    served[machine] += 1
                    progress = True
        if not shop.waiting():
            yield shop.makespan


TINY = "jobshop:data=0-3.1-2.2-2_0-2.2-1.1-4_1-4.2-3.0-1"
TINY_FILE = "# tiny\n3 3\n\n0 3 1 2 2 2\n0 2 2 1 1 4\n1 4 2 3 0 1\n"
SPECS = [f"jobshop:instance={name}" for name in instances.NAMES] + [TINY]


_load = partial(loaded, JobShop)


def _random_instance(seed: int, jobs: int, machines: int) -> Instance:
    draw = random.Random(seed)
    return tuple(
        tuple((machine, draw.randint(1, 9)) for machine in draw.sample(range(machines), machines))
        for _ in range(jobs)
    )


def _best(game: JobShop, state: State) -> int:
    """The smallest makespan that the legal moves can reach."""
    if game.calls.is_terminal(state):
        return -int(game.calls.returns(state))
    return min(_best(game, after) for _, after in game.successors(state))


@pytest.mark.parametrize("spec", SPECS)
def test_random_games_agree_with_the_naive_twin(spec: str) -> None:
    game = _load(spec)
    for seed in range(10 if JIT else 1):
        naive = NaiveJobShop(game.instance)
        state = game.initial_state()
        for state, legal, move in random_game(game, seed):
            assert legal == naive.legal()
            assert game.rules.returns(state) == -naive.makespan
            naive.play(move)
        game.rules.play(state, move)
        assert naive.legal() == [] and game.rules.is_terminal(state)
        assert game.rules.returns(state) == -naive.makespan
        assert game.outcome_text(state) == f"a makespan of {naive.makespan}"
        counts = [0] * game.jobs
        for job, machine, begin, end in game.schedule(state):
            assert naive.times[job, counts[job]] == (begin, end)
            assert game.instance[job][counts[job]][0] == machine
            counts[job] += 1


@pytest.mark.parametrize("seed", range(4 if JIT else 1))
def test_legal_moves_reach_an_optimum(seed: int) -> None:
    """The best active schedule is as good as the best of all schedules."""
    instance = _random_instance(seed, 3, 3)
    game = _load(f"jobshop:data={instances.format_compact(instance)}")
    assert _best(game, game.initial_state()) == min(semi_active_makespans(instance))


def test_known_instances_are_those_of_the_literature() -> None:
    """ft20 has the durations of ft10, in other jobs."""
    totals = {name: sum(time for job in instances.known(name) for _, time in job) for name in instances.NAMES}
    assert totals == {"ft06": 197, "ft10": 5_109, "ft20": 5_109, "la01": 2_849}
    durations = [
        sorted(time for job in instances.known(name) for _, time in job) for name in ("ft10", "ft20")
    ]
    assert durations[0] == durations[1]


@pytest.mark.parametrize(("name", "makespan"), [("ft06", 55), ("la01", 666)])
def test_greedy_moves_find_known_optima(name: str, makespan: int) -> None:
    game = _load(f"jobshop:instance={name}")
    state, moves, stream = game.initial_state(), np.zeros(game.max_moves, np.uint16), games.rng.new_stream(1)
    while not game.calls.is_terminal(state):
        game.calls.play(state, game.calls.greedy_move(state, moves, stream))
    assert game.calls.returns(state) == -makespan


def test_the_priority_is_the_work_left_less_twice_the_end() -> None:
    game = _load(TINY)
    state = game.initial_state()
    game.play_text(state, ["2"])
    # The first job's operation would end at 5, and it has 7 left.
    assert game.rules.priority is not None
    assert game.rules.priority(state, 0) == 7 - 2 * 5


def test_a_file_becomes_part_of_the_spec(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(TINY_FILE)
    assert games.load(f"jobshop:instance={file}").spec == TINY
    # What another machine is given needs no file, and a file that has changed is another game.
    file.write_text(TINY_FILE.replace("0 3", "0 5"))
    assert games.load(f"jobshop:instance={file}").spec == TINY.replace("0-3", "0-5")
    file.unlink()
    assert _load(TINY).instance == instances.parse(TINY_FILE, "tiny")


FT06 = [[f"{at} {time}" for at, time in job] for job in instances.known("ft06")]
TIMES = [[str(time) for _, time in job] for job in instances.known("ft06")]
MACHINES = [[str(at + 1) for at, _ in job] for job in instances.known("ft06")]
FORMS = {
    "mark": ["\ufeff6 6", *FT06],
    "one line": ["6 6", sum(FT06, [])],  # noqa: RUF017
    "OR-Library": [" instance ft06", "", " ++++", " Fisher and Thompson 6x6 instance", "6 6", *FT06, " ++++"],
    "Taillard": ["Nb of jobs, Time seed", " 6 6 840612802 0 55", "Times", *TIMES, "Machines", *MACHINES],
}


@pytest.mark.parametrize("form", FORMS)
def test_files_as_others_write_them(tmp_path: Path, form: str) -> None:
    file = tmp_path / "my shop (1), é.txt"
    lines = [line if isinstance(line, str) else " ".join(line) for line in FORMS[form]]
    file.write_text("\r\n".join(lines), encoding="utf-8")
    assert _load(f"jobshop:instance={file}").instance == instances.known("ft06")


def test_a_service_refuses_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file: instance by name, or data=") as caught:
        games.load(f"jobshop:instance={tmp_path}/secret.txt", files=False)
    assert caught.value.field == "game"
    assert games.load(TINY, files=False).spec == TINY


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("", "a line with the number of jobs and of machines"),
        ("3\n", r"the number of jobs and of machines, from 1 to 100 \(.*mine.txt, line 1\)"),
        ("0 3\n", "from 1 to 100"),
        ("# mine\n2 2\n0 1 1 2\n0 1 x 2\n", r"'0 1 x 2' .* 2 pairs of machine and duration.*line 4\)"),
        ("2 2\n0 1 1 2\n0 1 1\n", "2 pairs of machine and duration"),
        ("2 2\n0 1 1 2\n0 1 0 2\n", "each machine from 0 to 1 once"),
        ("2 2\n0 1 1 2\n0 1 2 2\n", "each machine from 0 to 1 once"),
        ("2 2\n0 1 1 2\n0 1 1 0\n", "durations from 1 to 100,000"),
        ("2 2\n0 1 1 2\n", r"a line for each of its 2 jobs \(it has 1\)"),
        ("1 2\n0 1 1 2\n0 1 1 2\n", "no further line after those of 1 job"),
        ("\xff", "not text in UTF-8"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, accepted: str) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=accepted) as caught:
        games.load(f"jobshop:instance={file}")
    assert caught.value.field == "game" and "mine.txt" in str(caught.value)


def test_moves_are_numbers_of_jobs() -> None:
    game = _load(TINY)
    state = game.initial_state()
    assert [game.format_move(state, move) for move in game.legal_moves(state)] == ["1", "2"]
    assert game.parse_move(state, "2") == game.parse_move(state, "j2") == 1


def test_the_board_is_a_chart() -> None:
    game = _load(TINY)
    state = game.initial_state()
    moves = game.play_text(state, ["2", "2", "3", "1"])
    assert draw(game.board(state, moves[-1]), colour=False).splitlines() == [
        "m0  2  2 [1][1][1]",
        "m1  3  3  3  3  .",
        "m2  .  .  2  .  .",
        "x1",
        "    0",
    ]
    board = game.board(state)
    assert [cell.owner for cell in board.rows[0]] == [1, 1, 0, 0, 0]
    ft10 = _load("jobshop:instance=ft10")
    *_, (state, _, move) = random_game(ft10, 1)
    lines = draw(ft10.board(state, move), colour=False).splitlines()
    assert max(map(len, lines)) <= 100 and len(lines) == 12
