"""The number of shots of the sampling player in the thesis on Battleship, by exact probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

AREA, SHIP_CELLS = 100, 17
NEGLIGIBLE = 1e-15


def sampling_accuracy(arguments: Mapping[str, Any]) -> Mapping[str, float]:
    """Accuracy of the player (ship cells / shots of a game, in %), and its mean number of shots.

    Figures of accuracy: mean and standard deviation over games, and the median of the worst of 100 games.

    A step that hits a ship proposes a cell that it hit. So a shot misses only if no step has hit a ship.
    Arguments: ``depth``, ``steps``, and ``tries_again``: whether the first cell of a step is drawn from all
    cells, including those shot at before, and such a shot counts.
    """
    misses = distribution_of_misses(
        int(arguments["depth"]), int(arguments["steps"]), bool(arguments.get("tries_again", False))
    )
    accuracies = {100 * SHIP_CELLS / (SHIP_CELLS + number): chance for number, chance in misses.items()}
    mean = math.fsum(accuracy * chance for accuracy, chance in accuracies.items())
    square = math.fsum((accuracy - mean) ** 2 * chance for accuracy, chance in accuracies.items())
    return {
        "mean": mean,
        "mean, deviation": math.sqrt(square),
        "worst": _median_of_worst(accuracies, 100),
        "shots": SHIP_CELLS + math.fsum(number * chance for number, chance in misses.items()),
    }


def distribution_of_misses(depth: int, steps: int, tries_again: bool) -> dict[int, float]:
    """The probability of each number of misses in a game."""
    chances = {0: 1.0}
    for afloat in range(SHIP_CELLS, 0, -1):
        chances = _until_hit(chances, afloat, depth, steps, tries_again)
    return chances


def _until_hit(
    before: Mapping[int, float], afloat: int, depth: int, steps: int, tries_again: bool
) -> dict[int, float]:
    """The probability of each number of misses up to the next hit; ``before``: up to the previous hit."""
    after: dict[int, float] = {}
    carried, number = 0.0, 0
    while number <= max(before) or carried > NEGLIGIBLE:
        chance = before.get(number, 0.0) + carried
        cells = AREA if tries_again else AREA - (SHIP_CELLS - afloat) - number
        miss = 1 - afloat / cells
        for follow_up in range(depth - 1):
            miss *= 1 - afloat / (AREA - follow_up)
        after[number], carried = chance * (1 - miss**steps), chance * miss**steps
        number += 1
    return after


def _median_of_worst(accuracies: Mapping[float, float], num_games: int) -> float:
    """The median of the lowest accuracy among ``num_games`` games."""
    reached = 0.0
    for accuracy in sorted(accuracies, reverse=True):
        reached += accuracies[accuracy]
        if reached**num_games >= 0.5:
            return accuracy
    return min(accuracies)
