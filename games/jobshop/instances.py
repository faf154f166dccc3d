"""Instances of job-shop scheduling: known ones, files in the standard format, and a compact text.

The standard format (OR-Library): a line with the number of jobs and the number of machines, then a line for
each job with, for each of its operations in order, its machine (from 0) and its duration. Lines that begin
with a letter, ``#`` or ``+`` are skipped, and the numbers of jobs may be divided into lines otherwise. With a
line ``Times`` (Taillard) the durations of all jobs come first, and then their machines, from 1. The compact
text is what a spec can hold: for each operation ``machine-duration``, divided by ``.`` within a job, and jobs
divided by ``_``.
"""

from __future__ import annotations

import os
import re

from games.errors import InvalidInput, counted
from games.user_games import read_text

Instance = tuple[tuple[tuple[int, int], ...], ...]
"""By job, its operations in order: machine (from 0) and duration."""

MAX_SIDE = 100
"""Jobs, and machines."""
MAX_DURATION = 100_000
FORM = (
    f"machine-duration for each operation, divided by '.', and jobs divided by '_': each job once on each of "
    f"the machines 0, 1, ..., at most {MAX_SIDE} jobs and machines, durations from 1 to {MAX_DURATION:,}"
)

_COMPACT = re.compile(r"[0-9]{1,9}-[0-9]{1,9}(?:[._][0-9]{1,9}-[0-9]{1,9})*")

_TEXTS = {
    "ft06": """6 6
        2 1 0 3 1 6 3 7 5 3 4 6
        1 8 2 5 4 10 5 10 0 10 3 4
        2 5 3 4 5 8 0 9 1 1 4 7
        1 5 0 5 2 5 3 3 4 8 5 9
        2 9 1 3 4 5 5 4 0 3 3 1
        1 3 3 3 5 9 0 10 4 4 2 1""",
    "ft10": """10 10
        0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
        0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
        1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
        1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
        2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
        2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
        1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
        2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
        0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
        1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45""",
    "ft20": """20 5
        0 29 1 9 2 49 3 62 4 44
        0 43 1 75 3 69 2 46 4 72
        1 91 0 39 2 90 4 12 3 45
        1 81 0 71 4 9 2 85 3 22
        2 14 1 22 0 26 3 21 4 72
        2 84 1 52 4 48 0 47 3 6
        1 46 0 61 2 32 3 32 4 30
        2 31 1 46 0 32 3 19 4 36
        0 76 3 76 2 85 1 40 4 26
        1 85 2 61 0 64 3 47 4 90
        1 78 3 36 0 11 4 56 2 21
        2 90 0 11 1 28 3 46 4 30
        0 85 2 74 1 10 3 89 4 33
        2 95 0 99 1 52 3 98 4 43
        0 6 1 61 4 69 2 49 3 53
        1 2 0 95 3 72 4 65 2 25
        0 37 2 13 1 21 3 89 4 55
        0 86 1 74 4 88 2 48 3 79
        1 69 2 51 0 11 3 89 4 74
        0 13 1 7 2 76 3 52 4 45""",
    "la01": """10 5
        1 21 0 53 4 95 3 55 2 34
        0 21 3 52 4 16 2 26 1 71
        3 39 4 98 1 42 2 31 0 12
        1 77 0 55 4 79 2 66 3 77
        0 83 3 34 2 64 1 19 4 37
        1 54 2 43 4 79 0 92 3 62
        3 69 4 77 1 87 2 87 0 93
        2 38 0 60 1 41 3 24 4 83
        3 17 1 49 4 25 0 44 2 98
        4 77 3 79 2 43 1 75 0 96""",
}
NAMES = tuple(_TEXTS)
"""The known instances: of Fisher and Thompson (1963) and of Lawrence (1984), as in the OR-Library."""


def known(name: str) -> Instance:
    """The instance of `NAMES` with this name."""
    return parse(_TEXTS[name], name)


def is_file(text: str) -> bool:
    """Whether the value of the option ``instance`` is the path of a file."""
    return text not in NAMES and any(sign in text for sign in "./~")


def read(path: str) -> Instance:
    """The instance of a file; raises InvalidInput (field ``game``) if it cannot be read, or for its text."""
    return parse(read_text(os.path.expanduser(path), "game", "an instance file"), path)


def parse(text: str, path: str) -> Instance:
    """The instance that a text in the standard format describes.

    Raises InvalidInput (field ``game``) that names the ``path``, the line, and what is accepted there.
    """
    lines = [
        (number, line.split())
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*[^\s#+A-Za-z]", line)
    ]
    if not lines:
        raise InvalidInput("game", path, "a line with the number of jobs and of machines, such as 6 6")
    number, words = lines[0]
    taillard = re.search(r"^\s*times\b", text, re.MULTILINE | re.IGNORECASE) is not None
    size = _numbers(words[:2] if taillard else words)
    if size is None or len(size) != 2 or not all(1 <= each <= MAX_SIDE for each in size):
        accepted = f"the number of jobs and of machines, from 1 to {MAX_SIDE}"
        raise _refusal(path, number, words, accepted)
    jobs, machines = size
    given = [word for _, words in lines[1:] for word in words]
    if taillard:
        pairs = zip(given[len(given) // 2 :], given[: len(given) // 2], strict=False)
        given = [
            word
            for at, time in pairs
            for word in (str(int(at) - 1) if re.fullmatch("[0-9]{1,9}", at) else at, time)
        ]
    if len(given) == 2 * jobs * machines and any(len(words) != 2 * machines for _, words in lines[1:]):
        begins = range(0, len(given), 2 * machines)
        lines[1:] = [(number + 1, given[begin : begin + 2 * machines]) for begin in begins]
    instance: list[tuple[tuple[int, int], ...]] = []
    for number, words in lines[1:]:
        values = _numbers(words)
        job = None if values is None else tuple(zip(values[::2], values[1::2], strict=False))
        if len(instance) == jobs:
            raise _refusal(path, number, words, f"no further line after those of {counted(jobs, 'job')}")
        if job is None or len(words) != 2 * machines or not _is_job(job, machines):
            accepted = (
                f"{machines} pairs of machine and duration: each machine from 0 to {machines - 1} once, "
                f"durations from 1 to {MAX_DURATION:,}"
            )
            raise _refusal(path, number, words, accepted)
        instance.append(job)
    if len(instance) != jobs:
        raise InvalidInput(
            "game", path, f"a line for each of its {counted(jobs, 'job')} (it has {len(instance)})"
        )
    return tuple(instance)


def format_compact(instance: Instance) -> str:
    """The instance as one word, such as ``0-3.1-2_1-4.0-1``."""
    return "_".join(".".join(f"{machine}-{duration}" for machine, duration in job) for job in instance)


def parse_compact(text: str) -> Instance:
    """The instance that `format_compact` wrote; raises InvalidInput (field ``game option data``)."""
    if _COMPACT.fullmatch(text):
        words = [[each.split("-") for each in job.split(".")] for job in text.split("_")]
        instance = tuple(tuple((int(machine), int(time)) for machine, time in job) for job in words)
        sides = len(instance), len(instance[0])
        if max(sides) <= MAX_SIDE and all(_is_job(job, sides[1]) for job in instance):
            return instance
    raise InvalidInput("game option data", text, FORM)


def _is_job(job: tuple[tuple[int, int], ...], machines: int) -> bool:
    """Whether the job is once on each machine, with durations in bounds."""
    return sorted(machine for machine, _ in job) == [*range(machines)] and all(
        1 <= duration <= MAX_DURATION for _, duration in job
    )


def _numbers(words: list[str]) -> list[int] | None:
    """The words as numbers; None if one is none."""
    return [int(word) for word in words] if all(re.fullmatch("[0-9]{1,9}", word) for word in words) else None


def _refusal(path: str, number: int, words: list[str], accepted: str) -> InvalidInput:
    shown = " ".join(words)
    return InvalidInput(
        "game", shown if len(shown) <= 60 else f"{shown[:57]}...", f"{accepted} ({path}, line {number})"
    )
