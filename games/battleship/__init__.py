"""Battleship with honest hidden information, against an opponent or alone."""

from games.battleship.game import Battleship

__all__ = ["Battleship"]
