"""Rules: what a game is, and the games that come with Banyan. Knows no trees and no network."""

from games.catalogue import load, names, source_of_spec
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Cell, Game, Moves, Rules, State
from games.jit import njit
from games.python_game import PythonGame

__all__ = [
    "FIRST",
    "SECOND",
    "Board",
    "Cell",
    "Game",
    "InvalidInput",
    "Moves",
    "PythonGame",
    "Rules",
    "State",
    "load",
    "names",
    "njit",
    "source_of_spec",
]
