"""The options of a search, described once for all commands that search."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.commands.options import (
    ALGORITHM,
    BUDGET,
    AddressOption,
    CpusPerWorkerOption,
    ExecutorOption,
    GameArgument,
    GpusPerWorkerOption,
    JobTimeoutOption,
    JsonOption,
    MetricsHostOption,
    MetricsPortOption,
    MovesOption,
    NoColorOption,
    PositionOption,
    ProgressOption,
    WorkerResourcesOption,
    WorkersOption,
    colour_wanted,
)

if TYPE_CHECKING:
    from cluster.launch import Output, Place
    from cluster.resources import Resources
    from search.request import SearchRequest


@dataclass(frozen=True)
class Asked:
    """What the options of a search say."""

    request: SearchRequest
    place: Place
    output: Output


def with_search_options(command: Callable[..., int]) -> Callable[..., int]:
    """A command of an `Asked` and options of its own, as one that has all options of a search as well."""
    shared = inspect.signature(read_options, eval_str=True).parameters
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    def run(**values: Any) -> int:
        asked = read_options(**{name: values.pop(name) for name in shared})
        return command(asked, **values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {}
    run.__signature__ = inspect.Signature([*shared.values(), *own])  # type: ignore[attr-defined]
    return run


def read_options(
    game: GameArgument,
    moves: MovesOption = None,
    position: PositionOption = None,
    simulations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Exactly so many simulations: with the same seed the same answer, on any number of workers.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="So long. 5 s where no budget is given.", rich_help_panel=BUDGET),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="MB",
            help="The most that the trees of one process take (1024). As the only budget: until it is used.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="root|tree|leaf",
            help="What is shared: results at the end (root), the top of the tree in rounds (tree), "
            "or one tree whose leaves are played elsewhere (leaf).",
            rich_help_panel=ALGORITHM,
        ),
    ] = "tree",
    lanes: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Logical streams of the search, whatever the number of workers.",
            rich_help_panel=ALGORITHM,
        ),
    ] = 16,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Of all that is random.", rich_help_panel=ALGORITHM)
    ] = 0,
    exploration: Annotated[
        float | None,
        typer.Option(
            metavar="C",
            help="C of UCT, for rewards in \\[0, 1] (0.35; where something is hidden 0.7; "
            "with an evaluator 1.25).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    exploration_scale: Annotated[
        str | None,
        typer.Option(
            metavar="fixed|spread",
            help="spread: C times the standard deviation of what leaves are worth (if playouts are cut).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    fpu: Annotated[
        float | None,
        typer.Option(
            metavar="Q",
            help="First-play urgency: the value at which an untried move competes (inf: try all first).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    implicit_minimax: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="root: the share of the minimax of the game's evaluations in a move's value (0).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    bias: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            help="root: progressive bias, the weight of evaluation / (visits + 1) (0).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    decisive: Annotated[
        bool,
        typer.Option(
            "--decisive/--no-decisive",
            help="A move that wins at once is the only one tried.",
            rich_help_panel=ALGORITHM,
        ),
    ] = False,
    widening: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Progressive unpruning: a node begins with the K moves of highest priority (all).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    paired: Annotated[
        int | None,
        typer.Option(
            metavar="M",
            help="Something hidden: how many of the root's moves search each draw of what is hidden (1).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    playout_plies: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Cut playouts after so many plies and evaluate the position (never).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    playout_policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="How playouts move: random, greedy, minimax1, minimax2, or for each player: greedy-random.",
            rich_help_panel=ALGORITHM,
        ),
    ] = "random",
    solver: Annotated[
        bool,
        typer.Option("--solver/--no-solver", help="Propagate proven results.", rich_help_panel=ALGORITHM),
    ] = False,
    final_move: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="How the move is chosen: robust, max, robust-max, secure, or vote (root: one vote a lane).",
            rich_help_panel=ALGORITHM,
        ),
    ] = "robust",
    hidden_information: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="Where something is hidden: ismcts, or determinized (root: one guess a lane).",
            rich_help_panel=ALGORITHM,
        ),
    ] = "ismcts",
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="tree: how often lanes share (by the budget and their number).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    anticipation: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="tree: visits expected of each other lane for one of one's own (1).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    perturbation: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="tree: standard errors by which a lane moves the means it starts from (0).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    lane_exploration: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="tree: the share of C that a lane explores with (1).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    share_visits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="tree: nodes with fewer visits keep their children to themselves (2).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    staleness: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="tree: rounds that a lane lags behind (by the budget; 0 with --rounds).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    in_flight: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="leaf: what a visit in flight counts as: unobserved or virtual-loss.",
            rich_help_panel=ALGORITHM,
        ),
    ] = "unobserved",
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="leaf: leaves in a job (by the budget).", rich_help_panel=ALGORITHM),
    ] = None,
    playouts_per_leaf: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="leaf: playouts from each (by the game's cost).", rich_help_panel=ALGORITHM
        ),
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py",
            help="leaf: a network's value and policy instead of playouts, PUCT in the tree; "
            "FILE.py:key=value for its options.",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    exploration_base: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="evaluator: the visits at which C has grown by ln 2 (19652).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    urgency_reduction: Annotated[
        float | None,
        typer.Option(
            metavar="Q",
            help="evaluator: how much less than its parent an untried move is worth (0.2).",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    policy_temperature: Annotated[
        float | None,
        typer.Option(
            metavar="T", help="evaluator: more makes priors more alike (1).", rich_help_panel=ALGORITHM
        ),
    ] = None,
    workers: WorkersOption = "auto",
    executor: ExecutorOption = "ray",
    address: AddressOption = None,
    gpus_per_worker: GpusPerWorkerOption = None,
    cpus_per_worker: CpusPerWorkerOption = None,
    worker_resources: WorkerResourcesOption = None,
    job_timeout: JobTimeoutOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = "127.0.0.1",
    progress: ProgressOption = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> Asked:
    """The search that the options ask for; raises InvalidInput."""
    from cluster.launch import Output, Place
    from cluster.position import split_moves
    from cluster.workers import parse_workers
    from search.request import DEFAULT_MEMORY_MB, DEFAULT_SECONDS, SearchRequest

    only_memory = memory is not None and simulations is None and seconds is None
    if simulations is None and seconds is None and not only_memory:
        seconds = DEFAULT_SECONDS
    # What was not asked for keeps the request's own default, which is written in one place.
    asked: dict[str, Any] = {
        "exploration": exploration,
        "first_play_urgency": fpu,
        "anticipation": anticipation,
        "perturbation": perturbation,
        "share_visits": share_visits,
        "lane_exploration": lane_exploration,
        "implicit_minimax": implicit_minimax,
        "bias": bias,
        "paired": paired,
        "exploration_base": exploration_base,
        "urgency_reduction": urgency_reduction,
        "policy_temperature": policy_temperature,
    }
    request = SearchRequest(
        game=game,
        moves=split_moves(moves),
        position=position,
        strategy=strategy,
        lanes=lanes,
        simulations=simulations,
        seconds=seconds,
        memory_mb=DEFAULT_MEMORY_MB if memory is None else memory,
        stop_when_full=only_memory,
        seed=seed,
        exploration_scale=exploration_scale,
        decisive=decisive,
        widening=widening,
        playout_plies=playout_plies,
        playout_policy=playout_policy,
        solver=solver,
        final_move=final_move,
        hidden_information=hidden_information,
        rounds=rounds,
        staleness=staleness,
        in_flight=in_flight,
        batch=batch,
        playouts_per_leaf=playouts_per_leaf,
        evaluator=evaluator,
        **{name: value for name, value in asked.items() if value is not None},
    )
    resources = parse_resources(gpus_per_worker, cpus_per_worker, worker_resources)
    place = Place(
        executor, parse_workers(workers), address, job_timeout, metrics_port, metrics_host, resources
    )
    return Asked(request, place, Output(json_output, progress, colour_wanted(no_color)))


def parse_resources(gpus: float | None, cpus: float | None, others: str | None) -> Resources:
    """What each worker reserves. Raises InvalidInput (gpus_per_worker, cpus_per_worker, worker_resources)."""
    from cluster.resources import Resources

    return Resources.of(gpus, cpus, others)
