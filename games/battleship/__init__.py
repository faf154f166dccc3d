"""Battleship with hidden information, for two players or as a puzzle for one."""

from games.battleship.game import Battleship

__all__ = ["Battleship"]
