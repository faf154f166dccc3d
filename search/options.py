"""Descriptions of the options of a search; each is part of the field of `SearchRequest` that holds the value.

The command line, the HTTP API, players, the checks of values and the reference are made from these
descriptions. Nothing heavy is imported here, so that `banyan --help` is quick.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, NoReturn, get_args, get_origin, get_type_hints

BASIC, SEARCH, PLAYOUTS, PARALLEL = "Options", "Search", "Playouts", "Parallel search"
HIDDEN, NETWORK = "Hidden information", "Network"
GROUPS = (BASIC, SEARCH, PLAYOUTS, PARALLEL, HIDDEN, NETWORK)
"""The headings under which help and the reference list options."""
LOWEST = -sys.float_info.max
_KEY = "option"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Option:
    """The description of a field, in addition to its type and default."""

    help: str
    """One sentence or two, in the terms of the field."""
    group: str
    """One of GROUPS."""
    bounds: tuple[float, float] | None = None
    """The least and the largest number that is accepted."""
    choices: tuple[str, ...] = ()
    """The texts that are accepted; empty for any."""
    classes: bool = False
    """Whether a class in a file, ``FILE.py:CLASS``, is accepted beside the choices."""
    accepted: str = ""
    """The accepted values in words, if bounds or choices do not describe them well."""
    unit: str = ""
    """What a number counts or measures, such as ``seconds``."""
    metavar: str = ""
    """The placeholder of the value in help; empty: derived from type and choices."""
    unset: str = ""
    """The meaning of None."""
    cli: str = ""
    """The name on the command line without dashes; empty for the field's own."""
    key: str | None = ""
    """The name in the spec of a player; empty for the field's own, None if no player takes it."""
    api: bool = True
    """Whether the HTTP API takes it."""
    envvar: str = ""
    """The environment variable that gives the value if the command line does not."""
    told_apart: bool = False
    """Whether giving the default value differs from giving none; without a value the field is then None."""


@dataclass(frozen=True)
class Knob:
    """An option together with the field that it describes."""

    name: str
    kind: type
    """int, float, str, bool or tuple (of texts)."""
    nullable: bool
    default: Any
    """dataclasses.MISSING if a value is required."""
    option: Option

    @property
    def cli(self) -> str:
        """The name on the command line, without dashes in front."""
        return self.option.cli or self.name.replace("_", "-")

    @property
    def key(self) -> str:
        """The name in the spec of a player."""
        return self.option.key or self.name

    @property
    def asked_default(self) -> Any:
        """The value that a form shows initially."""
        return None if self.option.told_apart else self.default

    @property
    def metavar(self) -> str:
        """The placeholder of the value in help."""
        if self.option.metavar or self.kind is bool:
            return self.option.metavar
        return "|".join(self.option.choices) or {int: "N", float: "X"}.get(self.kind, "TEXT")

    @property
    def accepted(self) -> str:
        """The accepted values in words."""
        if self.option.accepted:
            return self.option.accepted
        if self.option.choices:
            return " or ".join(self.option.choices)
        if self.option.bounds is None:
            return _KINDS.get(self.kind, "text")
        low, high = (f"{each:g}" if self.kind is float else f"{each}" for each in self.option.bounds)
        return f"{_KINDS[self.kind]} from {low} to {high}"

    def accepts(self, value: Any) -> bool:
        """Whether the field may hold the value."""
        if value is None:
            return self.nullable
        if self.option.choices:
            return value in self.option.choices or (self.option.classes and is_class(value))
        if self.kind not in (int, float):
            return isinstance(value, self.kind)
        if isinstance(value, bool) or not isinstance(value, int | float if self.kind is float else int):
            return False
        low, high = self.option.bounds or (-math.inf, math.inf)
        # Comparisons with NaN are false.
        return low <= value <= high

    def check(self, value: Any) -> Any:
        """The value, if the field may hold it. Raises InvalidInput with the name of the field."""
        if not self.accepts(value):
            refuse(self.name, value, self.accepted)
        return value


def is_class(value: Any) -> bool:
    """Whether it is a text that names a class in a file: ``FILE.py:CLASS``."""
    path, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    return path.endswith(".py") and name.isidentifier()


def option(default: Any = dataclasses.MISSING, /, **described: Any) -> Any:
    """A field of a dataclass with this default, described by the fields of `Option`."""
    return dataclasses.field(default=default, metadata={_KEY: Option(**described)})


def option_of(kind: type, name: str, default: Any, /, **changes: Any) -> Any:
    """A field with this default, described as the field ``name`` of another dataclass, apart from
    ``changes``."""
    described = replace(knob_of(kind, name).option, **changes)
    return dataclasses.field(default=default, metadata={_KEY: described})


def knobs_of(kind: type) -> tuple[Knob, ...]:
    """The options of a dataclass in the order of its fields, without fields that have no description."""
    if kind not in _KNOBS:
        hints = get_type_hints(kind, include_extras=True)
        found = (knob_from(field.name, hints[field.name], field) for field in dataclasses.fields(kind))
        _KNOBS[kind] = tuple(filter(None, found))
    return _KNOBS[kind]


_KNOBS: dict[type, tuple[Knob, ...]] = {}


def knob_from(name: str, hint: Any, declared: Any) -> Knob | None:
    """The option that describes a field, or a parameter of a function; None if it has no description.

    ``declared``: the field, or the default of the parameter. The description is part of the field, or of the
    type (`Annotated`).
    """
    option, default = None, declared
    if isinstance(declared, dataclasses.Field):
        option, default = declared.metadata.get(_KEY), declared.default
    if get_origin(hint) is Annotated:
        option = option or next((each for each in hint.__metadata__ if isinstance(each, Option)), None)
        hint = hint.__origin__
    if option is None:
        return None
    kinds = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    own = next(each for each in kinds if each is not types.NoneType)
    return Knob(name, get_origin(own) or own, types.NoneType in kinds, default, option)


def knob_of(kind: type, name: str) -> Knob:
    """The option of a field."""
    return next(knob for knob in knobs_of(kind) if knob.name == name)


def check(request: object) -> None:
    """Check each option by itself. Raises InvalidInput with the name of the field."""
    for knob in knobs_of(type(request)):
        knob.check(getattr(request, knob.name))


def refuse(field: str, value: object, accepted: str) -> NoReturn:
    """Raise InvalidInput with these arguments."""
    # Its package brings Numba along.
    from games.errors import InvalidInput

    raise InvalidInput(field, value, accepted)


def refuse_first(request: object, checks: Iterable[tuple[str, bool, str]]) -> None:
    """Raise InvalidInput for the first of these fields that is refused; each with what is accepted."""
    for field, is_refused, accepted in checks:
        if is_refused:
            value = getattr(request, field)
            refuse(field, "yes" if value is True else value, accepted)
