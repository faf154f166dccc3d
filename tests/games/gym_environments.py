"""Environments for the tests of games/gym, each with one peculiarity; they are loaded by this file's path."""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import lru_cache, reduce
from random import randrange
from random import seed as set_seed
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.utils import EzPickle
from gymnasium.wrappers import TimeLimit, TransformAction, TransformReward

# What lies in a module beside its environments, and cannot be written as it is.
UNNAMED, DEEP = lru_cache(lambda: 0), reduce(lambda inner, _: [inner], range(9999), [])


class Walk(Env):
    """Steps to the right and to the left from 0; the reward is where one is, the end is 5 away."""

    action_space: Any = spaces.Discrete(2)
    observation_space: Any = spaces.Discrete(11, start=-5)

    def __init__(self, at: int = 0) -> None:
        self.begin = at

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = self.begin
        return self.at, {}

    def step(self, action: Any) -> Any:
        self.at += 2 * int(action) - 1
        return self.at, float(self.at), abs(self.at) >= 5, False, {}


class Remade(Walk, EzPickle):
    """A deepcopy is a new environment, not where this one is."""

    def __init__(self) -> None:
        Walk.__init__(self)
        EzPickle.__init__(self)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)


class Script(Walk):
    """What it does next lies in a running function, which nothing copies."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self.rows = self._rows()
        return found

    def step(self, action: Any) -> Any:
        self.at += next(self.rows) * (2 * int(action) - 1)
        return self.at, float(self.at), abs(self.at) >= 5, False, {}

    def _rows(self) -> Iterator[int]:
        while True:
            yield 1
            yield 2


class Parts(Walk):
    """Its state lies in objects that know each other."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.board = {"cells": [0] * 11}
        self.player = Player(self)
        return 0, {}

    def step(self, action: Any) -> Any:
        self.player.move(2 * int(action) - 1)
        cells = self.board["cells"]
        return np.array(cells), float(cells[5 + self.at]), abs(self.at) >= 5, False, {}


class Player:
    """Half of the state of Parts."""

    def __init__(self, world: Parts) -> None:
        self.world, self.cells = world, world.board["cells"]

    def move(self, by: int) -> None:
        self.world.at += by
        self.cells[5 + self.world.at] += 1


class Cloned(Walk):
    """Its state lies where copies do not see it, and it has methods for it."""

    __slots__ = ("_where",)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._where = [0]
        return 0, {}

    def step(self, action: Any) -> Any:
        self._where[0] += 2 * int(action) - 1
        return self._where[0], float(self._where[0]), abs(self._where[0]) >= 5, False, {}

    def clone_state(self) -> int:
        return self._where[0]

    def restore_state(self, state: int) -> None:
        self._where = [state]


class Coin(Walk):
    """Guess what is drawn, five times."""

    def draw(self) -> int:
        return int(self.np_random.integers(2))

    def step(self, action: Any) -> Any:
        self.at += 1
        coin = self.draw()
        return self.at, float(coin == action), self.at >= 5, False, {"coin": coin}


class HeldGenerator(Coin):
    """A part of it holds a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.cup = Cup()

    def draw(self) -> int:
        return int(self.cup.generator.integers(2))


class Cup:
    """A part of HeldGenerator."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng()


class GlobalRandom(Coin):
    """Draws from what all of Python shares."""

    def draw(self) -> int:
        return random.randrange(2)


class RareDraw(Walk):
    """Draws only where random play hardly comes."""

    action_space = spaces.Discrete(10)

    def step(self, action: Any) -> Any:
        self.at = self.at + 1 if action == 9 else 0
        reward = float(self.np_random.random()) if self.at >= 8 else 0.0
        return self.at, reward, self.at >= 9, False, {}


class Masks(Walk):
    """Never to the left of 0."""

    def action_masks(self) -> Any:
        return np.array([self.at > 0, self.at < 4])

    def none_at_all(self) -> Any:
        return np.zeros(2, dtype=bool)


ODD_MASKS: list[Any] = [None, [0, 0], [1, 1, 1], [0.5, 1], ["yes", "no"], 1]


class SeenMasks(Walk):
    """The mask comes with each step but where one is at 1, and what it forbids raises."""

    def __init__(self, at: int = 0, where: str = "observation", odd: int = 0) -> None:
        super().__init__(at)
        self.where, self.odd = where, ODD_MASKS[odd]

    def seen(self) -> tuple[Any, dict[str, Any]]:
        usual = np.array([0 < self.at < 5, self.at < 5], dtype=np.int8)
        held = (
            {"action_mask": usual if self.at != 3 or self.odd is None else self.odd} if self.at != 1 else {}
        )
        return (self.at, held) if self.where == "info" else ({"observation": self.at, **held}, {})

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed) and self.seen()

    def step(self, action: Any) -> Any:
        assert self.at > 0 or action == 1
        _, *reward_and_end, _ = super().step(action)
        observation, info = self.seen()
        return observation, *reward_and_end, info


class Offset(Walk):
    """Actions from 3, as numbers of NumPy."""

    action_space = spaces.Discrete(2, start=3)

    def step(self, action: Any) -> Any:
        assert action.item() in (3, 4)
        return super().step(action - 3)


class Many(Walk):
    """Two numbers in one action, an array that does not stay as it is."""

    action_space = spaces.MultiDiscrete([2, 3])

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.at += int(action[0]) - int(action[1])
        reward = float(action[0] + 10 * action[1])
        action[:] = 0
        return self.at, reward, abs(self.at) >= 5, False, {}


class Boxed(Walk):
    """Actions that cannot be counted."""

    action_space = spaces.Box(-1.0, 1.0, (2,))


class Truncating(Walk):
    """Is cut off at its third step."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count = 0
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        self.count += 1
        at, reward, ended, _, info = super().step(action)
        return at, reward, ended, self.count >= 3, info


class Raises(RareDraw):
    """Fails, or ends its process, where random play hardly comes."""

    def __init__(self, error: str) -> None:
        super().__init__()
        self.error = error

    def step(self, action: Any) -> Any:
        if self.at == 7:
            raise vars(builtins)[self.error]("seven is too far")
        return super().step(action)


class NotANumber(Walk):
    """Its rewards are no numbers."""

    def step(self, action: Any) -> Any:
        return self.at, float("nan"), False, False, {}


class Unseeded(Walk):
    """Its reset takes no seed."""

    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


class Unseen(Walk):
    """Guess five coins, each of which lies there, unseen, before it is guessed."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self.coin = int(self.np_random.integers(2))
        return found

    def step(self, action: Any) -> Any:
        self.at += 1
        right = float(action == self.coin)
        self.coin = int(self.np_random.integers(2))
        return self.at, right, self.at >= 5, False, {}

    def redraw(self) -> Any:
        self.coin = int(self.np_random.integers(2))
        return self.at

    def redraw_nothing(self) -> Any:
        return self.at

    def redraw_the_first(self) -> Any:
        return self.redraw() if self.at == 0 else self.at

    def turn_over(self) -> Any:
        self.coin = 1 - self.coin
        return self.at

    def draw_elsewhere(self) -> Any:
        self.coin = random.randrange(2)
        return self.at

    def step_aside(self) -> Any:
        self.at += 1
        return self.redraw()

    def say_nothing(self) -> None:
        self.redraw()

    def ask_for_more(self, more: int) -> Any:
        return self.at + more


class Deck(Unseen):
    """The coins lie in a large deck."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self.deck = self.np_random.integers(2, size=2000)
        return found

    def step(self, action: Any) -> Any:
        right = float(action == self.deck[self.at])
        self.at += 1
        return self.at, right, self.at >= 5, False, {}

    def redraw(self) -> Any:
        self.np_random.shuffle(self.deck[self.at :])
        return self.at

    def redraw_anew(self) -> Any:
        self.deck[self.at :] = self.np_random.integers(2, size=2000 - self.at)
        return self.at


class Emulator:
    """Counts up what it is told in each frame; sticky actions of its own would be refused."""

    def __init__(self) -> None:
        self.settings = {"repeat_action_probability": 0.25}
        self.count = self.frames = 0

    def getFloat(self, name: str) -> float:  # noqa: N802
        return self.settings[name]

    def setFloat(self, name: str, value: float) -> None:  # noqa: N802
        self.settings[name] = value

    def reset_game(self) -> None:
        assert self.settings["repeat_action_probability"] == 0.0
        self.count = self.frames = 0

    def act(self, action: Any, strength: float = 1.0) -> int:
        self.count, self.frames = self.count + int(action), self.frames + 1
        return int(action)

    def cloneState(self, *, include_rng: bool = False) -> tuple[int, int]:  # noqa: N802
        assert include_rng
        return self.count, self.frames

    def restoreState(self, state: tuple[int, int]) -> None:  # noqa: N802
        self.count, self.frames = state

    def getScreenGrayscale(self) -> Any:  # noqa: N802
        screen = np.zeros((13, 10), dtype=np.uint8)
        screen[0, 0], screen[6, 9] = 255, 128
        return screen


class Emulated(Env):
    """An environment of the form of ale-py's: eight steps of one frame, whose reward is the action played."""

    action_space: Any = spaces.Discrete(3)
    observation_space: Any = spaces.Box(0.0, 99.0)
    made = closed = 0

    def __init__(self) -> None:
        self.ale: Any = Emulator()
        type(self).made += 1

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "UP", "FIRE"]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.ale.reset_game()
        return np.float32(0), {}

    def step(self, action: Any) -> Any:
        reward = self.ale.act(int(action))
        return np.float32(self.ale.count), float(reward), self.ale.frames == 8, False, {}

    def clone_state(self, include_rng: bool = False) -> Any:
        return self.ale.cloneState(include_rng=include_rng)

    def restore_state(self, state: Any) -> None:
        self.ale.restoreState(state)

    def close(self) -> None:
        type(self).closed += 1


class Corridor(Env):
    """Four states in a row, with a table: actions 0 and 1 step to the left and to the right; state 3 ends."""

    action_space: Any = spaces.Discrete(2)
    observation_space: Any = spaces.Discrete(4)
    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.P = {at: {a: [self._outcome(at, a)] for a in range(2)} for at in range(4)}

    def _outcome(self, at: int, action: int) -> tuple[float, int, float, bool]:
        after = max(0, at - 1) if action == 0 else min(3, at + 1)
        return 1.0, after, float(after == 3), after == 3

    def mask(self) -> list[int]:
        return [int(self.s > 0), 1]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.s = 0
        return self.s, {"action_mask": self.mask()}

    def step(self, action: Any) -> Any:
        _, self.s, reward, end = self.P[self.s][int(action)][0]
        return self.s, reward, end, False, {"action_mask": self.mask()}

    def render(self) -> Any:
        return "".join("@" if at == self.s else "." for at in range(4))


class OddMasks(Corridor):
    """Forbids the way back, of which its table says nothing."""

    def mask(self) -> list[int]:
        return [0, 1]


class Lake(FrozenLakeEnv):
    """A frozen lake, and something of which its table says nothing."""

    __slots__ = ("_hidden",)

    def __init__(self, odd: str = "", slippery: bool = True) -> None:
        super().__init__(is_slippery=slippery)
        self.odd = odd

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self._hidden, self.used = self.odd == "hides" and seed == 999, 0
        if self.odd == "melts":
            self.P[1][0] = self.P[1][2]
        if self.odd == "begins" and self.np_random.random() < 0.5:
            self.s = 4
        return self.s, found[1]

    def step(self, action: Any) -> Any:
        last = {"remaps": action, "repeats": self.lastaction, "starts": None if self.lastaction else action}
        if last.get(self.odd) == action or (self.odd == "slips" and self.np_random.random() < 0.02):
            action = (action + 2) % 4
        if self.odd == "weighs" and len(self.P[self.s][action]) > 1:
            _, self.s, *rest = self.P[self.s][action][min(2, int(4 * self.np_random.random()))]
            return self.s, *rest, False, {}
        at, reward, end, _, info = super().step(action)
        if self.odd == "melts":
            self.P[1][0] = self.P[1][3]
        self.used += self.odd == "tires"
        return at, reward - 0.5 * (self.odd == "costs"), end, self._hidden or self.used == 20, info


def wrapped(by: str) -> Any:
    """A frozen lake in a wrapper that changes actions, or rewards, or ends episodes."""
    if by == "limit":
        return TimeLimit(Lake(), 7)
    return (
        TransformReward(Lake(), lambda r: r + 1)
        if by == "reward"
        else TransformAction(Lake(), lambda a: 3 - a, None)
    )


class Guess(Walk):
    """Guess what a subclass draws; one sees the step, and a number that it may set."""

    observation_space: Any = spaces.Box(-99.0, 99.0, (2,))
    last = 20

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.shown, self.coins = 0.0, [0]
        self.prepare(seed)
        return np.array([self.at, self.shown]), {}

    def prepare(self, seed: int | None) -> None:
        """Draw what a reset draws."""

    def coin(self, action: int) -> float:
        return self.toss()

    def toss(self) -> int:
        return int(self.np_random.integers(2))

    def step(self, action: Any) -> Any:
        coin = self.coin(int(action))
        self.at += 1
        return np.array([self.at, self.shown]), float(coin == action), self.at >= self.last, False, {}


class Next(Guess):
    """Drawn a step ahead."""

    def coin(self, action: int) -> float:
        self.coins.append(self.toss())
        return self.coins[-2]


class NoisyNext(Next):
    """Each observation is another one."""

    def coin(self, action: int) -> float:
        self.shown = float(self.np_random.normal())
        return super().coin(action)


class SharedNext(NoisyNext):
    """NumPy's own generator."""

    def prepare(self, seed: int | None) -> None:
        np.random.seed(seed)

    def coin(self, action: int) -> float:
        self.shown = np.random.random()
        return super().coin(action)

    def toss(self) -> int:
        return int(np.random.randint(2))


class Bag(Guess):
    """Each of seven pieces once, and then again."""

    def coin(self, action: int) -> float:
        if self.at % 7 == 0:
            self.coins = [*range(7)]
            self.np_random.shuffle(self.coins)
        self.shown = float(self.coins[self.at % 7])
        return self.shown

    def redraw(self) -> Any:
        left = self.coins[self.at % 7 :]
        self.np_random.shuffle(left)
        self.coins[self.at % 7 :] = left
        return np.array([self.at, self.shown])


class Biased(Guess):
    """A coin of which one does not know how fair it is, and a start of its own."""

    def prepare(self, seed: int | None) -> None:
        generator = random.Random(seed)
        self.shown, self.bias = generator.random(), generator.choice([0.2, 0.8])

    def toss(self) -> int:
        return int(self.np_random.random() < self.bias)


class Hashed(Guess):
    """Draws nothing but its start: coins are made of the seed and the step."""

    def prepare(self, seed: int | None) -> None:
        self.shown, self.key = self.np_random.random(), seed

    def toss(self) -> int:
        return random.Random(f"{self.key} {self.at}").randrange(2)


class Door(Guess):
    """A secret that opens a door, late, and for who has taken the key."""

    last = 150

    def prepare(self, seed: int | None) -> None:
        self.secret, self.key = self.toss(), False

    def coin(self, action: int) -> float:
        self.key = self.key or action == 1
        return self.secret if self.key and self.at > 130 else 2


class Shown(Next):
    """Drawn a step ahead, and shown."""

    def coin(self, action: int) -> float:
        found = super().coin(action)
        self.shown = float(self.coins[-1])
        return found


class Shuffled(Guess):
    """A deck that is shuffled before each draw: its order is hidden, and matters to nothing."""

    def prepare(self, seed: int | None) -> None:
        self.cards: list[Any] = [[k] for k in range(7)]
        self.trump = self.cards[3]

    def coin(self, action: int) -> float:
        found = any(card is self.trump for card in self.cards)
        self.np_random.shuffle(self.cards)
        self.shown = float(self.cards[0][0])
        return float(found)


class Renewed(Guess):
    """Each step makes an object that holds the generator."""

    def coin(self, action: int) -> float:
        cup = Cup()
        cup.generator = self.np_random
        self.cups = [cup] * 200
        self.shown = float(cup.generator.normal())
        return self.toss()


class Rewarded(Guess):
    """What is drawn at first decides all, and the first reward tells it."""

    def coin(self, action: int) -> float:
        if self.at == 0:
            self.secret = self.toss()
        return self.secret


class SharedCoin(Guess):
    """Python's own generator, and a start of its own."""

    def prepare(self, seed: int | None) -> None:
        random.seed(seed)
        self.shown = random.random()

    def toss(self) -> int:
        return random.randrange(2)


_GENERATOR = np.random.default_rng(0)


class ModuleCoin(SharedCoin):
    """A generator of this module."""

    def prepare(self, seed: int | None) -> None:
        _GENERATOR.bit_generator.state = np.random.PCG64(seed).state
        self.shown = _GENERATOR.random()

    def toss(self) -> int:
        return int(_GENERATOR.integers(2))


class ClosedCoin(SharedCoin):
    """A generator that each reset makes in a function."""

    def prepare(self, seed: int | None) -> None:
        generator = random.Random(seed)
        self.shown, self.draw = generator.random(), lambda: generator.randrange(2)

    def toss(self) -> int:
        return int(self.draw())


class Goal(Guess):
    """A start that is shown, and a goal that is not, of the same reset."""

    generator = random.Random(0)

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def prepare(self, seed: int | None) -> None:
        draws: dict[str, Callable[[], Any]] = {
            "first": lambda: 1000 * self.np_random.uniform(size=2),
            "last": lambda: [int(self.np_random.integers(1000)) for _ in range(30)][::-1],
            "hand": lambda: self.np_random.permutation(52)[:6],
            "sample": lambda: random.Random(x=seed).sample(range(52), 6),
            "names": lambda: (set_seed(seed), *(randrange(10) for _ in range(9)))[1:],
            "class": lambda: (self.generator.seed(seed), *(self.generator.randrange(10) for _ in range(9)))[
                1:
            ],
            "bits": lambda: np.random.PCG64(seed=seed).random_raw(2),
        }
        goal, *shown = draws[self.how]()
        self.shown = sum(float(each) / 64**place for place, each in enumerate(shown))
        self.goal = int(goal) % 2

    def coin(self, action: int) -> float:
        return self.goal


class Cycles(Guess):
    """Each reset throws away a generator that only the collection of garbage finds."""

    def prepare(self, seed: int | None) -> None:
        self.cup: Any = Cup()
        self.cup.generator, self.cup.itself = np.random.default_rng(seed), self.cup

    def toss(self) -> int:
        return int(self.cup.generator.integers(2))


class NoisyStart(Guess):
    """A start of its own, and coins that lie there: in a deck whose draws are not those of the generator that
    is looked at, elsewhere than in the object, or in numbers that no generator draws any more."""

    decks: Any = [0] * 20

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def prepare(self, seed: int | None) -> None:
        self.shown = self.np_random.random()
        ways: dict[str, Callable[[], Any]] = {
            "spawned": lambda: self.np_random.spawn(1)[0].integers(2, size=20),
            "copied": lambda: deepcopy(self.np_random).integers(2, size=20),
            "unbound": lambda: _INTEGERS(self.np_random, 0, 2, 20),
            "hashed": lambda: [hash((seed, k)) >> 7 & 1 for k in range(20)],
            "derived": lambda: np.random.default_rng([seed or 0, 7]).integers(2, size=20),
            "raises": self._looked_at,
            "replayed": lambda: self.np_random.integers(2, size=20),
            "global": lambda: globals().update(_DECK=self.np_random.integers(2, size=20)),
            "list": lambda: _TABLE.__setitem__(slice(20), self.np_random.integers(2, size=20).tolist()),
            "default": lambda: _kept(self.np_random.integers(2, size=20).tolist()),
            "class": lambda: setattr(type(self), "decks", self.np_random.integers(2, size=20)),
        }
        self.coins = ways[self.how]()
        if self.how == "replayed":
            self.coins = (coin for coin in self.coins)

    def _looked_at(self) -> Any:
        if type(self.np_random) is not type(_GENERATOR):
            raise TypeError("whose generator is this?")
        return self.np_random.integers(2, size=20)

    def toss(self) -> int:
        if self.how == "replayed":
            return int(next(self.coins))
        elsewhere = {"global": _DECK, "list": _TABLE, "default": _kept(), "class": self.decks}
        return int(elsewhere.get(self.how, self.coins)[self.at])


_INTEGERS = np.random.Generator.integers
_DECK: Any = None
_TABLE = [0] * 20


def _kept(put: Any = None, kept: Any = [[0] * 20]) -> Any:  # noqa: B006
    """Keeps a deck in its default."""
    kept[0] = kept[0] if put is None else put
    return kept[0]


class Unbound(Guess):
    """Draws by a method of the type, which takes nothing but a real generator."""

    def prepare(self, seed: int | None) -> None:
        self.shown = self.np_random.random()

    def toss(self) -> int:
        return int(np.random.Generator.integers(self.np_random, 0, 2))


class Slotted(Guess):
    """A part with slots holds a generator, which each reset seeds in place."""

    class Part:
        __slots__ = ("generator",)

    def __init__(self) -> None:
        super().__init__()
        self.part: Any = self.Part()
        self.part.generator = random.Random()

    def prepare(self, seed: int | None) -> None:
        self.part.generator.seed(seed)
        self.shown = self.part.generator.random()

    def toss(self) -> int:
        return int(self.part.generator.randrange(2))


class Child(Guess):
    """Draws from a child of its generator."""

    def prepare(self, seed: int | None) -> None:
        (self.child,) = self.np_random.spawn(1)
        self.shown = self.np_random.random()

    def toss(self) -> int:
        return int(self.child.integers(2))
