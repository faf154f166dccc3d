"""The folder in which the episodes of a plan are kept."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cluster.system.kept_folder import KeptFolder
from search.episode import Episode

IDENTITY, EPISODES = "plan.json", "episodes.jsonl"


class EpisodeStore(KeptFolder):
    """A folder with the episodes played so far, or no folder: then nothing is kept. It must be closed."""

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        """``identity``: what episodes depend on, apart from their seeds.

        Raises OSError, or InvalidInput (field ``out``) if the folder holds another plan.
        """
        super().__init__(folder, IDENTITY, identity, "plan")
        self.played = {episode.seed: episode for episode in self.read(EPISODES, _episode_of)}
        """By seed, the episodes that were stored when the folder was opened."""

    def keep(self, episode: Episode) -> None:
        """Keep an episode."""
        self.add(EPISODES, asdict(episode))


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
