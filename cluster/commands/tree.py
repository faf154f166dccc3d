"""`banyan tree`: the top of a search tree."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.groups import with_groups
from cluster.commands.options import OutputOptions, SearchPlace, option
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.drawing.figure import Figure
    from cluster.launch import Output
    from search.prepare import Search
    from search.result import SearchResult
    from search.tree.view import Extent

DRAWING = "Drawing"
NODES, DEPTH, WIDTH, MIN_VISITS = 40, 4, 5, 2
"""One screen: the best moves with their main answers. Moves tried only once are not informative."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("tree")(with_groups(tree))


@dataclass(frozen=True)
class DrawingOptions:
    """The part of a tree that is shown."""

    nodes: Annotated[int, option("N", "The number of nodes shown, the most visited.", DRAWING)] = NODES
    depth: Annotated[int, option("DEPTH", "Plies below the root that are shown.", DRAWING)] = DEPTH
    width: Annotated[
        int, option("W", "The number of moves shown of each node, the most visited.", DRAWING)
    ] = WIDTH
    min_visits: Annotated[int, option("V", "Show only nodes with at least V visits.", DRAWING)] = MIN_VISITS
    player: Annotated[
        str | None,
        option(
            "PLAYER",
            "Instead of a search, show the nodes that alphabeta:depth=3 or minimax:depth=3 visits and "
            "cuts (ties=first: the order of textbooks).",
            DRAWING,
        ),
    ] = None
    out: Annotated[Path | None, option("FILE", "Write a drawing to FILE: .svg, .dot or .txt.", DRAWING)] = (
        None
    )

    def extent(self) -> Extent:
        """The part of a tree that is shown. Raises InvalidInput (nodes, depth, width, min_visits)."""
        from games.errors import InvalidInput
        from search.tree.view import Extent

        for name in ("nodes", "depth", "width", "min_visits"):
            if (value := getattr(self, name)) < 1:
                raise InvalidInput(name, value, "a whole number of at least 1")
        return Extent(self.nodes, self.depth, self.width, self.min_visits)


def tree(request: SearchRequest, place: SearchPlace, output: OutputOptions, drawing: DrawingOptions) -> int:
    """Search a position and show the top of the tree: moves, visits, values, and proven results."""
    from cluster.drawing.writers import format_of
    from cluster.launch import run_search

    out, extent = drawing.out, drawing.extent()
    if out is not None:
        format_of(out)
    if drawing.player is not None:
        return _look_ahead(request, output.json_output, drawing.player, out)

    def show(search: Search, result: SearchResult, output: Output) -> None:
        from cluster.commands.tree_report import print_tree
        from cluster.drawing.figures import figure_of_search
        from cluster.system.terminal import print_json
        from search.result import imagined
        from search.tree.view import top_of

        top = top_of(search.strategy.tree, search.game, imagined(search), extent)
        if output.json:
            print_json(result.to_json() | {"tree": top.to_json(search.game)})
        else:
            print_tree(search, result, top, output)
        if out is not None:
            _write(figure_of_search(search.game, top, result), out)

    return run_search(request, place.placement(), output.output(), show)


def _look_ahead(request: SearchRequest, json_output: bool, player: str, out: Path | None) -> int:
    """Show the nodes that a minimax player visits, instead of a search."""
    from cluster.drawing.figures import figure_of_trace
    from cluster.drawing.writers import write_text
    from cluster.system.terminal import print_json, write
    from games.catalogue import load
    from games.errors import InvalidInput
    from search.players import player_of
    from search.players.minimax import Minimax
    from search.prepare import unfinished_position

    game = load(request.game)
    looks = player_of(player, game)
    if not isinstance(looks, Minimax):
        raise InvalidInput("player", player, "alphabeta, minimax or negamax, with depth=N")
    traced = looks.trace(game, unfinished_position(request, game))
    figure = figure_of_trace(game, traced, looks)
    if json_output:
        print_json(
            {
                "game": game.spec,
                "player": looks.spec,
                "visited": traced.visited,
                "nodes": traced.total,
                "tree": traced.root.to_json(),
            }
        )
    else:
        write(write_text(figure), end="")
    if out is not None:
        _write(figure, out)
    return 0


def _write(figure: Figure, out: Path) -> None:
    from cluster.drawing.writers import write_figure

    write_figure(figure, out)
    print(f"banyan: wrote {out}", file=sys.stderr)
