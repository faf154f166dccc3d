"""The search for what decides an environment's future and what its history does not show.

A copy of an environment knows what lies in it: a coin that was drawn a step ahead, the rest of a deck, a mass
that was drawn at the start. A player knows the observations and rewards so far. The search makes pairs of
positions with equal histories and different draws: it plays a line, and plays it again with a change of its
reset or of one step. Where the two positions go on differently after equal draws, something may be hidden. It
is hidden if, with draws of their own, the futures of the two are distributed differently: then the future
depends on more than the history.

How much is searched depends on the environment alone, on no clock. A line in which something fails that did
not fail without the change has not been examined.

What cannot be found this way: what is hidden from all histories that differ, such as noise upon each
observation that comes from the same call of a generator; and what random play does not reach.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from games.errors import BrokenGame, InvalidInput
from games.gym.environment import Actions, comparable
from games.gym.generators import BEGUN, Turn, turned
from games.gym.states import States
from games.user_games import reason_of

STARTS, ALIKE = 64, 2
"""Episodes whose starts are compared, and how many with an equal start are compared with each line."""
LINES, LENGTH, LONG, LONGER = 16, 100, 4, 5
"""Lines of random moves, and the most moves of each; every ``LONG`` th is ``LONGER`` times as long."""
SLOW = 8
"""Where an emulator is stepped, there are so many times fewer starts, moves of a line and of a future."""
QUIET = 3
"""So many lines are enough where neither resets nor steps draw anything."""
POINTS, TRIES = 8, 16
"""Points of a line at which draws are changed, its reset first, and how often each; but see `ENOUGH`."""
PLACES = LINES * POINTS
"""The points of all lines."""
ENOUGH = 4, 2
"""How many changes with the same history are enough at a reset and at a step."""
STEPS = 2_000
"""Steps after which the changes of a line that are left are not tried; a longer line has more."""
AHEAD, SAMPLES = 8, (32, 256)
"""Steps of a future, and how many futures of each position are compared: first few, then more."""
CERTAIN = 20.0
"""With n futures each, the distribution functions of a number may differ by (CERTAIN / n)^1/2: more comes by
chance once in 10^8 comparisons (Massart 1990). More futures are compared where few differ by half as much."""
NUMBERS, MOST_NUMBERS = 16, 24
"""Numbers of an observation that are compared one by one, and that the board shows."""
FAILED = "failed"
"""Stands for the observation of a step that raises an exception."""

Found = TypeVar("Found")
Place = tuple[Any, Any]
"""A position that was saved, and the mask that came with it."""


class Step(NamedTuple):
    """What came of a reset or a step."""

    seen: Any
    """Observation, legal actions, and except for a reset the reward and both flags of an end, comparable by
    ==."""
    ended: bool
    drew: bool


class LinePlayer:
    """Plays an environment at random or as it did before."""

    def __init__(self, actions: Actions, spec: str) -> None:
        self.actions, self.spec, self.played = actions, spec, 0
        """``played``: how many steps were played."""
        self.mask: Any = None

    def reset(self, states: States, number: int, generators: int | None = None) -> Step:
        """Begin an episode; ``generators``: see `States.reset`."""
        observation, info = states.reset(number, generators)
        self.mask = self.actions.mask_in(observation, info)
        return Step((comparable(observation), *self._legal(states)), False, False)

    def step(self, states: States, move: int) -> Step:
        """Play a move."""
        self.played += 1
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
        """Whether a move has another outcome than ``expected``; none is played after the first that has."""
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


class PlayedLine(NamedTuple):
    """An episode, or the beginning of one."""

    number: int
    moves: list[int]
    steps: list[Step]
    """That of the reset, and one for each move."""
    places: list[Place]
    """After the reset, and after each move."""
    begun: list[Any]
    """The states in which the generators of the reset began."""


@dataclass(frozen=True)
class OtherEpisode:
    """The start of another episode, which looks the same."""

    number: int
    point = 0

    def replay(self, player: Hidden, line: PlayedLine) -> Step:
        return player.reset(player.states, self.number)


@dataclass(frozen=True)
class OtherKey:
    """A reset with another seed whose generators begin in the states of the line's reset: it differs only by
    what the reset makes of the seed itself."""

    number: int
    point = 0

    def replay(self, player: Hidden, line: PlayedLine) -> Step:
        return player.turned(Turn(begins=line.begun), line, 0, self.number)


@dataclass(frozen=True)
class OtherSeed:
    """Other draws of all generators in a step."""

    point: int
    seed: int

    def replay(self, player: Hidden, line: PlayedLine) -> Step:
        player.go_to(player.states, line.places[self.point - 1])
        player.states.seed(self.seed)
        return player.step(player.states, line.moves[self.point - 1])


@dataclass(frozen=True)
class OtherCall:
    """Other draws of one generator in a reset or a step: in one call, or in all that follow it."""

    point: int
    call: int
    seed: int
    stays: bool

    def replay(self, player: Hidden, line: PlayedLine) -> Step:
        return player.turned(Turn(self.call, self.seed, self.stays), line, self.point, line.number)


Change = OtherEpisode | OtherKey | OtherSeed | OtherCall
"""What is changed at a point of a line: 0 is its reset, n its n-th step. ``replay`` plays that point."""


class Hidden(LinePlayer):
    """The search in one environment."""

    def __init__(self, states: States, actions: Actions, spec: str, is_slow: bool, lines: int) -> None:
        """``lines``: how many of LINES are played."""
        super().__init__(actions, spec)
        self.states, self._slow, self._lines = states, SLOW if is_slow else 1, lines
        self._turn = Turn()
        """That of the last change."""
        self._is_quiet = True
        """Whether neither a reset nor a step has drawn."""
        self.drew = False
        """Whether any step drew."""
        self.hides = False
        """Whether a position holds what decides the future and what the history does not show."""
        self.examined = 0
        """How many of `PLACES` were examined, or are not there because a line draws at fewer."""
        self.failure: str | None = None
        """Why a point could not be examined."""

    def search(self) -> None:
        """Look for what is hidden until it is found, or until all lines are examined; sets ``hides``."""
        starts: dict[Any, list[int]] = {}
        for number in range(STARTS // self._slow):
            starts.setdefault(self.reset(self.states, number).seen, []).append(number)
        # Those that begin like many others first.
        alike = sorted(starts.values(), key=len, reverse=True)
        lines = [(number, same) for same in alike for number in same][: self._lines]
        for count, (number, same) in enumerate(lines):
            if count == QUIET and self._is_quiet and self.failure is None:
                self.examined += POINTS * (len(lines) - QUIET)
                break
            span = LONGER if count % LONG == LONG - 1 else 1
            until = self.played + STEPS * span // self._slow
            line = self._unless_it_fails(partial(self._line, number, LENGTH * span // self._slow))
            if line is None:
                continue
            draw, others = random.Random(number), [other for other in same if other != number]
            drawn = [point for point, step in enumerate(line.steps) if step.drew]
            points = [0, *draw.sample(drawn, min(POINTS - 1, len(drawn)))]
            self.examined += POINTS - len(points)
            for point in points:
                changes = self._changes(point, draw, draw.sample(others, min(ALIKE, len(others))))
                found = self._unless_it_fails(partial(self._is_hidden_at, line, changes, until))
                if found:
                    self.hides = True
                    return
                self.examined += found is not None

    def _unless_it_fails(self, attempt: Callable[[], Found]) -> Found | None:
        try:
            return attempt()
        except InvalidInput:
            raise
        except Exception as error:
            self.failure = self.failure or reason_of(error)
        return None

    def turned(self, turn: Turn, line: PlayedLine, point: int, number: int) -> Step:
        """Play a step, or the reset of the episode of this number, with draws as ``turn`` says."""
        states, self._turn = self.states, turn
        if point > 0:
            self.go_to(states, line.places[point - 1])
            states.seed(_seed(line.number, point))
        with turned(states.env, states.outside, turn):
            if point > 0:
                step = self.step(states, line.moves[point - 1])
            else:
                step = self.reset(states, number, line.number)
        states.find_generators()
        return step

    def _is_hidden_at(self, line: PlayedLine, changes: Iterator[Change], until: int) -> bool | None:
        """Whether it is at a point of a line, after one of these changes; None if too many steps are."""
        same = 0
        for change in changes:
            if self.played >= until:
                return None
            if change.replay(self, line).seen != line.steps[change.point].seen:
                continue
            self.states.begin_with(partial(change.replay, self, line))
            parting = self._parting(line, change)
            if parting is not None and self._is_told_apart(line, change, parting):
                return True
            same += 1
            if same == ENOUGH[change.point > 0] or (parting is None and isinstance(change, OtherSeed)):
                break
        return False

    def _line(self, number: int, most: int) -> PlayedLine:
        draw, states, turn = random.Random(number), self.states, Turn()
        line = PlayedLine(number, [], [], [], turn.begun)
        line.steps.append(self.turned(turn, line, 0, number))
        line.places.append(self.keep(states))
        while len(line.moves) < most and not line.steps[-1].ended:
            states.seed(_seed(number, len(line.steps)))
            try:
                line.steps.extend(self.random_steps(states, draw, 1, line.moves))
            except InvalidInput:
                raise
            except Exception:
                # It fails where random play rarely comes, which ends the line.
                del line.moves[len(line.steps) - 1 :]
                break
            line.places.append(self.keep(states))
        self.drew = self.drew or any(step.drew for step in line.steps)
        self._is_quiet = self._is_quiet and not self.drew and {*turn.calls} <= {BEGUN}
        return line

    def _changes(self, point: int, draw: random.Random, alike: list[int]) -> Iterator[Change]:
        if point == 0:
            yield from map(OtherEpisode, alike)
            yield OtherKey(STARTS + draw.randrange(STARTS))
        else:
            yield OtherSeed(point, draw.getrandbits(60))
            yield OtherCall(point, 1, draw.getrandbits(60), False)
        for count in range(TRIES):
            # The change before has counted the calls.
            calls = self._turn.calls
            drawn = [number for number, name in enumerate(calls, 1) if name != BEGUN]
            if count % 4 == 3 and calls:
                yield OtherCall(point, 1 + draw.randrange(len(calls)), draw.getrandbits(60), True)
            elif drawn:
                yield OtherCall(point, draw.choice(drawn), draw.getrandbits(60), False)
            if point > 0:
                yield OtherSeed(point, draw.getrandbits(60))

    def _parting(self, line: PlayedLine, change: Change) -> int | None:
        """After how many moves the next one comes out otherwise after equal draws; None if none does."""
        states = self.states
        for point in range(change.point, len(line.moves)):
            states.seed(_seed(line.number, point + 1))
            try:
                seen = self.step(states, line.moves[point]).seen
            except InvalidInput:
                raise
            except Exception:
                return point
            if seen != line.steps[point + 1].seen:
                return point
        return None

    def _is_told_apart(self, line: PlayedLine, change: Change, parting: int) -> bool:
        """Whether the futures of the line and of the changed one are distributed differently there."""
        states = self.states
        one = line.places[parting]
        change.replay(self, line)
        states.begin_with(partial(change.replay, self, line))
        for point in range(change.point, parting):
            states.seed(_seed(line.number, point + 1))
            self.step(states, line.moves[point])
        other = self.keep(states)
        if states.unseen is not None and self._redraws(one, other, parting):
            return False
        moves = line.moves[parting : parting + AHEAD // self._slow]
        for count in SAMPLES:
            futures = [
                np.array([self._future(each, seed, moves) for seed in range(count)]) for each in (one, other)
            ]
            distance, by_chance = _distance(*futures), (CERTAIN / count) ** 0.5
            if distance > by_chance:
                return True
            if distance < by_chance / 2:
                break
        # A method may shuffle, after which the same lies elsewhere; else it is expected to draw the same.
        return states.unseen is not None and self._content(one) != self._content(other)

    def _content(self, place: Place) -> Any:
        self.go_to(self.states, place)
        return self.states.content()

    def _redraws(self, one: Place, other: Place, seed: int) -> bool:
        """Whether the future of both is the same after the method has redrawn with equal draws."""
        moves: list[int] = []
        self.go_to(self.states, one)
        self.states.reseed(seed)
        first = self.random_steps(self.states, random.Random(seed), AHEAD, moves)
        self.go_to(self.states, other)
        self.states.reseed(seed)
        return not self.departs(self.states, moves, first)

    def _future(self, place: Place, seed: int, moves: list[int]) -> list[float]:
        """What follows draws of its own, as numbers."""
        states, numbers = self.states, []
        self.go_to(states, place)
        states.reseed(seed)
        ended, total, last = 0.0, 0.0, [0.0] * (NUMBERS + 1)
        for move in moves:
            gained = 0.0
            if not ended:
                self.played += 1
                legal = self.actions.legal(states.env, self.mask)
                action = self.actions.actions[move if move in legal else legal[0]]
                try:
                    observation, reward, terminated, truncated, info = states.env.step(action)
                except Exception:
                    # A failure is an end of its own.
                    observation, reward, terminated, truncated, info = FAILED, 0.0, True, True, {}
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
    """The numbers of an observation, of each array the first MOST_NUMBERS."""
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
