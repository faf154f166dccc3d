"""OpenSpiel's C++ MCTS as the rival of `banyan benchmark --against openspiel`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from games.game import Game
from games.openspiel import pyspiel_or_refuse, rules_of

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
    ) -> Callable[[], int] | str:
        """A function that runs a search from the start position, or why OpenSpiel makes none."""
        name = rules_of(game)
        if name is None:
            return "does not have this game"
        pyspiel = self._pyspiel
        loaded = pyspiel.load_game(name)
        if loaded.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
            return "its MCTS refuses games with rewards before the end"
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
