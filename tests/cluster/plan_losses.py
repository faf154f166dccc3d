"""What plans lose beside dynamic programming: ``python -m tests.cluster.plan_losses SPEC ...``.

The problems are environments with a table, and ``gym:tests/games/blackjack.py:Blackjack:unseen=redraw``.
"""

from __future__ import annotations

import math
import time
from statistics import fmean, stdev
from typing import Annotated

import typer

from cluster.matches.statistics import Z95
from cluster.planning.defaults import MoveSearch
from games.catalogue import load
from games.gym.game import GymGame
from games.gym.table import AT, TableGame
from search.episode import Planner
from tests.games.tabular import blackjack_losses_of, blackjack_worths, exact_values, losses_of


def main(
    specs: Annotated[list[str], typer.Argument(help="Problems, such as gym:FrozenLake-v1.")],
    episodes: int = 20,
    simulations: int = 2000,
) -> None:
    """Print a row of a table in Markdown for each problem, played by the defaults of `banyan plan`."""
    for spec in specs:
        game = load(spec)
        assert isinstance(game, TableGame) or ":Blackjack" in spec, spec
        planner = Planner(MoveSearch(spec, simulations=simulations).of_game(game), game, None)
        began = time.thread_time()
        played = [planner.play(number) for number in range(episodes)]
        seconds = time.thread_time() - began
        values = [episode.value for episode in played]
        if isinstance(game, TableGame):
            exact = exact_values(game)[game.steps].max(axis=1)
            best = fmean(float(exact[int(game.episode_state(number)[AT])]) for number in range(episodes))
            losses = [losses_of(game, episode) for episode in played]
        else:
            assert isinstance(game, GymGame)
            starts = [game.position(game.episode_state(number)).observation for number in range(episodes)]
            best = fmean(max(blackjack_worths(start)) for start in starts)
            losses = [blackjack_losses_of(game, episode) for episode in played]
        row = (
            spec.replace("|", "\\|"),
            f"{simulations:,}",
            f"{episodes}",
            f"{best:.4f}",
            _mean(values),
            _mean(losses),
            f"{seconds:.0f}",
        )
        print(f"| {' | '.join(row)} |", flush=True)


def _mean(values: list[float]) -> str:
    """The mean, and half of its 95 % interval."""
    return f"{fmean(values):.4f} ± {Z95 * stdev(values) / math.sqrt(len(values)):.4f}"


if __name__ == "__main__":
    typer.run(main)
