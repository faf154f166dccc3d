"""Games of people against a player, and positions given by users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

BUILT_IN = Path(__file__).parent / "built_in.json"
"""What `banyan reference --games` prints."""


def described_built_in() -> list[dict[str, Any]]:
    """The descriptions of the built-in games, which take seconds to make. Nothing heavy is imported here."""
    rows: list[dict[str, Any]] = json.loads(BUILT_IN.read_text(encoding="utf-8"))
    return rows
