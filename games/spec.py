"""Specs: one line of text with a name and options, ``name`` or ``name:key=value,key=value``."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from games.errors import InvalidInput, did_you_mean

OPENSPIEL, EXPLICIT, GYM = "openspiel", "explicit", "gym"
TEXT_OF = {OPENSPIEL: "game", EXPLICIT: "tree", GYM: "environment"}
"""By name of a game: the option whose value is all text after the colon."""
JOBSHOP = "jobshop"
DATA_OF = {JOBSHOP: "instance"}
"""By name of a game: the option that may be the path of a file of data."""
N = TypeVar("N", int, float)
FORM = "name or name:key=value,key=value (letters, digits, '_', '-', '.')"
WHOLE = "a whole number, such as 20000, 2.5e6 or 2M"
_WHOLE = re.compile(
    r"(-?(?:\d{1,26}|\d{1,3}(?:(?:_\d{3})+|(?:,\d{3})+))(?:\.\d{1,9}(?=[eEkM]))?(?:[eE]\+?\d\d?)?)([kM]?)",
    re.ASCII,
)
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_PATHS = _PLAIN | frozenset("/~:=")


@dataclass(frozen=True)
class Spec:
    """A name and its options as text, in the given order."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name


def whole_number(text: str, low: float = -math.inf, high: float = math.inf) -> int:
    """The whole number in [low, high] that a text gives exactly: 2500000, 2_500_000, 2,500,000, 2.5e6, 2.5M,
    2500k. Raises ValueError."""
    match = _WHOLE.fullmatch(text.strip())
    number = Decimal(match[1].replace(",", "")) * _UNITS[match[2]] if match else Decimal("0.5")
    if number != number.to_integral_value() or not low <= number <= high:
        raise ValueError(text)
    return int(number)


def parse_spec(text: str, field: str, *, paths: bool = False) -> Spec:
    """Parse a spec; errors report it under the name ``field``.

    A name that ends in ``.py`` is the path of a file and may contain any character but ``:``. With
    ``paths`` a value may be a path too, or a path with an option (``a=./net.py:b=c``).
    Raises InvalidInput for an empty name, a missing ``=``, an empty key or value, or a key given twice.
    """
    name, colon, rest = text.strip().partition(":")
    if not (_plain(name) or is_path(name)) or (colon and not rest):
        raise InvalidInput(field, text, FORM)
    options: dict[str, str] = {}
    for item in rest.split(",") if rest else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not _plain(key) or not _plain(value, _PATHS if paths else _PLAIN):
            raise InvalidInput(field, text, FORM)
        if key in options:
            raise InvalidInput(field, text, f"each option once ({key!r} was given twice)")
        options[key] = value
    return Spec(name, options)


def parse_game_spec(text: str) -> Spec:
    """Parse the spec of a game; raises InvalidInput (field ``game``).

    All text after ``openspiel:`` is the value of the option ``game``, the name of a game of OpenSpiel; all
    text after ``explicit:`` is that of the option ``tree``, and all text after ``gym:`` that of the option
    ``environment``. With a game of DATA_OF a path that begins with ``.``, ``/`` or ``~`` is all of the text
    from there on, whatever characters it has. Other specs are parsed by `parse_spec`.
    """
    name, colon, rest = text.strip().partition(":")
    if name in TEXT_OF and (rest or not colon):
        return Spec(name, {TEXT_OF[name]: rest} if rest else {})
    option, _, path = rest.partition("=")
    if option == DATA_OF.get(name) and path.startswith((".", "/", "~")):
        return Spec(name, {option: path})
    return parse_spec(text, "game", paths=name in DATA_OF)


def is_path(name: str) -> bool:
    """Whether the name in a spec is the path of a game file."""
    return name.endswith(".py")


def file_of(spec: Spec) -> str | None:
    """The path of the file that the spec of a game names; None if it names none."""
    if spec.name == GYM:
        path, _, name = spec.options.get(TEXT_OF[GYM], "").partition(":")
        return path if is_path(path) and name else None
    return spec.name if is_path(spec.name) else None


def options_of(function: Callable[..., Any], spec: Spec, field: str = "game") -> dict[str, Any]:
    """The spec's options as keyword arguments of ``function``, converted to the types of its defaults.

    A parameter may say which values it accepts: ``Annotated[int, range(5, 21)]``, or a tuple of all values; a
    default need not be one of them. Without that a whole number is at least 0.
    Raises InvalidInput, which names the spec by ``field``, for an option that is not a parameter, and for a
    value that is not accepted.
    """
    options, values, annotations = Options(spec, field), {}, dict[str, Any]()
    # A name of another annotation may be known to type checkers alone.
    with suppress(NameError):
        annotations = inspect.get_annotations(function, eval_str=True)
    for name, parameter in inspect.signature(function).parameters.items():
        default, notes = parameter.default, getattr(annotations.get(name), "__metadata__", ())
        if name == "self" or not isinstance(default, int | str):
            continue
        accepted = next((each for each in notes if isinstance(each, range | tuple)), range(2**31))
        if not isinstance(accepted, range):
            values[name] = type(default)(options.choice(name, str(default), tuple(map(str, accepted))))
        elif isinstance(default, int):
            values[name] = options.whole(name, default, accepted.start, accepted.stop - 1)
        else:
            values[name] = options.text(name, default)
    options.close()
    return values


class Options:
    """Reader of the options of one spec: each is taken out once, and options left at the end are an error."""

    def __init__(self, spec: Spec, field: str) -> None:
        self._field = field
        self._left = dict(spec.options)
        self.taken: dict[str, tuple[str, str]] = {}
        """Of each option that was read: what is accepted, in words, and its default."""

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """The option ``key`` as an integer in [low, high]."""
        accepted = f"a whole number from {low} to {high}"
        number = self._number(key, lambda text: whole_number(text, low, high), accepted, str(default))
        return default if number is None else number

    def integer(self, key: str) -> int | None:
        """The option ``key`` as an integer of any size; None if it was not given."""
        return self._number(key, whole_number, WHOLE)

    def number(self, key: str) -> float | None:
        """The option ``key`` as a number; None if it was not given."""
        return self._number(key, float, "a number")

    def choice(self, key: str, default: str, accepted: tuple[str, ...]) -> str:
        """The option ``key`` as one of ``accepted``; ``default`` if it was not given."""
        text = self._take(key, " or ".join(accepted), default)
        if text is not None and text not in accepted:
            self._refuse(key, text)
        return default if text is None else text

    def text(self, key: str, default: str, pattern: re.Pattern[str] | None = None, accepted: str = "") -> str:
        """The option ``key`` as text that fully matches ``pattern``; ``accepted`` describes the pattern."""
        text = self._take(key, accepted or "text", default)
        text = default if text is None else text
        if pattern is not None and pattern.fullmatch(text) is None:
            self._refuse(key, text)
        return text

    def _number(self, key: str, kind: Callable[[str], N], accepted: str, default: str = "") -> N | None:
        text = self._take(key, accepted, default)
        try:
            return None if text is None else kind(text)
        except ValueError:
            self._refuse(key, text)

    def _take(self, key: str, accepted: str, default: str) -> str | None:
        self.taken[key] = accepted, default
        return self._left.pop(key, None)

    def _refuse(self, key: str, text: object) -> NoReturn:
        raise InvalidInput(f"{self._field} option {key}", text, self.taken[key][0]) from None

    def close(self) -> None:
        """Raise InvalidInput if options are left: they are unknown."""
        for key in self._left:
            there = ", ".join(self.taken) + did_you_mean(key, self.taken)
            raise InvalidInput(f"{self._field} option", key, there or "no options")


def _plain(text: str, accepted: frozenset[str] = _PLAIN) -> bool:
    return bool(text) and set(text) <= accepted
