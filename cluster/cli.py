"""The command line: `banyan COMMAND`. Commands live in cluster/commands; this file knows how they end.

Exit status: 0 done, 1 failed, 2 the request was wrong, 130 interrupted. Whatever goes wrong is
one line on standard error. Nothing heavy is imported here, so that `banyan --help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches

import typer

from cluster.commands import (
    benchmark,
    check,
    experiment,
    games,
    match,
    play,
    predict,
    report,
    resume,
    search,
    serve,
    solve,
    speedup,
    strength,
    tree,
)

FAILED, WRONG, INTERRUPTED = 1, 2, 130

OPTION_OF = {
    "game": "GAME",
    "depth": "DEPTH",
    "memory": "--memory",
    "memory_mb": "--memory",
    "budget": "--simulations and --seconds",
    "first_play_urgency": "--fpu",
    "player": "PLAYER",
    "file": "FILE",
    "table": "TABLE",
    "part": "PART",
}
"""How the command line calls a field where it is not simply ``--field``."""

app = typer.Typer(
    name="banyan",
    help="Distributed, parallel Monte Carlo tree search: one position, many workers, the same answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
_GROUPS = (
    games,
    search,
    resume,
    tree,
    match,
    play,
    solve,
    speedup,
    strength,
    predict,
    benchmark,
    experiment,
    report,
    check,
    serve,
)
for _group in _GROUPS:
    _group.register(app)


def main() -> None:
    """Run the command that the process was started with, and end the process."""
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit status."""
    try:
        status = app(list(arguments), prog_name="banyan", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except (BrokenPipeError, SystemExit):
        # Whoever read the output (`| head`) has seen enough; typer makes one of these the other.
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        line, status = explain(error, arguments)
        if line is None:
            raise
        print(f"banyan: error: {line}", file=sys.stderr)
        return status


def explain(error: Exception, arguments: Sequence[str] = ()) -> tuple[str | None, int]:
    """One line for people, and the exit status; no line for an error that is a bug."""
    if hasattr(error, "format_message"):
        # Of the command line's own parser: an unknown option, a missing argument, not a number.
        return _one_line(_not_a_number(error, arguments) or error.format_message()), WRONG
    from games.errors import InvalidInput

    if isinstance(error, InvalidInput):
        return _one_line(_invalid(error)), WRONG
    from cluster.coordinator import SearchFailed
    from cluster.matches.game import PlayerFailed
    from cluster.matches.match import MatchFailed

    if isinstance(error, MatchFailed):
        return _one_line(f"the match failed: {error}"), FAILED
    if isinstance(error, PlayerFailed):
        return _one_line(str(error)), FAILED
    if isinstance(error, SearchFailed | ConnectionError):
        return _one_line(f"the search failed: {error}"), FAILED
    if type(error).__module__.startswith("numba."):
        return "the game's rules do not compile: banyan check says where", WRONG
    if isinstance(error, OSError) and error.filename:
        return _one_line(f"{error.filename}: {error.strerror}"), FAILED
    return None, FAILED


def option_of(field: str) -> str:
    """What the command line calls a field of a request."""
    name, blank, rest = field.partition(" ")
    return OPTION_OF.get(name, "--" + name.replace("_", "-")) + blank + rest


def _invalid(error: Exception) -> str:
    from games.catalogue import names
    from games.errors import InvalidInput

    assert isinstance(error, InvalidInput)
    line = f"{option_of(error.field)}: {error.value!r} is not accepted; expected {error.accepted}"
    if error.field == "game" and (close := get_close_matches(str(error.value), names(), 2, 0.5)):
        line += f" (did you mean {' or '.join(close)}?)"
    return line


def _not_a_number(error: Exception, arguments: Sequence[str]) -> str | None:
    """The parser's complaint about a value that is not a number, in our own form; None if it is another.

    The parser does not say what the value was.
    """
    option = max(getattr(getattr(error, "param", None), "opts", None) or [""], key=len)
    expected = {"integer": "a whole number", "number": "a number"}
    kind = next((text for word, text in expected.items() if f"valid {word}" in str(error)), None)
    if kind is None or not option.startswith("--"):
        return None
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        if name == option:
            return f"{option}: {value if equals else following!r} is not accepted; expected {kind}"
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _forget_stdout() -> None:
    # Python flushes at its end, and would complain once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
