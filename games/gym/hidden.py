"""The search for what decides an environment's future and what its history does not show.

A copy of an environment knows what lies in it: a coin that was drawn a step ahead, the rest of a deck, a mass
that was drawn at the start. A player knows the observations and rewards so far. The search makes pairs of
positions with equal histories and different draws: it plays a line, and plays it again with other draws in
its reset, in one step, or in one call of a generator within either. Where the two positions go on differently
after equal draws, something may be hidden. It is hidden if, with draws of their own, the futures of the two
are distributed differently: then the future depends on more than the history.

What cannot be found this way: what is hidden from all histories that differ, such as noise upon each
observation that comes from the same call of a generator; and what random play does not reach.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from games.errors import BrokenGame, InvalidInput
from games.gym.environment import Actions, comparable
from games.gym.generators import Turn, turned
from games.gym.states import States

STARTS, ALIKE = 64, 4
"""Episodes whose starts are compared, and how many with an equal one stand beside each line."""
LINES, LENGTH, LONG, LONGER = 16, 100, 4, 5
"""Lines of random moves, and the most moves of each; every ``LONG`` th is ``LONGER`` times as long."""
STEPS = 32_000
"""After so many steps, of which each line has a share, the search ends."""
SLOW = 8
"""Where steps are slow there are so many times fewer steps, starts, moves of a line and of a future."""
POINTS, TRIES = 25, 12
"""Points of a line at which draws are changed, and how often at each until the history is the same."""
AHEAD, SAMPLES = 8, (32, 256)
"""Steps of a future, and how many futures of each position are compared: first few, then more."""
CERTAIN = 20.0
"""With n futures each, the distribution functions of a number may differ by (CERTAIN / n)^1/2: more comes by
chance once in 10^8 comparisons (Massart 1990). More futures are compared where few differ by half as much."""
NUMBERS, MOST_NUMBERS = 16, 24
"""Numbers of an observation that are compared one by one, and that are drawn."""
SECONDS, CPU_S = 15.0, 8.0
"""After so many seconds the search ends where steps are slow, which may wait for something; elsewhere after
so many of the thread's CPU time, which other processes hardly change."""

Place = tuple[Any, Any]
"""A position that was saved, and the mask that came with it."""


class Step(NamedTuple):
    """What came of a reset or a step."""

    seen: Any
    """Observation, legal actions, and but for a reset the reward and which end, comparable by ==."""
    ended: bool
    drew: bool


class Player:
    """Plays an environment at random or as it did before."""

    def __init__(self, actions: Actions, spec: str) -> None:
        self.actions, self.spec, self.left = actions, spec, STEPS
        """``left``: steps that may be played; it may become negative."""
        self.mask: Any = None

    def reset(self, states: States, number: int) -> Step:
        """Begin an episode."""
        observation, info = states.reset(number)
        self.mask = self.actions.mask_in(observation, info)
        return Step((comparable(observation), *self._legal(states)), False, False)

    def step(self, states: States, move: int) -> Step:
        """Play a move."""
        self.left -= 1
        before = states.drawn()
        observation, reward, terminated, truncated, info = states.env.step(self.actions.actions[move])
        self.mask = self.actions.mask_in(observation, info)
        states.played([move])
        gained, ends = number_of(reward, self.spec), (bool(terminated), bool(truncated))
        legal = () if any(ends) else self._legal(states)
        seen = comparable(observation), *legal, gained, *ends
        return Step(seen, any(ends), before != states.drawn())

    def random_steps(self, states: States, draw: random.Random, most: int, moves: list[int]) -> list[Step]:
        """Play random legal moves until the end, or that many; they are appended to ``moves``."""
        played: list[Step] = []
        while len(played) < most and not (played and played[-1].ended):
            moves.append(draw.choice(self.actions.legal(states.env, self.mask)))
            played.append(self.step(states, moves[-1]))
        return played

    def departs(self, states: States, moves: list[int], expected: list[Step]) -> bool:
        """Whether these moves come out otherwise; none is played after the first that does."""
        return any(
            self.step(states, move).seen != step.seen for move, step in zip(moves, expected, strict=True)
        )

    def keep(self, states: States) -> Place:
        """Save the position that the environment is in."""
        return states.save(), self.mask

    def go_to(self, states: States, place: Place) -> None:
        """Take up a position that was kept."""
        saved, self.mask = place
        states.restore(saved)

    def _legal(self, states: States) -> tuple[Any, ...]:
        legal = self.actions.legal(states.env, self.mask)
        return () if legal is self.actions.all else (tuple(legal),)


class Line(NamedTuple):
    """An episode, or the beginning of one."""

    number: int
    moves: list[int]
    steps: list[Step]
    """That of the reset, and one for each move."""
    places: list[Place]
    """After the reset, and after each move."""


class _Change(NamedTuple):
    """Other draws at one point of a line."""

    point: int
    """0: the reset; else the number of the step."""
    call: int
    """The number of the call of a generator that draws otherwise; 0: all that the step draws; -1: nothing
    that generators draw, but the seed that the reset is given."""
    seed: int
    """Of the other draws; of a reset without a call the number of another episode."""


class Hidden(Player):
    """The search in one environment."""

    def __init__(self, states: States, actions: Actions, spec: str, is_slow: bool) -> None:
        super().__init__(actions, spec)
        self._states, self._calls = states, 0
        self._slow = SLOW if is_slow else 1
        self.left //= self._slow
        self._clock, limit = (time.perf_counter, SECONDS) if is_slow else (time.thread_time, CPU_S)
        self._half, self._until = self._clock() + limit / 2, self._clock() + limit
        self.drew = False
        """Whether any step drew."""

    def found(self) -> bool:
        """Whether a position holds what decides the future and what the history does not show."""
        starts: dict[Any, list[int]] = {}
        for number in range(STARTS // self._slow):
            starts.setdefault(self.reset(self._states, number).seen, []).append(number)
            if number and self._clock() > self._half:
                # A reset may take long: an emulator loads its game.
                break
        # Those that begin like many others first.
        alike = sorted(starts.values(), key=len, reverse=True)
        lines = [(number, numbers) for numbers in alike for number in numbers][:LINES]
        return any(
            self._is_hidden_in(number, numbers, 1 if count % LONG else LONGER)
            for count, (number, numbers) in enumerate(lines, 1)
            if not self._is_over()
        )

    def _is_over(self, left: int = 0) -> bool:
        """Whether no more than that many steps are left, or no time."""
        return self.left <= left or self._clock() > self._until

    def _is_hidden_in(self, number: int, numbers: list[int], span: int) -> bool:
        """Whether it is in the episode of this number, which starts like those of ``numbers``."""
        left, draw = self.left - STEPS // LINES // self._slow, random.Random(number)
        line = self._line(number, LENGTH * span // self._slow)
        alike = [other for other in numbers if other != number]
        points = [point for point, step in enumerate(line.steps) if step.drew]
        for point in (0, *draw.sample(points, min(POINTS, len(points)))):
            for change in self._changes(point, draw, draw.sample(alike, min(ALIKE, len(alike)))):
                if self._is_over(max(left, 0)):
                    return False
                try:
                    if not self._has_same_history(line, change):
                        continue
                    parting = self._parting(line, change)
                    if parting is None and change.call == 0 and point > 0:
                        break
                    if parting is not None and self._is_told_apart(line, change, parting):
                        return True
                except Exception as error:
                    # It fails at what random play rarely does, or minds that its generators are others.
                    if isinstance(error, InvalidInput):
                        raise
        return False

    def _line(self, number: int, most: int) -> Line:
        draw, states = random.Random(number), self._states
        moves: list[int] = []
        line = Line(number, moves, [self.reset(states, number)], [self.keep(states)])
        while len(moves) < most and not line.steps[-1].ended and not self._is_over():
            states.seed(_seed(number, len(line.steps)))
            try:
                line.steps.extend(self.random_steps(states, draw, 1, moves))
            except Exception as error:
                # It fails where random play rarely comes, which ends the line.
                if isinstance(error, InvalidInput):
                    raise
                del moves[len(line.steps) - 1 :]
                break
            line.places.append(self.keep(states))
        self.drew = self.drew or any(step.drew for step in line.steps)
        return line

    def _changes(self, point: int, draw: random.Random, alike: list[int]) -> Iterator[_Change]:
        if point == 0:
            yield from (_Change(0, 0, number) for number in alike)
            if self._states.kind != "replay":
                yield _Change(0, -1, STARTS + draw.randrange(STARTS))
        self._calls = 1
        for count in range(TRIES):
            if point > 0:
                yield _Change(point, 0, draw.getrandbits(60))
            # A change counts the calls for the next one. Who replays moves cannot repeat it.
            if self._calls > 0 and self._states.kind != "replay":
                call = count if count < TRIES // 2 else draw.randrange(self._calls)
                yield _Change(point, 1 + call % self._calls, draw.getrandbits(60))

    def _has_same_history(self, line: Line, change: _Change) -> bool:
        """Change the draws; returns whether what is seen is the same, after which the position is there."""
        states = self._states
        if change.point > 0:
            self.go_to(states, line.places[change.point - 1])
            states.seed(change.seed if change.call == 0 else _seed(line.number, change.point))
        number = line.number if change.call > 0 else change.seed
        if change.call == 0:
            step = self._played(line, change.point, number)
        else:
            seeds = {} if change.call > 0 else {number: line.number}
            turn = Turn(change.call, change.seed, seeds, [], threading.get_ident())
            with turned(states.env, states.outside, turn):
                step = self._played(line, change.point, number)
            states.find_generators()
            self._calls = len(turn.calls)
        return bool(step.seen == line.steps[change.point].seen)

    def _played(self, line: Line, point: int, number: int) -> Step:
        if point == 0:
            return self.reset(self._states, number)
        return self.step(self._states, line.moves[point - 1])

    def _parting(self, line: Line, change: _Change) -> int | None:
        """After how many moves the next one comes out otherwise after equal draws; None if none does."""
        states = self._states
        if states.same(self.keep(states)[0], line.places[change.point][0]):
            return None
        for point in range(change.point, len(line.moves)):
            states.seed(_seed(line.number, point + 1))
            if self.step(states, line.moves[point]).seen != line.steps[point + 1].seen:
                return point
        return None

    def _is_told_apart(self, line: Line, change: _Change, parting: int) -> bool:
        """Whether the futures of the line and of the changed one are distributed differently there."""
        states = self._states
        one = line.places[parting]
        self._has_same_history(line, change)
        for point in range(change.point, parting):
            states.seed(_seed(line.number, point + 1))
            self.step(states, line.moves[point])
        other = self.keep(states)
        if states.unseen is not None and self._redraws(one, other, parting):
            return False
        moves = line.moves[parting : parting + AHEAD // self._slow]
        for count in SAMPLES:
            futures: list[list[list[float]]] = [[], []]
            for seed in range(count):
                if self._is_over():
                    return False
                for found, each in zip(futures, (one, other), strict=True):
                    found.append(self._future(each, seed, moves))
            distance, by_chance = _distance(*map(np.array, futures)), (CERTAIN / count) ** 0.5
            if distance > by_chance:
                return True
            if distance < by_chance / 2:
                break
        # A method may shuffle, after which the same lies elsewhere; else it is expected to draw the same.
        return states.unseen is not None and self._content(one) != self._content(other)

    def _content(self, place: Place) -> Any:
        self.go_to(self._states, place)
        return self._states.content()

    def _redraws(self, one: Place, other: Place, seed: int) -> bool:
        """Whether the future of both is the same after the method has redrawn with equal draws."""
        moves: list[int] = []
        self.go_to(self._states, one)
        self._states.reseed(seed)
        first = self.random_steps(self._states, random.Random(seed), AHEAD, moves)
        self.go_to(self._states, other)
        self._states.reseed(seed)
        return not self.departs(self._states, moves, first)

    def _future(self, place: Place, seed: int, moves: list[int]) -> list[float]:
        """What follows draws of its own, as numbers."""
        states, numbers = self._states, []
        self.go_to(states, place)
        states.reseed(seed)
        ended, total, last = 0.0, 0.0, [0.0] * (NUMBERS + 1)
        for move in moves:
            gained = 0.0
            if not ended:
                self.left -= 1
                legal = self.actions.legal(states.env, self.mask)
                action = self.actions.actions[move if move in legal else legal[0]]
                observation, reward, terminated, truncated, info = states.env.step(action)
                self.mask = self.actions.mask_in(observation, info)
                gained, ended = number_of(reward, self.spec), float(terminated or truncated)
                total, last = total + gained, _numbers(observation)
            numbers += [gained, total, ended, *last]
        return numbers


def _seed(number: int, point: int) -> int:
    """Of the draws of a step of a line."""
    return number * 2**20 + point


def _distance(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """The largest distance between the distribution functions of a column in two samples of equal size."""
    most = 0.0
    for a, b in zip(np.sort(one, axis=0).T, np.sort(other, axis=0).T, strict=True):
        both = np.concatenate([a, b])
        apart = np.searchsorted(a, both, "right") - np.searchsorted(b, both, "right")
        most = max(most, float(np.abs(apart).max()) / len(a))
    return most


def _numbers(observation: Any) -> list[float]:
    """The first numbers of an observation, and one for all of it."""
    whole = int.from_bytes(blake2b(repr(comparable(observation)).encode(), digest_size=6).digest())
    numbers = [*leaves(observation)][:NUMBERS]
    return [float(whole), *numbers, *[0.0] * (NUMBERS - len(numbers))]


def leaves(observation: Any) -> Iterator[float]:
    """The numbers of an observation, of each array the first ones."""
    if isinstance(observation, dict):
        observation = [*observation.values()]
    if isinstance(observation, list | tuple):
        for each in observation:
            yield from leaves(each)
    elif isinstance(observation, bool | int | float | np.ndarray | np.generic):
        kept = np.ravel(observation)[:MOST_NUMBERS]
        if kept.dtype.kind in "biuf":
            yield from np.nan_to_num(kept.astype(np.float64)).tolist()


def number_of(reward: Any, spec: str) -> float:
    """The reward as a number; raises BrokenGame if it is none, or not finite."""
    try:
        gained = float(reward)
    except (TypeError, ValueError):
        gained = np.nan
    if not np.isfinite(gained):
        raise BrokenGame(spec, f"step: the reward is {reward!r}, not a finite number")
    return gained
