"""What a person types, line by line: at a terminal, in a notebook, or through a pipe; and what is told."""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import BuiltinFunctionType

from cluster.play.loop import Read
from cluster.system.terminal import typed_at_terminal, write


def reader() -> Read:
    """Returns the function that reads the next line of standard input."""
    # A notebook replaces `input` by a field to type in, and has no other standard input.
    if not sys.stdin.isatty() and isinstance(input, BuiltinFunctionType):
        return _read_pipe
    with contextlib.suppress(ImportError):
        # Lines can then be edited, and called back.
        importlib.import_module("readline")
    return read_terminal


def read_terminal(prompt: str) -> str | None:
    """The line that a person types; None at the end of input."""
    try:
        with typed_at_terminal():
            return input(prompt)
    except EOFError:
        write("")
        return None


def _read_pipe(prompt: str) -> str | None:
    line = sys.stdin.readline()
    if not line:
        return None
    # What was read stands where it would have been typed.
    write(prompt + line.rstrip("\n"))
    return line
