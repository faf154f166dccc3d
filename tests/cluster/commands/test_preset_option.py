"""`--preset` of searches and measurements, and the line that names it where it is stronger."""

from __future__ import annotations

import contextlib
import io

import pytest

import games
from cluster.cli import run
from cluster.commands.options import suggest_best
from cluster.commands.speedup import SpeedupOptions, _request
from cluster.commands.strength import _options
from games.errors import InvalidInput
from search.players import player_of
from search.players.presets import BEST, NAMES, player_options_of

LINE = "a stronger search for the best move: --preset best"
SMALL = ("--lanes", "2", "--simulations", "2", "--pairs", "1", "--strategies", "root", "--executor", "inline")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(*arguments: str) -> str:
    """What the command tells a person at a terminal."""
    terminal = Terminal()
    with contextlib.redirect_stderr(terminal), contextlib.redirect_stdout(io.StringIO()):
        assert run(arguments) == 0
    return terminal.getvalue()


def test_a_person_is_told_once_where_the_preset_is_stronger() -> None:
    shown = []
    for game, preset, as_json in (
        ("gomoku:size=5", None, False),
        ("gomoku", "plain", False),
        ("gomoku", None, True),
        ("grundy", None, False),
    ):
        terminal = Terminal()
        with contextlib.redirect_stderr(terminal):
            suggest_best(game, preset, as_json)
        shown.append(terminal.getvalue())
    assert shown == [f"{LINE}\n", "", "", ""]
    program = io.StringIO()
    with contextlib.redirect_stderr(program):
        suggest_best("gomoku", None, False)
    assert program.getvalue() == ""


@pytest.mark.slow
def test_search_strength_and_speedup_tell() -> None:
    once = ("--workers", "1", "--strategies", "root", "--simulations", "2000", "--repeats", "1")
    assert told("speedup", "gomoku:size=5", *once, "--executor", "threads").count(LINE) == 1
    assert told("search", "gomoku:size=5", "--simulations", "50").count(LINE) == 1
    assert told("strength", "gomoku:size=5", *SMALL).count(LINE) == 1
    assert LINE not in told("strength", "gomoku:size=5", *SMALL, "--preset", "best")


@pytest.mark.parametrize("game", [*BEST, "grundy"])
@pytest.mark.parametrize("preset", NAMES)
def test_a_preset_as_options_is_the_preset(game: str, preset: str) -> None:
    """The player that is given the options has the settings of the player that is given the preset."""
    loaded = games.load(game)
    options = "".join(f",{key}={value}" for key, value in player_options_of(preset, loaded).items())
    found = player_of(f"uct:lanes=1,strategy=root{options}", loaded)
    assert (
        vars(found)["request"]
        == vars(player_of(f"uct:preset={preset},lanes=1,strategy=root", loaded))["request"]
    )


def test_strength_keeps_what_was_given() -> None:
    assert _options("gomoku", "c=0.5", None) == "c=0.5"
    of_best = "c=2.0,playout_plies=0,widening=3,decisive=yes,solver=yes"
    assert _options("gomoku", "widening=3", "best") == of_best
    assert _options("grundy", "", "best") == ""


@pytest.mark.slow
def test_speedup_measures_the_preset_with_its_own_lanes() -> None:
    asked = SpeedupOptions(preset="best", simulations=100)
    request = _request("thud", asked, ["root"], 2)
    assert (request.strategy, request.lanes, request.implicit_minimax) == ("root", 16, 0.4)
    assert _request("thud", SpeedupOptions(simulations=100), ["tree"], 2).playout_plies is None
    with pytest.raises(InvalidInput, match="strategy: 'tree' is not accepted; expected root"):
        _request("thud", asked, ["tree"], 2)
    with pytest.raises(InvalidInput, match="preset: 'strong' is not accepted; expected best or plain"):
        _request("thud", SpeedupOptions(preset="strong"), ["root"], 2)
