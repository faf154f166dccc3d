"""OpenSpiel's C++ MCTS as the rival of `banyan benchmark --against openspiel`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from games.errors import InvalidInput
from games.game import Game

MAX_MEMORY_MB = 1000
_PACKAGE = "open_spiel"


class OpenSpiel:
    """`pyspiel.MCTSBot` with random rollouts, one for each simulation, and our exploration constant."""

    name = "openspiel"

    def __init__(self) -> None:
        """Raises InvalidInput (against) if OpenSpiel is not installed."""
        try:
            import pyspiel

            self.version = version(_PACKAGE)
        except (ImportError, PackageNotFoundError):
            raise InvalidInput(
                "against", self.name, "OpenSpiel to be installed: pip install 'banyan-mcts[openspiel]'"
            ) from None
        self._pyspiel = pyspiel

    def searcher(
        self, game: Game, simulations: int, exploration: float, seed: int
    ) -> Callable[[], int] | None:
        """One search on a fresh tree each call, from the start position; None if OpenSpiel lacks the game."""
        name = name_of(game)
        if name is None:
            return None
        pyspiel = self._pyspiel
        loaded = pyspiel.load_game(name)
        bot = pyspiel.MCTSBot(
            loaded,
            pyspiel.RandomRolloutEvaluator(1, seed),
            uct_c=exploration,
            max_simulations=simulations,
            max_memory_mb=MAX_MEMORY_MB,
            solve=False,
            seed=seed,
            verbose=False,
        )
        state = loaded.new_initial_state()

        def search() -> int:
            bot.mcts_search(state)
            return simulations

        return search


def name_of(game: Game) -> str | None:
    """What OpenSpiel calls a game with the same rules; None if it has none."""
    if game.name == "tictactoe":
        return "tic_tac_toe"
    if game.name == "gomoku" and game.options["candidates"] == 0 and game.options["overline"] == "wins":
        return f"gomoku(size={game.options['size']})"
    if game.spec == "morris:variant=nine,fly=yes,repetition=none,cap=200":
        return "nine_mens_morris"
    return None
