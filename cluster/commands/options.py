"""Options that several commands have, described once."""

from __future__ import annotations

from typing import Annotated

import typer

POSITION, BUDGET, ALGORITHM, PLACE, OUTPUT = "Position", "Budget", "Algorithm", "Where it runs", "Output"

GameArgument = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A game, such as gomoku or gomoku:size=15 (see banyan games), or a file: ./mygame.py.",
    ),
]
MovesOption = Annotated[
    str | None,
    typer.Option(
        "--moves",
        metavar="'M1 M2 ...'",
        help="Moves from the start, or from --position, in the game's notation.",
        rich_help_panel=POSITION,
    ),
]
PositionOption = Annotated[
    str | None,
    typer.Option(
        "--position",
        metavar="TEXT",
        help="A position as banyan show prints it, instead of the start.",
        rich_help_panel=POSITION,
    ),
]
WorkersOption = Annotated[
    str,
    typer.Option(
        metavar="N|N..M|auto",
        help="Worker processes: so many; as many as there are CPUs, from N to M; or auto, like 1..auto. "
        "A range follows the machines of a cluster.",
        rich_help_panel=PLACE,
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        metavar="ray|inline",
        help="Ray, or this process alone, which starts quicker.",
        rich_help_panel=PLACE,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A running Ray cluster (or auto); otherwise Ray is started here.",
        rich_help_panel=PLACE,
    ),
]
GpusPerWorkerOption = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="GPUs that each worker reserves (0); 0.5 lets two share one.",
        rich_help_panel=PLACE,
    ),
]
CpusPerWorkerOption = Annotated[
    float | None,
    typer.Option(metavar="N", help="CPUs that each worker reserves (1).", rich_help_panel=PLACE),
]
WorkerResourcesOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=N,NAME=N",
        help="What else of Ray's custom resources each worker reserves.",
        rich_help_panel=PLACE,
    ),
]
GameTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--job-timeout",
        metavar="S",
        help="How long a game may take before its worker counts as hung (3600).",
        rich_help_panel=PLACE,
    ),
]
JobTimeoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="How long a job may take before its worker counts as hung (30).",
        rich_help_panel=PLACE,
    ),
]
CheckpointEveryOption = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Write the checkpoint so often (60), and when the search ends or is interrupted.",
        rich_help_panel=OUTPUT,
    ),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(metavar="PORT", help="Serve Prometheus metrics while it runs.", rich_help_panel=OUTPUT),
]
MetricsHostOption = Annotated[
    str, typer.Option(metavar="HOST", help="Where to serve them.", rich_help_panel=OUTPUT)
]
ProgressOption = Annotated[
    bool,
    typer.Option(
        "--progress/--no-progress",
        help="Show how it goes, on standard error: live on a terminal, else a line a second.",
        rich_help_panel=OUTPUT,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON on standard output, and nothing else.", rich_help_panel=OUTPUT),
]
NoColorOption = Annotated[
    bool,
    typer.Option(
        "--no-color",
        help="No colour, even where the terminal has it (like NO_COLOR).",
        rich_help_panel=OUTPUT,
    ),
]


def colour_wanted(no_color: bool) -> bool | None:
    """False for no colour; None leaves it to the terminal."""
    return False if no_color else None
