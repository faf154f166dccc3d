"""Options that several commands share, and commands as functions for typer.

A parameter whose type is a dataclass is a group of options: each field is one, declared by `option`, or
described as in search/options.py, as the fields of `SearchRequest` are.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from cluster.service.limits import Limits
from cluster.system.terminal import Output, results_alone
from search.options import BASIC, Knob, check, knob_of, knobs_of, refuse
from search.options import option as search_option
from search.request import STRATEGIES, SearchRequest, request_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cluster.workers.placement import Placement

Parameter = inspect.Parameter
_OPTION = "typer"
MANY = 14
"""With more options than this the help of a command is short."""
COMMON = {
    *("moves", "position", "simulations", "seconds", "strategy", "strategies", "workers", "lanes", "preset"),
    *("json", "out", "checkpoint", "nodes", "depth", "episodes", "steps", "games", "sprt", "openings"),
    *("pairs", "judge", "measure", "repeats", "data", "host", "port", "max-running", "max-memory"),
    *("metrics-port", "address", "executor", "server", "seed", "rounds", "job-timeout"),
    *("token-file", "allow-games", "max-waiting"),
}
"""The options in short help: those that most people need, and that the first documents use."""
AT_LEAST_1: dict[str, Any] = {"bounds": (1, math.inf), "accepted": "a whole number of at least 1"}
POSITIVE = math.ulp(0.0), sys.float_info.max
"""The bounds of finite numbers above 0."""
POSITION, BUDGET, PLACE, OUTPUT = "Position", "Budget", "Where it runs", "Output"


def shared(metavar: str | None, text: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """An option of several commands: its value in a word, its help, and the heading above it."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def option(
    default: Any,
    metavar: str | None,
    text: str,
    panel: str | None = None,
    *names: str,
    accepts: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """A field of a group, or a parameter of a command, that is an option, described as in `shared`.

    ``accepts``, of a field: ``bounds``, ``choices`` and ``accepted`` as in `search.options.Option`.
    """
    checks = search_option(help=text, group=panel or "", **accepts).metadata if accepts else {}
    return field(default=default, metadata={_OPTION: shared(metavar, text, panel, *names, **more), **checks})


def timeout_option(of: str, again: str, default_s: float) -> Any:
    """The option of the time limit of a job, game or episode; ``of`` and ``again`` are words of its help."""
    text = f"Seconds after which the worker of {of} counts as hung and {again} again ({default_s:g})."
    return option(None, "S", text, PLACE)


GameArgument = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A game, such as gomoku or gomoku:size=15 (see banyan games), or a file: ./mygame.py.",
    ),
]
MovesOption = Annotated[
    str | None,
    shared(
        "'M1 M2 ...'",
        "Moves from the start, or from --position, in the game's notation.",
        POSITION,
        "--moves",
    ),
]
PositionOption = Annotated[
    str | None,
    shared("TEXT", "A position as banyan show prints it, instead of the start.", POSITION, "--position"),
]
WorkersOption = Annotated[
    str,
    shared(
        "N|N..M|auto",
        "Worker processes or threads: N; or N..M, as many as there are CPUs while machines of a cluster "
        "come and go; auto is 1..auto, every CPU.",
    ),
]
AddressOption = Annotated[
    str | None,
    shared(
        "HOST:PORT",
        "Address of a running Ray cluster, or auto to find one; without it, Ray is started here.",
        PLACE,
    ),
]
CheckpointEveryOption = Annotated[
    float | None,
    shared("S", "Seconds between two checkpoints (60); the last is written when the search ends.", OUTPUT),
]
FormatOption = Annotated[
    str | None,
    shared("png|svg", "Format of the figure there (png); an svg needs no fonts.", OUTPUT, "--format"),
]
MetricsPortOption = Annotated[
    int | None,
    shared("PORT", "Serve Prometheus metrics on this port during the search; 0 is any free port.", OUTPUT),
]
MetricsHostOption = Annotated[str, shared("HOST", "Address on which metrics are served.", OUTPUT)]
ProgressOption = Annotated[
    bool,
    shared(
        None,
        "Show progress on standard error: a live view on a terminal, otherwise lines.",
        OUTPUT,
        "--progress/--no-progress",
    ),
]
JsonOption = Annotated[
    bool,
    shared(None, "Print JSON on standard output and nothing else.", OUTPUT, "--json"),
]
NoColorOption = Annotated[
    bool,
    shared(None, "No colour (also with NO_COLOR in the environment).", OUTPUT, "--no-color"),
]


class Place:
    """A group of options, named as the fields of `Placement`."""

    def placement(self) -> Placement:
        """The options, read. Raises InvalidInput (workers, gpus_per_worker, and so on)."""
        from cluster.workers.placement import Placement

        return Placement(**vars(self))


@dataclass(frozen=True)
class SearchPlace(Place):
    """Where a search runs."""

    workers: WorkersOption = "auto"
    executor: str = option(
        "auto",
        "auto|ray|threads|inline",
        "Run in one thread of this process (inline), in several (threads), or on workers of Ray (ray). "
        "auto, the default: threads; rules or evaluators in plain Python begin in one thread and move to "
        "workers of Ray if more than about 8 s of work are left; with --address it means ray.",
        PLACE,
        "--executor",
    )
    address: AddressOption = None
    gpus_per_worker: float | None = option(
        None, "N", "GPUs that each worker reserves (0); with 0.5 two workers share one.", PLACE
    )
    cpus_per_worker: float | None = option(None, "N", "CPUs that each worker reserves (1).", PLACE)
    worker_resources: str | None = option(
        None, "NAME=N,NAME=N", "Custom resources of Ray that each worker reserves.", PLACE
    )
    job_timeout: float | None = timeout_option("a job", "the job is run", 30)
    metrics_port: MetricsPortOption = None
    metrics_host: MetricsHostOption = "127.0.0.1"


@dataclass(frozen=True)
class GamePlace(Place):
    """Where games are played."""

    workers: WorkersOption = "auto"
    executor: str = option(
        "ray", "ray|inline", "Run on workers of Ray, or in this process alone, which starts faster.", PLACE
    )
    address: AddressOption = None
    job_timeout: float | None = timeout_option("a game", "the game is played", 3600)


@dataclass(frozen=True)
class OutputOptions(Output):
    """What a command shows."""

    progress: ProgressOption = True
    json: JsonOption = False
    no_color: NoColorOption = False


@dataclass(frozen=True)
class ResultOptions(OutputOptions):
    """What a command without progress shows."""

    progress: bool = field(default=False, init=False)


class Command(TyperCommand):
    """A command whose results alone go to standard output.

    Its ``--help`` has only COMMON options if it has MANY; ``--help-all`` has all.
    """

    def invoke(self, ctx: Any) -> Any:
        with results_alone():
            try:
                return super().invoke(ctx)
            except BaseException as error:
                # Imported after a failure only: it takes a second, and some commands need no game.
                from games.errors import as_exception

                raise as_exception(error)  # noqa: B904 - it has its cause

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[__name__] = "--help-all" in args
        numbers: dict[str, type] = getattr(self.callback, "numbers", {})
        kinds = {
            option: kind
            for each in self.params
            if (kind := numbers.get(each.name or ""))
            for option in each.opts
        }
        args = _in_digits(["--help" if each == "--help-all" else each for each in args], kinds)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy(self)
        if len(self.params) > MANY and not ctx.meta.get(__name__):
            shown.params = [
                each
                for each in self.params
                if each.param_type_name == "argument" or each.opts[0].removeprefix("--") in COMMON
            ]
            left = len(self.params) - len(shown.params)
            shown.epilog = f"{left} more options: {ctx.command_path} --help-all"
        TyperCommand.format_help(shown, ctx, formatter)


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as a function for typer, with each group replaced by its options."""
    declared = inspect.signature(command, eval_str=True).parameters
    hints: dict[str, Any] = {name: each.annotation for name, each in declared.items()}
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options = {name: parameters_of(kind) for name, kind in groups.items()}
    flat: list[Parameter] = []
    for name, parameter in declared.items():
        flat += options.get(name) or [_parameter(name, hints[name], parameter.default)]

    def run(**values: Any) -> Any:
        for name, kind in groups.items():
            own = {each.name: values.pop(each.name) for each in options[name]}
            if issubclass(kind, SearchRequest):
                moves = tuple((own.get("moves") or "").split())
                values[name] = request_of(own | {"moves": moves}, kind)
            else:
                values[name] = kind(**own)
                check(values[name])
        return command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {}
    run.numbers = {  # type: ignore[attr-defined]
        each.name: kind
        for kind in (int, float)
        for each in flat
        if getattr(each.annotation, "__origin__", None) in (kind, kind | None)
    }
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return run


def _in_digits(arguments: Sequence[str], kinds: Mapping[str, type]) -> list[str]:
    """The arguments; what stands behind the options of these kinds, such as 1e6 or 2M, is in digits, because
    the parser reads no whole number in short. Raises InvalidInput (field the option)."""
    found = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, value = argument.partition("=")
        option, text = (name, value) if equals else (before, argument)
        if option in kinds:
            from games.spec import WHOLE, whole_number

            is_whole = kinds[option] is int
            try:
                argument = argument.removesuffix(text) + str((whole_number if is_whole else float)(text))
            except ValueError:
                refuse(option, text, WHOLE if is_whole else "a number")
        found.append(argument)
    return found


def parameters_of(kind: Any) -> list[Parameter]:
    """The options of a group as parameters for typer."""
    if issubclass(kind, SearchRequest | Limits):
        is_search = issubclass(kind, SearchRequest)
        found = [_parameter("game", GameArgument, MISSING)] if is_search else []
        for knob in knobs_of(kind):
            plain, default = (str, None) if knob.kind is tuple else (knob.kind, knob.asked_default)
            # A request checks its values itself.
            least = {} if is_search or knob.option.bounds is None else {"min": knob.option.bounds[0]}
            described = _typer_option(knob, None, least)
            found.append(_parameter(knob.name, Annotated[plain | None, described], default))
        return found
    hints = get_type_hints(kind, include_extras=True)
    return [
        _parameter(each.name, hints[each.name], each if _OPTION in each.metadata else each.default)
        for each in fields(kind)
        if each.init
    ]


def request_option(default: Any, name: str, *, panel: str | None = None, **changes: Any) -> Any:
    """The option of a field of `SearchRequest`, for another command, as `option` returns it.

    ``panel``: its heading in help (None: the field's own; empty: the first). ``changes``: arguments of
    `typer.Option` that differ.
    """
    described = _typer_option(knob_of(SearchRequest, name), panel, changes)
    return field(default=default, metadata={_OPTION: described})


def _typer_option(knob: Knob, panel: str | None, changes: Mapping[str, Any]) -> Any:
    panel = knob.option.group if panel is None else panel
    names = [f"--{knob.cli}"] if knob.kind is not bool else [f"--{knob.cli}/--no-{knob.cli}"]
    return typer.Option(
        *names,
        **{
            "metavar": knob.metavar or None,
            "help": knob.option.help.replace("[", "\\["),
            "show_default": knob.option.unset or True,
            "rich_help_panel": None if panel in ("", BASIC) else panel,
            **changes,
        },
    )


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    if isinstance(default, Field):
        hint, default = Annotated[hint, default.metadata[_OPTION]], default.default
    default = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=default)


def read_counts(text: str, field: str, example: str = "1,2,4") -> list[int]:
    """Numbers separated by commas. Raises InvalidInput (``field``)."""
    from games.spec import whole_number

    try:
        return [whole_number(part, 1) for part in text.split(",")]
    except ValueError:
        refuse(field, text, f"whole numbers of at least 1, such as {example}")


def read_format(asked: str | None, out: Path | None) -> str:
    """The format of the figure of a report. Raises InvalidInput (format)."""
    if asked not in (None, "png", "svg"):
        refuse("format", asked, "png or svg")
    if asked is not None and out is None:
        refuse("format", asked, "nothing without --out, where the figure is written")
    return asked or "png"


def read_strategies(text: str) -> list[str]:
    """Names of strategies separated by commas. Raises InvalidInput (strategies)."""
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(STRATEGIES):
        refuse("strategies", text, "a list of " + ", ".join(STRATEGIES))
    return names


def suggest_best(game: str, preset: str | None, json_output: bool) -> None:
    """Name ``--preset best`` to a person at a terminal, where it is stronger and no preset was given."""
    if preset is not None or json_output or not sys.stderr.isatty():
        return
    from search.players.presets import BEST

    if game.partition(":")[0] in BEST:
        print("a stronger search for the best move: --preset best", file=sys.stderr)


def report(line: str) -> None:
    """Print a line about the command's own work on standard error."""
    print(f"banyan: {line}", file=sys.stderr, flush=True)
