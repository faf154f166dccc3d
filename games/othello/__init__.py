"""Othello on boards of 4, 6 or 8 cells a side."""

from games.othello.game import Othello

__all__ = ["Othello"]
