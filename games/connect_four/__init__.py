"""Connect four on boards of up to 63 cells, and its exact solver."""

from games.connect_four.game import ConnectFour

__all__ = ["ConnectFour"]
