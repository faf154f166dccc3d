"""The game interface and the built-in games of Banyan. Imports nothing of `search` or `cluster`."""

from games.catalogue import load, names, source_of_spec
from games.errors import InvalidInput
from games.game import CHANCE, FIRST, SECOND, Board, Cell, Game, Moves, Rules, State
from games.jit import njit
from games.python_game import PythonGame
from games.rng import below

__all__ = [
    "CHANCE",
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
    "below",
    "load",
    "names",
    "njit",
    "source_of_spec",
]
