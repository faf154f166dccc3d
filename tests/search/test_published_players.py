"""Programs of an article and of theses as players: as their printed code, which slow twins repeat."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

import games
from cluster.lab.sources.counts import sampling_accuracy
from games import InvalidInput
from games.battleship import rules
from games.game import FIRST, Game, State
from games.rng import new_stream
from games.tictactoe import TicTacToe
from search.kernel.logarithms import TABLE
from search.players import Observation, player_of
from search.players.morris_agent import ACTION, PRUNING, VICTORIES, VISITS, printed_search
from tests.games.common import JIT, random_game, start
from tests.search.common import chosen, seen_in
from tests.search.naive_article import find_move
from tests.search.naive_morris_agent import Agent
from tests.search.naive_omniscient import alpha_beta, minimax

GAME = games.load("tictactoe")


@pytest.mark.parametrize("final", ["visits", "score"])
def test_it_moves_as_its_slow_twin_does(final: str) -> None:
    assert isinstance(GAME, TicTacToe)
    compared = 0
    for seed in range(12 if JIT else 3):
        for state, legal, _ in random_game(GAME, seed):
            if len(legal) == 1:
                continue
            seen = seen_in(GAME, state)
            board = [int(state[0] >> cell & 1) + 2 * int(state[1] >> cell & 1) for cell in range(9)]
            choice = player_of(f"article:simulations=150,final={final}", GAME).choose(seen, seed)
            assert choice.move == find_move(board, seen.mover + 1, 150, final == "visits", new_stream(seed))
            assert choice.simulations == 150
            compared += 1
    assert compared > 15


NINE, SMALL = "morris:cap=60", "morris:variant=three,move=any"
MILL, BLOCK = "ww./.../b../....../.../.../b.b w 5 5 8", "w../.w./b../....../.../.../b.b w 5 5 8"
REMOVAL = "www/.../b../....../.../b../bb. wx 5 5 8"
POSITIONS = [
    (NINE, ".../.../.../....../.../.../... w 9 9 0"),
    (NINE, REMOVAL),
    (NINE, "w.w/w.b/.bw/b.w.b./.w./b../bwb w 0 0 30"),
    ("morris:repetition=none,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 0 0 40"),
    ("morris:variant=lasker,cap=60", "w.w/.../..b/..w.b./.../b../b.. b 4 4 20"),
    ("morris:variant=six,cap=30", "w.w/b.b/w..b/.bw/w.b w 0 0 20"),
    ("morris:variant=seven,cap=30", "w.w/b.b/w.w.b/.bw/w.b w 0 0 20"),
    (SMALL, "ww./b.b/.bw w 0 0 8"),
    ("morris:variant=three", "w.b/.w./b.. b 1 1 4"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prune", "integer", "first"),
    [
        ("placing", False, True),
        ("all", False, True),
        ("none", True, True),
        ("tree", False, False),
        ("root", False, True),
    ],
)
@pytest.mark.parametrize(("spec", "position"), POSITIONS)
def test_it_grows_the_tree_of_its_slow_twin(
    spec: str, position: str, prune: str, integer: bool, first: bool
) -> None:
    game = games.load(spec)
    state, simulations = game.parse_position(position), 30 if JIT else 8
    twin = Agent(game, simulations, prune, integer, first, new_stream(5))
    rest = (math.sqrt(2), PRUNING[prune], integer, math.inf if first else 0.0)
    move, tree = printed_search(state, simulations, *rest, TABLE, new_stream(5))
    assert move == twin.find_move(state)
    assert move in game.legal_moves(state)
    expected = [[node.action, node.visits, node.victories] for node in twin.nodes[1:]]
    assert tree[1:, [ACTION, VISITS, VICTORIES]].tolist() == expected


def drawn(spec: str, position: str, options: str = "") -> set[str]:
    """The moves that the agent chooses after one simulation, whatever the seed."""
    player = f"morris-agent:simulations=1{options}"
    return {chosen(player, spec, position, seed)[0] for seed in range(60)}


def test_it_looks_at_mills_then_at_blocks_and_at_all_removals() -> None:
    assert drawn("morris", MILL) == {"g7"}
    assert drawn("morris", BLOCK) == {"d1"}
    assert drawn("morris", REMOVAL) == {"xb2", "xa1", "xd1"}
    assert len(drawn("morris", MILL, ",prune=none")) > 10


def test_of_equal_moves_the_last_is_never_drawn() -> None:
    """The last of the five empty points, in the order of the rules, is the centre."""
    assert drawn(SMALL, "w.b/.../b.w w 1 1 4") == {"b3", "a2", "b1", "c2"}


SOLO = "battleship:task=solo"


def shots_of(game: Game, spec: str, seed: int) -> int:
    """How many shots the player needs for one fleet."""
    player, state, shots = player_of(spec, game), start(game, seed), 0
    while not game.calls.is_terminal(state):
        legal = game.legal_moves(state)
        move = legal[0]
        if not state[rules.PENDING]:
            shots += 1
            if len(legal) > 1:
                move = player.choose(Observation(game, state, FIRST, tuple(legal)), 1000 * seed + shots).move
        assert move in legal
        game.calls.play(state, move)
    return shots


@pytest.mark.parametrize(("depth", "steps"), [*product((1, 2, 3), (50, 80))])
def test_sampling_needs_as_many_shots_as_the_printed_code(depth: int, steps: int) -> None:
    """What is exact is tested in tests/cluster/lab/test_experiment_tables.py."""
    exact = sampling_accuracy({"depth": depth, "steps": steps})["shots"]
    game = games.load(SOLO)
    number = 150 if JIT else 6
    shots = [
        shots_of(game, f"omniscient-sampling:depth={depth},steps={steps}", seed) for seed in range(number)
    ]
    error = max(float(np.std(shots)) / number**0.5, 0.01)
    assert abs(np.mean(shots) - exact) < 5 * error + (0 if JIT else 1)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_both_are_the_printed_recursions(depth: int) -> None:
    game = games.load("battleship:size=4,fleet=3-2-1")
    draw = random.Random(depth)
    for seed in range(6):
        state = _after_shots(game, seed, draw)
        side = int(state[rules.SHOOTER])
        theirs, tried = _afloat(state, side)
        mine, others = _afloat(state, 1 - side)
        seen = Observation(game, state, side, tuple(game.legal_moves(state)))
        for name, naive in (("minimax", minimax), ("alphabeta", alpha_beta)):
            choice = player_of(f"omniscient-{name}:depth={depth}", game).choose(seen, 1)
            score, cell, calls = naive(mine, theirs, tried, others, depth, True, 16)
            assert (choice.move, choice.nodes) == (cell, calls)
            assert choice.thought.endswith(f"score {score:g}")


def test_they_are_told_apart_from_honest_players() -> None:
    game = games.load("battleship")
    for name in ("sampling", "minimax", "alphabeta"):
        player = player_of(f"omniscient-{name}", game)
        assert player.omniscient
        seen = Observation(game, game.initial_state(), FIRST, tuple(range(100)))
        with pytest.raises(InvalidInput, match="dealt"):
            player.choose(seen, 1)


def _after_shots(game: Game, seed: int, draw: random.Random) -> State:
    state = start(game, seed)
    game.calls.determinize(game.observation(game.initial_state(), FIRST), state, new_stream(seed))
    for _ in range(4 * draw.randrange(4)):
        after = state.copy()
        game.calls.play(after, draw.choice(game.legal_moves(state)))
        if game.calls.is_terminal(after):
            break
        state = after
    while state[rules.PENDING]:
        game.calls.play(state, game.legal_moves(state)[0])
    return state


def _afloat(state: State, side: int) -> tuple[list[int], list[int]]:
    """Cells of ships that the side has not hit, and cells that it has tried."""
    area = int(state[rules.AREA])
    cells = state[rules.CELLS + side * area : rules.CELLS + (side + 1) * area].tolist()
    return (
        [cell for cell, value in enumerate(cells) if value >= 16 and not value & 15],
        [cell for cell, value in enumerate(cells) if value & 15],
    )
