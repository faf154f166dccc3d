"""2048 for one player, with the random tiles as moves of chance."""

from games.twenty48.game import Twenty48

__all__ = ["Twenty48"]
