"""The folder in which the episodes of a plan are kept, so that it can be interrupted and extended."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from cluster.system.file_lock import lock_in
from games.errors import InvalidInput
from search.episode import Episode

IDENTITY, EPISODES = "plan.json", "episodes.jsonl"


class EpisodeStore:
    """A folder with the episodes played so far, or no folder: then nothing is kept. It must be closed."""

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        """``identity``: what episodes depend on, apart from their seeds.

        Raises OSError, or InvalidInput (field ``out``) if the folder holds another plan.
        """
        self.played: dict[int, Episode] = {}
        """By seed, the episodes that were stored when the folder was opened."""
        self._file: IO[str] | None = None
        self._lock: IO[str] | None = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / IDENTITY
        if not file.exists():
            # Whole or not at all, should the process be killed here.
            part = folder / f"{IDENTITY}.{os.getpid()}"
            part.write_text(json.dumps(identity, indent=1) + "\n", encoding="utf-8")
            os.replace(part, file)
        self._lock = lock_in(folder, IDENTITY, "a folder that no other plan is writing to")
        try:
            self._check(file, identity)
            self._read(folder / EPISODES)
            self._file = (folder / EPISODES).open("a", encoding="utf-8")
        except BaseException:
            self._lock.close()
            raise

    def add(self, episode: Episode) -> None:
        """Keep an episode."""
        if self._file is not None:
            self._file.write(json.dumps(asdict(episode)) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Release the folder."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()

    @staticmethod
    def _check(file: Path, identity: dict[str, Any]) -> None:
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            there = {}
        for name, value in identity.items():
            if not isinstance(there, dict) or there.get(name) != value:
                has = json.dumps(there.get(name) if isinstance(there, dict) else there)
                raise InvalidInput(
                    "out", str(file.parent), f"a folder for this plan (in there {name} is {has})"
                )

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        except UnicodeDecodeError:
            raise InvalidInput("out", str(path), "a file of text in UTF-8") from None
        # A process that was killed may leave an incomplete last line.
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < len(lines):
            path.write_text("".join(whole), encoding="utf-8")
        for number, line in enumerate(whole):
            try:
                episode = _episode_of(json.loads(line))
                self.played[episode.seed] = episode
            except (ValueError, TypeError, KeyError):
                accepted = f"a file that only this plan has written to (not so line {number + 1})"
                raise InvalidInput("out", str(path), accepted) from None


def _episode_of(entry: dict[str, Any]) -> Episode:
    """The episode of a line; raises ValueError, TypeError or KeyError for anything else."""
    if not isinstance(entry["actions"], list) or not math.isfinite(entry["value"]):
        raise ValueError(entry)
    return Episode(
        seed=int(entry["seed"]),
        value=float(entry["value"]),
        actions=tuple(str(action) for action in entry["actions"]),
        terminated=bool(entry["terminated"]),
        truncated=bool(entry["truncated"]),
        steps=int(entry["steps"]),
        simulations=int(entry["simulations"]),
        seconds=float(entry["seconds"]),
    )
