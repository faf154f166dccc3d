"""The files of a measurement: JSON and CSV for programs, pictures for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.report.table import Table, csv


def write_files(
    folder: Path,
    name: str,
    value: Any,
    records: Sequence[Mapping[str, Any]],
    plot: Callable[[Path], None],
    picture: str,
) -> list[Path]:
    """Write NAME.json, NAME.csv and a picture into a folder, created if it is missing; returns their paths.

    ``value`` is the content of the JSON file, ``records`` are the lines of the CSV file, ``plot`` draws the
    picture into a file, and ``picture`` is its format: png or svg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("json", "csv", picture)]
    paths[0].write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    with paths[1].open("w", newline="", encoding="utf-8") as file:
        file.write(csv(Table.of_records(records)))
    plot(paths[2])
    return paths
