"""One line of text that names a thing and its options: ``name`` or ``name:key=value,key=value``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from games.errors import InvalidInput

FORM = "name or name:key=value,key=value (letters, digits, '_', '-', '.')"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


@dataclass(frozen=True)
class Spec:
    """A name and its options as text, in the order in which they were given."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name


def parse_spec(text: str, field: str) -> Spec:
    """Read a spec; ``field`` is the name under which an error reports it.

    Raises InvalidInput for an empty name, a missing ``=``, an empty key or value, or a key given twice.
    """
    name, colon, rest = text.strip().partition(":")
    if not _plain(name) or (colon and not rest):
        raise InvalidInput(field, text, FORM)
    options: dict[str, str] = {}
    for item in rest.split(",") if rest else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not _plain(key) or not _plain(value):
            raise InvalidInput(field, text, FORM)
        if key in options:
            raise InvalidInput(field, text, f"each option once ({key!r} was given twice)")
        options[key] = value
    return Spec(name, options)


class Options:
    """The options of one spec, taken out one by one; what is left at the end is an error."""

    def __init__(self, spec: Spec, field: str) -> None:
        self._field = field
        self._left = dict(spec.options)
        self._known: list[str] = []

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """The option ``key`` as a whole number in [low, high]."""
        self._known.append(key)
        text = self._left.pop(key, None)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise InvalidInput(f"{self._field} option {key}", text, f"a whole number from {low} to {high}")
        return int(text)

    def choice(self, key: str, default: str, accepted: tuple[str, ...]) -> str:
        """The option ``key`` as one of ``accepted``."""
        self._known.append(key)
        text = self._left.pop(key, default)
        if text not in accepted:
            raise InvalidInput(f"{self._field} option {key}", text, " or ".join(accepted))
        return text

    def text(self, key: str, default: str, pattern: re.Pattern[str], accepted: str) -> str:
        """The option ``key`` as text that ``pattern`` matches whole; ``accepted`` says so in words."""
        self._known.append(key)
        text = self._left.pop(key, default)
        if pattern.fullmatch(text) is None:
            raise InvalidInput(f"{self._field} option {key}", text, accepted)
        return text

    def close(self) -> None:
        """Raise InvalidInput if an option was given that nobody took."""
        for key in self._left:
            known = ", ".join(self._known) if self._known else "no options"
            raise InvalidInput(f"{self._field} option", key, known)


def _plain(text: str) -> bool:
    return bool(text) and set(text) <= _PLAIN
