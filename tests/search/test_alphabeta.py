"""Minimax and alpha-beta: against a recursive twin, over every game, and on trees that are drawn."""

from __future__ import annotations

import time
from itertools import product

import pytest

import games
from search.minimax.lookahead import Lookahead, lookahead_of
from tests.games.common import JIT, random_game
from tests.search.naive_minimax import best_moves, score

DEPTHS = {
    "tictactoe": 4,
    "gomoku:size=5": 2,
    "gomoku:size=7,candidates=1": 3,
    "grundy:pile=12": 5,
    "morris": 2,
    "morris:variant=three": 4,
    "morris:variant=six,repetition=none": 3,
    "morris:variant=lasker": 2,
    "thud:ruleset=seed": 1,
}
EVERY = 8 if JIT else 32
"""Positions of a random game to the next one that is searched: the twin is slow."""


def _looking(spec: str) -> tuple[games.Game, Lookahead]:
    game = games.load(spec)
    return game, lookahead_of(game, next(iter(game.evaluators), "default"))


@pytest.mark.parametrize("spec", DEPTHS)
def test_values_and_best_moves_equal_the_recursive_twins(spec: str) -> None:
    """One best move takes no more positions than all. Lines lead to positions of the root's value."""
    game, lookahead = _looking(spec)
    for ply, (state, _, _) in enumerate(random_game(game, seed=3, max_plies=60)):
        for depth in range(1, DEPTHS[spec] + 1) if ply % EVERY == 0 else ():
            before, (value, positions) = state.copy(), score(game, state, depth)
            best = best_moves(game, state, depth)
            for prunes, ordered in product((False, True), repeat=2):
                limits = lookahead.limits(depth, prunes=prunes, ordered=ordered)
                found = lookahead.search(state, limits)
                assert (found.value, list(found.best_moves)) == (value, best)
                if prunes:
                    assert found.positions <= positions
                else:
                    assert found.positions == positions and found.cuts == 0
                one = lookahead.search(state, limits._replace(finds_ties=False))
                assert one.value == value and one.positions <= found.positions
                assert one.line[0] == one.best_moves[0] in best
                assert (state == before).all()
                for line in (found.line, one.line):
                    end = state.copy()
                    for move in line:
                        assert move in game.legal_moves(end)
                        game.calls.play(end, move)
                    assert score(game, end, 0, len(line))[0] == value
                    assert len(line) == depth or game.calls.is_terminal(end)


def test_tic_tac_toe_is_searched_to_the_end_of_its_games() -> None:
    game, lookahead = _looking("tictactoe")
    state = game.initial_state()
    if not JIT:
        game.play_text(state, ["a1", "b2", "c3"])
    found = lookahead.search(state, lookahead.limits(9, prunes=False))
    assert found.complete and found.value == 0.0
    if JIT:
        # The complete games of tic-tac-toe, and the positions of its tree.
        assert (found.leaves, found.positions) == (255_168, 549_946)
    pruned = lookahead.search(state, lookahead.limits(9))
    assert pruned.complete and pruned.best_moves == found.best_moves
    assert pruned.positions < found.positions / (5 if JIT else 2) and pruned.cuts > 0


@pytest.mark.parametrize(
    ("moves", "move", "sign"),
    [("a1 b1 a2 b2", "a3", 1), ("a1 b1 a2 b2 c1", "b3", -1)],
    ids=["first player", "second player"],
)
def test_a_win_now_is_better_than_a_win_later(moves: str, move: str, sign: int) -> None:
    game, lookahead = _looking("tictactoe")
    state = game.initial_state()
    game.play_text(state, moves.split())
    for prunes in (False, True):
        found = lookahead.search(state, lookahead.limits(5, prunes=prunes))
        assert [game.format_move(state, each) for each in found.best_moves] == [move]
        assert 0.999 < sign * found.value < 1.0


def test_deepening_stops_in_time_with_the_answer_of_the_last_depth_that_was_finished() -> None:
    game, lookahead = _looking("gomoku:size=9,candidates=1")
    state = game.initial_state()
    game.play_text(state, ["e5", "d4", "e6"])
    lookahead.deepen(state, lookahead.limits(64), 0.01)
    began = time.thread_time()
    found = lookahead.deepen(state, lookahead.limits(64), 0.2)
    took = time.thread_time() - began
    assert found.depth >= 2 or not JIT
    assert took < (0.2 + 0.03 if JIT else 2.0)
    exact = lookahead.search(state, lookahead.limits(found.depth))
    assert (found.value, found.best_moves) == (exact.value, exact.best_moves)


def test_deepening_ends_when_there_is_nothing_deeper() -> None:
    game, lookahead = _looking("tictactoe")
    state = game.initial_state()
    game.play_text(state, ["a1", "b2", "c3", "a3"])
    found = lookahead.deepen(state, lookahead.limits(64), 60.0)
    assert found.complete and found.depth <= 5
    # Another search of the game in between changes nothing.
    other = game.initial_state()
    assert found == lookahead.deepen(
        state, lookahead.limits(64), 60.0, lambda: lookahead.search(other, lookahead.limits(3)).value
    )
    assert found.positions > lookahead.search(state, lookahead.limits(found.depth)).leaves
