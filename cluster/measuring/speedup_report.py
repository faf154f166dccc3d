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
            writer.writerow([_as_text(value) for value in asdict(row).values()])
    plot(rows, paths[2])
    return paths


def _as_text(value: object) -> object:
    """What a cell of a table holds."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else value
