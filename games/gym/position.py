"""A position of an episode in an environment of gymnasium, and the one environment that all of them use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from games.errors import BrokenGame, InvalidInput, counted
from games.gym.ale import emulator_of, screen_of
from games.gym.environment import ANSI, Actions, comparable, text_of
from games.gym.generators import Use
from games.gym.hidden import number_of
from games.gym.states import States
from games.gym.trial import Found
from games.rules import MAX_MOVE_CODE
from games.user_games import reason_of

_OVER = object()
"""Stands for what would be saved of the end of a roll-out."""


class Stage:
    """The one environment of a game, which positions use in turns."""

    def __init__(self, found: Found, actions: Actions, steps: int, spec: str) -> None:
        self.states: States = found.states
        self.actions, self.steps, self.spec, self.guarded = actions, steps, spec, found.guarded
        self.drawn = self.states.env.render_mode == ANSI
        """Whether the environment draws itself as text."""
        self.lock = Use(self.states.outside)
        """Several searches may run in one process."""
        self.holder: GymPosition | None = None
        """The position that the environment is in; None if in none."""

    def free(self) -> None:
        """Keep the position that the environment is in, and take it from there."""
        if self.holder is not None and self.holder.saved is None:
            self.holder.saved = self.states.save()
        self.holder = None

    def give_to(self, position: GymPosition) -> None:
        """Bring the environment into a position."""
        if self.holder is not position:
            self.free()
            self.states.restore(position.saved)
            self.holder = position

    def failed(self, error: Exception) -> Exception:
        """What to raise for an exception of the environment, whose state is now unknown."""
        self.holder = None
        if isinstance(error, InvalidInput):
            return error
        return BrokenGame(self.spec, f"step: raised {reason_of(error)}")


class GymPosition:
    """A position of an episode; see `games.python_game.Position`."""

    def __init__(self, stage: Stage, episode: int) -> None:
        """The start of an episode."""
        self._stage = stage
        self.saved: Any = None
        """What the environment needs to go on from here; None while it is here and has gone on since."""
        self.total, self.steps = 0.0, 0
        self.terminated = False
        """Whether the episode ended by itself."""
        self.truncated = False
        """Whether it was cut off, as a rule by the limit of steps."""
        with stage.lock:
            stage.free()
            try:
                self.observation, info = stage.states.reset(episode)
            except Exception as error:
                raise BrokenGame(stage.spec, f"reset: raised {reason_of(error)}") from error
            stage.holder = self
            self._legal = self._legal_after(info)
            self._baseline = stage.states.drawn() if stage.guarded else None
            """The states of the generators at the start, if moves must not draw."""

    def copy(self) -> GymPosition:
        """A position of its own; what is saved is shared."""
        stage = self._stage
        twin = GymPosition.__new__(GymPosition)
        with stage.lock:
            here = stage.holder is self and self.saved is None
            if here:
                stage.free()
            vars(twin).update(vars(self))
            if here:
                # As a rule the copy is played on.
                stage.holder = twin
        return twin

    def reseed(self, seed: int) -> None:
        """Make what is drawn from now on depend on ``seed`` alone, and what is unseen too.

        Raises BrokenGame if that changes what has been seen.
        """
        stage = self._stage
        with stage.lock:
            stage.give_to(self)
            self.saved = None
            method = stage.states.unseen
            try:
                seen = stage.states.reseed(seed)
            except Exception as error:
                stage.holder = None
                raise BrokenGame(stage.spec, f"{method}: raised {reason_of(error)}") from error
            if method is not None and comparable(seen) != comparable(self.observation):
                stage.holder = None
                raise BrokenGame(stage.spec, f"{method}: returned {seen}, not {self.observation} as was seen")

    def seen(self) -> int:
        """A number in [0, 65535) for the observation: itself, if it is one, else a hash of it."""
        observation = self.observation
        if isinstance(observation, int | np.integer) and 0 <= observation < MAX_MOVE_CODE:
            return int(observation)
        return int.from_bytes(blake2b(bytes_of(observation), digest_size=4).digest()) % MAX_MOVE_CODE

    def current_player(self) -> int:
        """The only one."""
        return 0

    def legal_moves(self) -> Sequence[int]:
        """The moves that the mask of the environment allows."""
        return self._legal

    def play(self, move: int) -> None:
        """Step forward."""
        stage = self._stage
        with stage.lock:
            stage.give_to(self)
            self.saved = None
            try:
                step = stage.states.env.step(stage.actions.actions[move])
                self.observation, reward, terminated, truncated, info = step
                stage.states.played((move,))
                self.total += number_of(reward, stage.spec)
                self.steps += 1
                self._end(terminated, truncated)
                self._legal = self._legal_after(info)
            except Exception as error:
                raise stage.failed(error) from error

    def roll_out(self, draw: Callable[[int], int], discount: float, most: int) -> tuple[list[int], float]:
        """Play uniformly random legal moves, at most that many; returns them, and their discounted rewards.

        Nobody can go on from here afterwards.
        """
        stage, played, gains = self._stage, [], []
        legal, left = self.legal_moves(), min(stage.steps - self.steps, most)
        count, masked, mask_in = len(legal), stage.actions.masked, stage.actions.mask_in
        legal_after = stage.actions.legal
        with stage.lock:
            stage.give_to(self)
            self.saved = None
            env, actions = stage.states.env, stage.actions.actions
            step = env.step
            observation = self.observation
            terminated = truncated = False
            try:
                while not (terminated or truncated) and left > 0:
                    move = legal[draw(count)]
                    played.append(move)
                    observation, reward, terminated, truncated, info = step(actions[move])
                    gains.append(float(reward))
                    left -= 1
                    if masked and not (terminated or truncated):
                        legal = legal_after(env, mask_in(observation, info))
                        count = len(legal)
                stage.states.played(played)
                self.observation, self._legal = observation, legal
                self.steps += len(played)
                gained = number_of(sum(gains), stage.spec)
                self.total += gained
                self._end(terminated, truncated)
                # Nothing follows the end of a simulation, so nothing needs to be kept.
                self.saved, stage.holder = _OVER, None
            except Exception as error:
                raise stage.failed(error) from error
        if discount < 1.0:
            gained, weight = 0.0, 1.0
            for gain in gains:
                gained += weight * gain
                weight *= discount
        return played, gained

    def is_terminal(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    def returns(self) -> float:
        """The sum of the rewards so far."""
        return self.total

    def drawing(self) -> str:
        """What the environment draws as text, with codes of colours; empty if it does not."""
        stage = self._stage
        with stage.lock:
            if self.saved is _OVER:
                return ""
            stage.give_to(self)
            emulator = emulator_of(stage.states.env)
            if emulator is not None:
                return screen_of(emulator)
            return text_of(stage.states.env) if stage.drawn else ""

    def __str__(self) -> str:
        end = ", terminated" if self.terminated else ", truncated" if self.truncated else ""
        return f"step {self.steps}, return {self.total:g}{end}, observation {self.observation}"

    def _end(self, terminated: Any, truncated: Any) -> None:
        stage = self._stage
        self.terminated = bool(terminated)
        self.truncated = not terminated and (bool(truncated) or self.steps >= stage.steps)
        if self._baseline is not None and stage.states.drawn() != self._baseline:
            accepted = f"chance=yes (moves draw random numbers; at first after {counted(self.steps, 'move')})"
            raise InvalidInput("game option chance", "no", accepted)

    def _legal_after(self, info: dict[str, Any]) -> Sequence[int]:
        actions = self._stage.actions
        if self.is_terminal():
            return actions.all
        return actions.legal(self._stage.states.env, actions.mask_in(self.observation, info))


def bytes_of(observation: Any) -> bytes:
    """Equal bytes for equal observations."""
    if isinstance(observation, tuple | list):
        return b"".join(bytes_of(part) for part in observation)
    if isinstance(observation, dict):
        return b"".join(bytes_of(observation[name]) for name in sorted(observation))
    return np.asarray(observation).tobytes()
