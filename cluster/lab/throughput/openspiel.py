"""OpenSpiel's C++ MCTS as the rival of `banyan benchmark --against openspiel`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from games.game import Game
from games.openspiel import name_of, pyspiel_or_refuse

MAX_MEMORY_MB = 1000


class OpenSpiel:
    """`pyspiel.MCTSBot` with random rollouts, one for each simulation, and our exploration constant."""

    name = "openspiel"

    def __init__(self) -> None:
        """Raises InvalidInput (against) if OpenSpiel is not installed."""
        self._pyspiel = pyspiel_or_refuse("against", self.name)
        self.version = version("open_spiel")

    def searcher(
        self, game: Game, simulations: int, exploration: float, seed: int
    ) -> Callable[[], int] | None:
        """A function that runs a search from the start position; None if OpenSpiel cannot search it."""
        name = name_of(game)
        if name is None:
            return None
        pyspiel = self._pyspiel
        loaded = pyspiel.load_game(name)
        if loaded.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
            # Its search knows returns at the end alone.
            return None
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
