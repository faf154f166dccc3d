"""SameGame for one player on boards of up to 16 columns and 15 rows."""

from games.samegame.game import SameGame

__all__ = ["SameGame"]
