"""`banyan games`, `banyan show` and `banyan perft`: the rules, without any search."""

# ruff: noqa: B008
from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.commands.options import (
    OUTPUT,
    POSITION,
    GameArgument,
    MovesOption,
    PositionOption,
    ResultOptions,
    option,
)
from cluster.system.files import replace_text
from cluster.system.terminal import Output, count, has_colour, print_json, rate, stdout_console, write
from search.options import option_of, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.play.position import Position
    from games.game import Game


SHOWN_OUTCOMES = 20
"""Outcomes of equal probability that are listed."""
WIDTH = 100
"""Columns of the list where there is no terminal."""
HINTS = (
    "Options follow the name: gomoku:size=15,overline=not",
    "Also: the path of a file of your own, ./mygame.py (games/OWN_GAME.md), openspiel:NAME, and",
    "gym:ENV, an environment of Gymnasium such as gym:FrozenLake-v1 (games/PROBLEMS.md).",
)


def list_games(
    wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GAME", help="Games to describe, or files; all known by name if none is given."
        ),
    ] = None,
    *,
    output: ResultOptions,
) -> None:
    """List games with their options, accepted values, and examples of moves."""
    from cluster.report.table import Table, left, text

    rows = _described(wanted) if wanted else _describe_all()
    if output.json:
        print_json(rows)
        return
    columns = [*left("game, moves", width=16), *left("players", width=10), *left("option", width=20)]
    table = Table([*columns, *left("accepted")])
    for row in rows:
        if table.rows:
            table.add("")
        options = [(f"{each['name']}={each['default']}", each["accepted"]) for each in row["options"]]
        options += [("", "")] * (2 - len(options))
        table.add(
            text(row["name"], "strong"), f"{row['num_players']}{' + chance' * row['chance']}", *options[0]
        )
        table.add(text(" ".join(row["example_moves"]), "dim"), "", *options[1])
        for further in options[2:]:
            table.add("", "", *further)
    console = stdout_console(output.colour)
    console.width = min(console.width, WIDTH) if not console.is_terminal else console.width
    console.print(table)
    for line in HINTS:
        console.print(line, markup=False, highlight=False)


def show(
    game: GameArgument,
    moves: MovesOption = None,
    position: PositionOption = None,
    record: Path | None = option(
        None,
        "FILE",
        "Take the position from a game recorded by banyan match --out, or saved in banyan play.",
        POSITION,
    ),
    number: int = option(1, "N", "Number of the game in the record.", POSITION),
    ply: int | None = option(
        None,
        "N",
        "Show the position after N moves of the record (default: all; -1: before the last).",
        POSITION,
    ),
    legal: bool = option(False, None, "List the legal moves.", OUTPUT),
    *,
    output: ResultOptions,
    out: Path | None = option(None, "FILE.svg", "Also write a picture of the board.", OUTPUT),
) -> None:
    """Draw a position and print its text."""
    from cluster.play.position import read_position

    recorded: list[str] = []
    if record is None:
        shown = read_position(game, moves, position)
    else:
        shown, recorded = _recorded(game, record, number, ply, moves or position)
    from games.board import board_svg, draw

    board = shown.game.board(shown.state, shown.last_move)
    if out is not None:
        if out.suffix != ".svg":
            refuse("out", str(out), "a file that ends with .svg")
        replace_text(out, board_svg(board))
    if output.json:
        print_json(shown.to_json())
        return
    from games.errors import counted

    console = stdout_console(output.colour)
    legal_moves, outcomes = shown.legal_moves, shown.outcomes
    lines = [draw(board, colour=has_colour(console)), "", *recorded]
    if shown.over:
        lines.append(f"over      {shown.game.outcome_text(shown.state)}")
    else:
        lines.append(f"to move   {shown.to_move}")
        if outcomes is not None:
            lines += outcome_lines(outcomes)
        else:
            lines.append(f"legal     {counted(len(legal_moves), 'move')}")
            if legal:
                lines.append(f"          {' '.join(legal_moves)}")
        if shown.game.rewards and shown.scores is not None:
            lines.append(f"score     {scores_text(shown.game, shown.scores)}")
    lines.append(f"position  {shown.game.format_position(shown.state)}")
    write("\n".join(lines))


def perft(
    game: GameArgument,
    depth: Annotated[str, typer.Argument(metavar="DEPTH", help="Plies, 1 or more.")],
    divide: bool = option(False, None, "Also print the count of each first move."),
    moves: MovesOption = None,
    position: PositionOption = None,
    json_output: bool = option_of(Output, "json", False, cli="json"),
) -> None:
    """Count the move sequences of each length up to DEPTH, as a test of the rules."""
    from cluster.play.position import read_position
    from games.analysis import perft as counting

    if not depth.isascii() or not depth.isdigit() or int(depth) < 1:
        refuse("depth", depth, "a whole number of at least 1")
    deepest = int(depth)
    start = read_position(game, moves, position)
    # The first call loads or compiles the counting loop, which is no part of the rate.
    counting.perft(start.game, start.state, 1)
    rows: list[dict[str, Any]] = []
    for plies in range(1, deepest + 1):
        started = time.perf_counter()
        nodes = counting.perft(start.game, start.state, plies)
        elapsed_s = time.perf_counter() - started
        rows.append({"depth": plies, "count": nodes, "elapsed_s": round(elapsed_s, 6)})
        if not json_output:
            write(f"{plies:>3}  {count(nodes):>20}  {rate(nodes / elapsed_s):>10}")
    answer: dict[str, Any] = {"game": start.game.spec, "moves": list(start.moves), "counts": rows}
    if divide:
        parts: list[dict[str, Any]] = [
            {"move": start.game.format_move(start.state, move), "count": nodes}
            for move, nodes in counting.divide(start.game, start.state, deepest)
        ]
        answer["divide"] = parts
        if not json_output:
            write("")
            for part in parts:
                write(f"{part['move']:>6}  {count(part['count']):>17}")
    if json_output:
        print_json(answer)


def outcome_lines(outcomes: dict[str, float]) -> list[str]:
    """Where chance moves: the number of outcomes, and a line of them for each probability."""
    lines = [f"outcomes  {len(outcomes)}"]
    for share in sorted(set(outcomes.values()), reverse=True):
        same = [move for move, weight in outcomes.items() if weight == share]
        more = " ..." if len(same) > SHOWN_OUTCOMES else ""
        each = " each" if len(same) > 1 else ""
        lines.append(f"          {100 * share:.4g} %{each}: {' '.join(same[:SHOWN_OUTCOMES])}{more}")
    return lines


def scores_text(game: Game, scores: Sequence[float]) -> str:
    """The score of each player, by name where there are several."""
    if len(scores) == 1:
        return f"{scores[0]:g}"
    return ", ".join(f"{name} {score:g}" for name, score in zip(game.player_names, scores, strict=True))


def _recorded(
    name: str, file: Path, number: int, ply: int | None, other: str | None
) -> tuple[Position, list[str]]:
    """A position of a recorded game, and lines that describe it."""
    from cluster.play.position import position_in, read_record

    if other is not None:
        refuse("record", str(file), "no --moves and no --position beside it")
    game, record, games = read_record(name, file, number)
    shown = position_in(game, record, ply)
    result = "not over" if record.result is None else f"result {record.result:g} for the first player"
    last = f": {shown.moves[-1]}" if shown.moves else ""
    return shown, [
        f"game      {number} of {games}: {' against '.join(record.seats)}, {result}",
        f"ply       {len(shown.moves)} of {len(record.moves)}{last}",
    ]


def _described(names: Sequence[str]) -> list[dict[str, Any]]:
    import games
    from cluster.play.position import describe

    return [describe(game) for game in map(games.load, names)]


def _describe_all() -> list[dict[str, Any]]:
    """Descriptions of all named games.

    Games of installed packages that cannot be loaded are reported on standard error.
    """
    from importlib.metadata import entry_points

    from cluster.play import described_built_in

    rows = described_built_in()
    for name in entry_points(group="banyan.games").names - {row["name"] for row in rows}:
        from games.errors import InvalidInput

        try:
            rows += _described([name])
        except InvalidInput as error:
            print(f"banyan: warning: {name} is left out: {' '.join(str(error).split())}", file=sys.stderr)
    return sorted(rows, key=lambda row: str(row["name"]))
