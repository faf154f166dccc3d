"""Atari games from random positions, a file of an environment.

    banyan plan "gym:./cluster/lab/studies/atari_start.py:Atari(game=alien,wait=66,random=100):steps=80" \\
        --simulations 128 --playout-plies 10 --strategy leaf --lanes 16 --batch 1
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ale_py.env import AtariEnv

SAME = 8
"""For how many steps an action of the beginning is kept."""


class Atari(AtariEnv):  # type: ignore[misc]
    """A game of the Arcade Learning Environment without sticky actions, four frames a step.

    An episode begins after ``wait`` steps without an action, in which a game shows its start, and ``random``
    steps whose actions its seed draws, each kept for eight steps.
    """

    def __init__(self, game: str, wait: int = 0, random: int = 200) -> None:
        super().__init__(game, obs_type="ram", repeat_action_probability=0.0)
        self._wait, self._random = wait, random

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        seen, info = super().reset(seed=seed, options=options)
        draw = np.random.default_rng(seed)
        for _ in range(self._wait):
            seen, _, _, _, info = self.step(0)
        for number in range(self._random):
            if number % SAME == 0:
                action = int(draw.integers(len(self._action_set)))
            seen, _, _, _, info = self.step(action)
        return seen, info
