"""Breakthrough on boards of up to 64 cells."""

from games.breakthrough.game import Breakthrough

__all__ = ["Breakthrough"]
