"""`banyan solve`: solves small games exactly."""

# ruff: noqa: B008
from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cluster.commands.options import (
    AT_LEAST_1,
    GameArgument,
    MovesOption,
    PositionOption,
    option,
    report,
)
from cluster.system.terminal import (
    Output,
    count,
    duration,
    has_colour,
    print_facts,
    print_json,
    stderr_console,
    stdout_console,
    write,
)
from search.options import refuse

if TYPE_CHECKING:
    from cluster.play.position import Position
    from games.analysis.position_graph import PositionGraph
    from games.analysis.solving import Solution
    from games.game import MoveValue

MAX_POSITIONS = 10_000_000
"""Default limit of the number of positions: about 1 GB if positions have a dozen moves."""
LISTED_POSITIONS = 10_000
"""Sizes of the graph and the tree are computed for at most this number of positions."""
DRAWING = "Drawing"
SIDES = ("first", "second")
LINE_EVERY_S = 1.0


def solve(
    game: GameArgument,
    moves: MovesOption = None,
    position: PositionOption = None,
    max_positions: int = option(
        MAX_POSITIONS, "N", "Give up if more positions than this can be reached.", accepts=AT_LEAST_1
    ),
    *,
    draw: str | None = option(
        None,
        "KIND",
        "Draw the graph of all positions (graph), the tree of all games (tree), the and-or tree of "
        "one player (and-or), or that player's strategy against all replies (strategy).",
        DRAWING,
    ),
    side: str | None = option(
        None,
        "first|second",
        "The player of the and-or tree or strategy; if left out, the one who wins.",
        DRAWING,
        accepts={"choices": SIDES},
    ),
    out: Path | None = option(
        None,
        "FILE",
        "Write the drawing to FILE (.svg, .dot or .txt) instead of printing it as text.",
        DRAWING,
    ),
    output: Output,
) -> None:
    """Solve a position: the winner under perfect play, in how many plies, and the moves that keep the result.

    For small games: tictactoe, grundy, explicit trees, men's morris with three, five and six stones, and your
    own games with pack and unpack.
    """
    from cluster.drawing.figures import figure_of_solved
    from cluster.drawing.writers import format_of, write_figure, write_text
    from cluster.play.position import read_position
    from cluster.system.status_line import StatusLine
    from games.analysis import solving
    from games.analysis.position_graph import PositionGraph

    if out is not None:
        format_of(out)
    shown = read_position(game, moves, position)
    player = None if side is None else SIDES.index(side)
    _check(shown)
    started = time.monotonic()
    console = stderr_console(output.colour)
    with StatusLine(console, "solving ...", LINE_EVERY_S, enabled=output.progress) as line:

        def progress(done: int, found: int) -> None:
            line.show(done + found, lambda: time.monotonic() - started, partial(_done, done, found))

        solution = solving.solve(shown.game, shown.game.canonical(shown.state), max_positions, progress)
    elapsed_s = time.monotonic() - started
    kind = draw or ("graph" if out is not None else None)
    few = solution.num_positions <= LISTED_POSITIONS
    graph = PositionGraph(solution) if few else None
    if kind is not None and graph is None:
        accepted = f"a game of at most {LISTED_POSITIONS:,} positions (this has {solution.num_positions:,})"
        refuse("draw", kind, accepted)
    figure = None if graph is None or kind is None else figure_of_solved(graph, kind, player)
    answer = _json(shown, solution, graph, elapsed_s)
    if output.json:
        print_json(answer)
    else:
        _print(shown, answer, output.colour)
    if figure is not None and out is not None:
        write_figure(figure, out, report)
    elif figure is not None and not output.json:
        write("\n" + write_text(figure), end="")


def _check(shown: Position) -> None:
    if not shown.game.is_two_player or shown.game.has_chance:
        accepted = f"a game of two players without rewards and chance, not {shown.game.form}"
        refuse("game", shown.game.spec, accepted)
    if shown.game.rules.pack is None or shown.game.rules.unpack is None:
        accepted = (
            "a game whose positions can be counted: tictactoe, grundy, explicit, morris:variant=three, "
            "five or six, or one of your own with pack and unpack"
        )
        refuse("game", shown.game.spec, accepted)
    if shown.over:
        field, value = (
            ("moves", " ".join(shown.moves))
            if shown.moves
            else ("position", shown.game.format_position(shown.state))
        )
        refuse(field, value, "a position in which the game is not over")


def _done(done: int, found: int, elapsed_s: float) -> str:
    """The progress of solving in words."""
    from games.errors import counted

    step = "working back from the ends" if done == found else f"{count(done)} looked at"
    return f"{counted(found, 'position')} found, {step}, {duration(elapsed_s)}"


def _moves(shown: Position, solution: Solution) -> list[tuple[MoveValue, int]]:
    """The outcome of each move, and its value for the player to move: the best moves first."""
    sign = 1 if shown.player == 0 else -1
    rated = [(outcome, sign * outcome.value) for outcome in solution.outcomes(solution.start)]
    return sorted(rated, key=lambda each: (-each[1], each[1] * (each[0].plies or 0), each[0].move))


def _json(
    shown: Position, solution: Solution, graph: PositionGraph | None, elapsed_s: float
) -> dict[str, Any]:
    """The object that `--json` prints. Values (1, 0, -1) are those of the player to move."""
    game, start = shown.game, solution.start
    value = solution.value_of(start)
    winner = None if value == 0 else game.player_names[0 if value > 0 else 1]
    tree = None if graph is None else graph.tree_sizes()
    return {
        "game": game.spec,
        "moves": list(shown.moves),
        "position": game.format_position(start),
        "to_move": shown.to_move,
        "value": value if shown.player == 0 else -value,
        "winner": winner,
        "plies": solution.plies_of(start),
        "best_moves": [game.format_move(start, move) for move in solution.best_moves(start)],
        "children": [
            {
                "move": game.format_move(start, outcome.move),
                "value": rated,
                "plies": None if outcome.plies is None else outcome.plies + 1,
            }
            for outcome, rated in _moves(shown, solution)
        ],
        "positions": solution.num_positions,
        "finished": solution.num_finished,
        "first_wins": solution.count(1),
        "draws": solution.count(0),
        "second_wins": solution.count(-1),
        "graph": None if graph is None else {"moves": graph.num_moves, "levels": graph.level_sizes()},
        "tree": None if tree is None else {"nodes": sum(tree[0]), "levels": tree[0], "leaves": tree[1]},
        "elapsed_s": round(elapsed_s, 6),
    }


def _print(shown: Position, answer: dict[str, Any], colour: bool | None) -> None:
    from rich.text import Text

    from cluster.report.table import Table, left, right, text
    from games.board import draw

    console = stdout_console(colour)
    board = draw(shown.game.board(shown.state, shown.last_move), colour=has_colour(console))
    console.print(Text.from_ansi(board), soft_wrap=True)
    console.print()
    print_facts(console, _facts(shown, answer))
    console.print()
    table = Table([*left("move", "result"), *right("plies")])
    for child in answer["children"]:
        tone: Literal["strong", ""] = "strong" if child["move"] in answer["best_moves"] else ""
        result = {1: "won", 0: "drawn", -1: "lost"}[child["value"]]
        table.add(
            text(child["move"], tone),
            text(result, tone),
            "" if child["plies"] is None else count(child["plies"]),
        )
    console.print(table)


def _facts(shown: Position, answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Facts as pairs of name and text."""
    from games.errors import counted

    first, second = shown.game.player_names
    plies = answer["plies"]
    won = f"{answer['winner']} wins in {plies} pl{'y' if plies == 1 else 'ies'}"
    values = f"{first} wins {count(answer['first_wins'])}, {second} {count(answer['second_wins'])}"
    found = f"{count(answer['positions'])}, {count(answer['finished'])} of them finished"
    facts = [
        ("to move", str(answer["to_move"])),
        ("value", "a draw" if answer["winner"] is None else won),
        ("best", " ".join(answer["best_moves"]) if answer["value"] >= 0 else "none: every move loses"),
        ("", ""),
        ("positions", f"{found}, solved in {duration(answer['elapsed_s'])}"),
        ("values", f"{values}, draws {count(answer['draws'])}"),
    ]
    if answer["graph"] is not None:
        levels = " ".join(map(str, answer["graph"]["levels"]))
        facts.append(("graph", f"{counted(answer['graph']['moves'], 'move')}; by level: {levels}"))
    if answer["tree"] is not None:
        tree = answer["tree"]
        size = f"{counted(tree['nodes'], 'node')}, {counted(tree['leaves'], 'leaf', 'leaves')}"
        facts.append(("tree", f"{size}; by level: {' '.join(map(str, tree['levels']))}"))
    elif answer["graph"] is not None:
        facts.append(("tree", "without end: positions can come again"))
    return facts
