"""Environments of gymnasium as problems: how their states are kept, chance, masks, and what is refused."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import games
from games import InvalidInput, catalogue
from games.errors import BrokenGame
from games.game import CHANCE, Game, State
from games.gym.table import TableGame
from games.rng import new_stream
from tests.games import gym_environments
from tests.games.common import JIT
from tests.games.tabular import blackjack_optimum, exact_values

gymnasium = pytest.importorskip("gymnasium")

FILE = str(Path(__file__).with_name("gym_environments.py"))
LAKE = "gym:FrozenLake-v1:model=environment"
PLAYS = 300 if JIT else 40


def own(name: str, options: str = "") -> str:
    """The spec of an environment of gym_environments.py."""
    return f"gym:{FILE}:{name}{options}"


def act(game: Game, state: State, move: int) -> None:
    """Play a move, and in a closed loop what is seen after it."""
    game.rules.play(state, move)
    if game.closed_loop and not game.rules.is_terminal(state):  # type: ignore[attr-defined]
        assert game.rules.current_player(state) == CHANCE
        game.rules.play(state, game.legal_moves(state)[0])


def rolled_out(game: Game, state: State, seed: int) -> tuple[float, list[int]]:
    """A random line from a position, in an open loop with a seed of its own: the return and the moves."""
    stream, line = new_stream(seed), np.zeros(game.max_plies, dtype=np.uint16)
    work = state.copy()
    if game.rules.determinize is not None:
        game.rules.determinize(game.observation(state, 0), work, stream)
    assert game.rules.rollout is not None
    total, plies = game.rules.rollout(work, np.zeros(game.max_moves, dtype=np.uint16), stream, line)
    assert game.rules.is_terminal(work)
    return total, line[:plies].tolist()


@pytest.mark.parametrize(
    ("name", "steps", "value"),
    [
        ("FrozenLake-v1", 100, 0.7442),
        ("FrozenLake8x8-v1", 200, 0.9132),
        ("Taxi-v4", 200, 7.93),
        ("CliffWalking-v1", 200, -13.0),
        ("CliffWalkingSlippery-v1", 1000, -64.7092),
    ],
)
def test_the_truth_about_tables(name: str, steps: int, value: float) -> None:
    game = games.load(f"gym:{name}:steps={steps}")
    assert isinstance(game, TableGame)
    starts = gymnasium.make(name).unwrapped.initial_state_distrib
    assert starts @ exact_values(game)[steps].max(axis=1) == pytest.approx(value, abs=5e-5)


def test_the_truth_about_blackjack() -> None:
    assert blackjack_optimum() == pytest.approx(-0.0431, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "chance", "steps"),
    [
        ("FrozenLake-v1", True, 100),
        ("FrozenLake-v1(is_slippery=False,map_name=8x8)", False, 100),
        ("FrozenLake8x8-v1", True, 200),
        ("CliffWalking-v1", False, 1000),
        ("CliffWalkingSlippery-v1", True, 1000),
        ("Taxi-v4", False, 200),
        ("Taxi-v4(is_rainy=True)", True, 200),
        ("Blackjack-v1:clairvoyant=yes", True, 1000),
        ("CartPole-v1", False, 500),
        ("MountainCar-v0", False, 200),
        ("Acrobot-v1", False, 500),
    ],
)
def test_environments_of_gymnasium(name: str, chance: bool, steps: int) -> None:
    """Each plays as in gymnasium, and its positions are kept in the fastest way."""
    game: Any = games.load(f"gym:{name}{',' if ':' in name else ':'}model=environment")
    assert (game.open_loop, game.steps, game.state_handling) == (chance, steps, "copy")
    assert game.has_lines is not chance
    assert games.load(game.spec).spec == game.spec
    arguments = {"is_slippery": False, "map_name": "8x8"} if "map_name" in name else {}
    arguments |= {"is_rainy": True} if "rainy" in name else {}
    env = gymnasium.make(name.partition("(")[0].partition(":")[0], **arguments)
    for episode in (0, 1, 7):
        env.reset(seed=episode)
        state, draw, total, ended = game.episode_state(episode), random.Random(episode), 0.0, False
        for _ in range(60):
            move = draw.choice(game.legal_moves(state))
            act(game, state, move)
            _, reward, terminated, truncated, _ = env.step(move)
            total, ended = total + float(reward), terminated or truncated
            assert game.rules.returns(state) == pytest.approx(total)
            assert game.rules.is_terminal(state) == ended
            if ended:
                break
            # A simulation in between changes nothing.
            rolled_out(game, state, int(state[0]))
        assert np.array_equal(game.parse_position(game.format_position(state)), state)


def test_the_limit_of_steps_truncates() -> None:
    game: Any = games.load("gym:Taxi-v4:steps=20,model=environment")
    state = game.episode_state(3)
    assert len(rolled_out(game, state, 1)[1]) == 20
    for _ in range(20):
        assert not game.rules.is_terminal(state)
        game.rules.play(state, game.legal_moves(state)[0])
    position = game.position(state)
    assert (position.terminated, position.truncated) == (False, True)
    assert game.outcome_text(state) == "return -20 (truncated)"
    for steps in (12, 900):
        assert games.load(f"gym:CartPole-v1(max_episode_steps={steps})").max_plies == steps


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("Walk", "copy"),
        ("Remade", "copy"),
        ("Parts", "copy"),
        ("Script", "replay"),
        ("Cloned", "clone"),
        ("Cloned:state=deepcopy", "deepcopy"),
        ("Parts:state=replay", "replay"),
        ("Coin:state=deepcopy", "deepcopy"),
        ("Coin:state=replay", "replay"),
        ("HeldGenerator", "copy"),
    ],
)
def test_ways_of_keeping_states(name: str, way: str) -> None:
    """Whatever the way: lines come out as in an environment that plays from the start."""
    game: Any = games.load(own(name))
    assert game.state_handling == way
    plain: Any = games.load(own(name.partition(":")[0], ":state=replay"))
    states, twins = ([each.episode_state(episode) for episode in range(3)] for each in (game, plain))
    for turn in range(12):
        for state in states:
            if not game.rules.is_terminal(state):
                line = rolled_out(game, state, turn)
                assert line == rolled_out(plain, twins[state[4]], turn)
                act(game, state, line[1][0])
                act(plain, twins[state[4]], line[1][0])
                assert game.rules.returns(state) == plain.rules.returns(twins[state[4]])


def test_a_way_that_is_wrong_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"deepcopy: AttributeError: 'Remade' object"):
        games.load(own("Remade", ":state=deepcopy"))
    with pytest.raises(InvalidInput, match=r"deepcopy: TypeError: cannot pickle 'generator' object"):
        games.load(own("Script", ":state=deepcopy"))
    with pytest.raises(InvalidInput, match=r"copy: a copy played differently at step 1"):
        games.load(own("Cloned", ":state=copy"))
    with pytest.raises(InvalidInput, match=r"clone: .*no clone_state"):
        games.load(own("Walk", ":state=clone"))


def test_simulations_draw_as_the_table_says() -> None:
    """And none of them with the random numbers of the episode."""
    game: Any = games.load(LAKE)
    table = gymnasium.make("FrozenLake-v1").unwrapped.P
    state, stream = game.episode_state(5), new_stream(2)
    for _ in range(3):
        act(game, state, 2)
    here = game.position(state).observation
    found: Counter[int] = Counter()
    work = state.copy()
    for _ in range(10 * PLAYS):
        game.rules.determinize(game.observation(state, 0), work, stream)
        game.rules.play(work, 1)
        found[game.position(work).observation] += 1
    expected: Counter[int] = Counter()
    for chance, after, _, _ in table[here][1]:
        expected[after] += chance * 10 * PLAYS
    assert found.keys() == expected.keys()
    # For two degrees of freedom 13.8 is exceeded once in a thousand.
    assert sum((found[key] - expected[key]) ** 2 / expected[key] for key in expected) < 13.8


@pytest.mark.parametrize(
    "name",
    [
        *("Coin", "Coin:loop=open", "Coin:state=deepcopy", "HeldGenerator"),
        *("SharedCoin", "SharedCoin:chance=yes", "ModuleCoin:state=deepcopy"),
        *("Unseen:unseen=redraw", "Unseen:unseen=redraw,loop=open", "Deck:unseen=redraw_anew"),
    ],
)
def test_a_planner_does_not_see_the_future(name: str) -> None:
    """Who saw the draws of the episode would guess every coin."""
    game, guessed, coins = games.load(own(name)), 0.0, 0
    assert game.open_loop
    for episode in range(PLAYS // 5):
        state = game.episode_state(episode)
        for _ in range(2):
            worth = [0.0, 0.0]
            for move in (0, 1):
                for seed in range(4):
                    work, stream = state.copy(), new_stream(episode, move, seed)
                    assert game.rules.determinize is not None
                    game.rules.determinize(game.observation(state, 0), work, stream)
                    before = game.rules.returns(work)
                    game.rules.play(work, move)
                    worth[move] += game.rules.returns(work) - before
            before = game.rules.returns(state)
            act(game, state, int(np.argmax(worth)))
            guessed, coins = guessed + game.rules.returns(state) - before, coins + 1
    assert abs(guessed / coins - 0.5) < 3.5 * 0.5 / coins**0.5


@pytest.mark.slow
def test_simulations_repeat_in_another_process() -> None:
    code = (
        "import sys, games; from tests.games.test_gym import digest; print(digest(games.load(sys.argv[1])))"
    )
    for spec in (LAKE, "gym:CartPole-v1", own("HeldGenerator")):
        done = subprocess.run(
            [sys.executable, "-c", code, spec],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
        )
        assert done.stdout.strip() == digest(games.load(spec)), done.stderr


def digest(game: Game) -> str:
    """Some simulations of some episodes, as text."""
    lines = [rolled_out(game, game.episode_state(seed % 3), seed) for seed in range(9)]
    return str([(total, line) for total, line in lines])


def test_rewards_are_discounted_by_their_distance() -> None:
    game, plain = games.load("gym:CartPole-v1:discount=0.5"), games.load("gym:CartPole-v1")
    assert game.discount == 0.5
    state = game.initial_state()
    for seed in range(5):
        (total, line), (whole, same) = rolled_out(game, state, seed), rolled_out(plain, state, seed)
        assert line == same
        assert whole == len(line)
        assert total == pytest.approx(2.0 - 0.5 ** (len(line) - 1))


def test_masks() -> None:
    game = games.load(own("Masks"))
    state = game.initial_state()
    assert game.legal_moves(state) == [1]
    for _ in range(4):
        game.rules.play(state, 1)
    assert game.legal_moves(state) == [0]
    assert games.load(own("Masks", ":mask=none")).legal_moves(state) == [0, 1]


@pytest.mark.parametrize("arguments", ["()", "(where=info)", "(at=1)", "(at=1,where=info)"])
def test_masks_come_with_a_step(arguments: str) -> None:
    """At the first one or later; a step without a mask allows all, and at the end none counts."""
    game = games.load(own("SeenMasks", arguments))
    state = game.parse_position("0:start")
    if "at" not in arguments:
        assert game.legal_moves(state) == [1]
        game.rules.play(state, 1)
    for turn in range(4):
        assert game.legal_moves(state) == [0, 1], turn
        # What is forbidden raises.
        assert [rolled_out(game, state, seed) for seed in range(10)]
        game.rules.play(state, 1)
    assert game.rules.is_terminal(state)


def test_actions_are_numbered() -> None:
    offset = games.load(own("Offset"))
    state = offset.initial_state()
    assert offset.play_text(state, ["4", "4", "3"]) == [1, 1, 0]
    assert offset.rules.returns(state) == 1 + 2 + 1
    many = games.load(own("Many"))
    state = many.initial_state()
    assert [many.format_move(state, move) for move in range(6)] == ["0_0", "0_1", "0_2", "1_0", "1_1", "1_2"]
    assert many.play_text(state, ["1_2", "0_1"]) == [5, 1]
    assert many.rules.returns(state) == 21 + 10


def test_a_class_takes_arguments_and_travels_as_text(tmp_path: Path) -> None:
    spec = own("Walk", "(at=3):steps=7")
    game = games.load(spec)
    assert game.source_text == games.source_of_spec(spec) == Path(FILE).read_text()
    elsewhere = games.load(game.spec.replace(FILE, "./not_here/gym_environments.py"), game.source_text)
    for each in (game, elsewhere):
        state = each.initial_state()
        assert each.max_plies == 7
        each.play_text(state, ["1", "1"])
        assert each.rules.is_terminal(state)
        assert each.rules.returns(state) == 4 + 5


def test_a_module_registers_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_id = "gymnasium.register('Own/Walk-v0', 'tests.games.gym_environments:Walk', max_episode_steps=9)"
    (tmp_path / "registers_own.py").write_text(f"import gymnasium\n{own_id}\n")
    monkeypatch.syspath_prepend(tmp_path)
    game = games.load("gym:registers_own:Own/Walk-v0(at=3):discount=0.5")
    assert game.max_plies == 9
    assert game.spec.startswith("gym:registers_own:Own/Walk-v0(at=3):discount=0.5,steps=9")
    assert games.load(game.spec) is game


def test_a_path_may_have_any_character_but_a_colon(tmp_path: Path) -> None:
    file = tmp_path / "my (odd), dir" / "walk (1),é.py"
    file.parent.mkdir()
    file.write_text(Path(FILE).read_text(), encoding="utf-8-sig")
    game = games.load(f"gym:{file}:Walk(at=3):steps=7")
    assert game.max_plies == 7
    assert games.load(game.spec, game.source_text).initial_state()[0] == 0


def test_positions_are_drawn() -> None:
    game: Any = games.load("gym:FrozenLake-v1(is_slippery=False):model=environment")
    state = game.initial_state()
    game.play_text(state, ["2", "1"])
    rows = game.board(state).rows
    assert ["".join(cell.text for cell in row) for row in rows] == [
        "  (Down)",
        "SFFF",
        "FHFH",
        "FFFH",
        "HFFG",
    ]
    assert [(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell.last] == [(2, 1)]
    assert str(game.position(state)) == "step 2, return 0, terminated, observation 5"
    game = games.load("gym:CartPole-v1")
    shown = ["".join(cell.text for cell in row) for row in game.board(game.initial_state()).rows]
    start = gymnasium.make("CartPole-v1").reset(seed=0)[0]
    assert shown == [f"{number:.3g}" for number in start.tolist()]


def test_positions_of_simulations_read_back() -> None:
    game: Any = games.load(LAKE)
    state, stream = game.episode_state(4), new_stream(1)
    assert game.format_position(state) == "4:start"
    for plies in range(3):
        work = state.copy()
        game.rules.determinize(game.observation(state, 0), work, stream)
        for _ in range(3):
            again = game.parse_position(game.format_position(work))
            assert np.array_equal(again, work)
            assert game.position(again).observation == game.position(work).observation
            if not game.rules.is_terminal(work):
                act(game, work, 1)
        act(game, state, plies)
    for wrong in ("4:~0", "4:0/~x", "4:~5/~5", "4:0/~9223372036854775807"):
        with pytest.raises(InvalidInput, match="position"):
            game.parse_position(wrong)
    with pytest.raises(InvalidInput, match="position"):
        games.load("gym:CartPole-v1").parse_position("0:~5")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("gym:Nope-v1", r"an environment of gymnasium \("),
        ("gym:os:Nope-v1", r"an environment of gymnasium \("),
        ("gym:no_such_module:Nope-v1", "a module that can be imported, .*No module named 'no_such_module'"),
        ("gym:a:b:Nope-v1", r"gym:ENV\(KEY=VALUE"),
        ("gym:", "gym:ENV|name"),
        ("gym:CartPole-v1(a)", r"gym:ENV\(KEY=VALUE"),
        ("gym:CartPole-v1(no_such=1)", "an environment that can be made"),
        ("gym:CartPole-v1:no_such=1", "discount, steps, chance, state, clairvoyant, loop, mask"),
        ("gym:CartPole-v1:discount=1.5", "a number above 0 and up to 1"),
        ("gym:CartPole-v1:steps=0", "a whole number from 1"),
        ("gym:CartPole-v1(render_mode=human)", r"no render_mode=human \(drop it\)"),
        ("gym:Pendulum-v1", r"Discrete or MultiDiscrete space, not a Box\(1,\)"),
        ("gym:Blackjack-v1", "clairvoyant=yes"),
        (own("Boxed"), r"not a Box\(2,\)"),
        (own("Nothing"), "a file that defines Nothing"),
        (own("Cup"), "a gymnasium.Env, not a Cup"),
        (own("NotANumber"), "the reward is nan"),
        (own("Unseeded"), r"an environment with reset\(seed=...\)"),
        (own("GlobalRandom"), r"reset\(seed=...\) determines.* draw from generators that others share"),
        (own("ClosedCoin"), "its reset makes one that lies elsewhere"),
        (own("Coin", ":chance=no"), "clairvoyant=yes"),
        ("gym:Blackjack-v1", "unseen=METHOD"),
        (own("Unseen"), "unseen=METHOD"),
        (own("Unseen", ":unseen=redraw,chance=no"), "auto or yes with unseen"),
        (own("Unseen", ":unseen=no_such"), "the name of a method"),
        (own("Unseen", ":unseen=coin"), "the name of a method"),
        (own("Unseen", ":unseen=redraw_nothing"), "its method redraw_nothing does not redraw"),
        (own("Unseen", ":unseen=redraw_the_first"), "its method redraw_the_first does not redraw"),
        (own("Unseen", ":unseen=turn_over"), "its method turn_over does not redraw"),
        (own("Unseen", ":unseen=draw_elsewhere"), "draws from generators of the environment alone"),
        (own("Unseen", ":unseen=step_aside"), "changes nothing that has been seen"),
        (own("Unseen", ":unseen=say_nothing"), "returns the observation; this one returned None"),
        (own("Unseen", ":unseen=ask_for_more"), "runs without arguments"),
        (own("Deck", ":unseen=redraw"), "its method redraw does not redraw"),
        (own("Masks", ":mask=no_such"), "the name of a method"),
        (own("Masks", ":mask=none_at_all"), "allow an action until the episode ends"),
        (own("SeenMasks", "(odd=1)"), "allow an action until the episode ends"),
        (own("SeenMasks", "(odd=2)"), "of 2 numbers, each 0 or 1, not "),
        (own("SeenMasks", "(odd=3)"), r"of 2 numbers, each 0 or 1, not \[0.5, 1\]"),
        (own("SeenMasks", "(odd=4,where=info)"), "of 2 numbers, each 0 or 1, not "),
        (own("SeenMasks", "(odd=5)"), "of 2 numbers, each 0 or 1, not 1"),
        ("gym:CartPole-v1:steps=900", r"at most 500, .* which CartPole-v1\(max_episode_steps=900\) lifts"),
        ("gym:CartPole-v1(max_episode_steps=0)", "max_episode_steps from 1 to 100000"),
        (own("wrapped", "(by=limit):steps=9"), "at most 7, the environment.s own limit"),
        ("gym:./no_such_file.py:Walk", "a game file that can be read"),
    ],
)
def test_what_is_refused(spec: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        games.load(spec)
    assert "\n" not in str(caught.value)
    assert caught.value.field.startswith("game")


@pytest.mark.parametrize(
    "name",
    [
        *("Next", "Next:chance=yes", "Next:loop=open", "Next:state=deepcopy", "NoisyNext:state=replay"),
        *("NoisyNext", "SharedNext", "Bag", "Biased", "Hashed", "Door"),
        *(f"Goal(how={how})" for how in ("first", "last", "hand", "sample", "names", "class", "bits")),
        *(f"NoisyStart(how={how})" for how in ("spawned", "copied", "unbound", "hashed", "derived")),
        "NoisyStart(how=replayed)",
    ],
)
def test_what_is_hidden_is_found_whenever_it_was_drawn(name: str) -> None:
    with pytest.raises(InvalidInput, match="this one hides a part"):
        games.load(own(name))
    game: Any = games.load(own(name, "," if ":" in name else ":") + "clairvoyant=yes")
    assert game.clairvoyant


@pytest.mark.parametrize(
    "name",
    [
        *("Shown", "Shuffled", "Rewarded", "Renewed", "Walk", "SharedCoin", "Cycles"),
        *("Bag:unseen=redraw", "Unbound", "Slotted", "Child"),
    ],
)
def test_what_is_hidden_and_matters_to_nothing_is_accepted(name: str) -> None:
    game: Any = games.load(own(name))
    assert (game.open_loop, game.clairvoyant) == (name != "Walk", False)
    # In those of small steps all that is planned is done.
    assert game.examined == (128, 128) or name in ("Shuffled", "Renewed", "Bag:unseen=redraw")


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ("global", "_DECK of gym_environments.py"),
        ("list", "_TABLE of gym_environments.py"),
        ("default", "_kept of gym_environments.py"),
        ("class", "decks of class NoisyStart"),
    ],
)
def test_what_lies_outside_the_object_is_refused_by_name(how: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"keeps its state in self, .* change {name}"):
        games.load(own(f"NoisyStart(how={how})"))
    game: Any = games.load(own(f"NoisyStart(how={how})", ":clairvoyant=yes"))
    assert game.clairvoyant


def test_what_cannot_be_examined_is_refused_or_said() -> None:
    """An exception that other draws bring is not the same as that nothing is hidden."""
    with pytest.raises(
        InvalidInput, match=r"examined for what it hides; .* TypeError: whose generator is this"
    ):
        games.load(own("NoisyStart(how=raises)"))
    game: Any = games.load(own("NoisyStart(how=raises)", ":clairvoyant=yes"))
    assert game.examined == (0, 128)


def test_a_process_that_gets_the_whole_spec_does_not_search_again() -> None:
    found = games.load(own("Next", ":clairvoyant=yes"))
    spec = found.spec.replace("clairvoyant=yes", "clairvoyant=no")
    assert games.load(spec, found.source_text, tried=False).spec == spec
    with pytest.raises(InvalidInput, match="this one hides a part"):
        games.load(spec)


@pytest.mark.parametrize("name", ["SharedCoin", "ModuleCoin"])
def test_generators_of_the_process_are_those_of_each_simulation(name: str) -> None:
    """And go on outside as if there were none."""
    catalogue.forget()
    before, lines = random.getstate(), []
    for way in ("copy", "replay"):
        game, other = (games.load(own(name, f":state={way},loop={loop}")) for loop in ("closed", "open"))
        state = game.episode_state(3)
        act(game, state, 1)
        lines.append([rolled_out(game, state, seed)[0] for seed in range(8)])
        rolled_out(other, other.episode_state(4), 1)
        act(game, state, 1)
        lines[-1].append(game.rules.returns(state))
    assert lines[0] == lines[1]
    assert len(set(lines[0])) > 2
    assert random.getstate() == before
    env = gym_environments.__dict__[name]()
    env.reset(seed=3)
    assert lines[0][-1] == env.step(1)[1] + env.step(1)[1]


@pytest.mark.parametrize("name", ["Unseen:unseen=redraw", "Deck:unseen=redraw_anew"])
def test_what_is_unseen_is_redrawn_whatever_the_way(name: str) -> None:
    """And neither the episode nor another simulation is changed by it."""
    ways = [games.load(own(name, f",state={way}")) for way in ("copy", "deepcopy", "replay")]
    for episode in range(3):
        states = [game.episode_state(episode) for game in ways]
        for turn in range(4):
            lines = [
                [rolled_out(game, state, seed) for seed in (turn, turn + 1, turn)]
                for game, state in zip(ways, states, strict=True)
            ]
            assert lines[0] == lines[1] == lines[2]
            assert lines[0][0] == lines[0][2]
            for game, state in zip(ways, states, strict=True):
                act(game, state, turn % 2)
            assert len({game.rules.returns(state) for game, state in zip(ways, states, strict=True)}) == 1
        env = gym_environments.__dict__[name.partition(":")[0]]()
        env.reset(seed=episode)
        total = sum(env.step(turn % 2)[1] for turn in range(4))
        assert ways[0].rules.returns(states[0]) == total


def test_a_method_that_changes_later_what_is_seen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    game: Any = games.load(own("Unseen", ":unseen=redraw"))
    state = game.initial_state()
    monkeypatch.setattr(type(game._stage.states.env), "redraw", lambda self: 7)
    with pytest.raises(BrokenGame, match="redraw: returned 7, not 0 as was seen"):
        rolled_out(game, state, 1)


@pytest.mark.parametrize("error", ["RuntimeError", "SystemExit"])
def test_errors_of_a_step_are_told_in_one_line(error: str) -> None:
    game = games.load(own(f"Raises(error={error})"))
    state = game.initial_state()
    for _ in range(8):
        game.rules.play(state, 9)
    with pytest.raises(InvalidInput, match=f"step: raised {error}: seven is too far") as caught:
        game.rules.is_terminal(state)
    assert "\n" not in str(caught.value)
    # The next line is as good as any.
    assert game.legal_moves(game.initial_state()) == [*range(10)]


def test_draws_that_the_trial_did_not_meet_are_noticed() -> None:
    game = games.load(own("RareDraw"))
    assert not game.open_loop
    state = game.initial_state()
    for _ in range(8):
        game.rules.play(state, 9)
    with pytest.raises(
        InvalidInput, match=r"chance=yes \(moves draw random numbers; at first after 8 moves\)"
    ):
        game.rules.returns(state)
    assert games.load(own("RareDraw", ":chance=yes")).open_loop


def test_services_refuse_files_and_texts() -> None:
    assert games.load("gym:FrozenLake-v1(map_name=8x8)", files=False).max_plies == 200
    with pytest.raises(InvalidInput, match="a name, not a file"):
        games.load(own("Walk"), files=False)
    for wrong, reason in (
        ("CartPole-v1(xml_file=./model.xml)", "others may name files"),
        ("CartPole-v1(render_mode=rgb_array)", "without render_mode"),
        ("os:CartPole-v1", "not a file or a module"),
        ("CartPole-v1:mask=close", "others name methods"),
        ("Blackjack-v1:unseen=close", "unseen=none: others name methods"),
    ):
        with pytest.raises(InvalidInput, match=reason) as refused:
            games.load(f"gym:{wrong}", files=False)
        assert (refused.value.field, refused.value.value) == ("game", f"gym:{wrong}")


def test_without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(InvalidInput, match=r"gymnasium to be installed: pip install gymnasium"):
        games.load("gym:CartPole-v1(render_mode=None)")


def test_threads_share_a_game() -> None:
    """As several searches in one process do."""
    game = games.load(LAKE)
    expected = [rolled_out(game, game.episode_state(seed % 4), seed) for seed in range(PLAYS)]
    wrong: list[bool] = []

    def check(begin: int) -> None:
        with np.errstate(over="ignore"):
            found = [rolled_out(game, game.episode_state(seed % 4), seed) for seed in range(begin, PLAYS)]
        wrong.append(found != expected[begin:])

    threads = [threading.Thread(target=check, args=(begin,)) for begin in (0, 1, 2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == [False, False, False]
