"""The dice game Pig for two players, with the die as a move of chance."""

from games.pig.game import Pig

__all__ = ["Pig"]
