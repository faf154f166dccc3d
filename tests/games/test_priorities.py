"""What games say of moves and positions before any search: priorities, greedy moves, named evaluators."""

from __future__ import annotations

import numpy as np
import pytest

import games
from games import Game
from games.compile.rule_stubs import DEFAULTS
from games.compile.specialise import specialise
from games.contract.checking import draw_all
from games.contract.trial import is_return
from games.game import CHANCE, State
from games.rng import new_stream
from tests.games.common import JIT, SPECS, plain, plain_rules, random_game, random_position

WITH_PRIORITY = [spec for spec in SPECS if games.load(spec).rules.priority is not None]
WITH_GREEDY_MOVE = [spec for spec in SPECS if games.load(spec).rules.greedy_move is not None]
WITH_RANDOM_MOVE = [spec for spec in SPECS if games.load(spec).rules.random_move is not None]
WITH_EVALUATORS = [spec for spec in SPECS if games.load(spec).evaluators]


def best_looking(game: Game, state: State) -> list[int]:
    """The legal moves of the highest priority."""
    assert game.calls.priority is not None
    looks = {move: game.calls.priority(state, move) for move in game.legal_moves(state)}
    return [move for move, look in looks.items() if look == max(looks.values())]


def test_the_games_with_much_to_choose_have_priorities() -> None:
    names = {spec.partition(":")[0] for spec in WITH_PRIORITY}
    assert {"gomoku", "morris", "thud"} <= names


@pytest.mark.parametrize("spec", WITH_PRIORITY)
def test_priorities_are_numbers_and_change_nothing(spec: str) -> None:
    game = games.load(spec)
    twin = plain_rules(game.rules).priority
    assert twin is not None and game.calls.priority is not None
    for ply, (state, legal, _) in enumerate(random_game(game, seed=11)):
        if ply % (1 if JIT else 16) == 0:
            before = state.copy()
            looks = [game.calls.priority(state, move) for move in legal]
            assert looks == [twin(state, move) for move in legal]
            assert np.isfinite(looks).all()
            assert np.array_equal(state, before)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        *((spec, "greedy_move") for spec in WITH_GREEDY_MOVE),
        *((spec, "random_move") for spec in WITH_RANDOM_MOVE),
    ],
)
def test_drawn_moves_are_uniform_over_the_best_or_all(spec: str, rule: str) -> None:
    game = games.load(spec)
    default = specialise([DEFAULTS[rule]], game)[rule]
    own, listed = (
        specialise([draw_all], game, {"drawing_rule": each})["draw_all"]
        for each in (getattr(game.rules, rule), default)
    )
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    for plies in (0, 1, 9, 20, 30, 31, 44, 45, 60, 61, 99, 100) if JIT else (0, 31):
        state = random_position(game, 5, plies)
        if game.calls.current_player(state) == CHANCE:
            continue
        before = state.copy()
        best = best_looking(game, state) if rule == "greedy_move" else game.legal_moves(state)
        # Uncompiled, a list for each draw takes minutes, and so do lists for draws of all moves.
        for draw in (own, listed) if JIT and rule == "greedy_move" else (own,):
            drawn = np.zeros(len(best) * (200 if JIT else 20), dtype=np.uint16)
            draw(state, moves, new_stream(43, plies), drawn)
            assert np.array_equal(state, before)
            found, counts = np.unique(drawn, return_counts=True)
            assert set(found.tolist()) <= set(best)
            seen = np.zeros(len(best))
            seen[np.searchsorted(best, found)] = counts
            expected, freedom = len(drawn) / len(best), len(best) - 1
            statistic = ((seen - expected) ** 2 / expected).sum()
            # Mean and variance of chi-square: freedom and twice that.
            assert abs(statistic - freedom) <= 5 * np.sqrt(2 * max(freedom, 1))


@pytest.mark.parametrize("spec", WITH_GREEDY_MOVE)
def test_compiled_greedy_moves_equal_their_plain_twins(spec: str) -> None:
    game = games.load(spec)
    assert game.rules.greedy_move is not None and game.calls.greedy_move is not None
    twin = plain(game.rules.greedy_move)
    streams = [new_stream(47), new_stream(47)]
    moves = np.zeros(game.max_moves, dtype=np.uint16)
    for ply, (state, _, _) in enumerate(random_game(game, seed=13)):
        if ply % (4 if JIT else 16) == 0:
            assert game.calls.greedy_move(state, moves, streams[0]) == twin(state, moves, streams[1])
            assert np.array_equal(streams[0], streams[1])


@pytest.mark.parametrize("spec", WITH_EVALUATORS)
def test_evaluators_stay_in_bounds_and_change_nothing(spec: str) -> None:
    game = games.load(spec)
    assert next(iter(game.evaluators.values())).rule is game.rules.evaluate
    for evaluator in game.evaluators.values():
        twin = plain(evaluator.rule)
        for ply, (state, _, move) in enumerate(random_game(game, seed=17)):
            if ply % (1 if JIT else 16) == 0:
                before = state.copy()
                assert evaluator.rule(state) == twin(state)
                assert is_return(game, twin(state))
                assert np.array_equal(state, before)
            game.rules.play(state, move)
            if game.rules.is_terminal(state) and evaluator.finished:
                assert evaluator.rule(state) == twin(state)
                assert is_return(game, twin(state))
