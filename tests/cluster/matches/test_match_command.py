"""`banyan match`: whole matches, inline and on Ray, interrupted, killed and taken up again."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cluster.launch import Output
from cluster.matches.game import MatchWorker
from cluster.matches.launch import MatchRequest, open_match, run_match
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.matches.record import read_file
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset, UnitFailed
from cluster.runtime.tasks import Executor
from cluster.workers.choose import make_executor
from cluster.workers.placement import Placement
from games.errors import InvalidInput
from tests.cluster.command import Here, start
from tests.cluster.match_players import make
from tests.cluster.searches import compiled_only
from tests.games.own_game import write
from tests.waiting import PATIENCE_S, eventually

INLINE = ("--executor", "inline")


def found(here: Here, *arguments: str) -> Any:
    return here.json("match", *arguments, *INLINE)


def moves_in(folder: Path) -> list[str]:
    """All that does not depend on the clock."""
    lines = (folder / "games.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("cost")]


def test_two_random_players_on_tictactoe_are_level(here: Here) -> None:
    played = found(here, "tictactoe", "random", "random", "--games", "400", "--opening-plies", "0")
    assert played["a_results"]["wins"] + played["a_results"]["draws"] + played["a_results"]["losses"] == 400
    low, high = played["elo_interval"]
    assert low < 0 < high
    # By enumeration the first player wins 737/1260 of random games (58.5 %), and 8/63 are drawn (12.7 %).
    assert abs(played["first_player"]["wins"] / 400 - 0.585) < 0.1
    assert abs(played["first_player"]["draws"] / 400 - 0.127) < 0.07
    assert played["efforts"]["a"]["moves"] > 1000
    assert played["stopped_by"] == "games"


def test_people_read_all_of_it(here: Here) -> None:
    out = here.text("match", "tictactoe", "random", "random", "--games", "20", *INLINE)
    for words in (
        "A as first",
        "A as second",
        "win rate",
        "pairs",
        "Elo of A",
        "longest",
        "1 worker, inline",
    ):
        assert words in out
    out = here.text("match", "thud:turns=40", "random", "random", "--games", "4", *INLINE)
    assert "points in the mean of pairs" in out


def test_a_match_taken_up_again_plays_only_what_is_missing(tmp_path: Path, here: Here) -> None:
    base = ("gomoku:size=5", "random", "random")
    whole = found(here, *base, "--games", "12", "--out", str(tmp_path / "whole"))
    found(here, *base, "--games", "6", "--out", str(tmp_path / "broken"))
    games = tmp_path / "broken" / "games.txt"
    kept = games.read_text()
    # A process that dies while it writes leaves half a game.
    games.write_text(kept[: kept.rindex("cost 1")])
    again = found(here, *base, "--games", "12", "--out", str(tmp_path / "broken"))
    assert moves_in(tmp_path / "broken") == moves_in(tmp_path / "whole")
    assert again["a_results"] == whole["a_results"]
    assert (again["games_played"], len(read_file(games))) == (12, 12)
    for name, value in (("seed", "5"), ("opening-plies", "1")):
        err = here.refusal(
            "match",
            *base,
            "--games",
            "12",
            "--out",
            str(tmp_path / "broken"),
            f"--{name}",
            value,
            *INLINE,
        )
        assert f"in there {name.replace('-', '_')} is" in err


def test_openings_from_a_file(tmp_path: Path, here: Here) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("# two of them\nb2 a1\n\na1 b2  # the other way round\n")
    found(
        here, "tictactoe", "random", "random", "--games", "6", "--openings", str(file), "--out",
        str(tmp_path / "out"),
    )  # fmt: skip
    begun = [record.moves[:2] for record in read_file(tmp_path / "out" / "games.txt")]
    assert begun == [("b2", "a1")] * 2 + [("a1", "b2")] * 2 + [("b2", "a1")] * 2
    file.write_text("b2 b2\n")
    arguments = ("match", "tictactoe", "random", "random", "--openings", str(file))
    err = here.refusal(*arguments, *INLINE)
    assert "--openings: 'b2'" in err


def inline(
    game: str, a: str, b: str, games: int = 4, *, sprt: str | None = None, as_json: bool = True
) -> int:
    place, output = Placement(executor="inline"), Output(progress=False, json=as_json, no_color=True)
    return run_match(MatchRequest(game, a, b, games, sprt=sprt), place, output, None, make)


def test_a_sequential_test_stops_the_match_and_says_what_it_decided(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a board of 5x5 whoever takes the first free cell is more than 80 Elo stronger than random moves."""
    for as_json in (True, False):
        assert inline("gomoku:size=5", "first", "random", 2000, sprt="0,60", as_json=as_json) == 0
    out = capsys.readouterr().out
    said = json.loads(out.splitlines()[0])
    assert said["sprt"]["accepted"] == "elo1"
    assert said["sprt"]["ratio"] >= said["sprt"]["bounds"][1]
    assert said["stopped_by"] == "sprt"
    assert said["games"] < 300
    assert f"elo1 = 60 accepted, elo0 rejected, after {said['games'] // 2} pairs" in out


def test_one_folder_takes_one_match_at_a_time(tmp_path: Path) -> None:
    context, _ = open_match(MatchRequest("tictactoe", "random", "random", 2))
    first = MatchFolder(tmp_path, context)
    with pytest.raises(InvalidInput, match="no other match is writing"):
        MatchFolder(tmp_path, context)
    first.close()
    MatchFolder(tmp_path, context).close()


def test_players_that_always_play_alike_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert inline("grundy", "first", "first", 8) == 0
    assert json.loads(capsys.readouterr().out)["different_games"] < 8


@pytest.mark.slow
def test_ctrl_c_prints_the_standing_and_leaves_what_was_played(tmp_path: Path) -> None:
    arguments = ("match", "thud", "random", "random", "--games", "100000", "--out", str(tmp_path))
    with start(*arguments, *INLINE, "--json", "--no-progress") as process:
        games = tmp_path / "games.txt"
        eventually(lambda: games.exists() and games.stat().st_size > 20_000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    said = json.loads(out)
    assert said["stopped_by"] == "cancelled"
    assert said["games_played"] == len(read_file(games)) > 1


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    executor = make_executor("ray", 2, job_timeout_s=60, make_worker=partial(MatchWorker, make), in_flight=1)
    yield executor
    executor.close()


def on_ray(executor: Executor, request: MatchRequest, folder: Path) -> Match:
    context, _ = open_match(request, make)
    kept = MatchFolder(folder, context)
    match = Match(context, request.games, None, kept.played)
    try:
        executor.open(None)
        drive(Jobset(Tournament([match], [kept])), executor)
    finally:
        kept.close()
    return match


def in_process(request: MatchRequest, folder: Path) -> Match:
    executor = make_executor("inline", 1, make_worker=partial(MatchWorker, make))
    return on_ray(executor, request, folder)


@pytest.mark.slow
@compiled_only
def test_games_of_killed_workers_are_played_again_and_count_once(workers: Executor, tmp_path: Path) -> None:
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    player = f"mortal {deaths}"
    peaceful = in_process(MatchRequest("gomoku:size=5", player, "slow", 20, seed=9), tmp_path / "peaceful")
    for number in range(3):
        (deaths / str(number)).touch()
    match = on_ray(workers, MatchRequest("gomoku:size=5", player, "slow", 20, seed=9), tmp_path / "killed")
    assert list(deaths.iterdir()) == [], "three workers died"
    assert match.retried >= 3
    assert match.done == 20
    assert match.standing().all == peaceful.standing().all
    assert moves_in(tmp_path / "killed") == moves_in(tmp_path / "peaceful")


@pytest.mark.slow
@compiled_only
def test_what_a_player_does_wrong_on_a_worker_is_said_here(workers: Executor, tmp_path: Path) -> None:
    with pytest.raises(UnitFailed, match=re.escape("player illegal chose 65000, which is not legal in")):
        on_ray(workers, MatchRequest("tictactoe", "random", "illegal", 4), tmp_path)


@pytest.mark.slow
@compiled_only
def test_a_game_file_travels_with_the_match(
    workers: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANYAN_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path)
    request = MatchRequest(path, "uct:simulations=50", "first", 8)
    context, _ = open_match(request, make)
    inline_match = in_process(request, tmp_path / "inline")
    os.rename(path, path + ".gone")
    match = Match(context, 8)
    workers.open(None)
    drive(Jobset(Tournament([match])), workers)
    assert [record.moves for record in match.records] == [record.moves for record in inline_match.records]
