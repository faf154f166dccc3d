"""Standard output, which only results reach; consoles, colour, and the format of numbers.

Games, environments and evaluators are foreign code, and may print at any time. So a command writes its
results through this module alone. Whatever else is printed while it runs, also by compiled libraries and by
child processes, goes to standard error.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from search.options import option

if TYPE_CHECKING:
    from rich.console import Console

OUTPUT = "Output"
"""The heading of the options of `Output` in help."""
WIDE = 10_000
"""Width in columns of output that does not go to a terminal, so that lines are never cut or wrapped."""
NAME_WIDTH = 13
"""Width in columns of the names of facts."""

_results: TextIO | None = None


class _Standard(io.FileIO):
    """Standard output, whose errors name it; or standard error, which has none: what cannot be written there
    is dropped, and a command goes on after its terminal was closed."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 2:
                return len(data)
            error.filename = "standard output"
            raise


@dataclass(frozen=True)
class Output:
    """What a command prints: progress, JSON or text, colour."""

    progress: bool = option(
        True,
        help="Show progress on standard error: a live view on a terminal, otherwise lines.",
        group=OUTPUT,
    )
    json: bool = option(False, help="Print JSON on standard output and nothing else.", group=OUTPUT)
    no_color: bool = option(False, help="No colour (also with NO_COLOR in the environment).", group=OUTPUT)

    @property
    def colour(self) -> bool | None:
        """False: no colour; None: colour if the terminal has it."""
        return False if self.no_color else None

    def show(self, value: Any, *shown: Any) -> None:
        """Print the value as JSON, or else these tables, lines, and lists of facts, on standard output."""
        if self.json:
            print_json(value)
            return
        console = stdout_console(self.colour)
        for each in shown:
            if isinstance(each, list):
                print_facts(console, each)
            else:
                console.print(each, markup=False, soft_wrap=isinstance(each, str))


def results() -> TextIO:
    """The stream of a command's results: standard output."""
    return sys.stdout if _results is None else _results


@contextmanager
def results_alone() -> Iterator[None]:
    """Context manager in which ``sys.stdout`` is standard error, and only `results` is standard output."""
    global _results
    before, _results = _results, results()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _results = before


def claim_stdout() -> None:
    """Make ``sys.stdout`` a file of its own, and file 1 standard error; for the main program of a process.

    Errors of writing to standard output name it; what cannot be written to standard error is dropped.

    A standard file that is closed becomes the null device. What the encoding of standard output lacks is
    printed as a question mark, unless PYTHONIOENCODING says otherwise.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", errors="replace"))  # noqa: SIM115
    ours = cast(io.TextIOWrapper, sys.stdout)
    ours.flush()
    errors = "replace" if ours.errors in ("strict", "surrogateescape") else ours.errors
    sys.stdout = _like(ours, _Standard(os.dup(1), "w", closefd=False), errors)
    words = cast(io.TextIOWrapper, sys.stderr)
    sys.stderr = _like(words, _Standard(2, "w", closefd=False), words.errors)
    os.dup2(2, 1)


def _like(stream: io.TextIOWrapper, raw: io.FileIO, errors: str | None) -> io.TextIOWrapper:
    """A stream that writes to ``raw``, with the encoding and the buffers of another."""
    unbuffered = stream.write_through
    return io.TextIOWrapper(
        cast(BinaryIO, raw) if unbuffered else io.BufferedWriter(raw),
        stream.encoding,
        errors,
        line_buffering=stream.line_buffering,
        write_through=unbuffered,
    )


@contextmanager
def typed_at_terminal() -> Iterator[None]:
    """Context manager in which file 1 is standard output again: ``input`` edits lines only there."""
    if _results is None or not _results.isatty():
        yield
        return
    _results.flush()
    os.dup2(_results.fileno(), 1)
    try:
        with redirect_stdout(sys.__stdout__):
            yield
    finally:
        os.dup2(2, 1)


def write(text: str, end: str = "\n") -> None:
    """Print a text on standard output at once."""
    print(text, end=end, file=results(), flush=True)


def stdout_console(colour: bool | None = None) -> Console:
    """Console on standard output, for results. ``colour`` None: by terminal and NO_COLOR; False: none."""
    return _console(colour, stderr=False)


def stderr_console(colour: bool | None = None) -> Console:
    """Console on standard error, for progress and warnings."""
    return _console(colour, stderr=True)


def has_colour(console: Console) -> bool:
    """Whether output to the console may contain escape sequences."""
    return console.is_terminal and not console.is_dumb_terminal and not console.no_color


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    write(json.dumps(value))


def print_facts(console: Console, facts: Iterable[tuple[str, str]]) -> None:
    """Print [(name, text)], a line each, however narrow the terminal."""
    from rich.text import Text

    for name, fact in facts:
        console.print(Text.assemble((name.ljust(NAME_WIDTH), "dim"), fact), soft_wrap=True)


def count(value: float) -> str:
    """An integer with separated thousands, such as 12,345."""
    return f"{round(value):,}"


def duration(seconds: float) -> str:
    """A time in words, as `games.errors.duration` writes it."""
    # Imported here because `games` loads Numba, for which `banyan --help` need not wait.
    from games.errors import duration as written

    return written(seconds)


def rate(per_s: float) -> str:
    """Events a second in words, as `games.errors.rate` writes them."""
    from games.errors import rate as written

    return written(per_s)


def span(numbers: Sequence[int], noun: str) -> str:
    """A range of numbers with a noun, such as "1 to 8 workers"."""
    least, most = min(numbers), max(numbers)
    which = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{which} {noun}{'s' * (most != 1)}"


def value(mean: float, is_share: bool = True) -> str:
    """A value with its sign; if it is a mean return in [-1, 1], and so a share of wins, also in percent."""
    return f"{mean:+.3f}" + (f" ({50 * (1 + mean):.1f} %)" if is_share else "")


def in_minutes(seconds: float) -> str:
    """A time to wait in words: seconds, from one minute on in steps of ten."""
    if seconds < 60:
        return f"{max(0, round(seconds))} s"
    minutes, rest = divmod(10 * round(seconds / 10), 60)
    return f"{minutes} min" + (f" {rest} s" if rest else "")


def _console(colour: bool | None, *, stderr: bool) -> Console:
    from rich.console import Console

    class Shown(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the process by SystemExit, which is taken for an error of a game's.
            raise BrokenPipeError

    stream = sys.stderr if stderr else results()
    # Rich looks at files 0 to 2, of which none need be the terminal that results go to.
    sized = not stderr and isinstance(stream, io.TextIOWrapper) and "COLUMNS" not in os.environ
    own = os.get_terminal_size(stream.fileno()).columns or None if sized and stream.isatty() else None
    return Shown(
        file=None if stderr else stream,
        stderr=stderr,
        highlight=False,
        soft_wrap=False,
        no_color=True if colour is False else None,
        width=own if stream.isatty() else WIDE,
    )
