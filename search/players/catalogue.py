"""The catalogue of players by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name

from games.errors import InvalidInput
from games.game import Game
from games.spec import Options, Spec, parse_spec
from search.players.player import Player

Factory = Callable[[Spec, Options, Game], Player]
"""(spec, options, game) -> player. Takes the options that it knows; the caller refuses the others. Raises
InvalidInput for an option out of bounds, and (field ``player``) if the player cannot play the game."""


def _factory(name: str) -> Factory:
    """The factory of this name in a module of this folder, which is imported when a player is first made."""
    return lambda spec, options, game: resolve_name(f"search.players.{name}")(spec, options, game)


PLAYERS: dict[str, tuple[Factory, str]] = {
    "uct": (
        _factory("monte_carlo:Uct"),
        "Monte Carlo tree search: uct:simulations=N, seconds=S or work=N; all options of a search",
    ),
    "flat": (
        _factory("monte_carlo:Flat"),
        "flat Monte Carlo: playouts after each move, no tree; value=mean, median or mode",
    ),
    "alphabeta": (_factory("minimax:AlphaBeta"), "minimax with alpha-beta pruning; depth=2 or seconds"),
    "article": (
        _factory("article:Article"),
        "tictactoe: the program of the article on it, simulations=1000, final=visits or score",
    ),
    "density": (
        _factory("shooters:Density"),
        "battleship: the cell that most placements of the remaining ships cover",
    ),
    "greedy": (_factory("minimax:greedy"), "a random move among those with the highest priority"),
    "hunt": (_factory("shooters:Hunt"), "battleship: beside a hit, else any cell"),
    "minimax": (_factory("minimax:Minimax"), "the best move of depth=2, by the game's evaluation"),
    "morris-agent": (
        _factory("morris_agent:MorrisAgent"),
        "morris: the agent of a thesis on mill games, simulations=1000, c=1.414, prune, division, unvisited",
    ),
    "negamax": (_factory("minimax:Negamax"), "minimax, with values shown for the player to move"),
    "omniscient-alphabeta": (
        _factory("omniscient:OmniscientAlphaBeta"),
        "battleship: a thesis' program, which sees the other fleet; depth=1",
    ),
    "omniscient-minimax": (
        _factory("omniscient:OmniscientMinimax"),
        "battleship: a thesis' program, which sees the other fleet; depth=1",
    ),
    "omniscient-sampling": (
        _factory("omniscient:OmniscientSampling"),
        "battleship: a thesis' program, which sees the other fleet; depth=1, steps=50",
    ),
    "openspiel": (
        _factory("openspiel:OpenSpielPlayer"),
        "OpenSpiel's C++ MCTS, if installed, for games with equal rules; seconds=1 or simulations, c=2",
    ),
    "parity": (_factory("shooters:Parity"), "battleship: beside a hit, else any of every second cell"),
    "posterior": (
        _factory("shooters:Posterior"),
        "battleship: the cell covered by most of samples=1000 random fleets that fit the answers",
    ),
    "random": (_factory("morris_agent:Random"), "a uniformly random legal move"),
    "scripted": (_factory("morris_agent:scripted"), "morris: strategy=random, own-mills, blocker or mixed"),
}
"""By name of player: its factory, and a description of one line."""

OPTION_TEXTS = {
    "c": "C of UCT.",
    "cuts": "Alpha-beta cuts where a value equals a bound as well, or only where it is above.",
    "depth": "Plies to look ahead.",
    "division": "Of victories by visits: real, or integer, which is 0 unless all visits are victories.",
    "evaluator": "Which of the game's evaluations is used; the names are those of the game.",
    "final": "What the move is chosen by.",
    "draws": "How playouts draw their moves: each move equally often, or at random with replacement.",
    "modes": "Of several modes the highest, or the one whose first playout came first.",
    "ordering": "The order in which moves are looked at: by the game's priority, or as the rules list them.",
    "reuse": "Whether a search goes on from the tree of the last move.",
    "preset": "Settings with a name: those that won matches at the game (best), or those of a source.",
    "prune": "Where only moves that close a mill, else block one, are looked at; none with three stones.",
    "rollouts": "Playouts from each leaf.",
    "samples": "Fleets that are drawn.",
    "seconds": "CPU seconds a move.",
    "simulations": "Simulations a move.",
    "solve": "MCTS-Solver.",
    "steps": "Draws that are looked at.",
    "strategy": "What it plays for.",
    "c_moving": "C once all own stones are placed.",
    "unsampled": "A move without a playout is skipped, or worth 0.",
    "work": "Legal moves of the plies of playouts, 20 more for each ply: a budget equal on every machine.",
    "ties": "Which of equally good moves is played: any, or the first.",
    "unvisited": "Whether children without visits are chosen first, or have the power 0.",
    "value": "The statistic of a move's playouts by which it is compared.",
    "width": "Number of the best cells among which a shooter looks ahead.",
}
"""What options of players mean, by name, apart from those of a search."""


def names() -> list[str]:
    """The names of all players, sorted."""
    return sorted(PLAYERS)


def describe(name: str) -> str:
    """A description of a player, one line."""
    return PLAYERS[name][1]


def suited(game: Game) -> list[str]:
    """The names of the players that play a game with their default options.

    Without `openspiel`, which depends on what is installed.
    """
    found = []
    for name in names():
        with suppress(InvalidInput):
            player_of(name, game)
            found.append(name)
    return [name for name in found if name != "openspiel"]


def player_of(text: str, game: Game) -> Player:
    """The player of a spec for one game; raises InvalidInput (field ``player``)."""
    spec = parse_spec(text, "player", paths=True)
    if spec.name not in PLAYERS:
        raise InvalidInput("player", spec.name, "one of " + ", ".join(names()))
    options = Options(spec, "player")
    player = PLAYERS[spec.name][0](spec, options, game)
    options.close()
    return player
