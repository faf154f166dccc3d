"""A speedup report as files: JSON and CSV for programs, a picture for people."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from cluster.measuring.speedup import Row
from cluster.measuring.speedup_plot import plot


def write_rows(rows: Sequence[Row], folder: Path) -> list[Path]:
    """speedup.json, speedup.csv and speedup.png in the folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"speedup.{ending}" for ending in ("json", "csv", "png")]
    paths[0].write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    with paths[1].open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Row)])
        for row in rows:
            values = asdict(row).values()
            writer.writerow([" ".join(map(str, v)) if isinstance(v, tuple | list) else v for v in values])
    plot(rows, paths[2])
    return paths
