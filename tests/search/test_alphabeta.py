"""Minimax and alpha-beta: against a recursive twin, over every game, and on trees that an article draws."""

from __future__ import annotations

import time
from itertools import product

import pytest

import games
from games.game import FIRST, Game, State
from games.rules import Rules
from search.minimax.alphabeta import DOUBT, HURRY
from search.minimax.lookahead import Foresight, Lookahead, Trace, Traced, lookahead_of
from search.players import player_of
from search.players.minimax import Minimax
from tests.games.common import JIT, random_game


def score(game: Game, state: State, depth: int, ply: int = 0) -> tuple[float, int]:
    """The first player's score of a position by minimax, and the positions visited."""
    rules: Rules = game.calls
    if rules.is_terminal(state):
        return rules.returns(state) * (1 - HURRY * ply), 1
    if depth == 0:
        evaluator = next(iter(game.evaluators.values()), None)
        return (evaluator.rule(state) if evaluator else 0.0) * (1 - DOUBT), 1
    best = max if rules.current_player(state) == FIRST else min
    values, positions = [], 1
    for move in game.legal_moves(state):
        value, visited = score(game, after(game, state, move), depth - 1, ply + 1)
        values.append(value)
        positions += visited
    return best(values), positions


def best_moves(game: Game, state: State, depth: int) -> list[int]:
    """All moves that are as good as the best."""
    value, _ = score(game, state, depth)
    return [
        m for m in game.legal_moves(state) if score(game, after(game, state, m), depth - 1, 1)[0] == value
    ]


def after(game: Game, state: State, move: int) -> State:
    """The position after the move."""
    following = state.copy()
    game.calls.play(following, move)
    return following


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


FIGURE_9 = "explicit:([(1 3)(2 8)(7 4)] [(2 3)(-9 -1)] [(-5 -2 -3)(9)(7)])"
FIGURE_12, FIGURE_13 = "explicit:(9 [4 1 2])", "explicit:[1 (8 3 9)]"
FIGURE_14 = "explicit:([(7 8)(10 0)(10 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)] [-10 (0 0)(0 0)])"
"""The figure shows the 15 nodes that are visited; the other 20 are not drawn, and have no say."""


def searched(spec: str, depth: int = 3, **changes: bool) -> tuple[float, Foresight]:
    """The root's value (a hair less where it lies deeper), and the rest, of a search from left to right."""
    game = games.load(spec)
    lookahead = lookahead_of(game, "default")
    limits = lookahead.limits(depth, **{"ordered": False, "finds_ties": False, **changes})
    found = lookahead.search(game.initial_state(), limits)
    return round(found.value * game.points, 2), found


def traced(spec: str, player: str) -> Trace:
    game = games.load(spec)
    looks = player_of(player, game)
    assert isinstance(looks, Minimax)
    return looks.trace(game, game.initial_state())


def cuts(node: Traced, points: int) -> list[tuple[float, float]]:
    """The bounds, alpha and beta, of all nodes that left out moves."""
    own = [(round(node.alpha * points, 6), round(node.beta * points, 6))] if node.cuts else []
    return own + [each for child in node.children for each in cuts(child, points)]


def size(node: Traced, *, visited: bool) -> int:
    return (node.visited or not visited) + sum(size(child, visited=visited) for child in node.children)


@pytest.mark.parametrize(
    ("spec", "changes", "value", "positions", "bounds"),
    [
        # Figure 8: the highest and the lowest of some moves.
        ("explicit:(3 -2 0 5)", {}, 5, 5, []),
        ("explicit:[8 -2 6 3 -1]", {}, -2, 6, []),
        # Figures 9 and 11: 27 nodes; 19 with alpha-beta, or 22 if equals are not cut.
        (FIGURE_9, {"prunes": False}, 3, 27, None),
        (FIGURE_9, {}, 3, 19, None),
        (FIGURE_9, {"cuts_equals": False}, 3, 22, None),
        # Figure 12, an alpha cut: the parent has 9 for certain; the node, a minimum, has found 4.
        (FIGURE_12, {}, 9, 4, [(9, 4)]),
        # Figure 13, a beta cut: the parent, a minimum, is at most 1; the node has found 8.
        (FIGURE_13, {}, 1, 4, [(8, 1)]),
        # Figure 14: 57 percent are cut.
        (FIGURE_14, {"prunes": False}, 8, 35, None),
        (FIGURE_14, {}, 8, 15, [(10, 8), (10, 8), (8, -10), (8, -10), (8, -10)]),
    ],
)
def test_a_search_visits_and_cuts_what_the_figure_shows(
    spec: str, changes: dict[str, bool], value: float, positions: int, bounds: list[tuple[int, int]] | None
) -> None:
    found_value, found = searched(spec, **changes)
    assert (found_value, found.positions) == (value, positions)
    if changes == {"prunes": False}:
        assert found.complete and found.cuts == 0
    if spec == FIGURE_9:
        assert found.line == (0, 0, 1)
    if bounds is not None:
        assert cuts(traced(spec, "alphabeta:depth=3,ties=first").root, games.load(spec).points) == bounds
        assert found.cuts == len(bounds)


@pytest.mark.parametrize(
    ("spec", "visited", "above", "nodes"),
    [(FIGURE_9, 19, 22, 27), (FIGURE_12, 4, 4, 6), (FIGURE_13, 4, 4, 6), (FIGURE_14, 15, 15, 35)],
)
def test_a_trace_has_all_that_minimax_visits_and_says_what_was_cut(
    spec: str, visited: int, above: int, nodes: int
) -> None:
    for player, expected in (
        ("minimax:depth=3", nodes),
        ("alphabeta:depth=3,ties=first", visited),
        ("alphabeta:depth=3,ties=first,cuts=above", above),
    ):
        trace = traced(spec, player)
        assert (trace.visited, trace.total) == (expected, nodes)
        assert (size(trace.root, visited=True), size(trace.root, visited=False)) == (expected, nodes)
        bounds = cuts(trace.root, games.load(spec).points)
        assert all(alpha >= beta for alpha, beta in bounds)
        assert bool(bounds) == (expected < nodes)


@pytest.mark.parametrize("spec", ["tictactoe", "grundy:pile=9", "morris:variant=three"])
@pytest.mark.parametrize("player", ["alphabeta:depth=2", "alphabeta:depth=2,ties=first", "minimax:depth=2"])
def test_a_trace_of_any_game_sees_what_the_search_sees(spec: str, player: str) -> None:
    game = games.load(spec)
    state = game.initial_state()
    looks = player_of(player, game)
    assert isinstance(looks, Minimax)
    trace = looks.trace(game, state)
    lookahead = lookahead_of(game, next(iter(game.evaluators), "default"))
    limits = lookahead.limits(2, prunes=looks.prunes, finds_ties="first" not in player)
    found = lookahead.search(state, limits)
    assert trace.visited == found.positions == size(trace.root, visited=True)
    best = [child.move for child in trace.root.children if child.best]
    assert best[0] in found.best_moves and len(best) == 1
