"""`banyan tree`: the top of a search, and what alpha-beta looks at, as text, JSON and drawings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.cluster.command import ROOT, Here
from tests.cluster.commands.test_cli import COMMANDS

SMALL = ("--executor", "inline", "--simulations", "2000", "--no-progress")
FIGURE_14 = "explicit:([(7 8)(10 0)(10 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)])"
ALPHABETA, NEGAMAX = ("--player", "alphabeta:depth=4,ties=first"), ("--player", "negamax:depth=4,ties=first")


def count(node: dict[str, Any]) -> int:
    return 1 + sum(count(child) for child in node["children"])


def depth(node: dict[str, Any]) -> int:
    return max((1 + depth(child) for child in node["children"]), default=0)


def test_it_has_all_options_of_search_and_its_own() -> None:
    search, tree = ({each.name for each in COMMANDS[name].params} for name in ("search", "tree"))
    kept = {"checkpoint", "checkpoint_every", "server", "token_file", "preset"}
    assert tree - search == {"nodes", "depth", "width", "min_visits", "player", "out"}
    assert search - kept < tree


def test_the_tree_is_the_searchs(here: Here) -> None:
    found = here.json("tree", "tictactoe", *SMALL)
    search = here.json("search", "tictactoe", *SMALL)
    assert found["digest"] == search["digest"]
    tree = found.pop("tree")
    assert set(found) == set(search)
    assert (tree["visits"], tree["share"], tree["move"]) == (2000, 1.0, "")
    assert (count(tree), depth(tree), len(tree["children"]) + tree["left_out"]) == (40, 3, 9)
    visits = {child["move"]: (child["visits"], child["value"]) for child in search["children"]}
    for child in tree["children"]:
        assert (child["visits"], child["value"]) == visits[child["move"]]


@pytest.mark.parametrize("limits", [(7, 4, 5, 2), (40, 1, 9, 2), (40, 2, 2, 2), (99, 9, 9, 60)])
def test_what_is_shown_can_be_limited(here: Here, limits: tuple[int, int, int, int]) -> None:
    names = ("--nodes", "--depth", "--width", "--min-visits")
    chosen = [text for pair in zip(names, map(str, limits), strict=True) for text in pair]
    found = here.json("tree", "tictactoe", *SMALL, *chosen)
    lines = here.text("tree", "tictactoe", *SMALL, *chosen, "--no-color").split("\n\n")[1].splitlines()
    assert len(lines) == 1 + count(found["tree"])
    assert count(found["tree"]) <= limits[0] and depth(found["tree"]) <= limits[1]
    widest = max(len(node["children"]) for node in (found["tree"], *found["tree"]["children"]))
    assert widest <= limits[2]
    assert min(child["visits"] for child in found["tree"]["children"]) >= limits[3]


def test_lines_say_move_visits_share_value_proof_and_what_is_left_out(
    here: Here,
) -> None:
    out = here.text("tree", "tictactoe", "--moves", "a1 b1 a2 b2", "--solver", *SMALL, "--no-color")
    assert re.search(r"^best move +a3 for x$", out, re.MULTILINE)
    heading, root, *moves = out.split("\n\n")[1].splitlines()
    assert heading.split() == ["move", "visits", "share", "value"]
    assert re.fullmatch(r"x to move +\d+  100\.0 %  \+1\.000  won(  \d more)?", root)
    assert any(re.fullmatch(r"[|`]-- a3 +\d+ +\d+\.\d %  \+1\.000  won", line) for line in moves)


@pytest.mark.parametrize(
    ("game", "strategy"), [("battleship", "tree"), ("tictactoe", "root"), ("tictactoe", "leaf")]
)
def test_any_game_is_drawn_in_every_format(here: Here, tmp_path: Path, game: str, strategy: str) -> None:
    arguments = (game, *SMALL, "--strategy", strategy, "--nodes", "12")
    tree = here.json("tree", *arguments)["tree"]
    for ending in ("svg", "dot", "txt"):
        file = tmp_path / f"tree.{ending}"
        status, out, err = here("tree", *arguments, "--out", str(file))
        assert (status, err.splitlines()[-1]) == (0, f"banyan: wrote {file}")
        assert "best move" in out
        text = file.read_text()
        assert text.count("2,000") >= 2
        if ending == "svg":
            boxes = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}g")
            assert len(list(boxes)) == count(tree) == 12
        if ending == "dot":
            assert text.count(" -> ") == 11


def test_figure_11_negamax_has_the_values_of_who_moves(here: Here) -> None:
    out = here.text("tree", "explicit", *NEGAMAX)
    assert re.findall(r"^[|`][-=]{2} \d: (-?\d)$", out, re.MULTILINE) == ["-3", "1", "2"]
    leaves = re.findall(r"^.{8}[|`][-=]{2} \d: (-?\d)$", out, re.MULTILINE)
    assert leaves == ["-1", "-3", "-2", "-8", "-7", "-4", "-2", "-3", "9", "1", "5", "2", "3", "-9", "-7"]
    found = here.json("tree", "explicit", *NEGAMAX)
    assert found["tree"]["children"][0]["value"] * 9 == pytest.approx(3)


def test_figures_12_and_13_the_bounds_that_cut(here: Here) -> None:
    alpha, greater, beta = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREATER-THAN OR EQUAL TO}", "\u03b2"
    assert f"`-- 2: 4  {alpha} 9 {greater} {beta} 4\n" in here.text("tree", "explicit:(9 [4 5])", *ALPHABETA)
    assert f"`-- 2: 8  {alpha} 8 {greater} {beta} 1\n" in here.text("tree", "explicit:[1 (8 0)]", *ALPHABETA)


def test_figure_14_15_of_35_nodes_and_what_was_cut_is_dashed(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "figure14.svg"
    out = here.text("tree", FIGURE_14, *ALPHABETA, "--out", str(file))
    assert out.startswith("explicit: alphabeta:depth=4,ties=first visits 15 of 35 nodes, 57 % cut\n")
    assert len(re.findall(r"-- \d: cut$", out, re.MULTILINE)) == 20
    boxes = list(ElementTree.parse(file).getroot().iter("{http://www.w3.org/2000/svg}g"))
    assert len(boxes) == 35
    assert sum("opacity" in box.attrib for box in boxes) == 20


@pytest.mark.parametrize(
    ("command", "page", "picture"),
    [
        (("tree", "explicit", *ALPHABETA), "GAMES.md", "alphabeta.svg"),
        (("solve", "grundy:pile=7", "--draw", "and-or"), "README.md", "grundy_and_or.svg"),
    ],
)
def test_the_pictures_of_pages_are_what_the_commands_draw(
    command: tuple[str, ...], page: str, picture: str, here: Here, tmp_path: Path
) -> None:
    assert f"`banyan {' '.join(command)}`" in (ROOT / "games" / page).read_text()
    here.text(*command, "--out", str(tmp_path / "drawn.svg"))
    assert (tmp_path / "drawn.svg").read_text() == (ROOT / "cluster" / "plots" / picture).read_text()
