"""Rules: what a game is, and the games that come with Banyan. Knows no trees and no network."""

from games.catalogue import load, names
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Cell, Game, Rules

__all__ = ["FIRST", "SECOND", "Board", "Cell", "Game", "InvalidInput", "Rules", "load", "names"]
