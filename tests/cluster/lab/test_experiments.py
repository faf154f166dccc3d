"""Experiments: tables as data, what they need, units, and a run that is broken off."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from operator import le
from pathlib import Path

import pytest

from cluster.lab.sources import report
from cluster.lab.sources.estimate import Estimate, SourceFigure
from cluster.lab.sources.measures import Measured
from cluster.lab.sources.pictures import pictures_of
from cluster.lab.sources.report import to_html, to_markdown
from cluster.lab.sources.table import OUTCOMES, SCALES, PublishedTable, load, names, read, sources
from cluster.lab.sources.units import ExperimentWorker, UnitStore
from cluster.lab.sources.verdict import (
    AGREES,
    DIFFERS,
    NOT_RUN,
    OPEN,
    Laboratory,
    Study,
    TableResult,
    Verdict,
    judge,
)
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset
from cluster.runtime.tasks import JobDone, JobLost
from cluster.workers.inline import InlineExecutor
from games.errors import InvalidInput
from search.coordinator import MAX_ATTEMPTS

TEXT = """
title = "two players"
note = '''for tests

for every form'''
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


def laboratory_of(store: UnitStore, scale: str = "quick", table: PublishedTable = TABLE) -> Laboratory:
    return Laboratory([table], scale, 0, store)


def measured(path: Path, scale: str = "quick", table: PublishedTable = TABLE) -> TableResult:
    """The table, run in this process."""
    with UnitStore(path) as store:
        laboratory = laboratory_of(store, scale, table)
        executor = InlineExecutor(ExperimentWorker)
        executor.open(None)
        drive(Jobset(laboratory), executor)
    return laboratory.result(table.name)


def figures_of(result: TableResult) -> list[tuple[str, str, float]]:
    return [(v.row.name, each.name, each.ours.value) for v in result.verdicts for each in v.comparisons]


def test_every_table_can_be_read_and_every_row_be_made_at_every_scale() -> None:
    assert len(names()) > 20
    for scale in SCALES:
        laboratory = Laboratory(map(load, names()), scale, 0, UnitStore(Path("no-such")))
        for table in laboratory.tables:
            for verdict in laboratory.result(table.name).verdicts:
                assert verdict.failure.endswith(" missing"), (table.name, verdict)


def test_every_source_has_its_tables_and_conclusions_that_name_theirs() -> None:
    assert {f"002/{number}" for number in range(1, 24)} <= {*names()}
    assert {name.partition("/")[0] for name in names()} == {*sources()}
    # All that is printed: mean, median and deviation.
    assert [len(row.figures) for row in load("002/13").rows_at["quick"]] == [3] * 7
    for name, source in sources().items():
        for _, verdict, why in source.get("conclusions", [] if name == "claims" else [["", "", ""]]):
            assert verdict in {"holds", "in part", "does not hold", "not decided"}, why
            assert {*names()} >= {*re.findall(r"\w+/[\w.-]*\w", why)} > set(), why


def test_a_table_is_measured_row_by_row(tmp_path: Path) -> None:
    result = measured(tmp_path)
    by_name = {verdict.row.name: verdict for verdict in result.verdicts}
    # Six games are too few to say that they agree.
    outcomes = [OPEN, DIFFERS, NOT_RUN, AGREES, "not comparable"]
    assert [each.outcome for each in result.verdicts] == outcomes
    # Two pairs, both lost, say nothing yet about who is the stronger.
    assert by_name["random"].conclusion == by_name["the same games"].conclusion == "open"
    shown = replace(by_name["random"].measured, score=(0.1, 0.0, 0.4))
    assert replace(by_name["random"], measured=shown).conclusion == "same"
    assert "nobody" in result.verdicts[2].failure
    measurement = by_name["what moves take"].measured
    assert measurement.estimates["simulations, mean"].value == 20
    json.dumps(result.to_json(), allow_nan=False)


def study(*rows: tuple[str, int, tuple[int, int, int], str], key: str = "", name: str = "999/3") -> Study:
    """Rows of a made-up study: figures of the source, its number of games, our games, and further keys.

    A row of 0 games has the number of games that ``key`` infers.
    """
    text = f'title = "t"\n{key}\n'
    for number, (figures, n, _, more) in enumerate(rows):
        text += f'[[rows]]\nname = "{number}"\nmeasure = "results"\n{more}\n' + f"n = {n}\n" * bool(n)
        text += "figures = {{ wins = {}, draws = {}, losses = {} }}\n".format(*figures.split("/"))
    table = read(name, text, "a source")
    verdicts = []
    for row, (_, _, games, _) in zip(table.rows_at["quick"], rows, strict=True):
        shares = map(Estimate.share, games, [sum(games)] * 3)
        found = Measured(
            dict(zip(OUTCOMES, shares, strict=True)), 1.0, f"{sum(games)} games", (0.5, 0.4, 0.6)
        )
        verdicts.append(Verdict(row, found if sum(games) else None))
    return judge([TableResult(table, "quick", tuple(verdicts))])[0]


EVEN, WON = ("50.0/0/50.0", 250, (125, 0, 125), ""), (100, 0, 0)
ONE_SIDED = ("90.0/0/10.0", 250, (225, 0, 25), "")
LOST, CAUSED, SUSPECTED, OURS = (
    ("50/0/50", 250, WON, more) for more in ("", 'cause = "c"', 'suspected = "s"', "ours = true")
)
FEW, NOT_COMPARED = ("50/0/50", 10, (240, 20, 240), ""), ("50/0/50", 10, WON, 'not_comparable = "no"')
INFERRED, FAILED = ("0/0/100", 0, (0, 0, 16), ""), ("50/0/50", 250, (0, 0, 0), "")
UNDECIDED, SURE = ("50/0/50", 250, (4, 0, 4), ""), (*EVEN[:3], 'cannot_fail = "shown"')
BOTH = "Matches that agree: 2, of 50 to 90 % for the source's player ahead, 1 of them above 80 %. "
ONE = "Matches that agree: 1, of 50 to 50 %"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (study(EVEN, ONE_SIDED, LOST), f"of 3 rows, 1 differs, 2 agree. {BOTH}"),
        (study(ONE_SIDED, EVEN, LOST, UNDECIDED), "Matches of 20 to 80 %: 3, of them in agreement: 1."),
        (study(EVEN, OURS), f"of 1 row, 1 agrees. {ONE}"),
        (
            study(CAUSED, SUSPECTED, SUSPECTED),
            "of 3 rows, 3 differ (1 with a known cause, 2 with a suspected cause).",
        ),
        (
            study(SURE, EVEN, SURE, LOST),
            f"of 2 rows, 1 differs, 1 agrees, 2 more cannot fail. {ONE}",
        ),
        # Of three rows that are corrected for it would be open.
        (study(("50/0/50", 10, (100, 0, 20), ""), SURE, SURE), "of 1 row, 1 differs, 2 more"),
        (study((*LOST[:3], SURE[3])), "of 1 row, 1 differs."),
        (study(LOST, UNDECIDED), "of 2 rows, 1 differs, 1 is open."),
        (study(FEW), "of 1 row, 1 is not excluded (its own 10 games a row are too few to decide)."),
        (
            study(FEW, INFERRED, key="inferred = 15"),
            "of 2 rows, 2 are not excluded (its own 10 to (15) games a row are too few to decide).",
        ),
        (study(NOT_COMPARED), "of 0 rows, 1 more is not comparable."),
        (study(EVEN, FAILED), f"of 1 row in this report, 1 agrees, 1 more is not run. {ONE}"),
        (study(EVEN, name="002/11"), f"of 1 row in this report, 1 agrees. {ONE}"),
    ],
)
def test_a_study_has_a_sentence(made: Study, says: str) -> None:
    assert says in made.sentence


def test_rows_of_a_study_are_corrected_together() -> None:
    """5 of 10 against 100 of 120 (p as scipy's Fisher test has it): alone they differ, of three rows none."""
    row = ("50/0/50", 10, (100, 0, 20), "")
    three = study(row, row, row).rows
    assert [each.outcome for each in (*study(row).rows, *three)] == ["differs", *["not excluded"] * 3]
    assert (three[0].p, three[0].corrected) == pytest.approx((0.022797, 3 * 0.022797), abs=1e-5)


def test_rows_of_a_pool_are_tested_together_below_their_table() -> None:
    """0 of 20 against 216 wins and 76 draws of 1,000: the figures of 001/5.1, which an audit computed."""
    rows = [("0/0/100", 10, games, 'pool = "both"') for games in ((120, 36, 344), (96, 40, 364))]
    *_, said = report.of_study(study(*rows), {})
    assert said == "Pooled over who begins: both: 0/0/20 against 21.6/7.6/70.8 %, p = 0.01."


def test_games_that_a_row_leaves_out_may_have_ended_in_any_way() -> None:
    """90 % are stated; with the game that is left out as a loss, the row is equal to ours."""
    assert study(("50/0/40", 10, (5, 0, 5), "")).rows[0].p == pytest.approx(1)


@pytest.mark.parametrize("name", ["002/3", "002/15", "002/16", "002/17", "002/18"])
def test_an_inferred_number_of_games_has_the_percentages_of_all_rows(name: str) -> None:
    """Whole numbers of games, rounded as the source rounds; with one game less, not in all rows."""

    def fits(number: int, shares: Sequence[SourceFigure]) -> bool:
        least = [math.ceil(number * (float(each.value) - each.rounding) / 100) for each in shares]
        most = [math.floor(number * (float(each.value) + each.rounding) / 100) for each in shares]
        return all(map(le, least, most)) and sum(least) <= number <= sum(most)

    rows = [[*row.figures.values()] for row in load(name).rows_at["quick"] if row.inferred]
    smallest = next(number for number in range(1, 1000) if all(fits(number, row) for row in rows))
    assert {each.number for row in rows for each in row} == {smallest}


def test_branching_is_the_mean_of_all_positions(tmp_path: Path) -> None:
    """In tic-tac-toe 9, then 8, 7 and so on: odd numbers are the first player's; long games weigh more."""
    row = 'name = "r"\nmeasure = "branching"\ngame = "tictactoe"\na = "random"\ngames = 20\nours = true'
    (verdict,) = measured(tmp_path, table=read("999/2", f'title = "t"\n[[rows]]\n{row}', "")).verdicts
    both, first, second = verdict.measured.histogram.values()
    assert both[9] == both[5] == 20 > both[1] > 0
    assert (set(first), set(second)) == ({9, 7, 5, 3, 1}, {8, 6, 4, 2})
    mean = verdict.measured.estimates["mean"]
    assert mean.value == pytest.approx(sum(n * both[n] for n in both) / sum(both.values()))
    assert mean.low < mean.value < mean.high


def test_margins_tell_draws_of_a_pair_from_drawn_games(tmp_path: Path) -> None:
    """Of one seed equal players win alike from both seats; a drawn game is won by nobody."""
    row = 'name = "r"\nmeasure = "margins"\na = "minimax:depth=3"\ngames = 4\nours = true\ngame = "explicit:'
    text = "".join(f'[[rows]]\n{row}{tree}"\n' for tree in ("([5 -3][9 4])", "([0 0][0 0])"))
    result = measured(tmp_path, table=read("999/2", f'title = "t"\n{text}', ""))
    found = [[each.value for each in verdict.measured.estimates.values()] for verdict in result.verdicts]
    assert found == [[4, 100], [0, 0]]


def test_rows_that_look_at_the_same_games_share_them() -> None:
    laboratory = laboratory_of(UnitStore(Path("no-such")))
    assert [need.units for need in laboratory.contexts.values()] == [6, 1, 2]


def test_a_longer_experiment_goes_on_from_a_shorter_one(tmp_path: Path) -> None:
    measured(tmp_path)
    with UnitStore(tmp_path) as store:
        assert [unit.index for unit in laboratory_of(store, "full").missing()] == [6, 7, 8, 9]


def test_a_run_that_was_broken_off_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    whole = measured(tmp_path / "whole")
    broken = tmp_path / "broken"
    with UnitStore(broken) as store:
        laboratory = laboratory_of(store)
        executor = InlineExecutor(ExperimentWorker)
        executor.open(None)

        def stop(jobset: Jobset[Laboratory]) -> None:
            if laboratory.done == 4:
                jobset.cancel()
                jobset.check()

        drive(Jobset(laboratory), executor, (stop,))
        assert laboratory.done == 4
        assert laboratory.left([TABLE.name])[:2] == (4, 9)
    # A process that dies may leave half a line behind.
    with next(broken.glob("matches/*/games.txt")).open("a") as file:
        file.write("game     tictac")
    with UnitStore(broken) as store:
        assert laboratory_of(store).units == 5
    again = measured(broken)
    assert figures_of(again)[:6] == figures_of(whole)[:6]
    with UnitStore(broken) as store:
        assert laboratory_of(store).finished


def test_a_folder_that_is_written_to_is_refused(tmp_path: Path) -> None:
    with UnitStore(tmp_path), pytest.raises(InvalidInput, match="no other run"), UnitStore(tmp_path):
        pass


def test_a_unit_that_is_always_lost_takes_down_its_row_only(tmp_path: Path) -> None:
    with UnitStore(tmp_path) as store:
        laboratory = laboratory_of(store)
        jobset, worker = Jobset(laboratory), ExperimentWorker()
        waiting = jobset.begin()
        while waiting:
            task = waiting.pop()
            if task.context == 1:
                waiting += jobset.take(JobLost(task.index, "it died", task.context))
                continue
            done = JobDone(worker.run(laboratory.contexts[task.context], task.job), task.context)
            # Twice: a worker that was given up may still answer.
            waiting += jobset.take(done) + jobset.take(done)
    assert laboratory.retried == MAX_ATTEMPTS - 1
    assert not jobset.contexts
    result = laboratory.result(TABLE.name)
    assert "it died" in {v.row.name: v.failure for v in result.verdicts}["a power"]
    assert figures_of(result)[:5] == figures_of(measured(tmp_path / "other"))[:5]


def test_what_raises_takes_down_its_row_only(tmp_path: Path) -> None:
    result = measured(tmp_path, table=read("999/1", TEXT.replace("base = 10", "base = -1"), "a source"))
    assert [each.failure[:10] for each in result.verdicts[3:]] == ["ValueError", ""]


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
        laboratory_of(UnitStore(Path("no-such")), table=read("999/1", TEXT.replace(*change), "a source"))
    assert says in caught.value.accepted


def test_a_line_has_games_figures_interval_and_verdict() -> None:
    """Of 240 wins and 240 losses of 500 the interval of the score is made up: 40 to 60 %."""
    second = ("50/0/50", 10, (240, 20, 240), 'deviates = "d"\nsuspected = "s"')
    rows = (EVEN, second, ("0.0/0/100", 250, WON, "ours = true"), SURE, INFERRED)
    text = to_markdown(report.of_study(study(*rows, key="inferred = 15"), {}))
    for said in (
        "| 0 | 250/250 | 50.0/0/50.0 | 50/0/50 (40-60) | agrees |",
        "| 1 (a,b) | 10/500 | 50/0/50 | 48/4/48 (40-60) | not excluded, p=1 |",
        "| 3 (c) | 250/250 | 50.0/0/50.0 | 50/0/50 (40-60) | cannot fail |",
        "| 4 | (15)/16 |",
        "- a: Deviates: d\n\n- b: Suspected: s\n\n- c: Cannot fail: shown",
    ):
        assert said in text
    assert "| 2 | 250/100 | 0.0/0/100 | 100/0/0 (40-60) |\n" in text.partition("Of ours")[2]


def test_reports_have_every_row_and_the_page_needs_nothing_else(tmp_path: Path) -> None:
    studies = judge([measured(tmp_path)])
    parts = [*report.parts(studies, "quick", 3, pictures_of(studies))]
    text, page = to_markdown(parts), to_html(parts)
    for said in (*(row.name for row in TABLE.rows_at["quick"]), "for tests", "for every form"):
        assert said in text and said in page
    assert "banyan experiment 999 --scale quick --seed 3" in text and "![999](pictures/999.svg)" in text
    assert "<svg" in page
    for outside in ("src=", "@import", "url(http", 'href="http'):
        assert outside not in page
