"""A new option of a search is one edit: help, API, players, checks and REFERENCE.md follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import typer
from typer.main import get_command

from cluster.cli import app_of
from cluster.commands.options import with_groups
from cluster.commands.reference import option_rows, player_rows, reference_text
from cluster.service.limits import Limits
from cluster.service.request_models import body_model
from games.errors import InvalidInput
from games.spec import Options, parse_spec
from search.options import PLAYOUTS, option
from search.players import names
from search.players.monte_carlo import read_options
from search.request import SearchRequest
from tests.cluster.command import ROOT


@dataclass(frozen=True)
class Extended(SearchRequest):
    """A search with one option more, which is described here and nowhere else."""

    last_good_reply: int = option(
        4,
        help="Replies of earlier playouts that a playout tries first.",
        group=PLAYOUTS,
        bounds=(0, 9),
        unit="replies",
        key="replies",
    )


def command_line() -> tuple[Any, list[Any]]:
    """A command with the options of that search, and the requests that it was called with."""
    called: list[Any] = []

    def search(request: Extended) -> None:
        called.append(request)

    parser = typer.Typer()
    parser.command()(with_groups(search))
    return get_command(parser), called


def test_a_new_option_is_one_edit_on_the_command_line() -> None:
    command, called = command_line()
    (row,) = (row for row in option_rows(command.params) if "last-good" in row[0])
    text = "Replies of earlier playouts that a playout tries first."
    assert row == ["`--last-good-reply`", "`N`", "`4`", text]
    for options in ([], ["--last-good-reply", "7"]):
        command.main(["tictactoe", *options], standalone_mode=False)
    assert [request.last_good_reply for request in called] == [4, 7]


def test_a_new_option_is_one_edit_in_the_api() -> None:
    body = body_model(Extended)
    schema = body.model_json_schema()["properties"]["last_good_reply"]
    assert (schema["type"], schema["default"], schema["minimum"], schema["maximum"]) == ("integer", 4, 0, 9)
    assert schema["description"] == "Replies of earlier playouts that a playout tries first."
    sent = body.model_validate({"game": "tictactoe", "simulations": 5, "last_good_reply": 7})
    request = sent.request(Limits())
    assert isinstance(request, Extended) and request.last_good_reply == 7


def test_a_new_option_is_one_edit_for_players() -> None:
    spec = parse_spec("uct:replies=7", "player")
    assert read_options(spec, Options(spec, "player"), kind=Extended) == {"last_good_reply": 7}


@pytest.mark.parametrize("value", [-1, 10, 2.0, True, "7", None])
def test_a_new_option_is_checked(value: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Extended("tictactoe", last_good_reply=value)  # type: ignore[arg-type]
    assert (refusal.value.field, refusal.value.value) == ("last_good_reply", value)
    assert refusal.value.accepted == "a whole number from 0 to 9"


def test_options_of_several_commands_are_listed_once() -> None:
    page = (ROOT / "cluster" / "commands" / "REFERENCE.md").read_text()
    assert page.count("Print JSON on standard output") == 1
    commands = [each for each in get_command(app_of()).commands.values() if not each.hidden]  # type: ignore[attr-defined]
    sections = page.split("\n### ")
    for command in commands:
        (section,) = (each for each in sections if each.startswith(f"banyan {command.name}\n"))
        for name in (name for each in command.params for name in each.opts if name.startswith("--")):
            assert f"`{name}`" in section or name in ("--help", "--output"), (command.name, name)


def test_the_page_is_of_this_code() -> None:
    """The command that writes it anew: ``banyan reference > cluster/commands/REFERENCE.md``."""
    page = (ROOT / "cluster" / "commands" / "REFERENCE.md").read_text()
    assert page == reference_text(get_command(app_of()))


@pytest.mark.parametrize("name", names())
def test_each_option_of_a_player_is_described(name: str) -> None:
    for row in player_rows(name):
        assert row[1] and row[3], row
