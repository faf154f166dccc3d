"""Environments with a table of their transitions, such as toy_text of gymnasium, compiled.

``env.unwrapped.P[state][action]`` is a list of (probability, next state, reward, whether the episode ends).
Where there is one, and every step is drawn from it, a search needs no environment: it draws from the table,
in compiled code, a thousand times as fast. What came of a move is a move of chance, its next state, so the
tree branches on it. The moves of an episode are played in the environment itself, where each step has to be
an outcome of the table.

A state is float64[HEADER + rows]: see the constants. Rows hold, for each state and action, up to ``width``
outcomes of FIELDS numbers each; outcomes with equal next state, reward and end are one.
"""

from __future__ import annotations

import copy
import pickle
import random
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput, foreign
from games.game import Board, Game, State
from games.gym.environment import Actions, close, draws_states, text_of_state
from games.gym.generators import Use
from games.jit import Int, inner_njit, njit
from games.python_game import board_of
from games.rng import Stream, below, uniform
from games.rules import CHANCE, MAX_MOVE_CODE, Moves, Rules

AT, STEPS, LIMIT, ACTION, SCORE, ENDED, ACTIONS, WIDTH, HEADER = range(9)
"""Places in a state: the environment's state, the steps so far and the most of an episode, the action whose
outcome is due (-1: none), the sum of rewards, whether the episode has ended by itself, the number of actions,
and of outcomes that a row has room for."""
NEXT, REWARD, PROBABILITY, END, FIELDS = range(5)
"""Places in an outcome. Unused outcomes of a row have the probability 0; all those of masked actions are
unused."""
CHECKED_STEPS, CHECKED_STARTS = 1000, 200
"""Steps, at least, and starts in which the environment is compared with its table."""
MOST_ENTRIES = 100_000
"""The most numbers of a table, which each simulation copies."""

Table = list[list[list[tuple[float, int, float, bool]]]]
"""By state and action: outcomes as (probability, next state, reward, whether the episode ends)."""


@inner_njit
def row_of(state: State, action: Int) -> int:
    """Where in the state the outcomes of an action begin."""
    row = np.int64(state[AT]) * np.int64(state[ACTIONS]) + np.int64(action)
    return HEADER + row * np.int64(state[WIDTH]) * FIELDS  # type: ignore[return-value]


@inner_njit
def take(state: State, place: Int) -> None:
    """Go on with the outcome at ``place``; the state is modified in place."""
    state[AT] = state[place + NEXT]
    state[SCORE] += state[place + REWARD]
    state[ENDED] = state[place + END]
    state[STEPS] += 1.0
    state[ACTION] = -1.0


@njit
def current_player(state: State) -> int:
    """0, or CHANCE where the outcome of an action is due."""
    return 0 if state[ACTION] < 0.0 else CHANCE


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the actions, or the numbers of the outcomes of the last one; returns how many."""
    if state[ACTION] < 0.0:
        legal = 0
        for action in range(np.int64(state[ACTIONS])):
            if state[np.int64(row_of(state, action)) + PROBABILITY] > 0.0:
                moves[legal] = action
                legal += 1
        return legal
    place = np.int64(row_of(state, np.int64(state[ACTION])))
    count = 0
    for k in range(np.int64(state[WIDTH])):
        if state[place + FIELDS * k + PROBABILITY] > 0.0:
            moves[count] = k
            count += 1
    return count


@njit
def play(state: State, move: int) -> None:
    """Take an action, whose outcome may be certain, or an outcome; ``state`` is modified in place."""
    if state[ACTION] >= 0.0:
        take(state, np.int64(row_of(state, np.int64(state[ACTION]))) + FIELDS * move)
        return
    place = np.int64(row_of(state, move))
    if state[WIDTH] == 1.0 or state[place + FIELDS + PROBABILITY] == 0.0:
        take(state, place)
    else:
        state[ACTION] = move


@njit
def is_terminal(state: State) -> bool:
    """Whether the episode has ended, or has come to its limit of steps."""
    return bool(state[ENDED] != 0.0) or (state[STEPS] >= state[LIMIT])


@njit
def returns(state: State) -> float:
    """The sum of the rewards so far."""
    return float(state[SCORE])


@njit
def chance(state: State, moves: Moves, stream: Stream) -> int:
    """Draw an outcome of the last action."""
    place = np.int64(row_of(state, np.int64(state[ACTION])))
    left = uniform(stream)
    last = 0
    for k in range(np.int64(state[WIDTH])):
        weight = state[place + FIELDS * k + PROBABILITY]
        if weight > 0.0:
            last = k
            left -= weight
            if left < 0.0:
                break
    return last


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Take uniformly random actions to the end; returns the moves, those of chance among them."""
    plies = 0
    while not (state[ENDED] != 0.0 or state[STEPS] >= state[LIMIT]):
        if state[ACTION] < 0.0:
            play(state, np.int64(below(stream, int(state[ACTIONS]))))  # type: ignore[arg-type]
        else:
            play(state, np.int64(chance(state, moves, stream)))  # type: ignore[arg-type]
        plies += 1
    return plies


@njit
def pack(state: State) -> np.uint64:
    """The environment's state, the action whose outcome is due, and the number of steps left, rounded to
    three binary digits: what is best depends on it, and the more the nearer the end of an episode is."""
    left = np.int64(state[LIMIT]) - np.int64(state[STEPS])
    halved = 0
    while left > 7:
        left >>= 1
        halved += 1
    number = np.uint64(state[AT]) * np.uint64(state[ACTIONS] + 1.0) + np.uint64(state[ACTION] + 1.0)
    return number * np.uint64(256) + np.uint64(8 * halved + left)


RULES = Rules(current_player, legal_moves, play, is_terminal, returns, playout, pack=pack, chance=chance)
CERTAIN_RULES = RULES._replace(chance=None)
"""Where no action has two outcomes."""


class TableGame(Game):
    """An environment of gymnasium that has a table of its transitions."""

    num_players = 1
    rewards = True
    player_names = ("agent",)
    trusted = True

    def __init__(
        self,
        make: Callable[[], Any],
        table: Table,
        actions: Actions,
        spec: str,
        discount: float,
        steps: int,
    ) -> None:
        """``make`` makes the environment; ``table``: as `table_of` gives it, where an action without outcomes
        is masked; ``steps``: the most of an episode."""
        self._make, self._env, self._actions = make, make(), actions
        self._draws = draws_states(self._env)
        self._lock = Use([])
        """Held while the environment is used: several searches may run in one process."""
        self.name, self.source = "gym", spec
        self.discount, self.steps = discount, steps
        self.width = max(len(outcomes) for row in table for outcomes in row)
        self.outcomes: npt.NDArray[np.float64] = np.zeros((len(table), len(table[0]), self.width, FIELDS))
        """By state, action and number of the outcome: what may come of each action."""
        for at, row in enumerate(table):
            for action, outcomes in enumerate(row):
                for k, (probability, after, reward, end) in enumerate(outcomes):
                    self.outcomes[at, action, k] = after, reward, probability, end
        header = np.zeros(HEADER)
        header[[LIMIT, ACTION, ACTIONS, WIDTH]] = steps, -1, len(table[0]), self.width
        self._blank = np.concatenate([header, self.outcomes.ravel()])
        self.rules = CERTAIN_RULES if self.width == 1 else RULES
        if not all(outcomes for row in table for outcomes in row):
            # The playout of these rules takes all actions for legal.
            self.rules = self.rules._replace(playout=None)
        self.max_moves = max(len(table[0]), self.width)
        self.max_plies = steps * (1 if self.width == 1 else 2)
        self.nominal_simulations_per_s = 1e7 / (20 + min(steps, 200))

    def initial_state(self) -> State:
        """The start of episode 0."""
        return self.episode_state(0)

    def episode_state(self, episode: int) -> State:
        """The start that ``reset(seed=episode)`` gives."""
        with self._lock:
            observation, _ = self._env.reset(seed=episode)
        state = self._blank.copy()
        state[AT] = int(observation)
        return state

    def episode_steps(self, episode: int) -> Callable[[State, int], int]:
        """Steps of an environment of its own; see `Game.episode_steps`. Raises InvalidInput (field ``game
        option model``) where one is no outcome of the table."""
        env, rows = self._make(), self.outcomes
        env.reset(seed=episode)

        def step(state: State, action: int) -> int:
            at, number = int(state[AT]), int(state[STEPS]) + 1
            after, reward, terminated, truncated, info = env.step(self._actions.actions[action])
            same = (rows[at, action][:, [NEXT, REWARD, END]] == (after, reward, terminated)).all(axis=1)
            found = np.flatnonzero(same & (rows[at, action, :, PROBABILITY] > 0.0))
            right = len(found) > 0 and (not truncated or bool(terminated) or number == self.steps)
            if right and not (terminated or truncated):
                legal = self._actions.legal(env, self._actions.mask_in(after, info))
                right = np.flatnonzero(rows[int(after), :, 0, PROBABILITY]).tolist() == [*legal]
            if not right:
                accepted = (
                    f"environment: step {number} of episode {episode}, action {self._actions.names[action]} "
                    f"in state {at}, is not in its table P (next state {after}, reward {reward}, terminated "
                    f"{terminated}, truncated {truncated})"
                )
                raise InvalidInput("game option model", "table", accepted)
            return int(found[0])

        weakref.finalize(step, close, env)
        return step

    def is_truncated(self, state: State) -> bool:
        """Whether it was the limit of steps that ended the episode."""
        return bool(state[ENDED] == 0.0)

    def chance_weights(self, state: State) -> dict[int, float]:
        """The probabilities of the table."""
        due = self._due(state)
        return {move: float(due[move, PROBABILITY]) for move in self.legal_moves(state)}

    def format_move(self, state: State, move: int) -> str:
        """The action, as the environment numbers it; of an outcome the next state, and its number if several
        lead there."""
        if state[ACTION] < 0.0:
            return self._actions.names[move]
        ends = self._due(state)[self.legal_moves(state), NEXT].astype(int).tolist()
        return f"s{ends[move]}" if ends.count(ends[move]) == 1 else f"s{ends[move]}#{move}"

    def _due(self, state: State) -> npt.NDArray[np.float64]:
        """float64[width, FIELDS]: the outcomes of the last action."""
        due: npt.NDArray[np.float64] = self.outcomes[int(state[AT]), int(state[ACTION])]
        return due

    def format_position(self, state: State) -> str:
        """The environment's state, the steps so far, the rewards so far, the action whose outcome is due or
        ``-``, and whether the episode has ended by itself, divided by ``/``."""
        action = "-" if state[ACTION] < 0.0 else str(int(state[ACTION]))
        end = "end" if state[ENDED] else "on"
        return f"{int(state[AT])}/{int(state[STEPS])}/{float(state[SCORE])!r}/{action}/{end}"

    def parse_position(self, text: str) -> State:
        state = self._blank.copy()
        states = len(self.outcomes)
        try:
            at, steps, score, action, end = text.split("/")
            state[AT], state[STEPS], state[SCORE] = int(at), int(steps), float(score)
            state[ACTION] = -1 if action == "-" else int(action)
            state[ENDED] = ("on", "end").index(end)
            right = 0 <= state[AT] < states and 0 <= state[STEPS] <= self.steps and np.isfinite(state[SCORE])
            due = -1 <= state[ACTION] < state[ACTIONS] and (action == "-") == (state[ACTION] < 0)
            if not right or not due or (action != "-" and len(self.legal_moves(state)) < 2):
                raise ValueError(text)
        except ValueError:
            accepted = f"STATE/STEPS/REWARDS/-/on with a state below {states} and up to {self.steps} steps"
            raise InvalidInput("position", text, accepted) from None
        return state

    def outcome_text(self, state: State) -> str:
        """The return, and whether the episode was cut off by its limit of steps."""
        return f"return {state[SCORE]:g}" + (" (truncated)" if self.is_truncated(state) else "")

    def board(self, state: State, last_move: int | None = None) -> Board:
        """What the environment draws as text in this state, its highlights in brackets; else the numbers."""
        if self._draws:
            with self._lock:
                drawn = text_of_state(self._env, int(state[AT]))
            return board_of(drawn.strip("\n"))
        said = f"state {int(state[AT])}, step {int(state[STEPS])}, return {state[SCORE]:g}"
        if state[ACTION] >= 0.0:
            said += f", after action {self._actions.names[int(state[ACTION])]}"
        return board_of(said)


def table_of(make: Callable[[], Any], actions: Actions) -> Table | None:
    """By state and action the outcomes (probability, next state, reward, end), none if it is masked; None
    without a table that says all of what the environment does."""
    env = make()
    try:
        inner = env.unwrapped
        env.reset(seed=0)
        if env is not inner or actions.method is not None or not isinstance(inner.P, dict):
            return None
        keys = [int(action) for action in actions.actions]
        table = [[_merged(inner.P[at][key], len(inner.P)) for key in keys] for at in range(len(inner.P))]
        most = max(len(outcomes) for row in table for outcomes in row)
        if len(table) * len(keys) * most * FIELDS > MOST_ENTRIES or most > MAX_MOVE_CODE:
            return None
        return foreign(_checked, inner, actions, table)
    except Exception:
        # Without a table, or with one that is of no use, the environment itself is stepped.
        return None
    finally:
        close(env)


def _merged(outcomes: Any, places: int) -> list[tuple[float, int, float, bool]]:
    """Equal outcomes as one, those without probability left out.

    Raises ValueError where one leads to none of the ``places``, or where probabilities do not add up to 1.
    """
    weights: dict[tuple[int, float, bool], float] = {}
    for probability, after, reward, end in outcomes:
        if probability > 0.0:
            key = (int(after), float(reward), bool(end))
            if not 0 <= key[0] < places:
                raise ValueError(outcomes)
            weights[key] = weights.get(key, 0.0) + float(probability)
    total = sum(weights.values())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(outcomes)
    return [(weight / total, *key) for key, weight in weights.items()]


def _checked(env: Any, actions: Actions, table: Table) -> Table | None:
    """The table without the outcomes of masked actions; None if the environment does anything else.

    Each action is played in each state, which is set from outside, and some after a reset. What comes of it
    must be the outcome that one number of the environment's generator chooses; nothing may change but the
    state, by a reset neither; and masks must depend on the state alone.
    """
    rows, rest, draw = copy.deepcopy(env.P), _rest_of(env), np.random.default_rng(0)
    masks: dict[int, Sequence[int]] = {}
    pairs = [(at, action) for at in range(len(table)) for action in range(len(table[0]))]

    def is_as_before(at: Any, info: dict[str, Any]) -> bool:
        legal = [*actions.legal(env, actions.mask_in(at, info))]
        return bool(env.s == at) and masks.setdefault(int(at), legal) == legal

    def is_drawn(at: int, action: int) -> bool:
        env.s, before = at, env.np_random.bit_generator.state
        draw.bit_generator.state = before
        listed = rows[at][int(actions.actions[action])]
        place = np.argmax(np.cumsum([outcome[0] for outcome in listed]) > draw.random())
        after, reward, terminated, truncated, info = env.step(actions.actions[action])
        drawn = env.np_random.bit_generator.state
        return (
            (after, reward, terminated, truncated) == (*listed[place][1:], False)
            and (drawn == draw.bit_generator.state or (drawn == before and len(table[at][action]) == 1))
            and (terminated or is_as_before(after, info))
        )

    shuffled = random.Random(0)
    for seed in range(CHECKED_STARTS):
        begun = env.reset(seed=seed)
        if rows != env.P or not is_as_before(*begun) or not is_drawn(*shuffled.choice(pairs)):
            return None
        if _rest_of(env) != rest:
            return None
    for _ in range(2 + CHECKED_STEPS // len(pairs)):
        shuffled.shuffle(pairs)
        for number, pair in enumerate(pairs):
            if not is_drawn(*pair) or (number % len(actions.all) == 0 and _rest_of(env) != rest):
                return None
    reached = {after for row in table for outcomes in row for _, after, _, end in outcomes if not end}
    masked = any(len(legal) < len(actions.all) for legal in masks.values())
    if rows != env.P or (masked and not reached <= masks.keys()):
        return None
    return [
        [outcomes if action in masks.get(at, actions.all) else [] for action, outcomes in enumerate(row)]
        for at, row in enumerate(table)
    ]


def _rest_of(env: Any) -> bytes:
    """What the environment holds apart from its state, its table and its generator; raises an exception if it
    holds what cannot be compared."""
    known = ("s", "lastaction", "P", "_np_random", "_np_random_seed")
    return pickle.dumps({name: value for name, value in vars(env).items() if name not in known})
