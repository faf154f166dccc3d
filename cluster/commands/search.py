"""`banyan search`, `resume` and `tree`: searches of one position; `banyan evaluations`: what they keep."""

# ruff: noqa: B008
from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.options import (
    AT_LEAST_1,
    OUTPUT,
    PLACE,
    CheckpointEveryOption,
    PresetOption,
    ResultOptions,
    SearchPlace,
    option,
    report,
    suggest_best,
)
from cluster.system.terminal import Output, count, print_facts, print_json, stdout_console, write
from search.options import refuse
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.workers.placement import Placement
    from search.prepare import Search
    from search.result import SearchResult
    from search.tree.view import TopNode

DRAWING = "Drawing"
FACTS = ("best move", "value", "simulations", "search", "tree", "stopped by", "digest")
NODES, DEPTH, WIDTH, MIN_VISITS = 40, 4, 5, 2
"""One screen: the best moves with their main answers. Moves tried only once are not informative."""


def search(
    request: SearchRequest,
    place: SearchPlace,
    output: Output,
    preset: PresetOption = None,
    checkpoint: Path | None = option(
        None, "FILE", "Save the search in FILE; banyan resume FILE continues it.", OUTPUT
    ),
    checkpoint_every: CheckpointEveryOption = None,
    server: str | None = option(
        None, "URL", "Search on a server (banyan serve), which decides where the search runs.", PLACE
    ),
    token_file: Path | None = option(
        None, "FILE", "File with the server's token (also BANYAN_TOKEN).", PLACE
    ),
) -> int:
    """Search a position for the best move, on one worker or many."""
    from cluster.launch import run_search

    request = request_with_preset(request, preset, output)
    if server is not None:
        status = _search_at(server, token_file, request, place.placement(), output, checkpoint)
    elif token_file is not None:
        refuse("token_file", str(token_file), "nothing without --server URL")
    else:
        if checkpoint is None and checkpoint_every is not None:
            refuse("checkpoint_every", checkpoint_every, "nothing without --checkpoint FILE")
        status = run_search(
            request, place.placement(), output, checkpoint=checkpoint, every_s=checkpoint_every
        )
    if status == 0:
        suggest_best(request.game, preset, output.json)
    return status


def resume(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A checkpoint of banyan search. A game or an evaluator in a file is run from the text that "
            "the checkpoint holds: it must come from somebody you trust.",
            show_default=False,
        ),
    ],
    place: SearchPlace,
    output: Output,
    checkpoint_every: CheckpointEveryOption = None,
) -> int:
    """Continue a search from its checkpoint, on any machine and any number of workers.

    The answer is that of an uninterrupted search. FILE is updated.
    """
    from cluster.launch import resume_search

    return resume_search(file, place.placement(), output, checkpoint_every)


def evaluations(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, help="A file of banyan search --evaluations.", show_default=False
        ),
    ],
    output: ResultOptions,
) -> None:
    """Say which answers a store of evaluations has, by evaluator and game."""
    from games.errors import counted
    from search.ask_tell.store import EvaluationStore

    contents = EvaluationStore(file).contents()
    facts = [
        (
            counted(each["answers"], "answer"),
            f"{each['evaluator']} {each['version']} to {each['game']}, {each['bytes'] / 1e6:.1f} MB",
        )
        for each in contents
    ]
    if output.json:
        print_json(contents)
    else:
        print_facts(stdout_console(output.colour), facts or [("empty", "no answers")])


def request_with_preset(request: SearchRequest, preset: str | None, output: Output) -> SearchRequest:
    """The request with the fields of the preset, printed on standard error. Raises InvalidInput."""
    import games
    from search.players.presets import settings_of, with_preset

    if preset is None:
        return request
    game = games.load(request.game)
    found = with_preset(request, preset, game)
    if not output.json:
        shown = [f"{name}={getattr(found, name)}" for name in settings_of(preset, game)]
        print(f"preset {preset}: {', '.join(shown) or 'the defaults'}", file=sys.stderr)
    return found


def _search_at(
    server: str,
    token_file: Path | None,
    request: SearchRequest,
    place: Placement,
    output: Output,
    checkpoint: Path | None,
) -> int:
    """Search on a server. Raises InvalidInput for options of the place, which the server decides."""
    from cluster.client.remote import search_at
    from cluster.runtime.workers import AUTO, ONE_CPU
    from cluster.service.api.tokens import read_token

    for field, value in (
        ("workers", None if place.range == AUTO else place.range),
        ("worker_resources", None if place.resources == ONE_CPU else place.resources),
        ("address", place.address),
        ("job_timeout", place.job_timeout),
        ("metrics_port", place.metrics_port),
        ("evaluations", place.evaluations),
        ("checkpoint", checkpoint),
    ):
        if value is not None:
            refuse(field, str(value), "nothing with --server: the server decides that")
    return search_at(server, read_token(token_file), request, output)


def tree(
    request: SearchRequest,
    place: SearchPlace,
    output: Output,
    nodes: int = option(
        NODES, "N", "The number of nodes shown, the most visited.", DRAWING, accepts=AT_LEAST_1
    ),
    depth: int = option(DEPTH, "DEPTH", "Plies below the root that are shown.", DRAWING, accepts=AT_LEAST_1),
    width: int = option(
        WIDTH, "W", "The number of moves shown of each node, the most visited.", DRAWING, accepts=AT_LEAST_1
    ),
    min_visits: int = option(
        MIN_VISITS, "V", "Show only nodes with at least V visits.", DRAWING, accepts=AT_LEAST_1
    ),
    player: str | None = option(
        None,
        "PLAYER",
        "Instead of a search, show the nodes that alphabeta:depth=3 or minimax:depth=3 visits and "
        "cuts (ties=first: the order of textbooks).",
        DRAWING,
    ),
    out: Path | None = option(None, "FILE", "Write a drawing to FILE: .svg, .dot or .txt.", DRAWING),
) -> int:
    """Search a position and show the top of the tree: moves, visits, values, and proven results."""
    from cluster.drawing.writers import format_of, write_figure
    from cluster.launch import run_search
    from search.tree.view import Extent, top_of

    extent = Extent(nodes, depth, width, min_visits)
    if out is not None:
        format_of(out)
    if player is not None:
        return _look_ahead(request, output.json, player, out)

    def show(search: Search, result: SearchResult, output: Output) -> None:
        from cluster.drawing.figures import figure_of_search
        from search.result import imagined

        top = top_of(search.strategy.tree, search.game, imagined(search), extent)
        if output.json:
            print_json(result.to_json() | {"tree": top.to_json(search.game)})
        else:
            print_tree(search, result, top, output)
        if out is not None:
            write_figure(figure_of_search(search.game, top, result), out, report)

    return run_search(request, place.placement(), output, show)


def _look_ahead(request: SearchRequest, json_output: bool, player: str, out: Path | None) -> int:
    """Show the nodes that a minimax player visits, instead of a search."""
    from cluster.drawing.figures import figure_of_trace
    from cluster.drawing.writers import write_figure, write_text
    from games.catalogue import load
    from search.players import player_of
    from search.players.minimax import Minimax
    from search.prepare import unfinished_position

    game = load(request.game)
    looks = player_of(player, game)
    if not isinstance(looks, Minimax):
        refuse("player", player, "alphabeta, minimax or negamax, with depth=N")
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
        write_figure(figure, out, report)
    return 0


def tree_lines(root: TopNode, name: str) -> list[str]:
    """A heading and a line for each node: move, visits, share, value, chance if it moves next, proof, number
    of moves not shown."""
    from games.game import CHANCE, CHANCE_NAME

    rows = [(name, root)]
    _add_rows(root, "", rows)
    wide = max(len(label) for label, _ in rows)
    visits = max(len("visits"), len(count(root.visits)))
    lines = [f"{'move'.ljust(wide)}  {'visits'.rjust(visits)}    share   value"]
    for label, node in rows:
        share = f"{100 * node.share:.1f} %"
        facts = f"{count(node.visits).rjust(visits)}  {share:>7}  {node.value:+.3f}"
        more = f"{node.left_out} more" if node.children and node.left_out else ""
        chance = CHANCE_NAME if node.player == CHANCE else ""
        notes = "".join(f"  {note}" for note in (chance, node.proof, more) if note)
        lines.append(f"{label.ljust(wide)}  {facts}{notes}")
    return lines


def print_tree(search: Search, result: SearchResult, top: TopNode, output: Output) -> None:
    """Print facts about the search, then the tree, on standard output."""
    from rich.text import Text

    console = stdout_console(output.colour)
    facts = [fact for fact in result.facts() if fact[0] in FACTS]
    if search.game.num_players > 2:
        facts.append(("values", "each of the player who makes the move"))
    print_facts(console, facts)
    console.print()
    first, *lines = tree_lines(top, f"{result.to_move} to move")
    console.print(Text(first, style="dim"), soft_wrap=True)
    for line in lines:
        is_best = line.split(" ")[:2] in (["|--", result.answer.best_move], ["`--", result.answer.best_move])
        console.print(Text(line, style="bold" if is_best else ""), soft_wrap=True)


def _add_rows(node: TopNode, before: str, rows: list[tuple[str, TopNode]]) -> None:
    for number, child in enumerate(node.children, 1):
        last = number == len(node.children)
        rows.append((f"{before}{'`' if last else '|'}-- {child.move}", child))
        _add_rows(child, before + ("    " if last else "|   "), rows)
