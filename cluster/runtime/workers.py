"""How many workers there are, as a range; what each of them reserves; and their paced start."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from games.errors import InvalidInput
from games.spec import parse_spec

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


@dataclass(frozen=True)
class Resources:
    """Resources of one worker. With a fraction, several workers share one unit."""

    cpus: float = 1.0
    gpus: float = 0.0
    others: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, gpus: float | None, cpus: float | None, others: str | None) -> Resources:
        """The resources given by three options.

        Raises InvalidInput (``gpus_per_worker``, ``cpus_per_worker``, ``worker_resources``).
        """
        if others is not None:
            texts = parse_spec(f"each:{others}", "worker_resources").options
        return cls(
            cpus=_amount("cpus_per_worker", 1.0 if cpus is None else cpus, above_0=True),
            gpus=_amount("gpus_per_worker", 0.0 if gpus is None else gpus, whole_above_1=True),
            others={} if others is None else {n: _amount("worker_resources", t) for n, t in texts.items()},
        )

    def actor_options(self) -> dict[str, Any]:
        """The options for a Ray actor."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": dict(self.others)}

    def bundle(self) -> dict[str, float]:
        """The resources by Ray's resource names."""
        wanted = {"CPU": self.cpus, "GPU": self.gpus, **self.others}
        return {name: each for name, each in wanted.items() if each > 0}

    def room_in(self, machines: Sequence[Mapping[str, float]]) -> int:
        """Number of workers that fit on these machines; each is given as amounts by Ray's resource names."""
        wanted = self.bundle()
        return sum(
            min(int(machine.get(name, 0) / each + 1e-9) for name, each in wanted.items())
            for machine in machines
        )

    def workers_in(self, machines: Sequence[Mapping[str, float]]) -> int:
        """Number of workers that fit on these machines; raises InvalidInput for 0 (it would wait forever)."""
        room = self.room_in(machines)
        if room == 0:
            self._refuse(machines)
        return room

    def _refuse(self, machines: Sequence[Mapping[str, float]]) -> NoReturn:
        asked = [("gpus_per_worker", "GPU", self.gpus)]
        asked += [("worker_resources", name, each) for name, each in self.others.items()]
        for option, name, each in asked:
            most = max((machine.get(name, 0) for machine in machines), default=0)
            if each > most:
                value = f"{name}={each:g}" if option == "worker_resources" else f"{each:g}"
                raise InvalidInput(
                    option, value, f"at most {most:g} {name}, which is what a machine of the cluster has"
                )
        most = max((machine.get("CPU", 0) for machine in machines), default=0)
        accepted = f"at most {most:g} CPU, and on the machine that has the rest"
        raise InvalidInput("cpus_per_worker", f"{self.cpus:g}", accepted)


ONE_CPU = Resources()


def _amount(option: str, value: float | str, *, above_0: bool = False, whole_above_1: bool = False) -> float:
    accepted = ("more than 0" if above_0 else "at least 0") + (", whole above 1" if whole_above_1 else "")
    try:
        amount = float(value)
    except ValueError:
        amount = -1.0
    part = whole_above_1 and amount > 1 and amount % 1 != 0
    if not 0 <= amount < math.inf or (above_0 and amount == 0) or part:
        raise InvalidInput(option, value, f"a number, {accepted}")
    return amount


WORTH = 2.0
"""Workers are started if the remaining search time is at least this multiple of their start time."""
WORKER_S = 2.0
"""Expected CPU seconds to start a worker, until one has been measured."""


class Pace:
    """Limits the number of worker processes over time, where more of them are wanted than there are cores.

    A worker process needs two seconds of CPU time to start. As many as there are cores start at first. The
    number doubles each time that all are ready, if the remaining search is long enough to repay it.
    """

    def __init__(
        self, cores: int, left_s: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``left_s`` estimates the remaining seconds of the search at its present speed."""
        self.limit = cores
        """The largest number of processes allowed now."""
        self._left_s = left_s
        self._clock = clock
        self._began_s = clock()
        self._takes_s = WORKER_S

    def look(self, ready: int, wanted: int) -> bool:
        """Double the limit if all allowed processes are ready and it pays; returns whether it was raised."""
        if ready < self.limit or self.limit >= wanted:
            return False
        now = self._clock()
        if self._began_s:
            self._takes_s, self._began_s = now - self._began_s, 0.0
        # Starting twice as many processes takes twice as long.
        if self._left_s() < 2 * WORTH * self._takes_s:
            return False
        self.limit *= 2
        self._began_s = now
        return True
