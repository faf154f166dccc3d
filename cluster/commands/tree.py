"""`banyan tree`: what a search has thought, as a tree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.search_options import Asked, with_search_options

if TYPE_CHECKING:
    from cluster.drawing import Figure
    from cluster.launch import Output
    from search.opening import Search
    from search.result import SearchResult

DRAWING = "Drawing"
NODES, DEPTH, WIDTH, MIN_VISITS = 40, 4, 5, 2
"""A screenful: the best moves with their main answers. What was tried once says nothing yet."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("tree")(with_search_options(tree))


def tree(
    asked: Asked,
    nodes: Annotated[
        int,
        typer.Option(metavar="N", help="At most so many nodes, the most visited.", rich_help_panel=DRAWING),
    ] = NODES,
    depth: Annotated[
        int,
        typer.Option(metavar="DEPTH", help="Plies below the root that are shown.", rich_help_panel=DRAWING),
    ] = DEPTH,
    width: Annotated[
        int,
        typer.Option(metavar="W", help="Moves of each node, the most visited.", rich_help_panel=DRAWING),
    ] = WIDTH,
    min_visits: Annotated[
        int,
        typer.Option(metavar="V", help="Only nodes with so many visits.", rich_help_panel=DRAWING),
    ] = MIN_VISITS,
    player: Annotated[
        str | None,
        typer.Option(
            metavar="PLAYER",
            help="Show what alphabeta:depth=3 or minimax:depth=3 visits and cuts, instead of a search "
            "(ties=first: as a textbook does).",
            rich_help_panel=DRAWING,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it there: .svg, .dot or .txt.", rich_help_panel=DRAWING),
    ] = None,
) -> int:
    """Search a position and show the top of the tree: moves, visits, values, and what is proven."""
    from cluster.drawing import format_of
    from cluster.launch import run_search
    from games.errors import InvalidInput

    if out is not None:
        format_of(out)
    for name, value in (("nodes", nodes), ("depth", depth), ("width", width), ("min_visits", min_visits)):
        if value < 1:
            raise InvalidInput(name, value, "a whole number of at least 1")
    if player is not None:
        return _look_ahead(asked, player, out)

    def show(search: Search, result: SearchResult, output: Output) -> None:
        from cluster.terminal import print_json
        from cluster.tree_figures import figure_of_search
        from cluster.tree_report import print_tree
        from search.top import Extent, top_of

        extent = Extent(nodes, depth, width, min_visits)
        top = top_of(search.strategy.tree, search.game, search.root_state, extent)
        if output.json:
            print_json(result.to_json() | {"tree": top.to_json()})
        else:
            print_tree(search, result, top, output)
        if out is not None:
            _write(figure_of_search(search.game, top, result), out)

    return run_search(asked.request, asked.place, asked.output, show)


def _look_ahead(asked: Asked, player: str, out: Path | None) -> int:
    """The same for a player that looks ahead."""
    from cluster.drawing import write_text
    from cluster.terminal import print_json
    from cluster.tree_figures import figure_of_trace
    from games.catalogue import load
    from games.errors import InvalidInput
    from search.opening import unfinished_position
    from search.players import player_of
    from search.players.minimax import Minimax

    game = load(asked.request.game)
    looks = player_of(player, game)
    if not isinstance(looks, Minimax):
        raise InvalidInput("player", player, "alphabeta, minimax or negamax, with depth=N")
    traced = looks.trace(game, unfinished_position(asked.request, game))
    figure = figure_of_trace(game, traced, looks)
    if asked.output.json:
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
        print(write_text(figure), end="")
    if out is not None:
        _write(figure, out)
    return 0


def _write(figure: Figure, out: Path) -> None:
    from cluster.drawing import write_figure

    write_figure(figure, out)
    print(f"banyan: wrote {out}", file=sys.stderr)
