"""Groups of command-line options as dataclasses: a parameter whose type is a dataclass is a group of options.

A field of the dataclass is an option, declared with ``Annotated[TYPE, option(...)]``, or described as
in search/options.py, as the fields of `SearchRequest` are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from cluster.commands.options import GameArgument
from search.options import BASIC, Knob, knob_of, knobs_of
from search.request import SearchRequest, request_of

Parameter = inspect.Parameter
MANY = 14
"""With more options than this the help of a command is short."""
COMMON = {
    *("moves", "position", "simulations", "seconds", "strategy", "strategies", "workers", "lanes", "preset"),
    *("json_output", "out", "checkpoint", "nodes", "depth", "episodes", "steps", "games", "sprt", "openings"),
    *("pairs", "judge", "measure", "repeats", "data", "host", "port", "max_running", "max_memory"),
    "metrics_port",
}
"""The options in short help: those that most people need."""


class ShortHelp(TyperCommand):
    """A command whose ``--help`` has only COMMON options if it has MANY; ``--help-all`` has all."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[__name__] = "--help-all" in args
        return super().parse_args(ctx, ["--help" if each == "--help-all" else each for each in args])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = copy(self)
        if len(self.params) > MANY and not ctx.meta.get(__name__):
            shown.params = [p for p in self.params if p.param_type_name == "argument" or p.name in COMMON]
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
        flat += options.get(name) or [parameter.replace(kind=Parameter.KEYWORD_ONLY)]

    def run(**values: Any) -> Any:
        for name, kind in groups.items():
            own = {each.name: values.pop(each.name) for each in options[name]}
            values[name] = read_request(own, kind) if issubclass(kind, SearchRequest) else kind(**own)
        return command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {}
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return run


def parameters_of(kind: Any) -> list[Parameter]:
    """The options of a group as parameters for typer."""
    if issubclass(kind, SearchRequest):
        return [_parameter("game", GameArgument, MISSING), *_of_request(kind)]
    hints = get_type_hints(kind, include_extras=True)
    return [_parameter(field.name, hints[field.name], field.default) for field in fields(kind)]


def request_option(name: str, *, panel: str | None = None, **changes: Any) -> Any:
    """The option of a field of `SearchRequest`, for another command.

    ``panel``: its heading in help (None: the field's own; empty: the first). ``changes``: arguments of
    `typer.Option` that differ.
    """
    return _typer_option(knob_of(SearchRequest, name), panel, changes)


def read_request(values: Mapping[str, Any], kind: type[SearchRequest] = SearchRequest) -> SearchRequest:
    """The request with these values of options. Raises InvalidInput."""
    return request_of({**values, "moves": tuple((values.get("moves") or "").split())}, kind)


def _of_request(kind: type[SearchRequest]) -> Iterable[Parameter]:
    for knob in knobs_of(kind):
        plain = str if knob.kind is tuple else knob.kind
        default = None if knob.kind is tuple else knob.asked_default
        yield _parameter(knob.name, Annotated[plain | None, _typer_option(knob, None, {})], default)


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
    default = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=default)
