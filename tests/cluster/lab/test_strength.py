"""`banyan strength`: what is played, and whole small measurements, on Ray too, killed and taken up again."""

from __future__ import annotations

import csv
import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cluster.lab.strength.games import CURVE, LANE, STRENGTH, TOTAL, ByGames
from cluster.lab.strength.plots import plot_games
from cluster.lab.strength.request import Searches, StrengthRequest, read_strategies
from cluster.matches.game import MatchWorker
from cluster.matches.match import Match, Tournament
from cluster.matches.record import read_records
from cluster.matches.standing import Standing
from cluster.report.machine import provenance
from cluster.runtime.jobset import Jobset, Unit, UnitDone
from cluster.runtime.tasks import JobDone, JobLost
from search.players import Choice, Player, player_of
from tests.cluster.command import Here, start
from tests.cluster.matches.test_match import CONTEXT, record_of
from tests.waiting import PATIENCE_S, eventually

INLINE = ("--executor", "inline", "--no-progress")
SMALL = ("strength", "tictactoe", "--lanes", "1,4", "--simulations", "8")
LONG = 1000
"""Bytes of two games."""


def plan_of(
    strategies: str = "root,tree,leaf", lanes: tuple[int, ...] = (1, 4, 16), **others: Any
) -> ByGames:
    budget = {} if "total" in others else {"simulations": (50,)}
    return ByGames(Searches(StrengthRequest("tictactoe", strategies, lanes, **budget, **others)))


def played(plan: ByGames, kind: str) -> list[tuple[str, str]]:
    """The players of the matches of one kind, sorted."""
    found = (m.context.players for m in plan.meetings if m.kind == kind)
    return sorted((a.removeprefix("uct:"), b.removeprefix("uct:")) for a, b in found)


def test_matches_against_the_total_may_have_more_pairs() -> None:
    def pairs(**asked: int) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for match in plan_of("root,tree", **asked).meetings:
            found.setdefault(match.kind, set()).add(match.pairs)
        return found

    assert pairs(pairs=3) == {CURVE: {3}, LANE: {3}, TOTAL: {3}}
    assert pairs(pairs=3, total_pairs=7) == {CURVE: {3}, LANE: {3}, TOTAL: {7}}


def test_a_parallel_search_meets_the_budget_of_a_lane_and_that_of_all_lanes() -> None:
    plan = plan_of("root,tree")
    assert played(plan, LANE) == [
        ("strategy=root,lanes=16,simulations=800", "simulations=50"),
        ("strategy=root,lanes=4,simulations=200", "simulations=50"),
        ("strategy=tree,lanes=16,simulations=800", "simulations=50"),
        ("strategy=tree,lanes=4,simulations=200", "simulations=50"),
    ]
    assert played(plan, TOTAL) == [
        ("strategy=root,lanes=16,simulations=800", "simulations=800"),
        ("strategy=root,lanes=4,simulations=200", "simulations=200"),
        ("strategy=tree,lanes=1,simulations=50", "simulations=50"),
        ("strategy=tree,lanes=16,simulations=800", "simulations=800"),
        ("strategy=tree,lanes=4,simulations=200", "simulations=200"),
    ], "one lane of root is the sequential search itself, and one lane has but one budget"
    assert played(plan, CURVE) == [
        ("simulations=1600", "simulations=400"),
        ("simulations=200", "simulations=50"),
        ("simulations=400", "simulations=100"),
        ("simulations=800", "simulations=200"),
    ]


def test_a_total_is_divided_among_the_lanes() -> None:
    plan = plan_of("tree", (4, 16), total=320)
    assert {b for _, b in played(plan, TOTAL)} == {"simulations=320"}
    assert {b for _, b in played(plan, LANE)} == {"simulations=80", "simulations=20"}
    assert all("simulations=320" in a for a, _ in played(plan, LANE))
    assert sorted(played(plan, CURVE))[0] == ("simulations=160", "simulations=40")


def test_scores_only_plays_no_curve() -> None:
    plan = plan_of("root,tree", (4,), scores_only=True)
    assert {meeting.kind for meeting in plan.meetings} == {TOTAL}
    plan.open(ExitStack(), None)
    assert plan.fit is None


def test_no_match_depends_on_which_others_are_played() -> None:
    few, many = plan_of("tree", (4,)), plan_of("tree,leaf,root,tree:rounds=8", (4, 16))
    matches = {meeting.folder: meeting.context for meeting in many.meetings}
    assert len(matches) == len(many.meetings)
    for meeting in few.meetings:
        if meeting.kind != CURVE:
            assert matches[meeting.folder] == meeting.context
    seeds = [context.seed for context in matches.values()]
    assert len(set(seeds)) == len(seeds), "each draws its own openings"
    assert plan_of("tree", (4,), seed=1).meetings[0].context.seed not in seeds


def test_options_of_one_strategy_and_of_all() -> None:
    texts = "tree,tree:rounds=8,solver=no,root,tree:share_visits=8"
    assert list(map(str, read_strategies(texts))) == [
        "tree", "tree:rounds=8,solver=no", "root", "tree:share_visits=8",
    ]  # fmt: skip
    plan = plan_of("tree:rounds=8,solver=no", (4,), options="c=0.5", scores_only=True)
    parallel = "strategy=tree,lanes=4,simulations=200,c=0.5,rounds=8,solver=no"
    assert played(plan, TOTAL) == [(parallel, "simulations=200,c=0.5")]


def test_a_tournament_plays_the_first_pair_of_every_match_first() -> None:
    tournament = Tournament([Match(CONTEXT, 4), Match(CONTEXT, 4), Match(CONTEXT, 4)])
    jobset = Jobset(tournament)
    tasks = jobset.begin()
    assert [(task.context, task.index) for task in tasks] == [
        (match, 2 * pair + leg) for pair in range(2) for match in range(3) for leg in range(2)
    ]
    assert jobset.take(JobLost(tasks[7].index, "killed", tasks[7].context)) == [tasks[7]]
    for task in reversed(tasks):
        done = UnitDone(task.index, record_of(task.index, 1.0 if task.context == 1 else -1.0), 0.1)
        jobset.take(JobDone(done, task.context))
        jobset.take(JobDone(done, task.context))
    assert (tournament.stopped_by, tournament.done, tournament.retried) == ("games", 12, 1)
    assert [match.standing().score for match in tournament.matches] == [0.0, 1.0, 0.0]


def kept(folder: Path, pairs: int) -> dict[str, list[tuple[str, ...]]]:
    """The moves of the first games of each match."""
    return {
        path.parent.name: [
            record.moves for record in read_records(path.read_text()) if (record.pair or 0) <= pairs
        ]
        for path in sorted((folder / "games").glob("*/games.txt"))
    }


def sizes(folder: Path) -> list[int]:
    """Bytes of each match."""
    return [path.stat().st_size for path in (folder / "games").glob("*/games.txt")]


def figures(said: dict[str, Any]) -> dict[str, Any]:
    """All that does not depend on the clock, or on what ran before."""
    rows = [{k: v for k, v in row.items() if not k.startswith("throughput")} for row in said["rows"]]
    return {name: said[name] for name in ("curve", "matches", "misfit", "pairs", "seed")} | {"rows": rows}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A measurement in one process: its folder, and what it said."""
    folder = tmp_path_factory.mktemp("measured")
    with start(*SMALL, "--pairs", "4", *INLINE, "--out", str(folder), "--json") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return folder, json.loads(out)


@pytest.mark.slow
def test_a_measurement_says_all_that_was_asked(measured: tuple[Path, dict[str, Any]]) -> None:
    _, found = measured
    assert [(row["strategy"], row["lanes"]) for row in found["rows"]] == [
        (strategy, lanes) for strategy in ("root", "tree", "leaf") for lanes in (1, 4)
    ]
    for row in found["rows"]:
        low, high = row["strength_speedup_interval"]
        assert low <= row["strength_speedup"]
        assert high is None or row["strength_speedup"] <= high
        if row["lanes"] == 4:
            assert row["equal_lane_pairs"] == row["equal_total_pairs"] == 4
            assert row["throughput_speedup_at_most"] > 0
    assert found["rows"][0]["strength_speedup_interval"] == [1, 1]
    assert [point["simulations"] for point in found["curve"]] == [8, 16, 32, 64]
    assert found["curve"][0]["elo"] == 0
    assert found["games_played"] == 2 * 4 * len(found["matches"])


@pytest.mark.slow
def test_the_report_is_written_as_json_csv_and_pictures(measured: tuple[Path, dict[str, Any]]) -> None:
    folder, found = measured
    assert figures(json.loads((folder / "strength.json").read_text())) == figures(found)
    with (folder / "strength.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["strategy"] for line in lines] == [row["strategy"] for row in found["rows"]]
    assert float(lines[-1]["equal_total_low"]) == found["rows"][-1]["equal_total_interval"][0]
    assert (folder / "strength.png").read_bytes().startswith(b"\x89PNG")


def test_scores_are_drawn_by_lanes(tmp_path: Path) -> None:
    plan = plan_of("root,tree,leaf,tree:rounds=1,tree:rounds=2", (2, 4), total=320, scores_only=True)
    games = {k: record_of(k, gained_by_a=1 - k % 3) for k in range(6)}
    plan.played = [(meeting, Standing(games)) for meeting in plan.meetings]
    path = tmp_path / "scores.svg"
    plot_games(plan, path)
    # Letters are drawn as outlines, each text below a comment that holds it.
    found, few = path.read_text(), "only 3 pairs a match: the intervals are wide and inaccurate"
    for word in ("lanes", "leaf", "tree:rounds=2", provenance(), f"Warning: {few}"):
        assert f"<!-- {word} -->" in found
    assert "How well a tictactoe search on " in found


@pytest.mark.slow
def test_people_read_tables_in_80_columns(measured: tuple[Path, dict[str, Any]], here: Here) -> None:
    """All games are there, so none is played."""
    status, out, err = here(*SMALL, "--pairs", "4", *INLINE, "--out", str(measured[0]))
    assert status == 0, err
    for words in ("strength", "speedup", "against", "the sequential search", "a doubling adds", "tree"):
        assert words in out
    tables, _, _ = out.partition(STRENGTH)
    assert max(map(len, tables.splitlines())) <= 80
    assert "only 4 pairs a match" in err


@pytest.mark.slow
def test_a_measurement_that_was_broken_off_goes_on(
    measured: tuple[Path, dict[str, Any]], tmp_path: Path, here: Here
) -> None:
    folder, answer = measured
    arguments = (*SMALL, *INLINE, "--out", str(tmp_path))
    with start(*arguments, "--json", "--pairs", "2000") as process:
        try:
            eventually(lambda: min(sizes(tmp_path), default=0) >= LONG)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert json.loads(out)["stopped_by"] == "cancelled"
    assert json.loads(out)["rows"][1]["equal_total_pairs"] >= 1
    found = here.json(*arguments, "--pairs", "4")
    assert kept(tmp_path, 4) == kept(folder, 4)
    assert figures(found) == figures(answer)


def test_another_measurement_does_not_go_into_its_folder(
    measured: tuple[Path, dict[str, Any]], here: Here
) -> None:
    err = here.refusal(*SMALL, "--seed", "1", *INLINE, "--out", str(measured[0]))
    assert "in there seed is" in err


def test_a_worker_asks_each_player_once_before_its_first_game() -> None:
    asked: list[str] = []

    class Counts(Player):
        def choose(self, seen: Any, seed: int) -> Choice:
            asked.append(self.spec)
            return Choice(seen.legal[0])

    worker = MatchWorker(lambda spec, game: Counts(player_of(spec, game).spec))
    plan = plan_of("tree", (4,), scores_only=True)
    first, again = (worker.run(plan.meetings[0].context, Unit(0)).found for _ in range(2))
    moves = first.efforts[0].moves + first.efforts[1].moves
    assert len(asked) == 2 + 2 * moves
    assert first.moves == again.moves
