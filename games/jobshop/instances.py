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
from importlib.resources import files

from games.errors import InvalidInput, counted
from games.user_games import read_text

Instance = tuple[tuple[tuple[int, int], ...], ...]
"""By job, its operations in order: machine (from 0) and duration."""

MAX_SIDE = 100
"""The most jobs, and the most machines."""
MAX_DURATION = 100_000
FORM = (
    f"machine-duration for each operation, divided by '.', and jobs divided by '_': each job once on each of "
    f"the machines 0, 1, ..., at most {MAX_SIDE} jobs and machines, durations from 1 to {MAX_DURATION:,}"
)

_COMPACT = re.compile(r"[0-9]{1,9}-[0-9]{1,9}(?:[._][0-9]{1,9}-[0-9]{1,9})*")

NAMES = ("ft06", "ft10", "ft20", "la01")
"""The known instances, of which each is a file in this folder: of Fisher and Thompson (1963) and of Lawrence
(1984), as in the OR-Library."""


def known(name: str) -> Instance:
    """The instance of `NAMES` with this name."""
    return parse(files("games.jobshop").joinpath(f"{name}.txt").read_text(), name)


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
