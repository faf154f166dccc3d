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
    *pictures: str,
) -> list[Path]:
    """Write NAME.json, NAME.csv and pictures into a folder, which is created if missing; returns their paths.

    ``value`` is the content of the JSON file, ``records`` are the lines of the CSV file, ``plot`` draws a
    picture into a file, and ``pictures`` are the formats of the pictures: png, svg.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("json", "csv", *pictures)]
    paths[0].write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    with paths[1].open("w", newline="", encoding="utf-8") as file:
        file.write(csv(Table.of_records(records)))
    for path in paths[2:]:
        plot(path)
    return paths
