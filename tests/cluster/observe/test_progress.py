"""What is shown while a search runs: how often, where, and what."""

from __future__ import annotations

import io
import itertools
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from cluster.client.remote import sample_there
from cluster.observe import view as observed
from cluster.observe.progress import Figures, Sample, Sampler
from cluster.observe.view import Progress, view
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.runtime.worker_state import WorkerState, WorkerStatus
from cluster.workers.inline import InlineExecutor
from search.request import SearchRequest
from search.result import SearchResult
from search.tree.arena import USED
from tests.cluster.searches import session_on

HASHED = str(Path(__file__).parents[2] / "search" / "hashed_evaluator.py")


def new_session(request: SearchRequest, tick_s: float) -> Session:
    """A session whose clock moves on by ``tick_s`` at each look."""
    looks = itertools.count()
    return session_on(InlineExecutor(), request, lambda: next(looks) * tick_s)


def run_watched(
    request: SearchRequest, tick_s: float, *, terminal: bool, enabled: bool = True
) -> tuple[SearchResult, str]:
    """The result of a search, and what its observer wrote."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=100, height=40, _environ={"TERM": "xterm-256color"}
    )
    session = new_session(request, tick_s)
    with Progress(console, enabled=enabled, clock=lambda: 0.0) as watching:
        result = session.run(observers=(watching,))
    assert isinstance(console.file, io.StringIO)
    return result, console.file.getvalue()


def seen(session: Session, sample: Sample, width: int = 100) -> str:
    """The view of a search on a terminal of so many columns."""
    console = Console(file=io.StringIO(), width=width, height=40)
    console.print(view(session.search, sample, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


SMALL = SearchRequest(game="tictactoe", lanes=16, simulations=512)


@pytest.mark.parametrize(
    "form",
    [
        {"game": "gomoku:size=9", "strategy": "tree", "lanes": 2},
        {"game": "gomoku:size=9", "strategy": "root", "lanes": 2},
        {"game": "battleship", "strategy": "root", "lanes": 2},
        {"game": "gomoku:size=9", "strategy": "root", "lanes": 2, "implicit_minimax": 0.1},
        {"game": "gomoku:size=9", "strategy": "leaf", "lanes": 2, "evaluator": HASHED},
    ],
)
def test_the_bar_of_memory_is_full_when_the_memory_is(form: dict[str, Any]) -> None:
    """Whatever nodes keep: the last block of children that found no room is all that is missing."""
    session = new_session(SearchRequest(memory_mb=1, stop_when_full=True, **form), 0.01)
    assert session.run().stopped_by == "memory"
    search = session.search
    used = [int(search.strategy.tree.counts[USED]) / len(search.strategy.tree.visits)]
    node_bytes = search.context.features.layout.bytes_per_node
    if search.context.tree_slots:
        lane_slots = session.coordinator.counters.lane_tree_bytes / node_bytes
        used.append(lane_slots / search.context.tree_slots)
    assert Sampler().sample(session).figures.budget_used == max(used)
    assert 0.9 < max(used) <= 1.0


def test_where_there_is_no_terminal_a_plain_line_comes_at_most_every_second() -> None:
    result, text = run_watched(SMALL, 0.01, terminal=False)
    lines = text.splitlines()
    # The session and its observer look at the clock a few times for each of the 512 jobs.
    assert 5 <= len(lines) <= result.elapsed_s
    times = [float(line.split()[1]) for line in lines]
    assert all(later - earlier >= 0.9 for earlier, later in itertools.pairwise(times))
    assert times[0] >= 1.0
    assert "simulations" in lines[-1]
    assert "best " in lines[-1]
    assert "\x1b" not in text


def test_a_search_of_less_than_a_second_says_nothing_nor_does_any_if_progress_is_turned_off() -> None:
    result, text = run_watched(SMALL, 0.0001, terminal=False)
    assert result.elapsed_s < 1.0
    assert text == ""
    for terminal in (False, True):
        _, text = run_watched(SMALL, 0.01, terminal=terminal, enabled=False)
        assert text == ""


def test_a_terminal_gets_a_view_that_goes_away_again() -> None:
    _, text = run_watched(SMALL, 0.01, terminal=True)
    assert "of 512 simulations" in text
    # Not the alternate screen; the cursor comes back, and the view is erased.
    assert "\x1b[?1049h" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.rstrip("\n").endswith("\x1b[2K")


def test_what_drawing_costs_decides_how_often_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def draws(cost_s: float) -> int:
        environment = {"TERM": "xterm-256color"}
        console = Console(file=io.StringIO(), force_terminal=True, width=100, height=40, _environ=environment)
        looks = itertools.count()
        session = new_session(SMALL, 0.01)
        with Progress(console, clock=lambda: next(looks) * cost_s) as watching:
            session.run(observers=(watching,))
        return next(looks) // 2

    cheap, dear = draws(0.0), draws(0.1)
    assert dear * 0.1 / observed.DRAWING_SHARE <= cheap * observed.REDRAW_S * 2
    assert dear < cheap / 5


@pytest.mark.slow
def test_the_view_says_how_the_search_goes() -> None:
    request = SearchRequest(game="gomoku:size=5", moves=("c3", "d4"), seconds=1000.0)
    session = new_session(request, 0.05)
    texts: list[str] = []

    def watch(watched: Session) -> None:
        sample = sampler.sample(watched)
        if watched.coordinator.counters.simulations > 2000 and not texts:
            texts.append(seen(watched, sample))
            assert sample.answer.best_move and sample.answer.best_move in texts[0]
            watched.cancel()

    sampler = Sampler()
    result = session.run(observers=(watch,))
    assert result.stopped_by == "cancelled"
    (text,) = texts
    for name in ("simulations", "jobs", "merge", "workers", "best move", "value", "line", "move", "visits"):
        assert name in text
    assert "0 idle" in text
    assert "of 16:40 min" in text
    # The board stands to the left, with the stones and the heat of the visits as digits.
    assert "3 " in text
    assert any(line.lstrip().startswith("3") and " X " in line for line in text.splitlines())


def test_a_narrow_terminal_gets_the_figures_without_the_board() -> None:
    session = new_session(SMALL, 0.01)
    session.run()
    text = seen(session, Sampler().sample(session), width=50)
    assert "a b c" not in text and "simulations" in text


def test_rates_are_those_of_the_last_seconds() -> None:
    session = new_session(SMALL, 0.0)
    times = [0.0]
    session.clock = lambda: times[-1]
    sampler = Sampler()
    counters, worker = session.coordinator.counters, session.executor.workers[0]
    for time_s, simulations, busy_s in ((1.0, 100, 1.0), (2.0, 200, 2.0), (3.0, 900, 2.5), (4.0, 1600, 3.0)):
        times.append(time_s)
        # The worker was busy for another search before.
        counters.simulations, worker.busy_s = simulations, 50.0 + busy_s
        figures = sampler.sample(session).figures
        assert figures.workers[0].busy < 1.0 or time_s == 2.0
    assert figures.simulations_per_s == 700
    assert [each.busy for each in figures.workers] == [0.5]


def test_workers_that_come_and_go_are_told_of() -> None:
    session = new_session(SMALL, 0.01)
    sampler = Sampler()
    workers = [WorkerStatus(slot=0, state=WorkerState.IDLE)]
    session.executor = cast(Executor, SimpleNamespace(name="ray", workers=workers))
    assert "workers" not in observed.line_of(sampler.sample(session))
    workers += [WorkerStatus(slot=slot, state=WorkerState.BUSY) for slot in range(1, 10)]
    sample = sampler.sample(session)
    assert len(sample.figures.workers) == 10
    assert "10 workers (9 joined, 0 left)" in observed.line_of(sample)
    workers[3].become(WorkerState.LOST, "its machine has gone")
    sample = sampler.sample(session)
    assert "9 workers (9 joined, 1 left)" in observed.line_of(sample)
    assert "9 of 10 alive, busy 0 % (9 joined, 1 left)" in seen(session, sample)


def test_while_a_server_has_no_worker_lines_say_so() -> None:
    out = io.StringIO()
    worker = {"slot": 0, "state": "starting", "busy": 0.0, "jobs": 0, "restarts": 0}
    figures = dict.fromkeys((field.name for field in fields(Figures)), 0)
    nothing = {"best_move": None, "value": 0.0, "pv": [], "children": []}
    event = figures | nothing | {"elapsed_s": 1.5, "workers": [worker]}
    busy = {"simulations": 9, "jobs": 1, "workers": [worker | {"state": "busy"}]}
    with Progress(Console(file=out, width=200), drawable=False) as drawn:
        for more in ({}, {"elapsed_s": 2.0}, {"elapsed_s": 2.6} | busy):
            data = event | more
            drawn.show(None, data["elapsed_s"], partial(sample_there, data, None))
    first, second = out.getvalue().splitlines()
    assert first.startswith("banyan: 1.5 s, no worker of the server is ready")
    assert second.startswith("banyan: 2.6 s, 9 simulations")


@pytest.mark.parametrize(("each_s", "strategy", "workers", "said"), [
    (0.05, "tree", 2, "takes about 50 ms: --strategy leaf --executor ray --workers 16 runs 16 at a time"),
    (0.05, "leaf", 16, ""),
    (0.001, "tree", 2, ""),
])  # fmt: skip
def test_simulations_that_take_long_are_told_with_the_options_that_run_many_at_a_time(
    each_s: float, strategy: str, workers: int, said: str
) -> None:
    request = SearchRequest(game="tictactoe", strategy=strategy, simulations=20)
    session = session_on(InlineExecutor(), request)
    session.simulations_before, session.coordinator.counters.simulations = 80, 100
    session.coordinator.counters.job_durations.observe(20 * each_s)
    session.executor = cast("Executor", SimpleNamespace(num_workers=workers))
    lines = observed.advice(session)
    assert len(lines) == bool(said)
    assert said in "".join(lines)
