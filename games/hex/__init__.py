"""Hex on boards of 2 to 19 cells a side, with the swap rule or without."""

from games.hex.game import Hex

__all__ = ["Hex"]
