"""The costs of a search on a machine, in seconds; a file of costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from cluster.system.files import replace_text
from games.errors import InvalidInput
from games.user_games import read_text

LINK_BYTES_PER_S = 1.25e9
"""10 Gbit/s."""


@dataclass(frozen=True)
class Costs:
    """The costs of one search, for its game, strategy and job size. Measured by calibration.py."""

    simulation_s: float
    """One simulation, while the other cores of the machine are idle."""
    crowded_simulation_s: float
    """One simulation, while all cores of the machine are busy."""
    job_spread: float
    """Standard deviation of a job's time / its mean."""
    make_s: float
    """Coordinator: making one job, with its part of the plan of a round (tree)."""
    absorb_s: float
    """Coordinator: merging one result of ``increment_rows`` rows."""
    plan_s: float = 0.0
    """Coordinator: what the plan of a round costs however many lanes there are (tree)."""
    increment_rows: float = 0.0
    """Mean rows of a result (tree)."""
    row_s: float = 0.0
    """Coordinator: merging one more row."""
    round_s: float = 0.0
    """Coordinator: taking one snapshot of ``snapshot_bytes`` at the end of a round (tree)."""
    snapshot_bytes: float = 0.0
    """Mean size of a snapshot over all rounds."""
    round_byte_s: float = 0.0
    """Coordinator: taking one more byte of a snapshot."""
    turn_s: float = 0.0
    """Coordinator's thread: waking up for one or several answers."""
    send_s: float = 0.0
    """Coordinator's thread: sending one bundle of jobs."""
    receive_s: float = 0.0
    """Coordinator's thread: receiving the answer of one bundle."""
    beside_call_s: float = 0.0
    """CPU time of one call in other threads of the coordinator's process."""
    call_job_s: float = 0.0
    """Coordinator's thread: each further job in a bundle."""
    worker_call_s: float = 0.0
    """Worker: overhead of a call in addition to its jobs."""
    latency_s: float = 0.0
    """Round trip of a call between idle processes."""
    publish_s: float = 0.0
    """Coordinator's thread: putting one snapshot into the object store."""
    publish_byte_s: float = 0.0
    """Coordinator's thread: putting one more byte of a snapshot."""
    fetch_s: float = 0.0
    """Worker: getting one snapshot from the object store of its own machine."""
    fetch_byte_s: float = 0.0
    """Worker: getting one more byte of a snapshot."""
    link_bytes_per_s: float = LINK_BYTES_PER_S
    """Bandwidth between two machines in bytes/s; not measured. Snapshots are forwarded from machine to
    machine."""
    cores: int = 1
    """Cores of the machine that was measured."""

    def merge_s(self, jobs: int) -> float:
        """Coordinator: merging one result of ``jobs`` joined jobs. Each pays for its rows, and the rest is
        paid once."""
        return self.absorb_s + (jobs - 1) * min(self.absorb_s, self.increment_rows * self.row_s)

    def with_messages(self, increment_rows: float, snapshot_bytes: float) -> Costs:
        """The costs for messages of other sizes, linear in rows and bytes."""
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

    @classmethod
    def from_json(cls, data: object) -> Costs:
        """The costs from their fields. Raises InvalidInput (``costs``, or ``costs.`` and the field)."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise InvalidInput("costs", data, "an object with " + ", ".join(sorted(names)))
        for name, value in data.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise InvalidInput(f"costs.{name}", value, "a number of at least 0")
        if not data["link_bytes_per_s"]:
            raise InvalidInput("costs.link_bytes_per_s", 0, "a number of more than 0")
        return cls(**data)


def read_costs(path: Path, strategies: Sequence[str]) -> dict[str, Costs]:
    """Read a file that `write_costs` wrote. Raises InvalidInput (costs)."""
    text = read_text(path, "costs", "a file that --save-costs wrote, and")
    try:
        data = json.loads(text)
    except ValueError as error:
        accepted = f"a file that --save-costs wrote ({type(error).__name__})"
        raise InvalidInput("costs", str(path), accepted) from None
    if not isinstance(data, dict) or not set(strategies) <= set(data):
        raise InvalidInput("costs", str(path), "a file with the costs of " + ", ".join(strategies))
    return {strategy: Costs.from_json(data[strategy]) for strategy in strategies}


def write_costs(costs: Mapping[str, Costs], path: Path) -> None:
    """Write costs by strategy. Raises InvalidInput (save_costs) if the file cannot be written."""
    try:
        replace_text(
            path, json.dumps({strategy: asdict(each) for strategy, each in costs.items()}, indent=2) + "\n"
        )
    except OSError as error:
        raise InvalidInput(
            "save_costs", str(path), f"a file that can be written ({error.strerror})"
        ) from None
