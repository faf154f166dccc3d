"""Experiments with an environment: how its positions can be kept, and whether chance plays a part in it.

All numbers of steps are fixed, so that every process comes to the same result.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from games.errors import BrokenGame, InvalidInput
from games.gym.environment import Actions
from games.gym.states import WAYS, CopyStates, States
from games.user_games import reason_of

EPISODES, STEPS = 6, 40
"""How many episodes are recorded, and how many steps of each."""
CHECKED = 3
"""How many of them each way of keeping positions has to repeat, from two positions of each."""
INTERLEAVED = 10
"""For how many steps two continuations take turns."""
CHANCES, CHANCE_STEPS = 16, 100
"""Episodes, and steps of each, in which chance is looked for where a table says that there is none."""
STARTS, PAIRS = 64, 8
"""Episodes among which equal starts are looked for, and how many pairs of them are compared."""
REDRAWN, WALKS, DEPTH = 4, 24, 4
"""Starts, the walks from each with other draws, and their steps, after which equal histories are looked for
where a method redraws what is unseen; `PAIRS` of each start are compared."""


class Found(NamedTuple):
    """What was found of an environment."""

    states: States
    chance: bool
    """Whether moves draw random numbers that matter."""
    clairvoyant: bool
    """Whether simulations know what nobody can know who plays."""
    guarded: bool
    """Whether that moves draw nothing is only what was seen so far."""


class _Step(NamedTuple):
    seen: Any
    """Observation, reward, and whether the episode ended, comparable by ==; of a reset the observation."""
    ended: bool
    drew: bool


class _Episode(NamedTuple):
    number: int
    moves: list[int]
    steps: list[_Step]
    """That of the reset, and one for each move."""


class Trial:
    """Experiments with one environment."""

    def __init__(
        self, make: Callable[[], Any], actions: Actions, spec: str, unseen: str | None = None
    ) -> None:
        """``unseen``: the name of the method that redraws what the agent has not seen."""
        self._make, self._actions, self._spec, self._unseen = make, actions, spec, unseen
        self._reference = States(make, actions)
        self._reference.unseen = unseen
        self._mask: Any = None

    def examine(self, state: str, chance: str, clairvoyant: bool) -> Found:
        """Find the first way that is right, or test ``state``; and decide on ``chance`` if it is ``auto``.

        Raises InvalidInput (field ``game``) for an environment that cannot be planned on.
        """
        try:
            episodes = self._recorded()
            if self._unseen is not None:
                self._look_at_method(episodes, self._unseen)
            states = self._first_right(state, episodes)
            try:
                return self._with_chance(states, episodes, chance, clairvoyant)
            except BaseException:
                states.close()
                raise
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(
                "game", self._spec, f"an environment that plays ({reason_of(error)})"
            ) from error
        finally:
            self._reference.close()

    def _recorded(self) -> list[_Episode]:
        self._reset(self._reference, 0)
        self._reference.look_for_nested()
        episodes = [self._random_episode(self._reference, number, STEPS) for number in range(EPISODES)]
        for episode in reversed(episodes):
            again = self._replayed(self._reference, episode.number, episode.moves)
            for step, (one, other) in enumerate(zip(episode.steps, again, strict=False)):
                if one.seen != other.seen:
                    accepted = (
                        "an environment that reset(seed=...) determines; after the same seed and the same "
                        f"moves its episodes differed at step {step}"
                    )
                    raise InvalidInput("game", self._spec, accepted)
        return episodes

    def _first_right(self, wanted: str, episodes: list[_Episode]) -> States:
        reasons = []
        for way in WAYS:
            if wanted not in ("auto", way.kind):
                continue
            states: States | None = None
            try:
                states = way(self._make, self._actions)
                states.unseen = self._unseen
                self._reset(states, 0)
                states.look_for_nested()
                if isinstance(states, CopyStates):
                    states.share(partial(self._play_and_look, states, episodes))
                reason = self._fault(states, episodes)
            except Exception as error:
                reason = reason_of(error)
            if reason is None:
                assert states is not None
                return states
            if states is not None:
                states.close()
            reasons.append(f"{way.kind}: {reason}")
        raise InvalidInput(
            "game", self._spec, f"an environment whose state can be kept ({'; '.join(reasons)})"
        )

    def _play_and_look(self, states: States, episodes: list[_Episode], look: Callable[[], None]) -> None:
        for episode in episodes:
            self._reset(states, episode.number)
            look()
            for played, move in enumerate(episode.moves):
                self._step(states, move)
                if played < 3 or played == len(episode.moves) - 1:
                    look()
        if self._unseen is not None:
            for episode in episodes:
                for begin in self._beginnings(episode):
                    self._replayed(states, episode.number, begin)
                    states.reseed(episode.number)
                    look()
                    self._random_steps(states, random.Random(episode.number), STEPS, [])
                    look()

    def _beginnings(self, episode: _Episode) -> list[list[int]]:
        """No moves, and the first half of those that were recorded."""
        return [episode.moves[:cut] for cut in sorted({0, len(episode.moves) // 2})]

    def _look_at_method(self, episodes: list[_Episode], name: str) -> None:
        """Raise InvalidInput for a method that does not do what it should with what is seen and drawn."""

        def refuse(accepted: str) -> None:
            raise InvalidInput("game option unseen", name, accepted)

        states = self._reference
        if not states.env.has_wrapper_attr(name) or not callable(states.env.get_wrapper_attr(name)):
            refuse("none, or the name of a method of the environment")
        for episode in episodes[:CHECKED]:
            for begin in self._beginnings(episode):
                futures = []
                for _ in range(2):
                    steps = self._replayed(states, episode.number, begin)
                    seen = steps[-1].seen[0] if begin else steps[-1].seen
                    legal = [*self._actions.legal(states.env, self._mask)]
                    try:
                        found = states.reseed(episode.number)
                    except Exception as error:
                        refuse(f"a method that runs without arguments ({reason_of(error)})")
                    if comparable(found) != seen:
                        refuse(
                            "a method that changes nothing that has been seen, and returns the observation; "
                            f"this one returned {found}"
                        )
                    if [*self._actions.legal(states.env, self._mask)] != legal:
                        refuse("a method that does not change which actions are legal")
                    rest = self._random_steps(states, random.Random(episode.number), STEPS, [])
                    futures.append([step.seen for step in rest])
                if futures[0] != futures[1]:
                    refuse("a method that draws from generators of the environment alone")

    def _fault(self, states: States, episodes: list[_Episode]) -> str | None:
        """What is wrong with a way of keeping positions; None if nothing was found.

        From one position the recorded moves and others are played, in turns of one step each. Both must come
        out as in an environment that plays either from its start.
        """
        for episode in episodes[:CHECKED]:
            for cut in sorted({0, len(episode.moves) // 2}):
                begin, rest = episode.moves[:cut], episode.moves[cut:]
                self._replayed(self._reference, episode.number, begin)
                if self._unseen is not None:
                    self._reference.reseed(cut)
                detour: list[int] = []
                expected = self._random_steps(self._reference, random.Random(cut), INTERLEAVED, detour)
                self._replayed(states, episode.number, begin)
                one = other = states.save()
                if self._unseen is not None:
                    states.restore(other)
                    states.reseed(cut)
                    other = states.save()
                for turn in range(INTERLEAVED):
                    if turn < len(rest):
                        states.restore(one)
                        if self._step(states, rest[turn]).seen != episode.steps[cut + turn + 1].seen:
                            return f"a copy played differently at step {cut + turn + 1}"
                        one = states.save()
                    if turn < len(detour):
                        states.restore(other)
                        if self._step(states, detour[turn]).seen != expected[turn].seen:
                            return f"a copy played differently at step {cut + turn + 1}"
                        other = states.save()
        return None

    def _with_chance(self, states: States, episodes: list[_Episode], chance: str, clairvoyant: bool) -> Found:
        draws = any(step.drew for episode in episodes for step in episode.steps)
        table = _table_has_chance(self._reference.env)
        happens = chance == "yes" or self._unseen is not None
        if chance == "auto" and not happens:
            happens = bool(table) or (draws and (table is None or self._differs(states)))
        # Also where the option says that there is none: it may have been found by an experiment like this.
        guarded = not happens and not draws and not clairvoyant and bool(states.drawn())
        knows = (
            self._hides(states)
            or self._hides_later(states)
            or (chance == "no" and draws and self._differs(states))
        )
        if knows and not clairvoyant:
            left = "" if self._unseen is None else f" that its method {self._unseen} does not redraw"
            more = "" if self._unseen is not None else "unseen=METHOD redraws it, "
            accepted = (
                "an environment whose observation, and draws that can be seeded, decide the future; this one "
                f"hides a part{left}, so that a search would know what no player can ({more}clairvoyant=yes "
                "allows that)"
            )
            raise InvalidInput("game", self._spec, accepted)
        return Found(states, happens, knows, guarded)

    def _differs(self, states: States) -> bool:
        """Whether the same moves had different outcomes after other seeds."""
        for number in range(CHANCES):
            self._reset(states, number)
            start = states.save()
            moves: list[int] = []
            first: list[_Step] = []
            for seed in range(3):
                states.restore(start)
                states.reseed(seed)
                if seed == 0:
                    # The mask of the start.
                    self._reset(states, number)
                    states.reseed(seed)
                    first = self._random_steps(states, random.Random(number), CHANCE_STEPS, moves)
                elif self._departs(states, moves, first):
                    return True
        return False

    def _hides(self, states: States) -> bool:
        """Whether episodes that begin with equal observations go on differently with equal draws."""
        starts: dict[Any, tuple[int, Any, Any]] = {}
        pairs = 0
        for number in range(STARTS):
            seen = self._reset(states, number).seen
            # A reset may take long: an emulator loads its game.
            saved = states.save()
            one, start, mask = starts.setdefault(seen, (number, saved, self._mask))
            if one == number:
                continue
            moves: list[int] = []
            self._mask = mask
            states.restore(start)
            states.reseed(one)
            first = self._random_steps(states, random.Random(number), STEPS, moves)
            states.restore(saved)
            states.reseed(one)
            if self._departs(states, moves, first):
                return True
            pairs += 1
            if pairs == PAIRS:
                break
        return False

    def _hides_later(self, states: States) -> bool:
        """Where a method redraws what is unseen: whether episodes that began alike, by all that was seen, go
        on differently after equal draws."""
        for number in range(REDRAWN if self._unseen is not None else 0):
            self._reset(states, number)
            start, mask, pairs = states.save(), self._mask, 0
            known: dict[Any, tuple[Any, Any]] = {}
            for walk in range(WALKS):
                states.restore(start)
                self._mask = mask
                states.reseed(walk)
                draw, history = random.Random(number), []
                for _ in range(DEPTH):
                    moves: list[int] = []
                    step = self._random_steps(states, draw, 1, moves)[0]
                    if step.ended or pairs == PAIRS:
                        break
                    history.append((moves[0], step.seen))
                    here = states.save(), self._mask
                    one = known.setdefault(tuple(history), here)
                    if one is not here:
                        pairs += 1
                        if self._part(states, one, here, number):
                            return True
                    states.restore(here[0])
                    self._mask = here[1]
        return False

    def _part(self, states: States, one: tuple[Any, Any], other: tuple[Any, Any], seed: int) -> bool:
        """Whether two positions, each saved with its mask, go on differently after equal draws."""
        moves: list[int] = []
        saved, self._mask = one
        states.restore(saved)
        states.reseed(seed)
        first = self._random_steps(states, random.Random(seed), STEPS, moves)
        states.restore(other[0])
        states.reseed(seed)
        return self._departs(states, moves, first)

    def _departs(self, states: States, moves: list[int], expected: list[_Step]) -> bool:
        """Whether these moves come out otherwise; none is played after the first that does."""
        return any(
            self._step(states, move).seen != step.seen for move, step in zip(moves, expected, strict=True)
        )

    def _random_episode(self, states: States, number: int, steps: int) -> _Episode:
        first = self._reset(states, number)
        moves: list[int] = []
        rest = self._random_steps(states, random.Random(number), steps, moves)
        return _Episode(number, moves, [first, *rest])

    def _random_steps(self, states: States, draw: random.Random, steps: int, moves: list[int]) -> list[_Step]:
        """Play random legal moves until the end, or for some steps; they are appended to ``moves``."""
        played: list[_Step] = []
        while len(played) < steps and not (played and played[-1].ended):
            moves.append(draw.choice(self._actions.legal(states.env, self._mask)))
            played.append(self._step(states, moves[-1]))
        return played

    def _replayed(self, states: States, number: int, moves: list[int]) -> list[_Step]:
        return [self._reset(states, number), *(self._step(states, move) for move in moves)]

    def _reset(self, states: States, number: int) -> _Step:
        observation, info = states.reset(number)
        self._mask = self._actions.mask_in(observation, info)
        return _Step(comparable(observation), False, False)

    def _step(self, states: States, move: int) -> _Step:
        before = states.drawn()
        observation, reward, terminated, truncated, info = states.env.step(self._actions.actions[move])
        self._mask = self._actions.mask_in(observation, info)
        states.played([move])
        gained = number_of(reward, self._spec)
        seen = comparable(observation), gained, bool(terminated), bool(truncated)
        return _Step(seen, bool(terminated or truncated), not _same(before, states.drawn()))


def number_of(reward: Any, spec: str) -> float:
    """The reward as a number; raises BrokenGame if it is none, or not finite."""
    try:
        gained = float(reward)
    except (TypeError, ValueError):
        gained = np.nan
    if not np.isfinite(gained):
        raise BrokenGame(spec, f"step: the reward is {reward!r}, not a finite number")
    return gained


def _same(one: Any, other: Any) -> bool:
    return bool(comparable(one) == comparable(other))


def comparable(value: Any) -> Any:
    """The value in a form that == compares and dicts take for a key."""
    if isinstance(value, dict):
        return tuple((key, comparable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(comparable(each) for each in value)
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)


def _table_has_chance(env: Any) -> bool | None:
    """Whether the table of transitions that environments of toy_text have holds chances; None without one."""
    table: Any = getattr(env.unwrapped, "P", None)
    try:
        return any(row[0] < 1.0 for moves in table.values() for rows in moves.values() for row in rows)
    except (AttributeError, TypeError, IndexError):
        return None
