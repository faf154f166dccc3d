"""Random games side by side with OpenSpiel's rules, where it is installed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import games
from games import Game, pig
from games.errors import InvalidInput
from games.openspiel import BLOCK, HIDDEN, OpenSpielGame
from games.rng import new_stream
from games.rules import CHANCE, MAX_MOVES, State
from tests.games.common import JIT

pyspiel = pytest.importorskip("pyspiel")

PERFECT = [
    kind.short_name
    for kind in pyspiel.registered_games()
    if kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    and kind.default_loadable
]
"""The sequential games with perfect information that load without parameters."""
MORE_PLAYERS = [
    "chinese_checkers(players=3)",
    "kuhn_poker(players=3)",
    "leduc_poker(players=3)",
    "maedn(players=4)",
    "oh_hell(players=4)",
    "pig(players=3)",
    "yacht(players=1)",
    "yacht(players=3)",
]
BADLY_NAMED = ["no_such_game", "mnk(m=zero)", "", "go(board_size=30)", "hex(board_size=200)"]
OTHERS = ["bridge(use_double_dummy_result=False)", "misere(game=tic_tac_toe())", "python_tic_tac_toe"]


@pytest.mark.parametrize(
    ("spec", "theirs"),
    [
        ("tictactoe", "tic_tac_toe"),
        ("connect_four", "connect_four"),
        ("connect_four:rows=5,columns=4", "connect_four(rows=5,columns=4)"),
        ("connect_four:rows=4,columns=12", "connect_four(rows=4,columns=12)"),
        ("connect_four:rows=6,columns=9", "connect_four(rows=6,columns=9)"),
        ("connect_four:rows=14,columns=4", "connect_four(rows=14,columns=4)"),
        ("othello", "othello"),
        ("breakthrough", "breakthrough"),
        ("breakthrough:rows=6,columns=5", "breakthrough(rows=6,columns=5)"),
        ("breakthrough:rows=5,columns=4", "breakthrough(rows=5,columns=4)"),
        ("breakthrough:rows=4,columns=4", "breakthrough(rows=4,columns=4)"),
        ("breakthrough:rows=4,columns=16", "breakthrough(rows=4,columns=16)"),
        ("breakthrough:rows=16,columns=4", "breakthrough(rows=16,columns=4)"),
        ("hex:swap=no", "hex"),
        ("hex", "hex(swap=True)"),
        ("hex:size=4", "hex(board_size=4,swap=True)"),
        ("hex:size=2", "hex(board_size=2,swap=True)"),
        ("hex:size=2,swap=no", "hex(board_size=2)"),
        ("gomoku", "gomoku(size=12)"),
        ("gomoku", "mnk(m=12,n=12,k=5)"),
        ("gomoku:size=7", "mnk(m=7,n=7,k=5)"),
        ("morris:repetition=none", "nine_mens_morris"),
        ("pig", "pig"),
        ("pig:goal=20", "pig(winscore=20)"),
        ("pig:goal=50,moves=30", "pig(winscore=50,horizon=30)"),
        ("pig:goal=10,moves=7", "pig(winscore=10,horizon=7)"),
    ],
)
def test_random_games_agree(spec: str, theirs: str) -> None:
    """Both number cells row by row; that some games' rows begin at the other edge changes no rule."""
    game, other = games.load(spec), pyspiel.load_game(theirs)
    for seed in range(100 if JIT else 5):
        draw = random.Random(seed)
        state, twin = game.initial_state(), other.new_initial_state()
        while not twin.is_terminal():
            assert not game.rules.is_terminal(state)
            assert game.rules.current_player(state) == twin.current_player()
            moves = game.legal_moves(state)
            codes = {move: _code_of(game, move) for move in moves}
            assert [*codes.values()] == sorted(twin.legal_actions())
            if twin.is_chance_node():
                shares = dict(twin.chance_outcomes())
                assert game.chance_weights(state) == pytest.approx({m: shares[codes[m]] for m in moves})
            if game.name == "pig":
                told = f"Scores: {state[0]} {state[1]}, Turn total: {state[pig.TURN]}"
                assert str(twin).startswith(told)
            move = draw.choice(moves)
            game.rules.play(state, move)
            twin.apply_action(codes[move])
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == twin.returns()[0]


def _code_of(game: Game, move: int) -> int:
    """OpenSpiel's number of the move."""
    return move - (1 if move < pig.ROLL else pig.ROLL) if game.name == "pig" else move


@pytest.mark.parametrize("name", ["tic_tac_toe", "mnk(m=5,n=5,k=4)", "hex(board_size=4)"])
def test_plain_parameters_go_on_where_files_are_refused(name: str) -> None:
    assert games.load(f"openspiel:{name}", files=False).name == name.split("(")[0]


def openspiel(name: str) -> OpenSpielGame:
    game = games.load(f"openspiel:{name}", tried=False)
    assert isinstance(game, OpenSpielGame)
    return game


def outcomes_agree(game: Game, state: State, outcomes: list[tuple[int, float]], draw: random.Random) -> int:
    """Check what chance can do, and draw from it; a block of a long list is played."""
    left, share = dict(outcomes), 1.0
    if len(outcomes) > MAX_MOVES:
        blocks = game.chance_weights(state)
        assert sum(blocks.values()) == pytest.approx(1.0)
        assert len(blocks) == -(-len(outcomes) // BLOCK)
        block = draw.choice(sorted(blocks))
        left, share = dict(outcomes[BLOCK * block : BLOCK * (block + 1)]), blocks[block]
        assert game.parse_move(state, game.format_move(state, block)) == block
        game.rules.play(state, block)
        assert game.rules.current_player(state) == CHANCE
        assert not game.rules.is_terminal(state)
    weights = game.chance_weights(state)
    assert {outcome: weight * share for outcome, weight in weights.items()} == pytest.approx(left)
    assert game.legal_moves(state) == sorted(weights)
    drawn = game.rules.chance and game.rules.chance(state, np.zeros(game.max_moves, np.uint16), new_stream(1))
    assert drawn in weights
    return draw.choices(list(weights), list(weights.values()))[0]


def returns_agree(game: Game, state: State, twin: Any, largest: float) -> None:
    returns = twin.returns()
    if game.num_players == 2:
        assert game.rules.returns(state) == returns[0] / largest == pytest.approx(-returns[1] / largest)
        assert -1.0 <= game.rules.returns(state) <= 1.0
        return
    assert game.rules.returns(state) == returns[0]
    assert len(returns) == game.num_players == len(game.player_names)
    if game.num_players > 2:
        assert [game.rules.score and game.rules.score(state, seat) for seat in range(len(returns))] == returns


def test_all_sequential_games_with_perfect_information_are_accepted() -> None:
    assert len(PERFECT) >= 42


@pytest.mark.skipif(not JIT, reason="plain Python in the other run too")
@pytest.mark.parametrize("name", [*PERFECT, *HIDDEN, *MORE_PLAYERS, *OTHERS])
def test_random_games_are_those_of_openspiel(name: str) -> None:
    game, other = openspiel(name), pyspiel.load_game(name)
    largest = max(abs(other.max_utility()), abs(other.min_utility()))
    assert game.has_chance == (other.max_chance_outcomes() > 0)
    for seed in range(3 if JIT else 1):
        draw, kept = random.Random(seed), []
        state, twin = game.initial_state(), other.new_initial_state()
        while not twin.is_terminal():
            assert not game.rules.is_terminal(state)
            assert game.rules.current_player(state) == twin.current_player()
            if game.rewards:
                returns_agree(game, state, twin, largest)
            if twin.is_chance_node():
                move = outcomes_agree(game, state, twin.chance_outcomes(), draw)
            else:
                moves = game.legal_moves(state)
                assert moves == sorted(twin.legal_actions())
                move = draw.choice(moves)
            if draw.random() < 0.05:
                kept.append((state.copy(), twin.clone()))
                assert len(list(game.successors(state))) == len(game.legal_moves(state))
            assert game.parse_move(state, game.format_move(state, move)) == move
            game.rules.play(state, move)
            twin.apply_action(move)
        assert game.rules.is_terminal(state)
        returns_agree(game, state, twin, largest)
        assert (game.parse_position(game.format_position(state)) == state).all()
        for earlier, its_twin in kept:
            assert str(game.position(earlier)) == str(its_twin)
            assert game.rules.current_player(earlier) == its_twin.current_player()


@pytest.mark.parametrize("name", [*PERFECT, *HIDDEN, *MORE_PLAYERS, *OTHERS])
def test_random_playouts_end_within_the_bound(name: str) -> None:
    game = openspiel(name)
    assert game.rules.playout is not None
    for seed in range(3 if JIT else 1):
        state = game.initial_state()
        moves = np.zeros(game.max_moves, np.uint16)
        assert game.rules.playout(state, moves, new_stream(seed)) == state[0] <= game.max_plies
        assert game.rules.is_terminal(state)
        assert game.outcome_text(state)


def decisions(name: str, seed: int, share: float) -> Iterator[tuple[State, Any]]:
    """Positions of a random game in which a player moves, a share of them."""
    game, twin, draw = openspiel(name), pyspiel.load_game(name).new_initial_state(), random.Random(seed)
    state = game.initial_state()
    while not twin.is_terminal():
        if twin.is_chance_node():
            outcomes, weights = zip(*twin.chance_outcomes(), strict=True)
            move = draw.choices(outcomes, weights)[0]
        else:
            if draw.random() < share:
                yield state.copy(), twin.clone()
            move = draw.choice(twin.legal_actions())
        game.rules.play(state, move)
        twin.apply_action(move)


HIDING = [
    *(name for name in HIDDEN if name != "bridge"),
    "bridge(use_double_dummy_result=False)",
    "kuhn_poker(players=3)",
    "leduc_poker(players=3)",
]
"""By default OpenSpiel solves a bridge deal for each determinization, which takes up to a second."""


@pytest.mark.parametrize("name", HIDING)
def test_a_determinization_is_a_position_that_looks_the_same(name: str) -> None:
    game, other = openspiel(name), pyspiel.load_game(name)
    determinize = game.rules.determinize
    assert determinize is not None
    changed = 0
    for seed in range(4):
        for state, twin in decisions(name, seed, 0.3):
            for observer in range(game.num_players):
                view, drawn = game.observation(state, observer), game.initial_state()
                determinize(view, drawn, new_stream(seed, int(state[0])))
                known = game.position(drawn).state.information_state_string(observer)
                assert known == twin.information_state_string(observer)
                assert game.rules.current_player(drawn) == twin.current_player()
                if observer == twin.current_player():
                    assert game.legal_moves(drawn) == sorted(twin.legal_actions())
                # The moves of the drawn position lead to it, and it shows nothing else to the observer.
                replayed = other.new_initial_state()
                for move in game.moves_of(drawn):
                    replayed.apply_action(int(move))
                assert str(replayed) == str(game.position(drawn))
                assert (game.observation(drawn, observer) == view).all()
                changed += not (drawn == state).all()
                shown = game.secret(state, observer)
                assert shown is not None
                assert str(state[0]) in game.format_seen(state)
    assert changed


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "kuhn_poker(players=3)"])
def test_observations_are_equal_exactly_if_the_information_states_are(name: str) -> None:
    game = openspiel(name)
    seen: dict[tuple[int, str], set[bytes]] = {}
    pending = [(game.initial_state(), pyspiel.load_game(name).new_initial_state())]
    while pending:
        state, twin = pending.pop()
        if not twin.is_terminal() and not twin.is_chance_node():
            for observer in range(game.num_players):
                key = observer, twin.information_state_string(observer)
                seen.setdefault(key, set()).add(game.observation(state, observer).tobytes())
        for move, after in game.successors(state):
            pending.append((after, twin.child(move)))
    assert all(len(views) == 1 for views in seen.values())
    assert len(set.union(*seen.values())) == len(seen) > 20


@pytest.mark.parametrize(
    "name",
    [
        "bargaining",
        "battleship",
        "blackjack",
        "colored_trails",
        "crazyhouse(no=1)",
        "euchre",
        "gin_rummy",
        "goofspiel",
        "hanabi",
        "hearts",
        "liars_dice",
        "matrix_rps",
        "mfg_garnet",
        "misere(game=kuhn_poker())",
        "quoridor(players=3)",
        "tiny_hanabi",
        *BADLY_NAMED,
    ],
)
def test_other_games_are_refused_with_what_is_accepted(name: str) -> None:
    with pytest.raises(InvalidInput, match="game") as refused:
        openspiel(name)
    if name not in BADLY_NAMED and not name.startswith(("crazyhouse", "quoridor")):
        assert "perfect information" in refused.value.accepted
        assert all(hidden in refused.value.accepted for hidden in HIDDEN)
