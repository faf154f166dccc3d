"""The players by name."""

from __future__ import annotations

from collections.abc import Callable

from games.errors import InvalidInput
from games.game import Game
from games.spec import Options, Spec, parse_spec
from search.players import omniscient, shooters
from search.players.article import Article
from search.players.flat import Flat
from search.players.mills import Scripted
from search.players.minimax import AlphaBeta, Greedy, Minimax, Negamax
from search.players.openspiel import OpenSpiel
from search.players.player import Player
from search.players.scripted import Random
from search.players.uct import Uct

Factory = Callable[[Spec, Options, Game], Player]
"""Makes a player of a game from its spec: takes what it knows from the options, which the caller
closes. Raises InvalidInput (field ``player``) where the game has not got what the player needs."""

_FACTORIES: dict[str, tuple[Factory, str]] = {
    "uct": (
        Uct.from_options,
        "Monte Carlo tree search: uct:simulations=N or uct:seconds=S, and all of its knobs",
    ),
    "flat": (Flat.from_options, "as many playouts from each move, no tree: value=mean, median or mode"),
    "alphabeta": (
        AlphaBeta.from_options,
        "minimax without what cannot change its answer; depth=2 or seconds",
    ),
    "article": (
        Article.from_options,
        "tictactoe: the program of the article on it, simulations=1000, final=visits or score",
    ),
    "density": (
        shooters.Density.from_options,
        "battleship: the cell that most placements of ships afloat cover",
    ),
    "greedy": (Greedy.from_options, "the move of the highest priority, any of those"),
    "hunt": (shooters.Hunt.from_options, "battleship: beside a hit, else any cell"),
    "minimax": (Minimax.from_options, "the best move of depth=2, by the game's evaluation"),
    "negamax": (Negamax.from_options, "another word for minimax"),
    "omniscient-alphabeta": (
        omniscient.AlphaBeta.from_options,
        "battleship: is shown the enemy's ships; the thesis' program, depth=1",
    ),
    "omniscient-minimax": (
        omniscient.Minimax.from_options,
        "battleship: is shown the enemy's ships; the thesis' program, depth=1",
    ),
    "omniscient-sampling": (
        omniscient.Sampling.from_options,
        "battleship: is shown the enemy's ships; the thesis' program, depth=1, steps=50",
    ),
    "openspiel": (
        OpenSpiel.from_options,
        "OpenSpiel's C++ MCTS, where installed, at games of the same rules; seconds=1 or simulations, c=2",
    ),
    "parity": (shooters.Parity.from_options, "battleship: beside a hit, else any of every second cell"),
    "posterior": (
        shooters.Posterior.from_options,
        "battleship: the cell that most of samples=1000 fleets cover, drawn from all that fit",
    ),
    "random": (Random.from_options, "any legal move, each as likely"),
    "scripted": (Scripted.from_options, "morris: strategy=random, own-mills, blocker or mixed"),
}
"""By name: how it is made, and one line about it."""


def names() -> list[str]:
    """The names of all players, sorted."""
    return sorted(_FACTORIES)


def describe(name: str) -> str:
    """One line about a player."""
    return _FACTORIES[name][1]


def player_of(text: str, game: Game) -> Player:
    """The player that a spec names, for one game; raises InvalidInput (field ``player``)."""
    spec = parse_spec(text, "player", paths=True)
    if spec.name not in _FACTORIES:
        raise InvalidInput("player", spec.name, "one of " + ", ".join(names()))
    options = Options(spec, "player")
    player = _FACTORIES[spec.name][0](spec, options, game)
    options.close()
    return player
