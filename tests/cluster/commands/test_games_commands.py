"""`banyan games`, `show`, `perft` and `warm`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from cluster.commands.reference import descriptions_text
from cluster.play import BUILT_IN
from tests.cluster.analysis.talk import Talk
from tests.cluster.command import Here


def test_games_lists_options_with_what_they_accept(here: Here) -> None:
    games = {game["name"]: game for game in here.json("games")}
    sizes = next(option for option in games["gomoku"]["options"] if option["name"] == "size")
    assert sizes == {"name": "size", "default": 12, "accepted": "a whole number from 5 to 20"}
    assert all(game["example_moves"] for game in games.values())
    assert all(option["accepted"] for game in games.values() for option in game["options"])
    table = here.text("games")
    assert all(name in table for name in games)
    assert max(map(len, table.splitlines())) <= 100


@pytest.mark.slow
def test_games_are_listed_without_loading_them_and_as_they_are() -> None:
    program = "import sys; from cluster.cli import run; run(['games']); print({'numba'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
    assert BUILT_IN.read_text() == descriptions_text()


def test_show_prints_a_position_that_it_reads_back(here: Here) -> None:
    shown = here.json("show", "gomoku:size=6", "--moves", "c3 d4 c4")
    assert shown["over"] is False
    assert len(shown["legal_moves"]) == 33
    again = here.json("show", "gomoku:size=6", "--position", shown["position"])
    assert again == {**shown, "moves": []}
    text = here.text("show", "gomoku:size=6", "--moves", "c3 d4 c4", "--legal")
    assert "\x1b" not in text
    assert "[X]" in text
    assert "33 moves" in text
    assert f"position  {shown['position']}" in text
    assert " a1 " in text


def test_show_draws_the_board_into_a_file(here: Here, tmp_path: Path) -> None:
    """The holes of connect four, two of them with discs."""
    picture = tmp_path / "board.svg"
    here.text("show", "connect_four", "--moves", "d d", "--out", str(picture))
    assert picture.read_text().count("<circle") >= 42
    assert ".svg" in here.refusal("show", "tictactoe", "--out", "board.png")


def test_show_says_who_has_won(here: Here) -> None:
    moves = "a1 a2 b1 b2 c1"
    text = here.text("show", "tictactoe", "--moves", moves)
    assert re.search(r"^over +.* wins$", text, re.MULTILINE)
    shown = here.json("show", "tictactoe", "--moves", moves)
    assert (shown["to_move"], shown["over"], shown["returns"]) == (None, True, [1.0, -1.0])


@pytest.mark.parametrize(
    ("game", "position", "outcome"),
    [
        ("battleship:task=solo,size=4,fleet=2-1", "2o1/xx2/2x1/4", "all sunk after 4 shots"),
        ("battleship:size=4,fleet=2-1", "2o1/xx2/2x1/4 | 4/4/4/ooo1", "first wins"),
        ("thud", "dd3/7/9/11/13/15/15/7*7/15/15/13/11/9/7/5 T 0 0 1", "dwarfs win by 2 points to 0"),
        ("tictactoe", "xox/xox/oxo o", "a draw"),
    ],
)
def test_show_says_how_it_ended(game: str, position: str, outcome: str, here: Here) -> None:
    text = here.text("show", game, "--position", position)
    assert f"over      {outcome}\n" in text


def test_perft_counts_every_depth_and_divides_the_last(here: Here) -> None:
    # 9, 72, 504: permutations, since no game of tic-tac-toe ends before the fifth ply.
    answer = here.json("perft", "tictactoe", "3", "--divide")
    assert [row["count"] for row in answer["counts"]] == [9, 72, 504]
    assert [part["count"] for part in answer["divide"]] == [56] * 9
    text = here.text("perft", "tictactoe", "3", "--divide")
    assert [line.split()[:2] for line in text.splitlines()[:3]] == [["1", "9"], ["2", "72"], ["3", "504"]]
    assert re.search(r"^ +b2 +56$", text, re.MULTILINE)


@pytest.mark.slow
def test_warm_compiles_every_kernel_once_for_all_strategies(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    status, _, err = here("warm", "tictactoe")
    assert status == 0
    assert re.search(r"^banyan: tictactoe: root .*, tree .*, leaf .*, play ", err, re.MULTILINE)
    compiled = Counter(path.name.rpartition("-")[0] for path in tmp_path.rglob("*.tictactoe_*.nbc"))
    assert {name: count for name, count in compiled.items() if count > 1} == {}
    assert any("simulate" in name for name in compiled)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 10_000_000
    # Nor has an engine anything left to compile.
    kernels = {*tmp_path.rglob("*.nbc")}
    with Talk("tictactoe", "--protocol", "ugi", "--workers", "2") as brain:
        brain.ask("ugi", "ugiok")
        brain.ask("isready", "readyok")
    assert {*tmp_path.rglob("*.nbc")} == kernels
