"""Options that several commands share, and commands as functions for typer.

A parameter whose type is a dataclass is a group of options: each field is one, declared by `option`, or
described as in search/options.py, as the fields of `SearchRequest` are.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from cluster.system.terminal import OUTPUT as OUTPUT
from cluster.system.terminal import Output, results_alone
from search.options import BASIC, SEARCH, Option, is_class, knob_from, option_of, refuse
from search.options import option as search_option
from search.request import STRATEGIES, SearchRequest, request_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cluster.workers.placement import Placement

Parameter = inspect.Parameter
MANY = 14
"""With more options than this, the help of a command shows only those in COMMON."""
COMMON = {
    *("moves", "position", "simulations", "seconds", "strategy", "strategies", "workers", "lanes", "preset"),
    *("json", "out", "checkpoint", "nodes", "depth", "episodes", "steps", "games", "sprt", "openings"),
    *("pairs", "judge", "measure", "repeats", "data", "host", "port", "max-running", "max-memory"),
    *("metrics-port", "address", "executor", "server", "seed", "rounds", "job-timeout"),
    *("token-file", "allow-games", "max-waiting", "protocol"),
}
"""The options in short help: those that most people need, and that the first documents use."""
AT_LEAST_1: dict[str, Any] = {"bounds": (1, math.inf), "accepted": "a whole number of at least 1"}
POSITIVE = math.ulp(0.0), sys.float_info.max
"""The bounds of finite numbers above 0."""
POSITION, BUDGET, PLACE = "Position", "Budget", "Where it runs"


def option(
    default: Any,
    metavar: str | None,
    text: str,
    panel: str = BASIC,
    *,
    accepts: Mapping[str, Any] | None = None,
    show_default: str = "",
    cli: str = "",
) -> Any:
    """A field of a group, or a parameter of a command, that is an option. ``metavar``: its value in a word;
    ``text``: its help; ``panel``: the heading above it.

    ``accepts``: ``bounds``, ``choices`` and ``accepted`` as in `search.options.Option`. ``show_default``: the
    meaning of None. ``cli``: its name without dashes, if it is not that of the field.
    """
    return search_option(
        default,
        help=text,
        group=panel,
        metavar=metavar or "",
        unset=show_default,
        cli=cli,
        **(accepts or {}),
    )


def request_option(
    default: Any, name: str, *, panel: str | None = None, show_default: str | bool = False, **changes: Any
) -> Any:
    """The option of a field of `SearchRequest`, for a command that checks it itself.

    ``panel``: its heading in help (None: the field's own; empty: the first). ``show_default``: the meaning of
    None (True: the default is shown). ``changes``: other fields of its `search.options.Option`.
    """
    if panel is not None:
        changes["group"] = panel or BASIC
    if show_default:
        changes["unset"] = "" if show_default is True else show_default
    return option_of(SearchRequest, name, default, bounds=None, told_apart=False, **changes)


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
    Option(
        "Moves from the start, or from --position, in the game's notation.", POSITION, metavar="'M1 M2 ...'"
    ),
]
PositionOption = Annotated[
    str | None,
    Option("A position as banyan show prints it, instead of the start.", POSITION, metavar="TEXT"),
]
AddressOption = Annotated[
    str | None,
    Option(
        "Address of a running Ray cluster, or auto to find one; without it, Ray is started here.",
        PLACE,
        metavar="HOST:PORT",
    ),
]
PresetOption = Annotated[
    str | None,
    Option(
        "Settings for all options that are not given: best, which won most matches of the game; "
        "plain, UCT with random playouts; or the constants of a published source.",
        SEARCH,
        metavar="best|plain|...",
    ),
]
CheckpointEveryOption = Annotated[
    float | None,
    Option(
        "Seconds between two checkpoints (60); the last is written when the search ends.", OUTPUT, metavar="S"
    ),
]
FormatOption = Annotated[
    str | None,
    Option(
        "Format of the figure there (png); an svg needs no fonts.",
        OUTPUT,
        choices=("png", "svg"),
        cli="format",
    ),
]
MetricsPortOption = Annotated[
    int | None,
    Option(
        "Serve Prometheus metrics on this port during the search; 0 is any free port.", OUTPUT, metavar="PORT"
    ),
]
MetricsHostOption = Annotated[str, Option("Address on which metrics are served.", OUTPUT, metavar="HOST")]


@dataclass(frozen=True)
class WorkerPlace:
    """The workers of a command, in the fields of `Placement`."""

    workers: str = option(
        "auto",
        "N|N..M|auto",
        "Worker processes or threads: N; or N..M, as many as there are CPUs while machines of a cluster "
        "come and go; auto is 1..auto, every CPU.",
    )
    executor: str = option(
        "ray", "ray|inline", "Run on workers of Ray, or in this process alone, which starts faster.", PLACE
    )
    address: AddressOption = None

    def placement(self) -> Placement:
        """The options, read. Raises InvalidInput (workers, gpus_per_worker, and so on)."""
        from cluster.workers.placement import Placement

        return Placement(**vars(self))


@dataclass(frozen=True)
class SearchPlace(WorkerPlace):
    """Where a search runs."""

    executor: str = option(
        "auto",
        "auto|ray|threads|inline",
        "Run in one thread of this process (inline), in several (threads), or on workers of Ray (ray). "
        "auto, the default: threads; rules or evaluators in plain Python begin in one thread and move to "
        "workers of Ray if more than about 8 s of work are left; with --address it means ray.",
        PLACE,
    )
    gpus_per_worker: float | None = option(
        None, "N", "GPUs that each worker reserves (0); with 0.5 two workers share one.", PLACE
    )
    cpus_per_worker: float | None = option(None, "N", "CPUs that each worker reserves (1).", PLACE)
    worker_resources: str | None = option(
        None, "NAME=N,NAME=N", "Custom resources of Ray that each worker reserves.", PLACE
    )
    job_timeout: float | None = timeout_option("a job", "the job is run", 30)
    evaluations: str | None = option(
        None,
        "FILE",
        "Keep the evaluator's answers in FILE, which several searches may use at once, and ask it for none "
        "that is there. It has at most 1,000,000 answers; the oldest are removed.",
        PLACE,
    )
    metrics_port: MetricsPortOption = None
    metrics_host: MetricsHostOption = "127.0.0.1"


@dataclass(frozen=True)
class GamePlace(WorkerPlace):
    """Where games are played."""

    job_timeout: float | None = timeout_option("a game", "the game is played", 3600)


OutputOptions = Output


@dataclass(frozen=True)
class ResultOptions(Output):
    """What a command without progress shows."""

    progress: bool = False


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
            name: numbers[each.name] for each in self.params if each.name in numbers for name in each.opts
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
    declared = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in declared if is_dataclass(each.annotation)
    }
    flat = [option for each in declared for option in _options_of(each)]

    def run(**values: Any) -> Any:
        for name, kind in groups.items():
            own = {each.name: values.pop(each.name) for each in fields(kind) if each.name in values}
            values[name] = request_of(own, kind) if issubclass(kind, SearchRequest) else kind(**own)
        return command(**values)

    # In help each paragraph is wrapped anew; typer keeps the line breaks of all but the first.
    run.__name__ = command.__name__
    run.__doc__ = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.getdoc(command) or "")
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


def _options_of(parameter: Parameter) -> list[Parameter]:
    """What typer takes in place of a parameter of a command: itself, or the options of the group."""
    kind = parameter.annotation
    if not is_dataclass(kind):
        return [_option(parameter.name, kind, parameter.default)]
    hints = get_type_hints(kind, include_extras=True)
    if is_search := issubclass(kind, SearchRequest):  # type: ignore[arg-type]
        hints["game"] = GameArgument
    found = [_option(each.name, hints[each.name], each, is_search) for each in fields(kind)]
    return [each for each in found if get_origin(each.annotation) is Annotated]


def _option(name: str, hint: Any, declared: Any, is_search: bool = False) -> Parameter:
    """A field or a parameter for typer: one that is described as an option of Banyan, or as typer wants it.

    ``is_search``: it is of a request, which checks it itself, and which a preset may change.
    """
    default = declared.default if isinstance(declared, Field) else declared
    if (knob := knob_from(name, hint, declared)) is not None:
        option, default = knob.option, knob.asked_default
        names = f"--{knob.cli}"
        read: Callable[[Any], Any] | None = None if is_search else replace(knob, name=knob.cli).check
        if knob.kind is bool and (default or knob.nullable or is_search):
            names += f"/--no-{knob.cli}"
        if knob.kind is tuple:
            hint, default, read = str | None, None, _divided
        least, most = option.bounds or (None, None)
        found = typer.Option(
            names,
            metavar=knob.metavar or None,
            help=option.help.replace("[", "\\["),
            show_default=option.unset or True,
            rich_help_panel=None if option.group == BASIC else option.group,
            callback=read,
            envvar=option.envvar or None,
            min=least if most == math.inf and not option.accepted else None,
        )
        hint = Annotated[hint, found]
    default = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=default)


def _divided(text: Any) -> tuple[str, ...]:
    """Texts that blanks divide."""
    return tuple((text or "").split())


def read_counts(text: str, field: str, example: str = "1,2,4") -> list[int]:
    """Numbers separated by commas. Raises InvalidInput (``field``)."""
    from games.spec import whole_number

    try:
        return [whole_number(part, 1) for part in text.split(",")]
    except ValueError:
        refuse(field, text, f"whole numbers of at least 1, such as {example}")


def read_format(asked: str | None, out: Path | None) -> str:
    """The format of the figure of a report. Raises InvalidInput (format)."""
    if asked is not None and out is None:
        refuse("format", asked, "nothing without --out, where the figure is written")
    return asked or "png"


def read_strategies(text: str, *, files: bool = False) -> list[str]:
    """Names of strategies separated by commas; ``files``: or classes in files. Raises InvalidInput
    (strategies)."""
    names = [name.strip() for name in text.split(",")]
    if not {name for name in names if not (files and is_class(name))} <= set(STRATEGIES):
        refuse("strategies", text, f"a list of {', '.join(STRATEGIES)}{', FILE.py:CLASS' * files}")
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
