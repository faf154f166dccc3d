"""Experiments: tables as data, what they need, units, and a run that is broken off."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from cluster.executors.inline import InlineExecutor
from cluster.lab.sources import report_html, report_markdown
from cluster.lab.sources.estimate import NO, OPEN, YES
from cluster.lab.sources.laboratory import Laboratory
from cluster.lab.sources.need import Need
from cluster.lab.sources.run import Run
from cluster.lab.sources.store import Store
from cluster.lab.sources.table import SCALES, Table, load, names, read, sources
from cluster.lab.sources.unit import UnitDone, UnitWorker
from cluster.lab.sources.verdict import NOT_RUN, TableResult
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset
from cluster.runtime.tasks import Event, Executor, JobDone, JobLost, Task
from cluster.runtime.worker_state import WorkerStatus
from games.errors import InvalidInput
from search.ledger import MAX_ATTEMPTS

TEXT = """
title = "two players"
note = "for tests"
[defaults]
measure = "results"
game = "tictactoe"
[scales.quick]
games = 6
budget = "simulations=20"
[scales.full]
games = 10
budget = "simulations=20"
[[rows]]
name = "random"
a = "random"
b = "uct:{budget}"
n = 100
figures = { wins = 10.0, draws = 10.0, losses = 80.0 }
[[rows]]
name = "the same games"
a = "random"
b = "uct:{budget}"
quick = { games = 4 }
figures = { losses = 0.0, wins = 100.0 }
[[rows]]
name = "a player that there is not"
a = "nobody"
figures = { wins = 50 }
[[rows]]
name = "lost"
measure = "results"
not_run = "the source's program is lost"
figures = { wins = 50 }
[[rows]]
name = "a power"
measure = "power"
base = 10
exponent = 3
figures = { log10 = 3.0 }
[[rows]]
name = "what moves take"
measure = "thinking"
a = "uct:{budget}"
not_comparable = "another machine"
quick = { games = 2 }
full = { games = 2 }
figures = { "simulations, mean" = 10, "simulations, most" = 40 }
"""
TABLE = read("999/1", TEXT, "a source")


def run_of(laboratory: Laboratory, store: Store) -> Run:
    return Run(laboratory.needs, laboratory.keep_from(store), store)


def run_to_the_end(run: Run, executor: Executor) -> None:
    executor.open(None)
    drive(Jobset(run), executor)


def measured(path: Path, scale: str = "quick", table: Table = TABLE) -> TableResult:
    """The table, run in this process."""
    laboratory = Laboratory([table], scale)
    with Store(path) as store:
        run = run_of(laboratory, store)
        run_to_the_end(run, InlineExecutor(UnitWorker))
    return laboratory.result(table.name, run.kept, run.failures)


def figures_of(result: TableResult) -> list[tuple[str, str, float]]:
    return [(v.row.name, each.name, each.ours.value) for v in result.verdicts for each in v.comparisons]


def test_every_table_can_be_read_and_every_row_be_made_at_every_scale() -> None:
    assert len(names()) > 20
    for scale in SCALES:
        laboratory = Laboratory(map(load, names()), scale)
        nothing = laboratory.keep_from(Store(Path("no-such")))
        for table in laboratory.tables:
            for verdict in laboratory.result(table.name, nothing, {}).verdicts:
                assert "not_run" in verdict.row.details or verdict.failure.endswith(" missing"), (
                    table.name,
                    verdict.row.name,
                    verdict.failure,
                )


def test_every_source_has_its_tables() -> None:
    assert {name.partition("/")[0] for name in names()} <= set(sources())
    wanted = {f"002/{number}" for number in range(1, 24)}
    assert wanted <= set(names())


def test_a_table_is_measured_row_by_row(tmp_path: Path) -> None:
    result = measured(tmp_path)
    by_name = {verdict.row.name: verdict for verdict in result.verdicts}
    # Six games are too few to say that they agree.
    assert by_name["random"].agreement == OPEN
    assert by_name["random"].conclusion == "same"
    assert by_name["the same games"].agreement == NO
    # Two pairs, both lost, say nothing yet about who is the stronger.
    assert by_name["the same games"].conclusion == "open"
    assert by_name["a player that there is not"].agreement == NOT_RUN
    assert "nobody" in by_name["a player that there is not"].failure
    assert by_name["lost"].reasons == ["the source's program is lost"]
    assert by_name["a power"].agreement == YES
    measurement = by_name["what moves take"].measured
    assert measurement is not None
    assert measurement.estimates["simulations, mean"].value == 20
    assert by_name["what moves take"].agreement == "not comparable"
    json.dumps(result.to_json(), allow_nan=False)


def test_branching_is_the_mean_of_all_positions(tmp_path: Path) -> None:
    """In tic-tac-toe 9, then 8, 7 and so on: odd numbers are the first player's; long games weigh more."""
    row = 'name = "r"\nmeasure = "branching"\ngame = "tictactoe"\na = "random"\ngames = 20\nours = true'
    (verdict,) = measured(tmp_path, table=read("999/2", f'title = "t"\n[[rows]]\n{row}', "")).verdicts
    assert verdict.measured is not None
    both, first, second = verdict.measured.histogram.values()
    assert both[9] == both[5] == 20 > both[1] > 0
    assert (set(first), set(second)) == ({9, 7, 5, 3, 1}, {8, 6, 4, 2})
    mean = verdict.measured.estimates["mean"]
    assert mean.value == pytest.approx(sum(n * both[n] for n in both) / sum(both.values()))
    assert mean.low < mean.value < mean.high


def test_rows_that_look_at_the_same_games_share_them() -> None:
    laboratory = Laboratory([TABLE], "quick")
    assert [need.units for need in laboratory.needs] == [6, 1, 2]


def test_a_longer_experiment_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    measured(tmp_path)
    with Store(tmp_path) as store:
        run = run_of(Laboratory([TABLE], "full"), store)
        assert [unit.index for unit in run.missing()] == [6, 7, 8, 9]


def test_a_run_that_was_broken_off_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    whole = measured(tmp_path / "whole")
    broken = tmp_path / "broken"
    laboratory = Laboratory([TABLE], "quick")
    with Store(broken) as store:
        run = run_of(laboratory, store)
        executor = InlineExecutor(UnitWorker)
        executor.open(None)

        def stop(jobset: Jobset[Run]) -> None:
            if run.done == 4:
                jobset.cancel()
                jobset.check()

        drive(Jobset(run), executor, (stop,))
        assert run.done == 4
        assert laboratory.units(TABLE.name, run.kept) == (4, 9)
    # A process that dies may leave half a line behind.
    with next(broken.glob("matches/*/games.txt")).open("a") as file:
        file.write("game     tictac")
    with Store(broken) as store:
        assert run_of(laboratory, store).units == 5
    again = measured(broken)
    assert figures_of(again)[:6] == figures_of(whole)[:6]
    with Store(broken) as store:
        assert run_of(laboratory, store).finished


def test_a_folder_that_is_written_to_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(InvalidInput, match="no other run"), Store(tmp_path):
        pass


class Losing:
    """An executor whose workers die with every unit of one need, and end the others in any order."""

    name = "losing"
    num_workers = 1

    def __init__(self, lost: int) -> None:
        self.workers: list[WorkerStatus] = []
        self.lost = lost
        self.forgotten: list[int] = []
        self.queue: list[Task] = []
        self.contexts: dict[int, Need] = {}

    def open(self, context: None) -> None: ...

    def add_context(self, key: int, context: Need) -> None:
        self.contexts[key] = context

    def forget_context(self, key: int) -> None:
        self.forgotten.append(key)

    def submit(self, tasks: Iterable[Task]) -> None:
        self.queue += tasks

    def wait(self, timeout_s: float) -> list[Event]:
        task = self.queue.pop()
        if task.context == self.lost:
            return [JobLost(task.index, "it died", task.context)]
        done = UnitWorker().run(self.contexts[task.context], task.job)
        # Twice: a worker that was given up may still answer.
        return [JobDone(done, task.context), JobDone(done, task.context)]

    def drop(self) -> None:
        self.queue.clear()

    def close(self) -> None: ...

    def use(self, workers: int) -> None: ...


def test_a_unit_that_is_always_lost_takes_down_its_row_only(tmp_path: Path) -> None:
    laboratory = Laboratory([TABLE], "quick")
    with Store(tmp_path) as store:
        run = run_of(laboratory, store)
        executor = Losing(1)
        run_to_the_end(run, executor)
    assert run.retried == MAX_ATTEMPTS - 1
    assert sorted(executor.forgotten) == [0, 1, 2], "each when its last unit has ended"
    result = laboratory.result(TABLE.name, run.kept, run.failures)
    assert "it died" in {v.row.name: v.failure for v in result.verdicts}["a power"]
    assert figures_of(result)[:5] == figures_of(measured(tmp_path / "other"))[:5]


def test_what_raises_takes_down_its_row_only() -> None:
    laboratory = Laboratory([read("999/2", TEXT.replace("base = 10", "base = -1"), "a source")], "quick")
    done = UnitWorker().run(laboratory.needs[1], 0)
    assert isinstance(done, UnitDone)
    assert done.error.startswith("ValueError")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('measure = "results"', 'measure = "guesses"'), "one of results"),
        (("title =", "name ="), "a title and rows"),
        (("{budget}", "{bugdet}"), "a value for 'bugdet' at quick"),
        (("wins = 10.0", 'wins = "many"'), "a number"),
        (("[defaults]", "[defaults"), "TOML"),
    ],
)
def test_a_file_that_is_wrong_says_where(change: tuple[str, str], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Laboratory([read("999/1", TEXT.replace(*change), "a source")], "quick")
    assert says in caught.value.accepted


def test_reports_have_every_row_and_the_page_needs_nothing_else(tmp_path: Path) -> None:
    result = measured(tmp_path)
    text = report_markdown.render([result], "quick", everything=False)
    page = report_html.render([result], "quick", everything=False)
    for verdict in result.verdicts:
        assert verdict.row.name in text
        assert verdict.row.name in page
    assert "banyan experiment 999/1 --scale quick" in text
    assert "<svg" in page
    for outside in ("src=", "@import", "url(http", 'href="http'):
        assert outside not in page.replace("xlink:href", "")
