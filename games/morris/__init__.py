"""Mill games (men's morris) on five boards with one set of rules."""

from games.morris.game import Morris

__all__ = ["Morris"]
