"""Environments of gymnasium as problems of one player with rewards.

A position of an episode keeps what the environment needs to go on from there. A game has one environment,
which all of its positions use in turns.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from games.compile.watch import said_if_longer
from games.errors import PASSING, BrokenGame, InvalidInput, counted, foreign
from games.game import Board, State
from games.gym.environment import (
    ALE_SIMULATIONS_PER_S,
    ANSI,
    MOST_STEPS,
    Actions,
    close,
    comparable,
    emulator_of,
    maker,
    parse,
    screen_of,
    text_of,
)
from games.gym.generators import Use
from games.gym.hidden import LINES, MOST_NUMBERS, leaves, number_of
from games.gym.states import WAYS, States
from games.gym.table import TableGame, table_of
from games.gym.trial import Found, Trial
from games.python_game import PythonGame, board_of
from games.rules import CHANCE, MAX_MOVE_CODE
from games.spec import Options, Spec
from games.user_games import reason_of, refusing

DEFAULT_STEPS = 1000
"""Steps of an episode that nothing else limits."""
_OVER = object()
"""Stands for what would be saved of the end of a roll-out."""


def game_from_spec(spec: Spec, source: str | None = None, tried: bool = True) -> GymGame | TableGame:
    """The game of a spec; ``source`` is the text of the file that it names. Raises InvalidInput.

    Without ``tried`` an environment whose spec is whole is not searched for what is hidden.
    """
    named = parse(spec)
    options = Options(named.options, "game")
    kinds = tuple(way.kind for way in WAYS)
    discount = options.number("discount")
    if discount is not None and not 0.0 < discount <= 1.0:
        raise InvalidInput("game option discount", discount, "a number above 0 and up to 1")
    steps = options.whole("steps", 0, 1, MOST_STEPS)
    chance = options.choice("chance", "auto", ("auto", "no", "yes"))
    state = options.choice("state", "auto", ("auto", *kinds))
    clairvoyant = options.choice("clairvoyant", "no", ("no", "yes"))
    loop = options.choice("loop", "auto", ("auto", "open", "closed"))
    mask = options.text("mask", "auto", re.compile(r"\w+"), "auto, none, or the name of a method")
    unseen = options.text("unseen", "none", re.compile(r"\w+"), "none, or the name of a method")
    model = options.choice("model", "auto", ("auto", "table", "environment"))
    lines = options.whole("examine", LINES, 1, LINES)
    options.close()
    if unseen != "none" and chance == "no":
        raise InvalidInput("game option chance", chance, "auto or yes with unseen, whose method draws")
    make, limit = maker(named, source)
    if limit is not None and steps > limit:
        lifted = "" if named.path else f", which {named.name}(max_episode_steps={steps}) lifts"
        accepted = f"at most {limit}, the environment's own limit{lifted}"
        raise InvalidInput("game option steps", steps, accepted)
    env = make()
    with refusing("game", named.environment, "an environment with reset(seed=...)"):
        observation, info = foreign(env.reset, seed=0)
    actions = Actions(env, (observation, info), mask, named.environment)
    close(env)
    most = min(steps or limit or DEFAULT_STEPS, MOST_STEPS)
    plain = (state, chance, clairvoyant, loop, unseen) == ("auto", "auto", "no", "auto", "none")
    table = table_of(make, actions) if model != "environment" and (plain or model == "table") else None
    if table is not None:
        tabled = TableGame(make, table, actions, named.environment, discount or 1.0, most)
        tabled.options = {"discount": str(tabled.discount), "steps": most, "model": "table"}
        if mask == "none":
            tabled.options["mask"] = mask
        tabled.source_text = source
        return tabled
    if model == "table":
        accepted = "environment: this one has no table P of its transitions that its steps agree with"
        raise InvalidInput("game option model", model, accepted)
    trial = Trial(make, actions, named.environment, None if unseen == "none" else unseen)
    searched = lines if tried or "auto" in (state, chance) else 0
    with said_if_longer(f"examining what {named.environment} hides, longer with examine={LINES} than with 1"):
        found = foreign(trial.examine, state, chance, clairvoyant == "yes", searched)
    game = GymGame(found, actions, named.environment, discount or 1.0, most, loop)
    game.options = {
        "discount": str(game.discount),
        "steps": game.steps,
        "chance": "yes" if found.chance else "no",
        "state": game.state_handling,
        "clairvoyant": clairvoyant,
        "loop": "closed" if game.closed_loop else "open",
        "mask": mask,
        "model": "environment",
    }
    if unseen != "none":
        game.options["unseen"] = unseen
    if lines != LINES:
        game.options["examine"] = lines
    game.source_text = source
    return game


class Stage:
    """The one environment of a game, which positions use in turns."""

    def __init__(self, found: Found, actions: Actions, steps: int, spec: str) -> None:
        self.states: States = found.states
        self.actions, self.steps, self.spec, self.guarded = actions, steps, spec, found.guarded
        self.drawn = self.states.env.render_mode == ANSI
        """Whether the environment draws itself as text."""
        self.lock = Use(self.states.outside)
        """Held while the environment is used: several searches may run in one process."""
        self.holder: GymPosition | None = None
        """The position that the environment is in; None if in none."""

    def free(self) -> None:
        """Save the position that the environment is in, so that another can have the environment."""
        if self.holder is not None and self.holder.saved is None:
            self.holder.saved = self.states.save()
        self.holder = None

    def give_to(self, position: GymPosition) -> None:
        """Bring the environment into a position."""
        if self.holder is not position:
            self.free()
            self.states.restore(position.saved)
            self.holder = position

    def failed(self, error: BaseException) -> BaseException:
        """What to raise for an exception of the environment, whose state is now unknown."""
        self.holder = None
        if isinstance(error, (InvalidInput, *PASSING)):
            return error
        return BrokenGame(self.spec, f"step: raised {reason_of(error)}")


class GymPosition:
    """A position of an episode; see `games.python_game.PositionObject`."""

    def __init__(self, stage: Stage, episode: int) -> None:
        """The start of an episode."""
        self._stage = stage
        self.saved: Any = None
        """What the environment needs to go on from here; None while it is in this position and not saved."""
        self.total, self.steps = 0.0, 0
        self.terminated = False
        """Whether the episode ended by itself."""
        self.truncated = False
        """Whether it was cut off, as a rule by the limit of steps."""
        with stage.lock:
            stage.free()
            try:
                self.observation, info = foreign(stage.states.reset, episode)
            except Exception as error:
                raise BrokenGame(stage.spec, f"reset: raised {reason_of(error)}") from error
            stage.holder = self
            self._legal = stage.actions.legal(stage.states.env, stage.actions.mask_in(self.observation, info))
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
                seen = foreign(stage.states.reseed, seed)
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
        """0, the only player."""
        return 0

    def legal_moves(self) -> Sequence[int]:
        """The moves that the mask of the environment allows."""
        return self._legal

    def play(self, move: int) -> None:
        """Step forward."""
        self._go_on(lambda _: self._legal.index(move), 1)

    def roll_out(self, draw: Callable[[int], int], discount: float, most: int) -> tuple[list[int], float]:
        """Play uniformly random legal moves, at most that many; returns them, and their discounted rewards.

        Nobody can go on from here afterwards.
        """
        with self._stage.lock:
            played, gains = self._go_on(draw, most)
            # Nothing follows the end of a simulation, so nothing needs to be kept.
            self.saved, self._stage.holder = _OVER, None
        if discount == 1.0:
            return played, float(sum(gains))
        gained, weight = 0.0, 1.0
        for gain in gains:
            gained += weight * gain
            weight *= discount
        return played, gained

    def _go_on(self, draw: Callable[[int], int], most: int) -> tuple[list[int], list[float]]:
        """Play legal moves, whose places are drawn, to the end, or at most that many; returns moves and
        rewards."""
        stage, played, gains = self._stage, [], []
        legal, left = self._legal, min(stage.steps - self.steps, most)
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
                self.total += number_of(sum(gains), stage.spec)
                self._end(terminated, truncated)
            except BaseException as error:
                raise stage.failed(error) from error
        return played, gains

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


def bytes_of(observation: Any) -> bytes:
    """Equal bytes for equal observations."""
    if isinstance(observation, tuple | list):
        return b"".join(bytes_of(part) for part in observation)
    if isinstance(observation, dict):
        return b"".join(bytes_of(observation[name]) for name in sorted(observation))
    return np.asarray(observation).tobytes()


class GymGame(PythonGame):
    """An environment of gymnasium; a move is the number of an action, and the returns are sums of rewards.

    Episode N is what ``reset(seed=N)`` begins. Where moves draw random numbers the game is an open loop: the
    generators of each simulation are seeded anew, so no search sees the random numbers of the episode; a
    method of the environment (``unseen``) may then redraw what the agent has not seen. An episode ends where
    the environment says so, and after ``max_plies`` steps.
    """

    num_players = 1
    rewards = True
    seeded = True
    player_names = ("agent",)
    nominal_simulations_per_s = 1_000.0

    def __init__(
        self, found: Found, actions: Actions, source: str, discount: float, steps: int, loop: str = "auto"
    ) -> None:
        """``steps``: the most of an episode; ``loop``: open, closed, or auto, which is closed if observations
        are whole numbers."""
        self.open_loop = found.chance
        numbers = has_numbers(found.states.env.observation_space)
        self.closed_loop = found.chance and (loop == "closed" or (loop == "auto" and numbers))
        self.steps = steps
        super().__init__()
        self.name, self.source = "gym", source
        self.examined = found.examined
        self.discount, self.max_moves = discount, len(actions.actions)
        self.max_plies = 2 * steps if self.closed_loop else steps
        self.clairvoyant = found.clairvoyant
        """Whether a search knows what a player cannot know."""
        self.state_handling = found.states.kind
        """How positions are kept: ``clone``, ``copy``, ``deepcopy`` or ``replay`` (games/gym/states.py)."""
        self._actions = actions
        self._stage = Stage(found, actions, steps, source)
        if emulator_of(found.states.env) is not None:
            self.nominal_simulations_per_s = ALE_SIMULATIONS_PER_S
        # At the end of the process too: some environments must not outlive the interpreter.
        weakref.finalize(self, found.states.close)

    def new_position(self, episode: int = 0) -> GymPosition:
        """The start of an episode."""
        return GymPosition(self._stage, episode)

    def roll_out(self, position: Any, draw: Callable[[int], int]) -> Sequence[int]:
        """Uniformly random legal moves."""
        return self.rewarded_roll_out(position, draw)[0]

    def rewarded_roll_out(
        self, position: Any, draw: Callable[[int], int], most: int | None = None
    ) -> tuple[Sequence[int], float]:
        """Uniformly random legal moves, at most ``most``, and the sum of their discounted rewards."""
        most = self.steps if most is None else most
        found: tuple[list[int], float] = position.roll_out(draw, self.discount, most)
        return found

    def format_move(self, state: State, move: int) -> str:
        """The action, as the environment numbers it; several numbers are divided by ``_``. What is seen, as a
        number."""
        return str(move) if self._positions.is_to_see(state) else self._actions.names[move]

    def outcome_text(self, state: State) -> str:
        """The return, and whether the episode was cut off by its limit of steps."""
        position = self.position(state)
        return f"return {position.returns():g}" + (" (truncated)" if position.truncated else "")

    def is_truncated(self, state: State) -> bool:
        """Whether the episode was cut off, as a rule by its limit of steps."""
        return bool(self.position(state).truncated)

    def board(self, state: State, last_move: int | None = None) -> Board:
        """What the environment draws as text, its highlights in brackets; else the numbers it shows."""
        position = self.position(state)
        drawn = position.drawing()
        numbers = [f"{number:.3g}" for number in leaves(position.observation)][:MOST_NUMBERS]
        return board_of(drawn.strip("\n") or "\n".join(numbers or ["(no numbers)"]))

    def _current_player(self, state: State) -> int:
        return CHANCE if self._positions.is_to_see(state) else 0


def has_numbers(space: Any) -> bool:
    """Whether the observations of a space are whole numbers, or tuples of them."""
    from gymnasium import spaces

    if isinstance(space, spaces.Tuple):
        return all(map(has_numbers, space.spaces))
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)
