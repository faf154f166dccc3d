"""`banyan plan` and `banyan.plan`: episodes, their optimum, equal on any workers, kept and taken up again."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import banyan
import pytest

from cluster.planning.plan import PlanContext, PlanWorker, make_plan
from cluster.planning.result import interval_of
from cluster.runtime.drive import drive
from cluster.workers.choose import make_executor
from games.compile.watch import keeping_notes, notes
from games.errors import InvalidInput
from search.request import SearchRequest
from tests.cluster import problems
from tests.cluster.command import Here, start
from tests.cluster.searches import compiled_only
from tests.games.own_game import optimum, write_dice
from tests.waiting import eventually

INLINE = ("--executor", "inline")


@pytest.fixture
def dice(tmp_path: Path) -> str:
    return write_dice(tmp_path)


@pytest.fixture
def walk(tmp_path: Path) -> str:
    return problems.write(tmp_path, "walk")


@pytest.mark.slow
def test_the_printed_game_of_dice_is_played_almost_as_well_as_can_be(dice: str, here: Here) -> None:
    assert optimum() == pytest.approx(14.0)
    found = here.json("plan", dice, "--episodes", "300", "--simulations", "300", *INLINE)
    low, high = found["interval"]
    assert low <= optimum(), "nobody is better than the optimum but by foresight"
    assert high >= 0.98 * optimum()
    assert found["problem"] == dice
    assert (found["state_handling"], found["clairvoyant"]) == ("clone", False)
    assert [each["seed"] for each in found["episodes"]] == list(range(300))
    for each in found["episodes"]:
        assert (each["terminated"], each["truncated"]) == (True, False)
        assert each["steps"] == len(each["actions"])
        assert each["actions"].count("take") == 3


@pytest.mark.slow
def test_a_budget_of_one_simulation_plays_badly(dice: str, here: Here) -> None:
    found = here.json("plan", dice, "--episodes", "200", "--simulations", "1", *INLINE)
    assert found["interval"][1] < 0.95 * optimum()


def test_without_chance_the_best_line_is_followed(walk: str, here: Here) -> None:
    found = here.json("plan", walk, "--episodes", "2", "--simulations", "60", *INLINE)
    assert [each["return"] for each in found["episodes"]] == [15.0, 15.0]
    assert found["episodes"][0]["actions"] == ["up", "down"] * 3


@pytest.mark.slow
def test_episodes_depend_on_their_seeds_alone(dice: str, here: Here) -> None:
    whole = here.json("plan", dice, "--episodes", "6", "--simulations", "50", *INLINE)
    later = here.json("plan", dice, "--episodes", "3", "--simulations", "50", "--seed", "3", *INLINE)
    assert whole["episodes"][3:] == later["episodes"]
    assert len({json.dumps(each["actions"]) for each in whole["episodes"]}) > 1


@pytest.mark.slow
@compiled_only
def test_workers_without_the_file_play_the_same_episodes(dice: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"episodes": 8, "simulations": 100}
    inline = banyan.plan(dice, executor="inline", **options)
    read = make_plan(SearchRequest(dice, lanes=1, simulations=100), 8)
    Path(dice).unlink()
    with (
        read.opened(None) as jobset,
        closing(make_executor("ray", 2, make_worker=PlanWorker, in_flight=1)) as executor,
    ):
        executor.open(None)
        drive(jobset, executor)
        spread = read.result(jobset, executor)
    assert spread.workers == 2
    assert [each.actions for each in spread.episodes] == [each.actions for each in inline.episodes]
    assert spread.digest == inline.digest


@pytest.mark.slow
@compiled_only
def test_a_plan_that_was_killed_goes_on(dice: str, tmp_path: Path, here: Here) -> None:
    out = tmp_path / "out"
    arguments = (dice, "--episodes", "400", "--simulations", "2000")
    with start("plan", *arguments, *INLINE, "--out", str(out)) as process:
        lines = out / "episodes.jsonl"
        eventually(lambda: lines.exists() and lines.read_text().count("\n") >= 5, "no episode was kept")
        process.send_signal(signal.SIGKILL)
    kept = lines.read_text()
    lines.write_text(kept + '{"seed": 399, "val')
    found = here.json("plan", dice, "--episodes", "12", "--simulations", "2000", *INLINE, "--out", str(out))
    assert lines.read_text().startswith(kept[: kept.rindex("\n") + 1])
    assert (
        found["digest"]
        == here.json("plan", dice, "--episodes", "12", "--simulations", "2000", *INLINE)["digest"]
    )
    assert {file.name for file in out.iterdir()} >= {"result.json", "result.csv", "result.png", "plan.json"}
    err = here.refusal("plan", dice, "--simulations", "99", *INLINE, "--out", str(out))
    assert "--out" in err and "a folder for this plan" in err


@pytest.mark.slow
def test_steps_cut_an_episode_off(here: Here) -> None:
    found = here.json("plan", "2048", "--episodes", "1", "--simulations", "4", "--steps", "5", *INLINE)
    (episode,) = found["episodes"]
    assert (episode["steps"], episode["terminated"], episode["truncated"]) == (5, False, True)


def test_the_call_refuses_what_the_command_refuses() -> None:
    with pytest.raises(InvalidInput, match="a problem of one player"):
        banyan.plan("tictactoe")
    with pytest.raises(InvalidInput, match="unknown option 'simulation'; did you mean 'simulations'"):
        banyan.plan("2048", simulation=3)


def test_a_plan_is_printed_as_a_table_in_terminals_and_notebooks(walk: str) -> None:
    result = banyan.plan(walk, episodes=1, simulations=20, steps=2, executor="inline")
    assert repr(result).endswith(f": 1 episode, mean return {result.mean_return:g}>")
    facts, _, table = str(result).partition("\n\n")
    assert "ran on       1 worker, inline, " in facts
    assert table.split()[:3] == ["seed", "return", "steps"] and len(table.splitlines()) == 3
    page = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")
    assert len(page.findall(".//table")) == 2 and "mean return" in "".join(page.itertext())


def test_intervals() -> None:
    assert interval_of([3.0]) is None
    assert interval_of([1.0, 1.0]) != (1.0, 1.0), "two successes prove little"
    low, high = interval_of([1.0, 3.0, 2.0, 2.0]) or (0.0, 0.0)
    assert low < 2.0 < high


def test_a_long_episode_says_how_far_it_is() -> None:
    lines: list[str] = []
    worker = PlanWorker(lambda: lines.extend(notes()))
    with keeping_notes(True):
        worker.prepare(PlanContext(SearchRequest("2048", simulations=2), None, 10))
        # The first moves may have waited for a compilation, so they say nothing about the time that is left.
        worker._stepped(3, 4, 28.0)
        assert worker._first is not None
        worker._first = worker._first[0] - 8.0, 0
        worker._stepped(3, 5, 32.0)
        worker._noted = 0.0
        worker._stepped(3, 6, 36.0)
    assert lines[0] == "episode 3: step 4, return so far 28"
    assert lines[1].startswith("episode 3: step 6, return so far 36, 0.7")


@compiled_only
@pytest.mark.parametrize("stickiness", ["0.0", "0.25"])
def test_an_emulator_is_planned_alike_on_workers(stickiness: str) -> None:
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    options: dict[str, Any] = {"episodes": 2, "simulations": 12, "steps": 3, "playout_plies": 4, "lanes": 3}
    spec = f"gym:ALE/Breakout-v5(repeat_action_probability={stickiness})"
    one = banyan.plan(spec, executor="inline", **options)
    assert one.digest == banyan.plan(spec, executor="inline", **options).digest
    assert one.digest == banyan.plan(spec, executor="ray", workers=2, **options).digest
    assert not one.clairvoyant
