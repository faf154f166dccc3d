"""Gomoku on boards from 5x5 to 20x20."""

from games.gomoku.game import Gomoku

__all__ = ["Gomoku"]
