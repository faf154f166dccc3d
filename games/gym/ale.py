"""The Arcade Learning Environment (ale-py): sticky actions that can be seeded, and the screen as text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

PREFIX = "ALE/"
"""With this the ids of its environments begin."""
SIMULATIONS_PER_S = 100.0
"""`Game.nominal_simulations_per_s`: a step of four frames takes a quarter of a millisecond."""
_STICKINESS = "repeat_action_probability"
_SHADES = " .:-=+*#%@"
_CELL = 6, 5
"""Pixels of the screen that become one character, down and across."""


def register(gymnasium: Any) -> None:
    """Make the environments known to gymnasium, if ale-py is installed."""
    with suppress(ImportError):
        import ale_py

        # Otherwise the emulator prints its name.
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)


def emulator_of(env: Any) -> Any:
    """The emulator of an environment; None if it has none."""
    emulator = getattr(env.unwrapped, "ale", None)
    return emulator if hasattr(emulator, "cloneState") else None


def take_over_stickiness(env: Any) -> None:
    """Draw sticky actions (Machado et al. 2018) outside the emulator, if the environment has them.

    The emulator's own generator cannot be seeded in a position, so that a search would know which actions
    will stick.
    """
    emulator = emulator_of(env)
    if emulator is None:
        return
    probability = float(emulator.getFloat(_STICKINESS))
    if probability > 0.0:
        emulator.setFloat(_STICKINESS, 0.0)
        inner = env.unwrapped
        # An attribute of the environment, where its generators are looked for.
        inner.sticky_generator = np.random.Generator(np.random.PCG64(0))
        inner.ale = StickyEmulator(emulator, probability, inner.sticky_generator)


class StickyEmulator:
    """An emulator that in each frame repeats the action of the frame before with some probability."""

    def __init__(self, emulator: Any, probability: float, generator: np.random.Generator) -> None:
        self._emulator, self._probability, self._generator = emulator, probability, generator
        self._action: Any = 0

    def act(self, action: Any, strength: float = 1.0) -> float:
        """Play one frame; returns its reward."""
        if self._generator.random() >= self._probability:
            self._action = action
        return float(self._emulator.act(self._action, strength))

    def reset_game(self) -> None:
        """Begin an episode; the action before its first is none."""
        self._action = 0
        self._emulator.reset_game()

    def cloneState(self, *, include_rng: bool = False) -> tuple[Any, Any]:  # noqa: N802
        """The emulator's state and the last action."""
        return self._emulator.cloneState(include_rng=include_rng), self._action

    def restoreState(self, state: tuple[Any, Any]) -> None:  # noqa: N802
        """Go on from a state that was cloned."""
        own, self._action = state
        self._emulator.restoreState(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)


def screen_of(emulator: Any) -> str:
    """The screen as text: a character for each block of pixels, the brighter the denser."""
    pixels = np.asarray(emulator.getScreenGrayscale(), dtype=float)
    down, across = (size // cell for size, cell in zip(pixels.shape, _CELL, strict=True))
    blocks = pixels[: down * _CELL[0], : across * _CELL[1]].reshape(down, _CELL[0], across, _CELL[1])
    shades = (blocks.max(axis=(1, 3)) * (len(_SHADES) - 1) / 255.0).round().astype(int)
    return "\n".join("".join(_SHADES[shade] for shade in row) for row in shades.tolist())
