"""The number of worker processes: a range."""

from __future__ import annotations

from dataclasses import dataclass

from games.errors import InvalidInput

ACCEPTED = "a whole number of at least 1, a range such as 2..64, or auto"


@dataclass(frozen=True)
class Workers:
    """A range of worker numbers. Within it, their number follows the CPUs of the cluster."""

    least: int = 1
    """A search waits for at least this number."""
    most: int | None = None
    """Upper limit; None: one worker per CPU, also for CPUs that join later."""

    def __post_init__(self) -> None:
        """Raises InvalidInput (workers)."""
        if self.least < 1 or (self.most is not None and self.most < self.least):
            raise InvalidInput("workers", self.said, ACCEPTED)

    def __str__(self) -> str:
        if self.most is None:
            return "auto" if self.least == 1 else f"{self.least}..auto"
        return str(self.least) if self.least == self.most else f"{self.least}..{self.most}"

    @property
    def said(self) -> int | str:
        """The value as the user gave it, for error messages."""
        return self.least if self.fixed else str(self)

    @property
    def fixed(self) -> bool:
        return self.least == self.most

    def within(self, cpus: int) -> int:
        """Number of workers on this number of CPUs; it may be below ``least``."""
        return cpus if self.most is None else min(cpus, self.most)


AUTO = Workers()


def exactly(workers: int) -> Workers:
    """A range of one number."""
    return Workers(workers, workers)


def parse_workers(text: str) -> Workers:
    """Parse ``auto``, ``4``, ``2..64`` or ``2..auto``. Raises InvalidInput (workers)."""
    if text == "auto":
        return AUTO
    least, dots, most = text.partition("..")
    try:
        return Workers(int(least), (None if most == "auto" else int(most)) if dots else int(least))
    except ValueError:
        raise InvalidInput("workers", text, ACCEPTED) from None
