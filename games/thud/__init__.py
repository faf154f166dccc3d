"""Thud, a game of dwarfs against trolls."""

from games.thud.game import Thud

__all__ = ["Thud"]
