"""The command line `banyan COMMAND`: dispatch, error lines and exit status.

Each command is a function in a module of cluster/commands, which is imported when the command is named.

Exit status: 0 done, 1 failed, 2 the request was wrong, 130 interrupted. Each error is one line on standard
error. Nothing heavy is imported here, so that `banyan --help` is quick.
"""

from __future__ import annotations

import difflib
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import takewhile
from pkgutil import resolve_name
from typing import Annotated

import typer

from cluster.commands.options import Command, with_groups
from cluster.system.interruption import FAILED, INTERRUPTED, Interruption
from cluster.system.terminal import claim_stdout
from search.options import knobs_of
from search.request import SearchRequest

WRONG = 2

COMMANDS: Mapping[str, str] = {
    "games": "games:list_games",
    "show": "games:show",
    "perft": "games:perft",
    "search": "search:search",
    "resume": "search:resume",
    "tree": "search:tree",
    "evaluations": "search:evaluations",
    "plan": "play:plan",
    "players": "play:list_players",
    "match": "play:match",
    "play": "play:play",
    "analyze": "analysis:analyze",
    "engine": "analysis:engine",
    "solve": "solve:solve",
    "tune": "speedup:tune",
    "speedup": "speedup:speedup",
    "strength": "strength:strength",
    "predict": "predict:predict",
    "benchmark": "benchmark:benchmark",
    "experiment": "strength:experiment",
    "reference": "reference:reference",
    "check": "check:check",
    "warm": "check:warm",
    "serve": "serve:serve",
}
"""By name: the module in cluster/commands, and the function in it."""


def app_of(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line of these commands. Its options are made for each of them, which takes time."""
    app = typer.Typer(
        name="banyan",
        help="Distributed, parallel Monte Carlo tree search: one position, many workers, the same answer.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_of_all_commands)
    for name in names:
        command = resolve_name(f"cluster.commands.{COMMANDS[name]}")
        app.command(name, cls=Command, hidden=name == "reference")(with_groups(command))
    return app


def main() -> None:
    """Run the command given by ``sys.argv`` and exit with its status."""
    claim_stdout()
    # Figures go to files; the backend of a notebook is seldom installed where commands run.
    os.environ["MPLBACKEND"] = "agg"
    interruption = Interruption()
    status = run(sys.argv[1:], interruption.install)
    interruption.uninstall()
    try:
        sys.stdout.flush()
    except OSError:
        _forget_stdout()
    gc.freeze()  # Python would look through all of it once more.
    sys.exit(status)


def run(arguments: Sequence[str], prepare: Callable[[], None] = lambda: None) -> int:
    """Prepare and run one command; returns its exit status."""
    try:
        prepare()
        named = arguments[:1]
        # The reference lists them all.
        alone = named and named[0] in COMMANDS and named[0] != "reference"
        app = app_of(named if alone else COMMANDS)
        status = app(list(arguments), prog_name="banyan", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except (BrokenPipeError, SystemExit):
        # The reader of the output, such as `head`, has closed it; typer turns this error into SystemExit.
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if _debugs(arguments):
            traceback.print_exc()
        if not arguments and hasattr(error, "format_message"):
            # The parser has printed the help.
            return WRONG
        line, status = explain(error, arguments)
        print(f"banyan: error: {line}", file=sys.stderr)
        return status


def _debugs(arguments: Sequence[str]) -> bool:
    """Whether errors are shown with a traceback: by the option or the environment variable."""
    before = takewhile(lambda argument: argument.startswith("-"), arguments)
    return "--debug" in before or os.environ.get("BANYAN_DEBUG", "") not in ("", "0")


def _print_version(wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version
    from platform import python_version

    parts = []
    for name in ("ray", "numba", "numpy"):
        with suppress(PackageNotFoundError):
            parts.append(f"{name} {version(name)}")
    print(f"banyan {version('banyan-mcts')} (python {python_version()}, {', '.join(parts)})")
    raise typer.Exit


def _of_all_commands(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print versions, and end."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error (or BANYAN_DEBUG=1).")
    ] = False,
) -> None:
    """Distributed, parallel Monte Carlo tree search: one position, many workers, the same answer."""


def explain(error: Exception, arguments: Sequence[str] = ()) -> tuple[str, int]:
    """The error message in one line, and the exit status."""
    if hasattr(error, "format_message"):
        # From the command line parser: an unknown option, a missing argument.
        if meant := getattr(error, "possibilities", None):
            # Those that the parser finds are many; the one that is most alike is enough.
            error.possibilities = difflib.get_close_matches(error.option_name, meant, 1)  # type: ignore[attr-defined]
        return _one_line(error.format_message()), WRONG
    from games.errors import BrokenGame, InvalidInput

    if isinstance(error, BrokenGame):
        return _one_line(str(error)), WRONG
    if isinstance(error, InvalidInput):
        line = f"{option_of(error.field)}: {error.value!r} is not accepted; expected {error.accepted}"
        return _one_line(line), WRONG
    from cluster.matches.game import PlayerFailed
    from cluster.runtime.jobset import UnitFailed
    from search.coordinator import SearchFailed

    if isinstance(error, UnitFailed | PlayerFailed):
        return _one_line(str(error)), FAILED
    if isinstance(error, SearchFailed | ConnectionError):
        return _one_line(f"the search failed: {error}"), FAILED
    if isinstance(error, BlockingIOError) or str(error) == "can't start new thread":
        return "no more threads or processes can be started here: ulimit -u tells how many may run", FAILED
    if isinstance(error, MemoryError):
        what = f": {error}" if str(error) else ""
        return _one_line(f"there is not enough memory{what}; a smaller --memory may do"), FAILED
    if type(error).__module__.startswith("numba."):
        return "the game's rules do not compile: banyan check says where", WRONG
    if isinstance(error, OSError) and error.filename:
        return _one_line(
            "; ".join([f"{error.filename}: {error.strerror}", *getattr(error, "__notes__", ())])
        ), FAILED
    from games.user_games import broken_by

    if broken := broken_by(error):
        return str(broken), WRONG
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return _one_line(f"{what} (a bug of banyan? banyan --debug shows where)"), FAILED


def option_of(field: str) -> str:
    """The option name of a request field, or of an option."""
    name, blank, rest = field.partition(" ")
    return _options().get(name, "--" + name.removeprefix("--").replace("_", "-")) + blank + rest


@cache
def _options() -> dict[str, str]:
    """By field: its option, if that is not ``--field``, or the environment variable of a proxy."""
    return {
        "game": "GAME",
        "depth": "DEPTH",
        "budget": "--simulations and --seconds",
        "player": "PLAYER",
        "file": "FILE",
        "table": "TABLE",
        **{
            name: name
            for kind in ("http", "https", "all")
            for name in (f"{kind}_proxy", f"{kind}_proxy".upper())
        },
        **{knob.name: f"--{knob.cli}" for knob in knobs_of(SearchRequest)},
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _forget_stdout() -> None:
    # Python flushes stdout at exit and would raise the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
