"""`banyan search --server` behaves as `banyan search`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.command import SEARCHES, banyan, drawn_on_terminal, interrupted, start
from tests.cluster.service.process import Server

TOKEN = "a-token-of-sixteen-letters"
SEARCH = ("search", "gomoku:size=5", "--moves", "c3", "--simulations", "2000", "--lanes", "3", "--seed", "5")
DIFFERENT = ("elapsed_s", "simulations_per_s", "workers", "executor")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Options that name a server and its token."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "token").write_text(TOKEN)
    with Server(folder / "data", "--token-file", str(folder / "token")) as server:
        yield ("--server", server.url, "--token-file", str(folder / "token"))


def facts(lines: str) -> list[str]:
    """What is printed, without times and places."""
    words = ("simulations", "rate", "ran on")
    return [line.rstrip() for line in lines.splitlines() if not line.startswith(words)]


@pytest.mark.slow
def test_it_prints_what_a_search_here_prints(place: tuple[str, ...]) -> None:
    here = banyan(*SEARCH, "--executor", "inline")
    there = banyan(*SEARCH, *place)
    assert (there[0], there[2]) == (here[0], here[2]) == (0, "")
    assert facts(there[1]) == facts(here[1])
    here, there = banyan(*SEARCH, "--executor", "inline", "--json"), banyan(*SEARCH, *place, "--json")
    one, other = json.loads(here[1]), json.loads(there[1])
    assert list(one) == list(other)
    assert {k: one[k] for k in one if k not in DIFFERENT} == {k: other[k] for k in one if k not in DIFFERENT}


@pytest.mark.slow
@pytest.mark.parametrize("game", ["samegame:columns=4,rows=4,colours=2", "chinese_checkers:turns=12"])
def test_other_problems_than_games_of_two(place: tuple[str, ...], game: str) -> None:
    asked = ("search", game, "--simulations", "60", "--lanes", "2")
    here, there = banyan(*asked, "--executor", "inline"), banyan(*asked, *place)
    assert there[0] == here[0] == 0
    assert facts(there[1]) == facts(here[1])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("search", "gomoku", "--moves", "z99"), "--moves: 'z99' is not accepted"),
        (("search", "./mine.py"), "GAME: './mine.py' is not accepted; expected a name, not a file"),
        (("search", "gomoku", "--memory", "9999"), "--memory: 9999 is not accepted; expected at most 1"),
        (("search", "gomoku", "--lanes", "5000"), "--lanes: 5000 is not accepted; expected at most 1"),
        (("search", "gomoku", "--workers", "2"), "--workers: '2' is not accepted; expected nothing with"),
    ],
)
def test_what_is_wrong_is_one_line(place: tuple[str, ...], arguments: tuple[str, ...], line: str) -> None:
    status, out, err = banyan(*arguments, *place)
    assert (status, out) == (2, "")
    assert err.startswith(f"banyan: error: {line}") and err.count("\n") == 1


@pytest.mark.slow
def test_a_server_that_is_not_there_or_not_ours(place: tuple[str, ...], tmp_path: Path) -> None:
    status, out, err = banyan(*SEARCH, "--server", "http://127.0.0.1:1")
    assert (status, out) == (1, "")
    assert err.startswith("banyan: error: the search failed: http://127.0.0.1:1:") and err.count("\n") == 1
    status, _, err = banyan(*SEARCH, *place[:2])
    assert status == 1 and "a token is required" in err
    status, _, err = banyan(*SEARCH, "--server", "nonsense://x")
    assert status == 2 and err.startswith("banyan: error: --server: 'nonsense://x' is not accepted")


@pytest.mark.slow
def test_a_terminal_shows_the_search_on_the_server_as_one_here(place: tuple[str, ...]) -> None:
    """With a terminal for standard error there is a view, drawn again as the search goes on."""
    command = ("search", "gomoku:size=9", "--moves", "e5", "--seconds", "4", *place)
    status, text = drawn_on_terminal(110, *command, rows=40, stream="stderr")
    assert status == 0
    for words in (
        "gomoku:size=9",
        "tree, on the server",
        "% of 4",
        "in flight",
        "best move",
        "workers",
    ):
        assert words in text
    assert text.count("in flight") > 1
    # The heat of the visits, in colours of its own.
    assert "\x1b[37;48;5;" in text


@pytest.mark.slow
def test_ctrl_c_ends_the_search_and_prints_its_best_answer(place: tuple[str, ...]) -> None:
    status, out, _ = interrupted(start("search", "gomoku:size=5", "--seconds", "600", *place), SEARCHES)
    assert status == 130
    assert "best move" in out and "stopped by   cancelled" in out
