"""Mill games on four boards, as data for one engine."""

from games.morris.game import Morris

__all__ = ["Morris"]
