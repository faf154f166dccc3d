"""Experiments with an environment: how its positions can be kept, and whether chance plays a part in it.

All numbers of steps are fixed, so that every process and every machine comes to the same result.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from games.errors import InvalidInput
from games.gym.environment import Actions, comparable, emulator_of
from games.gym.hidden import PLACES, Hidden, LinePlayer, PlayedLine, Step
from games.gym.outside import contents
from games.gym.states import WAYS, States
from games.user_games import reason_of, refusing

OUTSIDE = (
    "an environment whose generators are its attributes, or seeded in place: its reset makes one that lies "
    "elsewhere, so that a search would know what it draws"
)
"""What is accepted where `States.look_outside` finds a generator that cannot be kept."""
EPISODES, STEPS = 4, 24
"""How many episodes are recorded, and how many steps of each."""
CHECKED = 2
"""How many of these episodes each way of keeping positions has to repeat, from two positions of each."""
REDRAWS = 8
"""How often a method redraws from each of these positions: numbers drawn elsewhere may be equal by chance."""
INTERLEAVED = 10
"""For how many steps two continuations take turns."""
SHORT = 8
"""How many episodes, of 0, 1, 2 and so on steps, are checked for changes outside the environment."""
CHANCES, CHANCE_STEPS = 16, 100
"""Episodes, and steps of each, in which chance is looked for where a table says that there is none."""


class Found(NamedTuple):
    """What was found of an environment."""

    states: States
    chance: bool
    """Whether moves draw random numbers that matter."""
    clairvoyant: bool
    """Whether simulations know what no player can know."""
    guarded: bool
    """Whether moves were only seen to draw nothing so far, so that one that draws later must be an error."""
    examined: tuple[int, int] | None
    """(places examined for what is hidden, places in all); None if it was not looked for."""


class Trial(LinePlayer):
    """Experiments with one environment."""

    def __init__(self, make: Callable[[], Any], actions: Actions, spec: str, unseen: str | None) -> None:
        """``unseen``: the name of the method that redraws what the agent has not seen."""
        super().__init__(actions, spec)
        self._make, self._unseen = make, unseen
        self._reference = States(make, actions)
        self._reference.unseen = unseen

    def examine(self, state: str, chance: str, clairvoyant: bool, lines: int) -> Found:
        """Find the first right way of keeping positions, or test the way ``state``; decide on ``chance`` if
        that is ``auto``.

        ``lines``: in how many of LINES to look for what is hidden, 0 for none. Raises InvalidInput (field
        ``game``) for an environment that cannot be planned on.
        """
        with closing(self._reference), refusing("game", self.spec, "an environment that plays"):
            elsewhere = self._changes_elsewhere() if lines else []
            if elsewhere and not clairvoyant:
                accepted = (
                    "an environment that keeps its state in self, of which copies have their own; resets or "
                    f"steps of this one change {', '.join(elsewhere[:3])} (clairvoyant=yes allows that)"
                )
                raise InvalidInput("game", self.spec, accepted)
            episodes = self._recorded()
            if self._unseen is not None:
                self._look_at_method(episodes, self._unseen)
            states = self._first_right(state, episodes)
            hidden = None
            if lines:
                is_slow = emulator_of(self._reference.env) is not None
                hidden = Hidden(states, self.actions, self.spec, is_slow, lines)
                hidden.search()
            knows = bool(elsewhere) or (clairvoyant if hidden is None else hidden.hides)
            found = self._with_chance(states, episodes, chance, knows, hidden)
            found = found._replace(guarded=found.guarded and not clairvoyant)
            self.reset(states, 0)
        if found.clairvoyant and not clairvoyant:
            states.close()
            left = "" if self._unseen is None else f" that its method {self._unseen} does not redraw"
            more = "" if self._unseen is not None else "unseen=METHOD redraws it, "
            accepted = (
                "an environment whose observation, and draws that can be seeded, decide the future; this one "
                f"hides a part{left}, so that a search would know what no player can ({more}clairvoyant=yes "
                "allows that)"
            )
            raise InvalidInput("game", self.spec, accepted)
        if hidden is not None and hidden.failure is not None and not clairvoyant:
            states.close()
            accepted = (
                "an environment that can be examined for what it hides; this one fails where it draws other "
                f"numbers: {hidden.failure} (clairvoyant=yes allows that)"
            )
            raise InvalidInput("game", self.spec, accepted)
        return found

    def _changes_elsewhere(self) -> list[str]:
        """What resets and steps change outside the environment's object."""
        # What a first episode fills is constant from then on.
        self._random_episode(self._reference, 0, INTERLEAVED)
        before, changed = contents(self._reference.env), dict[str, None]()
        for number in range(SHORT):
            self._random_episode(self._reference, number, number)
            after = contents(self._reference.env)
            changed |= dict.fromkeys(name for name, each in after.items() if before.get(name) != each)
        return [*changed]

    def _recorded(self) -> list[PlayedLine]:
        states = self._reference
        episodes: list[PlayedLine] = []
        kept = states.look_outside(
            lambda: episodes.extend(self._random_episode(states, number, STEPS) for number in range(EPISODES))
        )
        if not kept:
            raise InvalidInput("game", self.spec, OUTSIDE)
        for episode in reversed(episodes):
            again = self._replayed(self._reference, episode.number, episode.moves)
            for step, (one, other) in enumerate(zip(episode.steps, again, strict=False)):
                if one.seen != other.seen:
                    others = ", which draw from generators that others share," if states.outside else ""
                    accepted = (
                        "an environment that reset(seed=...) determines; after the same seed and the same "
                        f"moves its episodes{others} differed at step {step}"
                    )
                    raise InvalidInput("game", self.spec, accepted)
        return episodes

    def _first_right(self, wanted: str, episodes: list[PlayedLine]) -> States:
        reasons = []
        for way in WAYS:
            if wanted not in ("auto", way.kind):
                continue
            states: States | None = None
            try:
                states = way(self._make, self.actions)
                states.unseen = self._unseen
                self.reset(states, 0)
                if self._reference.outside:
                    states.look_outside(partial(self._replay_all, states, episodes))
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
            "game", self.spec, f"an environment whose state can be kept ({'; '.join(reasons)})"
        )

    def _replay_all(self, states: States, episodes: list[PlayedLine]) -> None:
        for episode in episodes:
            self._replayed(states, episode.number, episode.moves)

    def _look_at_method(self, episodes: list[PlayedLine], name: str) -> None:
        """Raise InvalidInput for a method that does not do what it should with what is seen and drawn."""

        def refuse(accepted: str) -> None:
            raise InvalidInput("game option unseen", name, accepted)

        states = self._reference
        if not states.env.has_wrapper_attr(name) or not callable(states.env.get_wrapper_attr(name)):
            refuse("none, or the name of a method of the environment")
        for episode in episodes[:CHECKED]:
            for begin in _beginnings(episode):
                futures = []
                for _ in range(REDRAWS):
                    steps = self._replayed(states, episode.number, begin)
                    seen = steps[-1].seen[0]
                    legal = [*self.actions.legal(states.env, self.mask)]
                    try:
                        found = states.reseed(episode.number)
                    except Exception as error:
                        refuse(f"a method that runs without arguments ({reason_of(error)})")
                    if comparable(found) != seen:
                        refuse(
                            "a method that changes nothing that has been seen, and returns the observation; "
                            f"this one returned {found}"
                        )
                    if [*self.actions.legal(states.env, self.mask)] != legal:
                        refuse("a method that does not change which actions are legal")
                    rest = self.random_steps(states, random.Random(episode.number), STEPS, [])
                    futures.append([step.seen for step in rest])
                if any(future != futures[0] for future in futures):
                    refuse("a method that draws from generators of the environment alone")

    def _fault(self, states: States, episodes: list[PlayedLine]) -> str | None:
        """What is wrong with a way of keeping positions; None if nothing was found.

        From one position the recorded moves and others are played, in turns of one step each. Both must come
        out as in an environment that plays either from its start.
        """
        for episode in episodes[:CHECKED]:
            for begin in _beginnings(episode):
                cut, detour = len(begin), list[int]()
                self._replayed(self._reference, episode.number, begin)
                if self._unseen is not None:
                    self._reference.reseed(cut)
                expected = self.random_steps(self._reference, random.Random(cut), INTERLEAVED, detour)
                self._replayed(states, episode.number, begin)
                kept = [states.save()] * 2
                if self._unseen is not None:
                    states.restore(kept[1])
                    states.reseed(cut)
                    kept[1] = states.save()
                lines = [(episode.moves[cut:], episode.steps[cut + 1 :]), (detour, expected)]
                for turn in range(INTERLEAVED):
                    for which, (moves, steps) in enumerate(lines):
                        if turn < len(moves):
                            states.restore(kept[which])
                            if self.step(states, moves[turn]).seen != steps[turn].seen:
                                return f"a copy played differently at step {cut + turn + 1}"
                            kept[which] = states.save()
        return None

    def _with_chance(
        self, states: States, episodes: list[PlayedLine], chance: str, knows: bool, hidden: Hidden | None
    ) -> Found:
        draws = any(step.drew for episode in episodes for step in episode.steps)
        drew = draws or (hidden is not None and hidden.drew)
        table = _table_has_chance(self._reference.env)
        happens = chance == "yes" or self._unseen is not None
        if chance == "auto" and not happens:
            happens = bool(table) or (drew and (table is None or self._differs(states)))
        knows = knows or (chance == "no" and hidden is not None and drew and self._differs(states))
        # What every process finds, for whom the whole spec says that there is none.
        guarded = not happens and not draws and bool(states.drawn())
        return Found(states, happens, knows, guarded, (hidden.examined, PLACES) if hidden else None)

    def _differs(self, states: States) -> bool:
        """Whether the same moves had different outcomes after other seeds."""
        for number in range(CHANCES):
            self.reset(states, number)
            start, moves = self.keep(states), list[int]()
            states.reseed(0)
            first = self.random_steps(states, random.Random(number), CHANCE_STEPS, moves)
            for seed in (1, 2):
                self.go_to(states, start)
                states.reseed(seed)
                if self.departs(states, moves, first):
                    return True
        return False

    def _random_episode(self, states: States, number: int, steps: int) -> PlayedLine:
        first = self.reset(states, number)
        moves: list[int] = []
        rest = self.random_steps(states, random.Random(number), steps, moves)
        return PlayedLine(number, moves, [first, *rest], [], [])

    def _replayed(self, states: States, number: int, moves: list[int]) -> list[Step]:
        return [self.reset(states, number), *(self.step(states, move) for move in moves)]


def _beginnings(episode: PlayedLine) -> list[list[int]]:
    """No moves, and the first half of those that were recorded."""
    return [episode.moves[:cut] for cut in sorted({0, len(episode.moves) // 2})]


def _table_has_chance(env: Any) -> bool | None:
    """Whether the table of transitions that environments of toy_text have holds chances; None without one."""
    table: Any = getattr(env.unwrapped, "P", None)
    try:
        return any(row[0] < 1.0 for moves in table.values() for rows in moves.values() for row in rows)
    except (AttributeError, TypeError, IndexError):
        return None
