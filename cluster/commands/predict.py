"""`banyan predict`: what more workers than there are would do, from what things cost here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, JsonOption, NoColorOption, colour_wanted

COSTS, MISHAPS = "Costs", "What goes wrong"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("predict")(predict)


def predict(
    game: Annotated[
        str, typer.Argument(metavar="GAME", help="A game or a file, and its options: name:key=value,...")
    ],
    workers: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of workers to predict.")
    ] = "1,2,4,8,16,32,64,128,256,512,1024",
    strategies: Annotated[
        str, typer.Option(metavar="S,S,...", help="Strategies to predict: root, tree, leaf.")
    ] = "root,tree,leaf",
    lanes: Annotated[
        int | None,
        typer.Option(metavar="N", help="Logical streams of the search; as many as workers if left out."),
    ] = None,
    simulations: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The work; if left out, that of 32 jobs of the usual length for each lane."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(metavar="N", help="tree: how often lanes share.")] = None,
    staleness: Annotated[
        int | None, typer.Option(metavar="N", help="tree: rounds that a lane lags behind.")
    ] = None,
    batch: Annotated[int | None, typer.Option(metavar="N", help="leaf: leaves in a job.")] = None,
    playouts_per_leaf: Annotated[
        int | None, typer.Option(metavar="N", help="leaf: playouts from each leaf.")
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            metavar="N,N,...|none", help="Numbers of workers to measure as well, to see whether it is true."
        ),
    ] = "none",
    repeats: Annotated[int, typer.Option(metavar="N", help="Of what is measured.")] = 3,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the costs from a file that --save-costs wrote, and measure none.",
            rich_help_panel=COSTS,
        ),
    ] = None,
    save_costs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the costs that were measured.", rich_help_panel=COSTS),
    ] = None,
    link: Annotated[
        float | None,
        typer.Option(
            metavar="GBIT",
            help="Of a machine's link to the others in a second, by which snapshots come to each worker; "
            "if left out, what the costs have, or 10.",
            rich_help_panel=COSTS,
        ),
    ] = None,
    failures_per_hour: Annotated[
        float, typer.Option(metavar="X", help="Deaths of one worker.", rich_help_panel=MISHAPS)
    ] = 0.0,
    restart: Annotated[
        float,
        typer.Option(metavar="S", help="Seconds until it is replaced.", rich_help_panel=MISHAPS),
    ] = 3.0,
    stragglers: Annotated[
        float, typer.Option(metavar="X", help="Share of jobs that are late ...", rich_help_panel=MISHAPS)
    ] = 0.0,
    straggler_factor: Annotated[
        float, typer.Option(metavar="X", help="... by this factor.", rich_help_panel=MISHAPS)
    ] = 10.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write predict.json, .csv and .png there.", rich_help_panel=OUTPUT),
    ] = None,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Throughput and efficiency on 1 to 1,024 workers, simulated with costs measured on this machine.

    The real coordinator and strategies run under a virtual clock; nothing is searched. Says at
    how many workers the coordinator is what a search waits for, and what a change would bring.
    """
    from cluster.commands.speedup import read_counts
    from cluster.measuring.costs import Mishaps
    from cluster.measuring.predict_launch import PredictionPlan, run_prediction
    from games.errors import InvalidInput
    from search.request import STRATEGIES, SearchRequest

    names = [name.strip() for name in strategies.split(",")]
    for name in names:
        if name not in STRATEGIES:
            raise InvalidInput("strategies", strategies, "a list of " + ", ".join(STRATEGIES))
    if repeats < 1:
        raise InvalidInput("repeats", repeats, "a whole number of at least 1")
    if link is not None and not 0 < link < float("inf"):
        raise InvalidInput("link", link, "gigabits a second, more than 0")
    counts = read_counts(workers, "workers")
    plan = PredictionPlan(
        request=SearchRequest(
            game=game,
            lanes=lanes or max(counts),
            simulations=simulations,
            rounds=rounds,
            staleness=staleness,
            batch=batch,
            playouts_per_leaf=playouts_per_leaf,
            seed=seed,
        ),
        strategies=names,
        workers=counts,
        measured=[] if measure == "none" else read_counts(measure, "measure"),
        repeats=repeats,
        mishaps=Mishaps(
            straggler_share=stragglers,
            straggler_factor=straggler_factor,
            failures_per_hour=failures_per_hour,
            restart_s=restart,
        ),
        costs_file=costs,
        save_costs=save_costs,
        link_bytes_per_s=None if link is None else link * 1e9 / 8,
    )

    def report(line: str) -> None:
        print(f"banyan: {line}", file=sys.stderr, flush=True)

    found = run_prediction(plan, report)
    if out is not None:
        from cluster.measuring.predict_report import write_prediction

        for path in write_prediction(found, out):
            report(f"wrote {path}")
    from cluster.terminal import print_json, stdout_console

    if json_output:
        print_json(found.to_json())
        return
    from cluster.measuring.predict_report import sentences, tables

    console = stdout_console(colour_wanted(no_color))
    for table in tables(found):
        console.print(table)
    for line in sentences(found):
        console.print(line, highlight=False, soft_wrap=True)
