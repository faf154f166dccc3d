"""Errors for invalid input, and numbers and lists as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

# How alike a word and the name are that it may stand for, of 1: so much as sims and simulations.
LIKE = 0.5


class InvalidInput(ValueError):
    """An input that is not accepted; the message names the field, the value, and what is accepted.

    Raised where input is read (specs, moves, positions, requests), before any work starts. The
    command line prints the message as one line and exits with status 2.
    """

    def __init__(self, field: str, value: object, accepted: str) -> None:
        self.field = field
        self.value = value
        self.accepted = accepted
        super().__init__(f"{field}: {value!r} is not accepted; expected {accepted}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str]]:
        return (InvalidInput, (self.field, self.value, self.accepted))


def refuse_if_any(field: str, value: object, faults: Iterable[tuple[object, str]]) -> None:
    """Raise InvalidInput for the first of the ``faults`` that is there; pairs (is it there, what is
    accepted)."""
    for is_there, accepted in faults:
        if is_there:
            raise InvalidInput(field, value, accepted)


class BrokenGame(InvalidInput):
    """A user's game whose rules violate the contract; the message names the rule and the position."""

    def __init__(self, game: str, finding: str) -> None:
        """``game``: its spec. ``finding``: the violation as `banyan check` prints it."""
        super().__init__("game", game, f"a game whose rules follow the contract ({finding})")
        self.finding = finding
        self.args = (f"{game}: {finding}",)

    def __reduce__(self) -> tuple[type[BrokenGame], tuple[str, str]]:  # type: ignore[override]
        return (BrokenGame, (str(self.value), self.finding))


class UnknownOption(InvalidInput):
    """An option that does not exist; the message names the one that is most like it, or all ``names``."""

    def __init__(self, name: str, value: object, names: Sequence[str]) -> None:
        close = get_close_matches(name, names, 1, LIKE)
        super().__init__(name, value, ", ".join(close or names))
        hint = f"did you mean {close[0]!r}?" if close else f"there are {self.accepted}"
        self.args = (f"unknown option {name!r}; {hint}",)

    def __reduce__(self) -> tuple[object, ...]:  # type: ignore[override]
        return (InvalidInput, (self.field, self.value, self.accepted), {"args": self.args})


PASSING = (KeyboardInterrupt, GeneratorExit)
"""Exceptions that interrupt code and are not its fault."""

T = TypeVar("T")


def foreign(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call code of users or libraries; what it raises is an Exception, or one of PASSING.

    ``sys.exit`` there, or a failure that is no Exception, would otherwise end the program that called it.
    """
    try:
        return function(*arguments, **options)
    except BaseException as error:
        raise as_exception(error)  # noqa: B904 - it has its cause


def as_exception(error: BaseException) -> BaseException:
    """The error that foreign code has raised, if it is an Exception or one of PASSING; else a RuntimeError
    with its name and text in its place."""
    if isinstance(error, (Exception, *PASSING)):
        return error
    made: BaseException = type(type(error).__name__, (RuntimeError,), {})(*error.args)
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


def said(error: BaseException) -> str:
    """An exception as one line of text: its type and message."""
    return " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())


def counted(count: float, noun: str, plural: str = "") -> str:
    """A number of things in words: ``1 worker``, ``1,024 workers``; ``plural`` if it is not with an s."""
    return f"{round(count):,} {noun if round(count) == 1 else plural or noun + 's'}"


def rate(per_s: float) -> str:
    """A rate with three significant digits: 950/s, 38.2 k/s, 4.02 M/s."""
    for size, sign in ((1e6, " M"), (1e3, " k")):
        if per_s >= 0.9995 * size:
            scaled = per_s / size
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:.{digits}f}{sign}/s"
    return f"{per_s:.0f}/s" if per_s >= 9.95 or per_s == 0 else f"{per_s:.1f}/s"


def duration(seconds: float) -> str:
    """A duration as seconds, or from one minute on as minutes and hours."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d} h" if hours else f"{minutes}:{rest:02d} min"


def in_words(each: Sequence[object]) -> str:
    """A list as in a sentence: ``root, tree and leaf``."""
    return " and ".join(", ".join(map(str, each)).rsplit(", ", 1))


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """For the end of what is accepted: `` (did you mean gomoku?)``, the one or two names that are most like a
    word, or an empty string."""
    # Longer words are like no name, and would take long.
    word, known = word[:100], sorted(names)
    close = get_close_matches(word, known, 2) or get_close_matches(word, known, 1, LIKE)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
