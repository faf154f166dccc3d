"""Groups of command-line options as dataclasses: a parameter whose type is a dataclass is a group of options.

A field of the dataclass is an option, declared with ``Annotated[TYPE, typer.Option(...)]``, or described as
in search/options.py, as the fields of `SearchRequest` are.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from cluster.commands.options import GameArgument
from search.asked import RETIRED, request_of
from search.options import BASIC, Knob, knob_of, knobs_of, refuse
from search.request import SearchRequest

Parameter = inspect.Parameter


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command as a function for typer, with each group replaced by its options.

    Removed and renamed options are hidden: a removed one gives an error, a renamed one still works.
    """
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
    for name, retired in RETIRED.items():
        if values.get(name) is not None:
            refuse(name, values[name], retired.accepted)
    for knob in knobs_of(kind):
        for old in knob.option.old:
            if values.get(old) is not None:
                name = old.replace("_", "-")
                print(f"banyan: warning: --{name} is called --{knob.cli} now", file=sys.stderr)
    asked = {name: value for name, value in values.items() if value is not None}
    return request_of(asked | {"moves": tuple((values.get("moves") or "").split())}, kind)


def _of_request(kind: type[SearchRequest]) -> Iterable[Parameter]:
    for knob in knobs_of(kind):
        plain = str if knob.kind is tuple else knob.kind
        default = None if knob.kind is tuple else knob.asked_default
        # Of a field with an earlier name nothing is assumed: it may be under the other name.
        default = None if knob.option.old else default
        yield _parameter(knob.name, Annotated[plain | None, _typer_option(knob, None, {})], default)
        for old in knob.option.old:
            text = f"An earlier name of --{knob.cli}."
            hidden = typer.Option(f"--{old.replace('_', '-')}", hidden=True, help=text)
            yield _parameter(old, Annotated[plain | None, hidden], None)
    for name, retired in RETIRED.items():
        hidden = typer.Option(hidden=True, help=f"Gone: {retired.why}.")
        yield _parameter(name, Annotated[str | None, hidden], None)


def _typer_option(knob: Knob, panel: str | None, changes: Mapping[str, Any]) -> Any:
    panel = knob.option.group if panel is None else panel
    shown: bool | str = knob.option.unset or True
    if knob.option.old and not knob.option.unset:
        # The parser does not know it: the value may be under the earlier name.
        shown = f"{knob.default:g}" if knob.kind is float else f"{knob.default}"
    names = [f"--{knob.cli}"] if knob.kind is not bool else [f"--{knob.cli}/--no-{knob.cli}"]
    return typer.Option(
        *names,
        **{
            "metavar": knob.metavar or None,
            "help": knob.option.help.replace("[", "\\["),
            "show_default": shown,
            "rich_help_panel": None if panel in ("", BASIC) else panel,
            **changes,
        },
    )


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    default = Parameter.empty if default is MISSING else default
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=default)
