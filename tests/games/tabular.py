"""The truth about small problems: optimal values by dynamic programming, without any search."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from games.game import CHANCE
from games.gym.game import GymGame
from games.gym.table import AT, END, NEXT, PROBABILITY, REWARD, STEPS, TableGame
from search.episode import Episode

Values = npt.NDArray[np.float64]


def exact_values(game: TableGame) -> Values:
    """float64[steps + 1, states, actions]: by steps left, state and action what can be expected; of actions
    that are masked minus infinity."""
    rows = game.outcomes
    after, ends = rows[..., NEXT].astype(np.int64), rows[..., END]
    best = np.zeros(len(rows))
    found = np.zeros((game.steps + 1, *rows.shape[:2]))
    for left in range(1, game.steps + 1):
        worth = rows[..., REWARD] + (1.0 - ends) * best[after]
        found[left] = (rows[..., PROBABILITY] * worth).sum(axis=2)
        found[left][rows[..., PROBABILITY].sum(axis=2) == 0.0] = -np.inf
        best = found[left].max(axis=1)
    return found


def losses_of(game: TableGame, episode: Episode) -> float:
    """By how much the moves of an episode are worse than the best ones, together, by exact values.

    Its expectation is by how much the planner falls short of the optimum; it has less spread than returns.
    """
    values, total = exact_values(game), 0.0
    state = game.episode_state(episode.seed)
    step = game.episode_steps(episode.seed)
    for action in episode.actions:
        move = game.parse_move(state, action)
        worth = values[game.steps - int(state[STEPS]), int(state[AT])]
        total += float(worth.max() - worth[move])
        outcome = step(state, move)
        game.calls.play(state, move)
        if not game.calls.is_terminal(state) and game.calls.current_player(state) == CHANCE:
            game.calls.play(state, outcome)
    return total


CARDS = {**dict.fromkeys(range(1, 10), 1 / 13), 10: 4 / 13}
"""The values of cards by their chances, from a deck without end."""


def blackjack_optimum(natural_wins: bool = True) -> float:
    """What Blackjack-v1 is worth to who does not see the hidden card.

    ``natural_wins``: with the rules of Sutton and Barto, ``sab=True``; else with those that are the default.
    """
    total = 0.0
    for shown, chance in CARDS.items():
        for one, first in CARDS.items():
            for two, second in CARDS.items():
                natural = natural_wins and sorted((one, two)) == [1, 10]
                total += chance * first * second * blackjack_value(one + two, 1 in (one, two), natural, shown)
    return total


def blackjack_worths(observation: tuple[int, int, int]) -> tuple[float, float]:
    """What it is worth to stick and to hit, by the rules that are the default of Blackjack-v1.

    The observation is the sum, the card that the dealer shows, and whether an ace counts as 11.
    """
    total, shown, ace = observation
    points = total - 10 if ace else total
    return blackjack_stick(points, bool(ace), False, shown), blackjack_hit(points, bool(ace), shown)


def blackjack_losses_of(game: GymGame, episode: Episode) -> float:
    """By how much the decisions of an episode are worse than the best ones, together, by exact values."""
    state, total = game.episode_state(episode.seed), 0.0
    for action in episode.actions:
        worths = blackjack_worths(game.position(state).observation)
        total += max(worths) - worths[int(action)]
        game.rules.play(state, int(action))
        if not game.rules.is_terminal(state):
            game.rules.play(state, game.legal_moves(state)[0])
    return total


@cache
def blackjack_value(points: int, ace: bool, natural: bool, shown: int) -> float:
    """The value of a hand under the best play; ``points`` counts an ace as 1."""
    return max(blackjack_stick(points, ace, natural, shown), blackjack_hit(points, ace, shown))


def blackjack_hit(points: int, ace: bool, shown: int) -> float:
    """The value of another card."""
    return sum(
        chance
        * (-1.0 if points + card > 21 else blackjack_value(points + card, ace or card == 1, False, shown))
        for card, chance in CARDS.items()
    )


def blackjack_stick(points: int, ace: bool, natural: bool, shown: int) -> float:
    """The value of taking no more cards."""
    mine = points + 10 if ace and points + 10 <= 21 else points
    worth = 0.0
    for hidden, chance in CARDS.items():
        dealt = sorted((shown, hidden)) == [1, 10]
        if natural and not dealt:
            worth += chance
            continue
        for theirs, share in _dealer(shown + hidden, 1 in (shown, hidden)).items():
            worth += chance * share * ((mine > theirs) - (mine < theirs))
    return worth


@cache
def _dealer(points: int, ace: bool) -> dict[int, float]:
    """Where the dealer ends, by chance; 0 above 21."""
    best = points + 10 if ace and points + 10 <= 21 else points
    if best >= 17:
        return {best if best <= 21 else 0: 1.0}
    ends: dict[int, float] = {}
    for card, chance in CARDS.items():
        for end, share in _dealer(points + card, ace or card == 1).items():
            ends[end] = ends.get(end, 0.0) + chance * share
    return ends
