"""Games as text."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import games
from cluster.lab.predict.costs import read_costs
from cluster.matches.launch import read_openings
from cluster.matches.record import Effort, GameRecord, read_file, read_records, write_file
from cluster.service.api.tokens import read_tokens
from games.errors import InvalidInput
from games.user_games import read_source

WON = GameRecord(
    game="tictactoe",
    seats=("random", "uct:simulations=10"),
    moves=("b2", "a1"),
    result=0.15625,
    seed=3,
    pair=2,
    leg=1,
    start="... x",
    opening=1,
    efforts=(Effort(3, 0.25, 0.125, 10, 4), Effort(2, 1e-06, 1e-06)),
)
OPEN = GameRecord(game="tictactoe", seats=("human", "random"), moves=())


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    assert read_records(str(WON) + str(OPEN)) == [WON, OPEN]
    file = tmp_path / "games.txt"
    write_file(file, [WON, OPEN])
    assert read_file(file) == [WON, OPEN]
    assert [path.name for path in tmp_path.iterdir()] == ["games.txt"]


def test_an_effort_as_written_reads_back() -> None:
    effort = Effort(7, 0.0123456789, 0.00987654321, 70, 7).as_written
    assert read_records(str(replace(WON, efforts=(effort, effort))))[0].efforts == (effort, effort)


def test_it_is_lines_of_name_and_value() -> None:
    assert str(WON).splitlines()[:4] == [
        "game     tictactoe",
        "first    random",
        "second   uct:simulations=10",
        "seed     3",
    ]
    assert "result" not in str(OPEN)
    assert str(WON).endswith("0 nodes\n\n")


def test_a_game_that_was_not_written_to_its_end_is_left_out() -> None:
    text = str(WON) + str(OPEN)
    for cut in range(len(str(WON)), len(text)):
        assert read_records(text[:cut]) == [WON]
    for cut in range(len(str(WON))):
        assert read_records(text[:cut]) == []


def test_a_file_edited_by_hand_needs_no_empty_line_at_its_end(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    file.write_text("game     tictactoe\nfirst    me\nsecond   you\nmoves    b2 a1")
    (record,) = read_file(file)
    assert record.moves == ("b2", "a1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nonsense\n\n", "nonsense"),
        ("game     tictactoe\nfirst    me\n\n", "game     tictactoe"),
        (str(WON).replace("seed     3", "seed     three"), "seed     three"),
        (str(WON).replace("10 simulations, 4 nodes", "10 of something"), None),
    ],
)
def test_anything_else_is_refused(text: str, value: str | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_records(text)
    assert caught.value.field == "record"
    if value is not None:
        assert caught.value.value == value


READERS: dict[Callable[[Path], object], str] = {
    read_file: str(WON),
    read_openings: "a1 b1",
    read_tokens: 20 * "a",
    partial(read_costs, strategies=[]): "{}",
    lambda path: read_source(str(path)): "import games",
    lambda path: games.load(f"jobshop:instance={path}"): "1 1\n0 1",
}


def test_files_may_begin_with_a_mark_and_are_regular_and_small(tmp_path: Path) -> None:
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    os.mkfifo(pipe)
    for read, text in READERS.items():
        file.write_text(text, encoding="utf-8-sig")
        read(file)
        with file.open("r+b") as sparse:
            sparse.truncate(2**29)
        for path, reason in (
            (pipe, "not a regular file"),
            (Path("/dev/zero"), "not a"),
            (file, "larger than"),
        ):
            with pytest.raises(InvalidInput, match=reason):
                read(path)


def test_a_file_without_games_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for name in ("empty", "missing", "."):
        with pytest.raises(InvalidInput, match="a file with games"):
            read_file(tmp_path / name)
