"""What things cost on a machine, as the simulated executor reckons with them. Seconds throughout."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from games.errors import InvalidInput

LINK_BYTES_PER_S = 1.25e9
"""10 Gbit/s."""


@dataclass(frozen=True)
class Costs:
    """Of one search: its game, strategy, and size of jobs. Measured by `cluster.measuring.calibration`."""

    simulation_s: float
    """One simulation, on a core that has the machine to itself."""
    crowded_simulation_s: float
    """One simulation while all cores of the machine are at work."""
    job_cpu_share: float
    """CPU time / time of a job: 1 for compiled games, near 0 for a simulator that waits for something."""
    job_s: float
    """What a job costs beside its simulations: its arrays, and what it reports."""
    job_spread: float
    """Standard deviation of a job's time / its mean."""
    make_s: float
    """The coordinator: one job made."""
    absorb_s: float
    """The coordinator: one result merged..."""
    increment_rows: float = 0.0
    """...of so many rows (tree)..."""
    row_s: float = 0.0
    """...which take so long each."""
    round_s: float = 0.0
    """The coordinator: one snapshot taken at the end of a round (tree)..."""
    snapshot_bytes: float = 0.0
    """...of this size: the mean of all rounds."""
    round_byte_s: float = 0.0
    """What one byte more of it takes."""
    turn_s: float = 0.0
    """The coordinator's thread: woken by an answer, or by several at once."""
    send_s: float = 0.0
    """The coordinator's thread: one bundle sent..."""
    receive_s: float = 0.0
    """...and its answer received."""
    beside_call_s: float = 0.0
    """CPU time of one call in other threads of the coordinator's process."""
    call_job_s: float = 0.0
    """The coordinator's thread: what each further job in a bundle adds to a call."""
    worker_call_s: float = 0.0
    """The worker: what a call keeps it busy with beside its jobs."""
    worker_call_cpu_s: float = 0.0
    """CPU time of one call in the worker's process beside its jobs, where those wait for something."""
    together: float = 1.0
    """CPU time of calls and jobs where many workers that wait take turns on the cores / that of one such
    worker; 1 if there was only one to measure."""
    latency_s: float = 0.0
    """There and back, of a call that finds nobody busy."""
    publish_s: float = 0.0
    """The coordinator's thread: one snapshot put into the object store..."""
    publish_byte_s: float = 0.0
    """...and one byte more of it."""
    fetch_s: float = 0.0
    """A worker: one snapshot got out of it, on the same machine..."""
    fetch_byte_s: float = 0.0
    """...and one byte more of it."""
    link_bytes_per_s: float = LINK_BYTES_PER_S
    """Between two machines; not measured. Snapshots are passed on from machine to machine."""
    cores: int = 1
    """Of the machine that was measured."""

    def with_messages(self, increment_rows: float, snapshot_bytes: float) -> Costs:
        """The same for a search whose results and snapshots are so large: lines through two points."""
        more_rows = increment_rows - self.increment_rows
        more_bytes = snapshot_bytes - self.snapshot_bytes
        return replace(
            self,
            increment_rows=increment_rows,
            absorb_s=max(0.0, self.absorb_s + more_rows * self.row_s),
            snapshot_bytes=snapshot_bytes,
            round_s=max(0.0, self.round_s + more_bytes * self.round_byte_s),
            publish_s=max(0.0, self.publish_s + more_bytes * self.publish_byte_s),
            fetch_s=max(0.0, self.fetch_s + more_bytes * self.fetch_byte_s),
        )

    def to_json(self) -> dict[str, Any]:
        """As an object of plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Costs:
        """The other way. Raises InvalidInput (costs) for anything that `to_json` does not write."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise InvalidInput("costs", data, "an object with " + ", ".join(sorted(names)))
        for name, value in data.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise InvalidInput(f"costs.{name}", value, "a number of at least 0")
        if not data["link_bytes_per_s"]:
            raise InvalidInput("costs.link_bytes_per_s", 0, "a number of more than 0")
        return cls(**data)


@dataclass(frozen=True)
class Mishaps:
    """What goes wrong, and how often."""

    straggler_share: float = 0.0
    """Of jobs that take longer than they should..."""
    straggler_factor: float = 10.0
    """...by so much."""
    failures_per_hour: float = 0.0
    """Of one worker: its process dies, with all that it was given."""
    restart_s: float = 3.0
    """Until another process has taken its place."""
