"""`banyan solve`: values and moves, the graph and tree of a game, and what cannot be solved."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import games
from cluster.drawing.figures import Figure, figure_of_solved
from cluster.drawing.writers import write_text
from games.analysis.position_graph import PositionGraph
from games.analysis.solving import solve
from games.game import FIRST, SECOND
from tests.cluster.command import Here

SEVEN = "grundy:pile=7"


def graph_of(spec: str) -> PositionGraph:
    game = games.load(spec)
    return PositionGraph(solve(game, game.initial_state()))


def edges_of(figure: Figure, *, bold: bool) -> set[tuple[str, str]]:
    return {
        (figure.nodes[edge.source].text, figure.nodes[edge.target].text)
        for edge in figure.edges
        if edge.bold or not bold
    }


def test_a_pile_of_seven_is_lost_by_whoever_begins(here: Here) -> None:
    """The numbers of the article on two-player games, figures 1, 3 and 6."""
    answer = here.json("solve", SEVEN)
    assert (answer["winner"], answer["value"], answer["plies"]) == ("second", -1, 4)
    assert (answer["positions"], answer["graph"]["moves"]) == (14, 17)
    assert answer["tree"] == {"nodes": 24, "levels": [1, 3, 6, 7, 6, 1], "leaves": 7}
    assert answer["first_wins"] + answer["second_wins"] == 14
    assert [(child["move"], child["value"]) for child in answer["children"]] == [
        ("7-1+6", -1),
        ("7-2+5", -1),
        ("7-3+4", -1),
    ]


@pytest.mark.parametrize(
    ("moves", "replies"),
    [("7-1+6", {"6-2+4"}), ("7-2+5", {"5-1+4"}), ("7-3+4", {"3-1+2", "4-1+3"})],
)
def test_the_winning_replies_to_each_split_of_seven(here: Here, moves: str, replies: set[str]) -> None:
    answer = here.json("solve", SEVEN, "--moves", moves)
    assert (answer["winner"], answer["value"], answer["to_move"]) == ("second", 1, "second")
    assert set(answer["best_moves"]) == replies
    assert [child["value"] for child in answer["children"]] == sorted(
        (child["value"] for child in answer["children"]), reverse=True
    )


def test_tic_tac_toe_is_a_draw(here: Here) -> None:
    answer = here.json("solve", "tictactoe")
    assert (answer["winner"], answer["value"], answer["plies"]) == (None, 0, None)
    assert (answer["positions"], len(answer["best_moves"])) == (5478, 9)
    assert (answer["tree"]["nodes"], answer["tree"]["leaves"]) == (549_946, 255_168)
    out = here.text("solve", "tictactoe", "--moves", "a1 b1 a2 b2")
    assert re.search(r"value +x wins in 1 ply\n", out)
    assert re.search(r"a3 +won +1 *\n", out)


@pytest.mark.slow
def test_a_game_whose_positions_come_again_has_no_tree(here: Here) -> None:
    answer = here.json("solve", "morris:variant=three", "--no-progress")
    assert answer["tree"] is None
    assert answer["graph"]["moves"] > answer["positions"]
    status, _, err = here("solve", "morris:variant=three", "--draw", "tree")
    assert (status, "--draw: 'tree'" in err, "can repeat" in err) == (2, True, True)


def test_the_graph_and_the_tree_of_seven() -> None:
    graph = graph_of(SEVEN)
    figure = figure_of_solved(graph, "graph")
    assert (len(figure.nodes), len(figure.edges), figure.is_tree) == (14, 17, False)
    tree = figure_of_solved(graph, "tree")
    assert (len(tree.nodes), len(tree.edges), tree.is_tree) == (24, 23, True)
    assert tree.rows == ["first moves", "second moves", "first moves", "second moves", "first moves", ""]
    assert {(node.text, node.note) for node in tree.nodes} == {
        (node.text, node.note) for node in figure.nodes
    }


def test_the_second_player_has_an_answer_to_each_split_and_the_first_has_none() -> None:
    graph = graph_of(SEVEN)
    figure = figure_of_solved(graph, "and-or", SECOND)
    assert len(figure.nodes) == 24
    assert {pair for pair in edges_of(figure, bold=True) if "2+1+1" not in pair[1]} == {
        *(("7", "6+1"), ("7", "5+2"), ("7", "4+3")),
        *(("6+1", "4+2+1"), ("5+2", "4+2+1"), ("4+3", "4+2+1"), ("4+3", "3+3+1")),
    }
    assert {node.text for node in figure.nodes if node.joined} >= {"7", "5+1+1"}
    strategy = figure_of_solved(graph, "strategy")
    assert edges_of(strategy, bold=False) == edges_of(figure, bold=True)
    other = figure_of_solved(graph, "and-or", FIRST)
    assert edges_of(other, bold=True) == set()
    assert "first has no winning strategy" in other.legend


@pytest.mark.parametrize(
    ("tree", "winner"),
    [("(1 -1)", "max"), ("(-1 -1)", "min"), ("(1 1 -1)", "max"), ("[-1 1 1]", "min"), ("[1 1]", "max")],
)
def test_figure_4_who_moves_needs_one_good_branch(here: Here, tree: str, winner: str) -> None:
    assert here.json("solve", f"explicit:{tree}")["winner"] == winner


FIGURE_10 = (
    "explicit:([([1 0])([1][-1 1][0 1])] [([1 1][-1 0])([-1])] [([1][0 1])([1])([1][-1][1 1 1])])",
    [
        [1],
        [0, -1, 1],
        [0, 1, 1, -1, 1, 1, 1],
        [0, 1, -1, 0, 1, -1, -1, 1, 0, 1, 1, -1, 1],
        [1, 0, 1, -1, 1, 0, 1, 1, 1, -1, 0, -1, 1, 0, 1, 1, 1, -1, 1, 1, 1],
    ],
)
"""The values on each level are the article's; the branches are such that these follow from the ends."""


def test_figure_10_the_winning_strategy_by_minimax() -> None:
    spec, values = FIGURE_10
    graph = graph_of(spec)
    tree = figure_of_solved(graph, "tree")
    for level, row in enumerate(values):
        assert [node.value for node in tree.nodes if node.level == level] == row
    strategy = edges_of(figure_of_solved(graph, "strategy"), bold=True)
    assert {target for source, target in strategy if source == "root"} == {"3"}
    assert {target for source, target in strategy if source == "3"} == {"3.1", "3.2", "3.3"}
    kept = {node.text for node in figure_of_solved(graph, "strategy").nodes}
    assert all(place.value == 1 for place in graph.places if place.text.split()[0] in kept)


@pytest.mark.parametrize("kind", ["graph", "tree", "and-or", "strategy"])
def test_drawings_are_written_where_they_are_asked_for(here: Here, tmp_path: Path, kind: str) -> None:
    for ending in ("svg", "dot", "txt"):
        file = tmp_path / f"seven.{ending}"
        status, out, err = here("solve", SEVEN, "--draw", kind, "--out", str(file))
        assert (status, err) == (0, f"banyan: wrote {file}\n")
        assert "second wins in 4 plies" in out
    ElementTree.parse(tmp_path / "seven.svg")
    assert (tmp_path / "seven.dot").read_text().startswith("digraph {")
    figure = figure_of_solved(graph_of(SEVEN), kind)
    assert (tmp_path / "seven.txt").read_text() == write_text(figure)
    out = here.text("solve", SEVEN, "--draw", kind)
    assert out.endswith(write_text(figure))
