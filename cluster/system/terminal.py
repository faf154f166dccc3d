"""Output for people: consoles, colour, and the format of numbers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
"""Width in columns of output that does not go to a terminal, so that lines are never cut or wrapped."""


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
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def count(value: float) -> str:
    """An integer with separated thousands, such as 12,345."""
    return f"{round(value):,}"


def rate(per_s: float) -> str:
    """A rate with three significant digits: 950/s, 38.2 k/s, 4.02 M/s."""
    for size, sign in ((1e6, " M"), (1e3, " k")):
        if per_s >= 0.9995 * size:
            scaled = per_s / size
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:.{digits}f}{sign}/s"
    return f"{per_s:.0f}/s" if per_s >= 9.95 or per_s == 0 else f"{per_s:.1f}/s"


def value(mean: float, is_share: bool = True) -> str:
    """A value with its sign; if it is a mean return in [-1, 1], and so a share of wins, also in percent."""
    return f"{mean:+.3f}" + (f" ({50 * (1 + mean):.1f} %)" if is_share else "")


def duration(seconds: float) -> str:
    """A duration as seconds, or from one minute on as minutes and hours."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d} h" if hours else f"{minutes}:{rest:02d} min"


def _console(colour: bool | None, *, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr,
        highlight=False,
        soft_wrap=False,
        no_color=True if colour is False else None,
        width=None if stream.isatty() else WIDE,
    )
