"""How many workers there are, as a range; and what each of them reserves."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from games.errors import InvalidInput
from games.spec import parse_spec

Key = TypeVar("Key")
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


def parse_workers(value: object) -> Workers:
    """The range for a number, None (``auto``), or a text: ``auto``, ``4``, ``2..64`` or ``2..auto``.

    Raises InvalidInput (workers).
    """
    if value is None or value == "auto":
        return AUTO
    if isinstance(value, int) and not isinstance(value, bool):
        return exactly(value)
    try:
        least, dots, most = cast("str", value).partition("..")
        return Workers(int(least), (None if most == "auto" else int(most)) if dots else int(least))
    except (ValueError, AttributeError):
        raise InvalidInput("workers", value, ACCEPTED) from None


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

    def actor_options(self, workers: int) -> dict[str, Any]:
        """The options for a Ray actor of ``workers`` workers."""
        others = {name: workers * each for name, each in self.others.items()}
        return {"num_cpus": workers * self.cpus, "num_gpus": workers * self.gpus, "resources": others}

    def bundle(self) -> dict[str, float]:
        """The resources by Ray's resource names."""
        wanted = {"CPU": self.cpus, "GPU": self.gpus, **self.others}
        return {name: each for name, each in wanted.items() if each > 0}

    def room_in(self, machines: Iterable[Mapping[str, float]]) -> int:
        """Number of workers that fit on these machines; each is given as amounts by Ray's resource names."""
        return sum(self.rooms_in(dict(enumerate(machines))).values())

    def rooms_in(self, machines: Mapping[Key, Mapping[str, float]]) -> dict[Key, int]:
        """Number of workers that fit on each of these machines."""
        wanted = self.bundle()
        return {
            key: min(int(machine.get(name, 0) / each + 1e-9) for name, each in wanted.items())
            for key, machine in machines.items()
        }

    def held_in(
        self, machines: Collection[Mapping[str, float]], free: Mapping[str, float], workers: int
    ) -> str:
        """A message on a used-up resource that other programs hold, with advice; empty if there is none.

        ``free``: unused amounts of all machines together, by Ray's resource names. ``workers``: number of
        workers that have got their resources.
        """
        for name, each in self.bundle().items():
            total = sum(machine.get(name, 0) for machine in machines)
            held = total - free.get(name, 0) - workers * each
            if free.get(name, 0) < each and held > 0:
                left = int((total - held) / each)
                return (
                    f"other programs hold {held:g} of the {total:g} {name}s of this Ray: if one of them is "
                    "banyan serve, search with --server" + f"; or take --workers {left}" * (left > 0)
                )
        return ""

    def workers_in(self, machines: Collection[Mapping[str, float]]) -> int:
        """Number of workers that fit on these machines; raises InvalidInput for 0 (it would wait forever)."""
        room = self.room_in(machines)
        if room == 0:
            self._refuse(machines)
        return room

    def _refuse(self, machines: Collection[Mapping[str, float]]) -> NoReturn:
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
